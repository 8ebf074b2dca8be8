"""Scratch of one evaluation: every array a kernel writes, allocated once. The last rows of dof arrays are ground."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad.program import memory_of
from rtmbs.ad.simd_programs import lane_memory, seat_memory
from rtmbs.jit.struct import struct
from rtmbs.system.contact_tables import COLUMNS, PAIR_COLUMNS, states_of_sets
from rtmbs.system.law_tables import BEGINS, COUNT, LOOKS, slopes_of
from rtmbs.system.tables import FRAME_INPUTS, POSE_INPUTS, ContactSets, Tables

Array = Any

MOST_DIRECTIONS = 40  # of GMRES for contact sets


@struct
class Workspace(NamedTuple):
    """Overwritten by every evaluation; nothing here survives a step."""

    sine: Array  # (n,) of every coordinate; unused for displacements
    cosine: Array  # (n,)
    A: Array  # (n + 1 + g, 3, 3) dof axes to world; ground in row -1, and in row -2-k as seen from the origin k
    r: Array  # (n + 1 + g, 3) dof origins, from the origin of the dof's part [m]
    S: Array  # (n, 6) column b of each dof, motion vector at that origin
    V: Array  # (n + 1 + g, 6) velocities
    acc: Array  # (n + 1 + g, 6) spatial accelerations, gravity as base acceleration
    inertia: Array  # (n, 10) body inertia at the global origin
    momentum: Array  # (n, 6) inertia times velocity
    wrench: Array  # (n, 6) inertia wrench of each body, gravity included
    Fc: Array  # (n, 6) inertia wrenches summed over the subtree
    Ic: Array  # (n, 10) inertias summed over the subtree (M_sum)
    Bc: Array  # (n, 12) Coriolis part summed over the subtree: linear momentum (3), angular block (9)
    section: Array  # (nr, 22) Ic and Bc of the sections below interfaces, or none where sums are those of subtrees
    X: Array  # (n, 6) per column: mass S + velocity (psid + Sd) + position psidd
    Y: Array  # (n, 3) per column, angular parts: velocity S + position psid
    psid: Array  # (n, 6) V_base x S
    rate: Array  # (n, 6), or none without rotation dofs: S T^-1, what a turn in body axes does to V by the rates
    path: Array  # (17, depth) columns X, Y, S of the ancestors of one dof, and two rows of products
    held: Array  # (depth + 1,) int64: dof of each column of path; last, how many columns there are
    tau: Array  # (n,) M zdd - Q
    Phi: Array  # (m,) loop equations [m or 1]
    Phid: Array  # (m,)
    Phidd: Array  # (m,)
    G: Array  # (mc, 6) dPhi/dX_b of each closure row
    Phi_z: Array  # (entries,) rows of each closure over its branch
    Phi_z_factored: Array  # (entries,) Phi_z in the last factor
    increment: Array  # (n,) unknown of a step
    z: Array  # (n,)
    zd: Array  # (n,)
    zdd: Array  # (n,)
    residual: Array  # (n,)
    dz: Array  # (n,)
    predicted: Array  # (n,) size of the increment after the correction dz, at most typical
    impulse: Array  # (m,) what is pulled back through Phi_z^T
    base: Array  # (n,) increment of the iterate that a damped try stands at
    way: Array  # (n,) its correction
    lam_base: Array  # (m,) multipliers there
    lam_way: Array  # (m,) those that its linear solution gives
    lam_here: Array  # (m,) those of the share of the way that is being tried
    kinetic: Array  # (n,) of each component, at its first dof [J]
    potential: Array  # (n,) of weight, springs and constant loads
    worked: Array  # (n,) what dampers gave in the step
    beyond: Array  # (n,) h/12 zd . M (change of zdd): energy of the path beyond that of zd
    exchange: Array  # (n,) what can be exchanged between kinetic and potential energy, by its size
    untold: Array  # (n,) not 0 where a force acts whose work is not counted
    floor: Array  # (m,) [J] what errors of multipliers are compared with
    left: Array  # (m,) Phidd that the projection left
    diagonal: Array  # (n,) of the tangent without applied forces
    stiff: Array  # (1,) largest share that applied forces have in a diagonal entry of the tangent
    law_input: Array  # (nx,) kinematics of the force laws
    law_number: Array  # (nx,) float64: its real part, what the program takes
    law_parameter: Array  # (np,) float64
    law_memory: Array  # (slots,) float64: of the program
    law_lanes: Array  # (slots, 8) float64: of the program in lanes
    law_rates: Array  # (slots, 8) float64: of the program of rates
    law_output: Array  # (ny,) float64: of all programs
    law_wrench: Array  # (nk, 6) of each law between frames, on b at b's marker, axes of marker a
    law_local: Array  # (nk, 6, 12) float64: its derivative by r, rotation, v, w of b relative to a, axes of marker a
    law_force: Array  # (no,) generalised forces of the laws on joints
    law_entry: Array  # (nf,) float64: their derivatives
    law_left: Array  # (2,) float64: 1 where derivatives of laws are still to be filled, and h/2 of their states, or 0
    pose_input: Array  # (nx,) what the constraints of the user look at
    pose_number: Array  # (nx,) float64: its real part, what their program takes
    pose_parameter: Array  # (np,) float64
    pose_memory: Array  # (slots,) float64: of the program
    pose_output: Array  # (ny,) float64: of the program
    pose_value: Array  # (nq,) what each condition returns, scaled
    pose_slope: Array  # (directions,) its derivatives
    pose_bend: Array  # (pairs,) and how these change
    s: Array  # (ns,) float64: states of the force laws
    state_rate: Array  # (ns,) float64
    state_base: Array  # (ns,) float64: s = base + half rate
    state_half: Array  # (1,) float64: h/2 in a trapezoidal step, 0 where states are given
    state_change: Array  # float64: last correction of those of force laws, without those of contact sets
    state_search: Array  # (nb, 3) float64: search of each law for its states, see ``semirecursive/law_states.py``
    begin: Array  # (nb, 6) float64: see ``semirecursive/touch_begin.py``
    begin_lanes: Array  # (slots, 8) float64: memory of the program of contacts that begin
    begin_seat: Array  # (contacts,) int64: lane of each, -1 without one; set by ``leave_seats`` first
    begin_used: Array  # (runs,) int64: lanes in use
    begin_share: Array  # float64: share of a step behind the touch, of each state
    begin_state: Array  # (3, .) float64: these bristles, their rates, and state_base of before
    begin_input: Array  # (2, nx) float64: kinematics of the laws at both ends of a step in which contacts begin
    state_kept: Array  # float64 (., 2): where a part of a correction began, and the correction
    rate_share: Array  # (1,) float64: h/2 in a trapezoidal step, what Phi of a rate row is times Psi; else 0
    state_slope: Array  # (slopes,) float64: see ``system/law_tables.py``
    state_matrix: Array  # (k, k) float64: 1 - half dg/ds of one law
    state_right: Array  # (k, n) float64: its right-hand sides
    touch: Array  # (pairs, columns) of contact sets: see ``semirecursive/contact_sets.py``
    begin_pair: Array  # (pairs, 23) float64: see ``semirecursive/touch_begin.py``
    set_wrench: Array  # (members, 6) on each of their members about the origin
    set_motion: Array  # (members, 12) twist and change of velocity of each
    set_force: Array  # (n,) what the motions of members do to others
    set_share: Array  # (3,) velocity and position of the last tangent, and 1 where pairs touched in it
    touching: Array  # (pairs, 2) int64: the members that touched in it, -1 without
    krylov: Array  # (k + 1, n) basis of GMRES
    hessenberg: Array  # (k + 3, k + 1) column k of its matrix in row k; right-hand side, cosines and sines
    still: Array  # (n,) float64: zeros
    no_energy: Array  # (n, 2) float64: zeros
    found_energy: Array  # (n, 2) float64
    answered: Array  # (n, 2) float64: sizes of answers to changed inputs, the largest and the last
    jump: Array  # (n,) float64: what changed inputs leave over, and the accelerations that answer it
    begun_zdd: Array  # (n,) float64: what a step with changed inputs begins with
    begun_lam: Array  # (m,) float64
    begun_energy: Array  # (n, 2) float64
    begun_sd: Array  # (ns,) float64


def workspace(tables: Tables, dtype: type = np.float64) -> Workspace:
    """Allocate the scratch of ``tables``; ``dtype`` complex for complex-step differentiation."""
    n, m = len(tables.dofs.kind), len(tables.closures.kind) + len(tables.drivers.dof)
    rows = n + 1 + len(tables.origins.fixed)
    shapes: dict[str, tuple[int, ...]] = {
        "sine": (n,), "cosine": (n,), "A": (rows, 3, 3), "r": (rows, 3), "S": (n, 6), "V": (rows, 6),
        "acc": (rows, 6), "inertia": (n, 10), "momentum": (n, 6), "wrench": (n, 6), "Fc": (n, 6), "Ic": (n, 10),
        "Bc": (n, 12), "X": (n, 6), "Y": (n, 3), "psid": (n, 6), "tau": (n,), "Phi": (m,),
        "Phid": (m,), "Phidd": (m,), "G": (len(tables.closures.kind), 6),
        "Phi_z": (int(tables.closures.entry_pointer[-1]),),
        "Phi_z_factored": (int(tables.closures.entry_pointer[-1]),), "increment": (n,), "z": (n,), "zd": (n,),
        "zdd": (n,), "residual": (n,), "dz": (n,), "predicted": (n,), "impulse": (m,), "base": (n,), "way": (n,),
        "lam_base": (m,), "lam_way": (m,), "lam_here": (m,), "floor": (m,), "left": (m,), "diagonal": (n,),
        "stiff": (1,), "kinetic": (n,), "potential": (n,), "worked": (n,), "beyond": (n,), "exchange": (n,),
        "untold": (n,),
    }  # fmt: skip
    shapes["rate"] = (n if np.any(tables.dofs.reference >= 0) else 0, 6)
    shapes["section"] = (len(tables.interfaces.inertia), 22)
    laws = tables.laws
    laws_between, program = len(laws.frame_a), laws.program
    inputs = FRAME_INPUTS * laws_between + len(laws.input)
    shapes |= {"law_input": (inputs,), "law_wrench": (laws_between, 6), "law_force": (len(laws.row),)}
    conditions, depth = tables.conditions, int(np.diff(tables.paths.pointer).max(initial=0))
    seen = POSE_INPUTS * len(conditions.frame_a) + len(conditions.dof)
    shapes |= {"pose_input": (seen,), "pose_value": (len(conditions.scale),)}
    shapes |= {"pose_slope": (int(conditions.place[-1]),), "pose_bend": (int(conditions.square[-1]),)}
    shapes |= {"path": (17, depth)}
    scratch = scratch_of_states(laws.state_block, inputs, states_of_sets(tables.sets))
    real = {
        "held": np.zeros(depth + 1, np.int64),
        "law_number": np.zeros(inputs + int(laws.state_block[:, COUNT].sum())),
        "law_parameter": np.zeros(len(laws.slot)),
        "law_memory": memory_of(program),
        **{f"law_{name}": lane_memory(getattr(laws, name)) for name in ("lanes", "rates")},
        "law_output": np.zeros(len(program.output)),
        "begin_lanes": seat_memory(laws.begins),
        "begin_seat": np.zeros(len(laws.begins.kind), np.int64),
        "begin_used": np.zeros(len(laws.begins.program.operation), np.int64),
        "law_local": np.zeros((laws_between, 6, 12)),
        "law_entry": np.zeros(len(laws.force_entry)),
        "pose_number": np.zeros(seen),
        "pose_parameter": np.zeros(len(conditions.slot)),
        "pose_memory": memory_of(conditions.program),
        "pose_output": np.zeros(len(conditions.program.output)),
        **scratch,
        **scratch_of_sets(tables.sets, n, dtype),
        **scratch_of_jumps(n, m, len(scratch["s"])),
    }
    ws = Workspace(**{name: np.zeros(shape, dtype) for name, shape in shapes.items()}, **real)
    ws.A[n:] = np.eye(3)
    return ws


def scratch_of_jumps(n: int, m: int, states: int) -> dict[str, Array]:
    """Return the scratch for changed inputs, of ``n`` coordinates, ``m`` loop equations and states of force laws."""
    return {
        "still": np.zeros(n),
        "no_energy": np.zeros((n, 2)),
        "found_energy": np.zeros((n, 2)),
        "answered": np.zeros((n, 2)),
        "jump": np.zeros(n),
        "begun_zdd": np.zeros(n),
        "begun_lam": np.zeros(m),
        "begun_energy": np.zeros((n, 2)),
        "begun_sd": np.zeros(states),
    }


def scratch_of_states(block: Array, inputs: int, more: int = 0) -> dict[str, Array]:
    """Return the scratch for the states of force laws of ``inputs``, and for ``more`` of contact sets behind them."""
    states, most = int(block[:, COUNT].sum()), int(block[:, COUNT].max(initial=0))
    of_states = ("s", "state_rate", "state_base")
    return {
        **{name: np.zeros(states + more) for name in of_states},
        "state_change": np.zeros(states),
        "state_search": np.zeros((len(block), 3)),
        "state_kept": np.zeros((states, 2)),
        "state_half": np.zeros(1),
        "begin": np.zeros((len(block), 6)),
        "begin_share": np.zeros(states),
        "begin_state": np.zeros((3, states)),
        "begin_input": np.zeros((2, inputs if np.any(block[:, BEGINS]) else 0)),
        "rate_share": np.zeros(1),
        "law_left": np.zeros(2),
        "state_slope": np.zeros(int(slopes_of(block).sum())),
        "state_matrix": np.zeros((most, most)),
        "state_right": np.zeros((most, int(block[:, LOOKS].max(initial=0)))),
    }


def scratch_of_sets(sets: ContactSets, n: int, dtype: type) -> dict[str, Array]:
    """Return the scratch for contact sets, of ``n`` coordinates."""
    pairs, count = int(sets.pair_pointer[-1]), len(sets.dof)
    rows = MOST_DIRECTIONS + 1 if count else 0
    return {
        "touch": np.zeros((pairs, COLUMNS), dtype),
        "begin_pair": np.zeros((pairs, PAIR_COLUMNS)),
        "set_wrench": np.zeros((count, 6), dtype),
        "set_motion": np.zeros((count, 12), dtype),
        "set_force": np.zeros(n if count else 0, dtype),
        "set_share": np.zeros(3),
        "touching": np.full((pairs, 2), -1, np.int64),
        "krylov": np.zeros((rows, n)),
        "hessenberg": np.zeros((rows + 2 if count else 0, rows)),
    }
