"""Flat constant arrays of a compiled mechanism, for kernels and ``page.py``; written by ``compile``.

Conventions, once for the whole package
---------------------------------------
* A *dof* is one revolute or prismatic coordinate and the frame that it carries; ``n`` of them, a parent always before
  its children. Revolute and prismatic dofs have a coordinate each. A revolute dof with a pitch is helical: it slides
  along its axis as it turns. Three *rotation* dofs in a row, i, i + 1, i + 2, are
  one element of a spherical or floating joint: they share one frame, R = R0 exp(delta~) from the parent's, delta = sum
  of z[i + k] axis[i + k]. Their axes are the principal ones of the body, fixed in it, and their rates are the angular
  velocity along these axes. R0 is the rotation at the last step boundary.
  Dof ``-1`` is ground. Arrays over dofs in the workspace have ``n + 1`` rows, so that row ``-1`` is ground. Parts
  that may be far from the global origin see ground from origins of their own, as dofs -2, -3, ... in further rows:
  a negative dof is ground.
* Motion vectors are ``[v, omega]`` and wrenches ``[f, n]``, world axes, at the global origin, or at the part's own.
* A *connector* joins two dofs ``a`` and ``b`` (either may be -1) through a closure or a force. Its *branch* lists the
  dofs on the way from the last common ancestor (not included) down to ``a``, root to tip, with ``sign`` -1, then down
  to ``b`` with ``sign`` +1. Every table of things that act between two dofs says in its column ``connector`` which
  connector each of them uses.
  The last closures, conditions on coordinates and couplers, join coordinates instead of bodies: the branch of their
  connectors lists these coordinates, sign +1, and a = b is the first of them.
  What passes through a connector is a wrench ``F`` on ``b`` and ``-F`` on ``a``, so ``Q_j = sign_j S_j . F``.
* Whatever the user may change while running stands in one flat array ``u``; tables hold *slots* (indices into ``u``).
* Dofs' local vectors are in dof axes from the dof's origin (a body's own frame may be placed elsewhere on the dof).
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.forces.register import Forces
from rtmbs.jit.struct import struct

Array = Any  # numba types by value; the shapes and dtypes stand on the fields

REVOLUTE, PRISMATIC, ROTATION = 0, 1, 2
TRANSLATION, DOT, DISTANCE, RELATION, CONDITION = 0, 1, 2, 3, 4
HEIGHT, ROLL, EDGE = 5, 6, 7  # of rolling contacts and knife edges; ROLL and EDGE bind rates and no positions
GRAVITY_SLOT = 0
FRAME_INPUTS = 18  # of a force law between two frames: r (3), R (9, row-major), v (3), w (3) of b relative to a
POSE_INPUTS = 13  # of a constraint between two frames: r (3), R (9, row-major) of b relative to a, t
MOTION, WRENCH, TWIST = 9, 6, 6  # unknowns of an interface: its t, its f, and its w where closures pass through


@struct
class Dofs(NamedTuple):
    """Elementary joints, root to tips."""

    kind: Array  # (n,) int64: REVOLUTE, PRISMATIC or ROTATION
    parent: Array  # (n,) int64: parent dof; negative for ground, the row that the part sees
    base: Array  # (n,) int64: what the element moves against: the parent of its first dof
    tip: Array  # (n,) int64: last dof of the element, which carries its axis: i, or that of the three rotation dofs
    offset_rotation: Array  # (n, 3, 3) dof frame at z = 0 to parent dof frame
    turned: Array  # (n,) int64: 0 when offset_rotation is the identity, as for frames parallel at the reference pose
    offset: Array  # (n, 3) origin of the dof frame at z = 0, in parent dof axes [m]
    axis: Array  # (n, 3) unit vector in dof axes (the same before and after the dof's own turn);
    # of three rotation dofs a right-handed triad
    pitch: Array  # (n,) way along the axis of a turning dof per radian [m/rad]; zero of all but helical dofs
    reference: Array  # (n,) int64: of the first of three rotation dofs, the index of its R0; otherwise -1
    mass: Array  # (n,) [kg], zero on massless frames
    mass_center: Array  # (n, 3) dof axes [m]
    inertia: Array  # (n, 3, 3) about the mass centre, dof axes [kg m^2]


@struct
class Origins(NamedTuple):
    """Points o about which parts of a mechanism are evaluated; ground's row -2-k has r = -o (``system.components``)."""

    row: Array  # (n,) int64: row of ground that the dof's part sees; -1 from the global origin
    fixed: Array  # (g, 3) where the part stands while its slides are zero [m]
    grid: Array  # (g,) width of the grid on which o lies [m]
    pointer: Array  # (g + 1,) int64 into dof and direction
    dof: Array  # (slides,) int64: slides that carry the part away from there
    direction: Array  # (slides, 3) world axes


@struct
class Paths(NamedTuple):
    """For every dof the dofs from below the next interface, or else from ground, to itself, itself last."""

    pointer: Array  # (n + 1,) int64
    dof: Array  # (paths,) int64
    entry: Array  # (paths,) int64: place of tangent entry (i, path dof) in the values of the sparse matrix
    entry_transposed: Array  # (paths,) int64: place of entry (path dof, i)


@struct
class Interfaces(NamedTuple):
    """Dofs of a deep tree with unknowns of their own, t (9,), f (6,), w (6,); ``system.pattern`` has the equations."""

    dof: Array  # (nr,) int64
    of: Array  # (n,) int64: interface above each dof, or -1
    below: Array  # (n, 15) int64: places of t of that interface in the row of the dof, of the dof in the rows of f
    pointer: Array  # (nr + 1,) int64 into above
    above: Array  # (entries, 15) int64, along the path of each: places of a dof in the rows of t, f in its row
    one: Array  # (15 nr, or 21 nr with w) int64: diagonal places
    minus: Array  # (at most as many) int64: places (t, t of the interface above), likewise w, (f of the one above, f)
    inertia: Array  # (nr, 54) int64: places of t in the rows of f, row by row; none where bodies count as a part of all
    # sections above
    twist: Array  # (entries, 6) int64: places of a dof in the rows of w; none without condensed closures


@struct
class CondensedClosures(NamedTuple):
    """Closures over long branches, with multipliers mu and wrenches phi as unknowns (``system.condensed_closures``)."""

    closure: Array  # (k,) int64: number of each
    pointer: Array  # (k + 1,) int64 into dof
    dof: Array  # (ends,) int64: dofs of the sections of the tree in which a and b lie, down to a and b
    sign: Array  # (ends,) float64: -1 on the way to a, +1 on the way to b
    row: Array  # (k + 1,) int64: first mu of each
    place: Array  # (k,) int64: start in pulled and seen
    pulled: Array  # (places,) int64: places of mu in the rows of dofs, dof by dof
    seen: Array  # (places,) int64: places of dofs in the rows of mu, dof by dof
    interface: Array  # (k, 2) int64: interfaces above a and b, or -1
    twist: Array  # (mu, 2, 6) int64: places of their w in the rows of mu
    wrench: Array  # (mu, 2, 6) int64: places of mu in the rows of their f
    turned: Array  # (ends, 6) int64: places of phi of the dof's side in its row
    turning: Array  # (ends, 12) int64: places of the dof in the rows of phi of a and b
    turned_wrench: Array  # (k, 2, 6) int64: places of phi in the rows of f
    turning_twist: Array  # (k, 2, 12, 6) int64: places of w in the rows of phi
    one: Array  # (mu + 12 k,) int64: diagonal places


@struct
class Connectors(NamedTuple):
    """Pairs of dofs joined by a closure or a force, and the coordinates between them."""

    a: Array  # (nl,) int64; negative for ground, the row that the part of the other end sees
    b: Array  # (nl,) int64, likewise
    pointer: Array  # (nl + 1,) int64 into dof and sign
    dof: Array  # (branches,) int64: branch of a (root to tip), then branch of b
    sign: Array  # (branches,) float64: -1 on the branch of a, +1 on the branch of b
    block_pointer: Array  # (nl + 1,) int64 into entry; connectors of condensed closures have no block
    entry: Array  # (blocks,) int64: row-major (branch, branch) places [row j, column i] in the sparse matrix


def branch_dofs(connectors: Connectors, numbers: Array) -> Array:
    """Return the dofs on the branches of some connectors, one after the other."""
    branches = [connectors.dof[connectors.pointer[c] : connectors.pointer[c + 1]] for c in numbers]
    return np.concatenate([np.zeros(0, np.int64), *branches])


@struct
class Closures(NamedTuple):
    """Cut joints, rods, couplers. METHODS 1.25; dof ``a`` carries points and axes."""

    connector: Array  # (nc,) int64: connector of each
    row_pointer: Array  # (nc + 1,) int64: rows of a closure
    point_a: Array  # (nc, 3) dof axes of a [m]
    point_b: Array  # (nc, 3) dof axes of b [m]
    kind: Array  # (mc,) int64 a row: TRANSLATION u . (x_a - x_b); DOT u . v; DISTANCE (d . d - L^2) / (2 length);
    # RELATION sum of ratio times coordinate less length; CONDITION what a function of the user returns;
    # HEIGHT of the contact point above a plane; ROLL and EDGE, rows of rates alone (METHODS 1.41)
    axis_a: Array  # (mc, 3) u, fixed in a, dof axes of a
    axis_b: Array  # (mc, 3) v, fixed in b, dof axes of b
    length: Array  # (mc,) rod length, the constant divisor of a driven distance [m], the constant of a RELATION
    slot: Array  # (mc,) int64: slot of (L, Ld, Ldd) of a driven distance or RELATION, or -1: L = length
    assembly_offset: Array  # (mc,) constant subtracted from Phi (METHODS 1.13)
    entry_pointer: Array  # (nc + 1,) int64: start of the closure's (rows, branch) block in the flat Phi_z


@struct
class Contacts(NamedTuple):
    """Wheels that roll on planes, and knife edges: the closures before those of conditions (METHODS 1.41).

    A rolling contact has the rows HEIGHT, ROLL, ROLL along the normal of the plane and two tangents, ``axis_a``, with
    the wheel's axis in ``axis_b``. A knife edge has a row EDGE, whose direction in b is ``axis_b``.
    """

    first: Array  # (1,) int64: number of the first closure that is one
    normal: Array  # (nk, 3) of the plane, dof axes of a; zero of a knife edge
    radius: Array  # (nk,) of the circle that the centres of the crown lie on [m]; zero of a sphere and a knife edge
    crown: Array  # (nk,) radius of the crown [m]; zero of a thin disc
    rate_row: Array  # (k,) int64: the rows ROLL and EDGE


@struct
class Conditions(NamedTuple):
    """Constraints written by the user, recorded: closures of rows CONDITION, between frames first, then on coordinates.

    A *condition* is one of these rows. It looks at the *inputs* of its closure: r, R of b relative to a in axes of a
    and t between frames, or coordinates and t. Its *directions* are a shift of b, a turn of b (axes of a) and t, or
    again coordinates and t. Outputs of the program: values, first derivatives, second ones, by inputs.
    """

    first: Array  # (2,) int64: number of the first closure between frames, and of the first on coordinates
    program: Any  # ad.Program
    slot: Array  # (np,) int64: slots of the program's parameters
    clock: Array  # (1,) int64: slot of t
    frame_a: Array  # (nk, 3, 4): marker axes to dof axes of a, and the marker's point in dof axes [m]
    frame_b: Array  # (nk, 3, 4): the same on b
    dof: Array  # (ni,) int64: what the program takes behind the 13 inputs of every pair of frames; -1: t
    scale: Array  # (nq,) factor of each condition, so that its largest direction counts one
    input: Array  # (nq,) int64: first input of its closure
    place: Array  # (nq + 1,) int64: its first direction
    square: Array  # (nq + 1,) int64: its first pair of directions
    slope: Array  # (ne, 2) int64: condition, input: what it is derived by
    bend: Array  # (nf, 3) int64: condition, input, input


@struct
class Couplers(NamedTuple):
    """Relations of joint coordinates: the last closures, of rows RELATION."""

    first: Array  # (1,) int64: number of the first closure that is one
    ratio: Array  # (entries,) of the rows over their branches: the last entries of the flat Phi_z


@struct
class Drivers(NamedTuple):
    """Prescribed coordinates: rows mc .. m-1 of Phi, Phi = z_dof - f(t)."""

    dof: Array  # (nd,) int64
    slot: Array  # (nd,) int64: slot of (f, fd, fdd)
    entry: Array  # (nd,) int64: diagonal place in the sparse matrix


@struct
class JointForces(NamedTuple):
    """Q_dof += -stiffness (z - rest) - damping zd + load; torsional springs, motors."""

    dof: Array  # (nj,) int64
    slot: Array  # (nj,) int64: slot of (stiffness, damping, rest, load)
    entry: Array  # (nj,) int64: diagonal place in the sparse matrix


@struct
class Laws(NamedTuple):
    """Force laws written by the user, all recorded ones in one program; in the order of the rows: recorded, called.

    A law between two frames takes FRAME_INPUTS inputs, in the order of ``forces.Kinematics``. The others, on joint
    coordinates, take coordinates and rates and give generalised forces.
    Outputs of the program: wrenches (6 each), generalised forces, entries of the wrenches' derivatives, entries of the
    forces' derivatives; rates of the states of all laws, and the slopes of METHODS 1.32
    (``system/law_tables.py``). The states are the last inputs of the program. Called laws (``counts`` says where
    they begin) are evaluated in Python before a kernel runs.
    """

    program: Any  # ad.Program of the recorded laws
    lanes: Any  # ad.LaneProgram of the same laws, derivatives last; without runs where ``program`` serves better
    rates: Any  # ad.LaneProgram of the rates of states and their slopes, for laws in lanes; else without runs
    begins: Any  # ad.SeatProgram of the rates of bristles and their slopes, for contacts that begin
    slot: Array  # (np,) int64: slots of the program's parameters
    connector: Array  # (nk,) int64: connector of each law between two frames
    frame_a: Array  # (nk, 3, 4): marker axes to dof axes of a, and the marker's point in dof axes [m]
    frame_b: Array  # (nk, 3, 4): the same on b
    wrench_entry: Array  # (ne, 3) int64: law, row (0 to 5), input (0 to 17)
    row: Array  # (no,) int64: dof that a generalised force acts on
    input: Array  # (ni, 2) int64: dof, and 1 for its rate
    # (nf, 4) int64: generalised force, input, 1 for a rate, place in the sparse matrix; last those of elimination
    force_entry: Array
    counts: Array  # (4,) int64: recorded laws between frames, generalised forces, inputs, force entries
    state_block: Array  # (nb, 11) int64: of each law with states, see ``system/law_tables.py``
    state_place: Array  # (nse,) int64: place of each slope in the flat slopes of all laws


@struct
class ContactSets(NamedTuple):
    """Balls and planes of which all pairs may touch (METHODS 8.10).

    A *member* of a set is a ball or a plane, planes first. A pair has two input slots, the numbers of its members in
    the set from 1 on, the ball last; 0 where there is no pair, and none behind it. It has three states.
    """

    dof: Array  # (k,) int64 of each member; negative for ground, the row that the balls see
    point: Array  # (k, 3) middle of a ball, point of a plane, dof axes [m]
    normal: Array  # (k, 3) of a plane, dof axes; zero of a ball
    radius: Array  # (k,) of a ball, 0 of a plane [m]
    connector: Array  # (k,) int64: connector from ground to its dof
    planes: Array  # (g,) int64: planes of each set
    member_pointer: Array  # (g + 1,) int64
    pair_pointer: Array  # (g + 1,) int64: room for pairs
    slot: Array  # (g,) int64: first input slot of the pairs
    friction: Array  # (g,) int64: input slot of the coefficient
    law: Array  # (g, 7) see ``system/contact_tables.py``
    first: Array  # (1,) int64: first state of the first pair


@struct
class Balance(NamedTuple):
    """Components with an energy balance, METHODS 1.7."""

    component: Array  # (n,) int64: the first dof of its component, or -1 where no balance is kept
    first: Array  # (k,) int64: the first dofs of components that keep one
    length: Array  # (1,) characteristic length of the mechanism [m]


@struct
class Tables(NamedTuple):
    """Constant tables of a mechanism for kernels."""

    dofs: Dofs
    origins: Origins
    paths: Paths
    interfaces: Interfaces
    condensed: CondensedClosures
    connectors: Connectors
    closures: Closures
    contacts: Contacts
    conditions: Conditions
    couplers: Couplers
    drivers: Drivers
    joint_forces: JointForces
    forces: Forces  # those between two frames, a table for each kind in the register
    laws: Laws
    balance: Balance
    sets: ContactSets
