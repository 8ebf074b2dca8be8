"""Compiled balance of energy: loops keep the energy of the path that their positions go (METHODS 1.7)."""

import numpy as np

from rtmbs.integrators.settings import KEPT, OWN
from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel, merged_kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    dot3,
    load3,
    load6,
    load33,
    place,
    point_velocity,
    scale6,
    store6,
)
from rtmbs.semirecursive.force_kernels import chain, named, nothing
from rtmbs.semirecursive.passes import forward_velocities
from rtmbs.system.tables import GRAVITY_SLOT, ROTATION

AT_REST = 1e-5  # kinetic energy relative to what can be exchanged; below it the tolerance of positions would move rates
LARGEST = 0.5  # share of its kinetic energy that a component is corrected by; more is no error of the rule


@inlined_kernel
def keep_no_energy(energy):
    """Energies (n, 2) of a step that keeps no balance."""
    for i in range(len(energy)):
        energy[i, KEPT] = energy[i, OWN] = 0.0


@kernel
def hold_energies(tables, u, h, zd_before, zdd_before, before, zd, zdd, energy, ws):
    """Scale ``zd`` of every component so that the energy of its path balances; fill ``energy`` from that ``before``.

    Positions go at w = zd + h^2/12 d2(zd)/dt2, for the trapezoidal rule is that much off, so their energy is that of
    zd and h/12 zd . M (change of zdd). A factor is the change of the rates that is least in the norm of M: M^-1 times
    the gradient of the kinetic energy is zd itself, and Phi_z zd = 0 stays. ``zdd`` is that of the integrator: what
    its projection adds is M-orthogonal to zd. ws.z and ws.increment are those of the step; positions at ws.z and
    velocities at ``zd`` are evaluated, and velocities stay so.

    A component goes on from the energy that it has when it has kept none, when a force acts whose work is not counted,
    when it is off by more than LARGEST, and when it hardly moves: rates would follow the tolerance of positions.
    Returns what was given or taken in all, as the sum of its sizes [J].
    """
    component, firsts, given = tables.balance.component, tables.balance.first, 0.0
    keep_no_energy(energy)
    sum_energies(tables, u, h, zd_before, zdd_before, zd, zdd, ws)
    for k in range(len(firsts)):
        c = firsts[k]
        kinetic, rest = ws.kinetic[c], ws.potential[c] + ws.beyond[c]
        wanted, scale = before[c, KEPT] + ws.worked[c] - rest, 1.0
        begun = before[c, KEPT] != 0.0 or before[c, OWN] != 0.0
        moves = kinetic > AT_REST * ws.exchange[c]
        if begun and moves and ws.untold[c] == 0.0 and abs(wanted - kinetic) <= LARGEST * kinetic:
            given += abs(wanted - kinetic)
            scale = wanted / kinetic
        energy[c, KEPT] = scale * kinetic + rest
        energy[c, OWN] = scale * kinetic + ws.potential[c]
        ws.kinetic[c] = np.sqrt(scale)
    for i in range(len(component)):
        if component[i] >= 0:
            zd[i] *= ws.kinetic[component[i]]
    if given > 0.0:
        forward_velocities(tables.dofs, zd, ws)
    return given


@inner_kernel
def sum_energies(tables, u, h, zd_before, zdd_before, zd, zdd, ws):
    """Energies of components that keep a balance, in ws at their first dof.

    ``beyond`` is h/12 zd . M (zdd - zdd_before). Dampers of joints take the integral of w^2 over the step, w a
    straight line of mean increment / h. Constant loads are potentials. What can be exchanged is measured by weights
    times the length of the mechanism, and elastic energies.
    """
    component, dofs = tables.balance.component, tables.dofs
    gravity = (u[GRAVITY_SLOT], u[GRAVITY_SLOT + 1], u[GRAVITY_SLOT + 2])
    reach = np.sqrt(dot3(gravity, gravity)) * tables.balance.length[0]
    for k in range(len(tables.balance.first)):
        c = tables.balance.first[k]
        ws.kinetic[c] = ws.potential[c] = ws.beyond[c] = ws.worked[c] = ws.exchange[c] = ws.untold[c] = 0.0
    forward_changes(dofs, h, zdd_before, zd, zdd, ws)
    for i in range(len(component)):
        c = component[i]
        if c >= 0:
            center = place(ws.A, ws.r, i, load3(dofs.mass_center, i))
            twice, crossed = body_energies(dofs, i, load6(ws.V, i), load6(ws.acc, i), center, ws)
            ws.kinetic[c] += 0.5 * twice
            ws.beyond[c] += h / 12.0 * crossed
            ws.potential[c] -= dofs.mass[i] * dot3(gravity, add3(center, way_of_origin(tables.origins, i, ws)))
            ws.exchange[c] += dofs.mass[i] * reach
    for k in range(len(tables.joint_forces.dof)):
        i, slot = tables.joint_forces.dof[k], tables.joint_forces.slot[k]
        c = component[i]
        if c >= 0:
            z, way, change = ws.z[i], ws.increment[i], zd[i] - zd_before[i]
            elastic = 0.5 * u[slot] * (z - u[slot + 2]) ** 2
            ws.potential[c] += elastic - u[slot + 3] * z
            ws.exchange[c] += abs(elastic)
            ws.worked[c] -= u[slot + 1] * (way * way / h + h / 12.0 * change * change)
    add_connectors(tables, u, ws)


@inner_kernel
def forward_changes(dofs, h, before, zd, zdd, ws):
    """ws.acc = velocities of all dofs at the changes of zdd over the step; accelerations are evaluated later.

    The increment of a rotation is the integral of its rate plus h^3/12 zd x zdd, which is taken off.
    """
    for row in range(len(before), len(ws.acc)):
        for k in range(6):
            ws.acc[row, k] = 0.0
    for i in range(len(before)):
        change = zdd[i] - before[i]
        if dofs.kind[i] == ROTATION:
            first = dofs.tip[i] - 2
            j, k = first + (i - first + 1) % 3, first + (i - first + 2) % 3
            change -= h * (zd[j] * zdd[k] - zd[k] * zdd[j])
        store6(ws.acc, i, add6(load6(ws.acc, dofs.parent[i]), scale6(change, load6(ws.S, i))))


@inner_kernel
def way_of_origin(origins, i, ws):
    """Where the origin of the part of dof ``i`` is, from where it was placed: zero but for parts that slide [m].

    Heights from there have no more digits to lose than the way that the part has travelled.
    """
    row = origins.row[i]
    k = -2 - row
    if k < 0:
        return (0.0, 0.0, 0.0)
    grid = origins.grid[k]
    x = -ws.r[row, 0] - grid * np.floor(origins.fixed[k, 0] / grid + 0.5)
    y = -ws.r[row, 1] - grid * np.floor(origins.fixed[k, 1] / grid + 0.5)
    return (x, y, -ws.r[row, 2] - grid * np.floor(origins.fixed[k, 2] / grid + 0.5))


@inner_kernel
def body_energies(dofs, i, V, W, center, ws):
    """V . M V and V . M W of the body of dof ``i``, motions V and W, its mass centre at ``center``."""
    v, w, turn, other = point_velocity(V, center), point_velocity(W, center), angular(V), angular(W)
    A, J = load33(ws.A, i), load33(dofs.inertia, i)
    own, own_other = transpose_times(A, turn), transpose_times(A, other)
    spin = (dot3(J[0], own), dot3(J[1], own), dot3(J[2], own))
    mass = dofs.mass[i]
    return mass * dot3(v, v) + dot3(own, spin), mass * dot3(v, w) + dot3(own_other, spin)


@inner_kernel
def transpose_times(A, v):
    """Product A^T v of a matrix (3, 3) and a vector (3,)."""
    return (
        A[0][0] * v[0] + A[1][0] * v[1] + A[2][0] * v[2],
        A[0][1] * v[0] + A[1][1] * v[1] + A[2][1] * v[2],
        A[0][2] * v[0] + A[1][2] * v[1] + A[2][2] * v[2],
    )


def counting(name, verbs, rest):
    """Return a kernel that adds energies of one kind, marks components with uncounted work, and runs the rest."""
    table, energy = verbs.table, verbs.energy

    def every(tables, u, ws):
        connector = table(tables).connector
        for k in range(len(connector)):
            c = component_of(tables.balance.component, tables.connectors, connector[k])
            if c >= 0:
                elastic, load, untold = energy(tables, k, u, ws)
                ws.potential[c] += elastic + load
                ws.exchange[c] += abs(elastic)
                ws.untold[c] += untold

    act = named(name, every)

    def count(tables, u, ws):
        if len(table(tables).connector) > 0:
            act(tables, u, ws)
        rest(tables, u, ws)

    return count


@inner_kernel
def component_of(component, connectors, l):
    """Component of the lower end of connector ``l``, -1 when it keeps no balance."""
    end = max(connectors.a[l], connectors.b[l])
    return component[end] if end >= 0 else -1


add_wrenches = chain("count", counting, nothing)


@merged_kernel
def add_connectors(tables, u, ws):
    """Energies of forces between bodies, and which components a damper, a wrench or a law acts on."""
    add_wrenches(tables, u, ws)
    for o in range(len(tables.laws.row)):
        c = tables.balance.component[tables.laws.row[o]]
        if c >= 0:
            ws.untold[c] += 1.0
