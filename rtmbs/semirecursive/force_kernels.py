"""Compiled force elements: their share of Q, and their local stiffness and damping in the tangent.

A connector carries a wrench F on dof b and -F on dof a, so Q_j = sign_j S_j . F on its branch. The derivative of Q_j
by z_i has two parts: S_j turns with dof i when i lies above j, or in its element (S_j . (S_i x* F) with a minus sign),
and F itself changes. F changes with the displacement twist S_i of its end and, through the velocities, with
S_i x V_end + psid_i (METHODS 1.26). Both parts stay on the branch, because every element is invariant under a common
rigid motion or hangs on ground.

Kernels cannot choose by a Python object, so what goes through all kinds of force is composed when this room is loaded:
``chain`` makes one kernel out of the register. It calls a kernel for each kind that the mechanism has, with the loop
over the elements of that kind.
"""

from typing import Any

from rtmbs.forces.register import KINDS
from rtmbs.jit.compiled import inner_kernel, kernel, lazy_kernel, merged_kernel
from rtmbs.numerics.spatial import add6, combine6, cross_force, cross_motion, dot6, load6, scale6
from rtmbs.semirecursive.contact_sets import apply_sets
from rtmbs.semirecursive.law_kernels import LAWS, evaluate_laws
from rtmbs.system.tables import ROTATION

ACTING = (*((kind.name, kind.kernels) for kind in KINDS), ("laws", LAWS))


def chain(what: str, one: Any, last: Any, kinds: Any = ACTING) -> Any:
    """Return the kernel that does the first kind and then all others: ``one(kernels, rest)``, ``last`` after them all.

    ``what`` names it among the kernels on disk.
    """
    if not kinds:
        return last
    (name, kernels), *others = kinds
    function = one(f"{what}_every_{name}", kernels, chain(what, one, last, tuple(others)))
    function.__qualname__ = f"{what}_{name}"
    return merged_kernel(function)


def named(name: str, function: Any) -> Any:
    """Return a lazy kernel by its name on disk: few mechanisms have a force of its kind."""
    function.__qualname__ = name
    return lazy_kernel(function)


@merged_kernel
def nothing(tables, u, ws):
    """End a chain."""


@merged_kernel
def always(tables, k, ws):
    """Return True: every element of a kind may count in the tangent."""
    return True


def applying(name, kernels, rest):
    """Return a kernel that takes the wrenches of one kind off tau, then the rest."""
    table, wrench = kernels.table, kernels.wrench

    def every(tables, u, ws):
        connector = table(tables).connector
        for k in range(len(connector)):
            apply_wrench(tables.connectors, connector[k], wrench(tables, k, u, ws), ws)

    act = named(name, every)

    def apply(tables, u, ws):
        if len(table(tables).connector) > 0:
            act(tables, u, ws)
        rest(tables, u, ws)

    return apply


def differentiating(name, kernels, rest):
    """Return a kernel that adds velocity C + position K of one kind, then of the rest."""
    table, wrench, variation, acts = kernels.table, kernels.wrench, kernels.variation, kernels.acts or always

    def every(tables, u, velocity, position, ws, values):
        connector, connectors = table(tables).connector, tables.connectors
        for k in range(len(connector)):
            if not acts(tables, k, ws):
                continue
            l = connector[k]
            F = wrench(tables, k, u, ws)
            for c in range(connectors.pointer[l], connectors.pointer[l + 1]):
                S, side = load6(ws.S, connectors.dof[c]), connectors.sign[c]
                X, dV = end_motion(tables.dofs, connectors, l, c, velocity, position, ws)
                dF = variation(tables, k, side, X, dV, u, ws)
                add_connector_column(tables.dofs, connectors, l, c, dF, scale6(position, cross_force(S, F)), ws, values)

    act = named(name, every)

    def differentiate(tables, u, velocity, position, ws, values):
        if len(table(tables).connector) > 0:
            act(tables, u, velocity, position, ws, values)
        rest(tables, u, velocity, position, ws, values)

    return differentiate


def summing(name, kernels, rest):
    """Return a kernel that adds the elastic energy of one kind to a total, then that of the rest."""
    table, energy = kernels.table, kernels.energy

    def total(tables, u, ws, sum_so_far):
        for k in range(len(table(tables).connector)):
            sum_so_far += energy(tables, k, u, ws)[0]
        return rest(tables, u, ws, sum_so_far)

    return total


@merged_kernel
def whole_sum(tables, u, ws, sum_so_far):
    """End the chain of sums."""
    return sum_so_far


@merged_kernel
def whole_tangent(tables, u, velocity, position, ws, values):
    """End the chain of tangents."""


@inner_kernel
def apply_wrench(connectors, l, F, ws):
    """tau_j -= sign_j S_j . F along the branch of connector ``l``."""
    for k in range(connectors.pointer[l], connectors.pointer[l + 1]):
        j = connectors.dof[k]
        ws.tau[j] -= connectors.sign[k] * dot6(load6(ws.S, j), F)


@inner_kernel
def end_motion(dofs, connectors, l, c, velocity, position, ws):
    """Twist and velocity change of the end that branch entry ``c`` moves.

    Twist position S, velocity change position (S x V_end + psid) + velocity S, of rotation dofs velocity S T^-1.
    """
    i = connectors.dof[c]
    end = connectors.a[l] if connectors.sign[c] < 0.0 else connectors.b[l]
    S = load6(ws.S, i)
    swept = add6(cross_motion(S, load6(ws.V, end)), load6(ws.psid, i))
    rate = load6(ws.rate, i) if dofs.kind[i] == ROTATION else S
    return scale6(position, S), combine6(position, swept, velocity, rate)


@inner_kernel
def add_connector_column(dofs, connectors, l, c, dF, turned, ws, values):
    """Column of branch entry ``c``: -sign_j S_j . dF in every row j, + sign_j S_j . turned where dof c turns j.

    It turns what lies below it, itself, and all of its element.
    """
    first, last, i = connectors.pointer[l], connectors.pointer[l + 1], connectors.dof[c]
    width = last - first
    place_in_values = connectors.block_pointer[l] + c - first
    below = scale6(-1.0, dF)
    with_turn = add6(below, turned)
    for k in range(first, last):
        j = connectors.dof[k]
        W = with_turn if dofs.tip[j] >= i and connectors.sign[k] == connectors.sign[c] else below
        values[connectors.entry[place_in_values]] += connectors.sign[k] * dot6(load6(ws.S, j), W)
        place_in_values += width


apply_wrenches = chain("apply", applying, nothing)
differentiate_wrenches = chain("differentiate", differentiating, whole_tangent)
elastic_sum = chain("elastic", summing, whole_sum)


@merged_kernel
def apply_forces(tables, z, zd, u, ws):
    """tau -= Q of every force element, at the evaluated positions and velocities."""
    joint_forces, laws = tables.joint_forces, tables.laws
    for k in range(len(joint_forces.dof)):
        i, slot = joint_forces.dof[k], joint_forces.slot[k]
        ws.tau[i] += u[slot] * (z[i] - u[slot + 2]) + u[slot + 1] * zd[i] - u[slot + 3]
    if len(ws.law_output) > 0:
        evaluate_laws(tables, z, zd, u, ws)
    apply_wrenches(tables, u, ws)
    if len(tables.sets.dof) > 0:
        apply_sets(tables, u, ws)
    for o in range(len(laws.row)):
        ws.tau[laws.row[o]] -= ws.law_force[o]


@merged_kernel
def add_force_tangent(tables, u, velocity, position, ws, values):
    """values += velocity C + position K of the force elements; ``psid`` as the rigid-body tangent left it."""
    joint_forces, laws = tables.joint_forces, tables.laws
    for k in range(len(joint_forces.dof)):
        slot = joint_forces.slot[k]
        values[joint_forces.entry[k]] += position * u[slot] + velocity * u[slot + 1]
    differentiate_wrenches(tables, u, velocity, position, ws, values)
    for e in range(len(laws.force_entry)):
        factor = velocity if laws.force_entry[e, 2] == 1 else position
        values[laws.force_entry[e, 3]] -= factor * ws.law_entry[e]


@kernel
def spring_energy(tables, z, u, ws):
    """Elastic energy of all forces that have one [J]."""
    total = 0.0 * ws.V[0, 0]
    for k in range(len(tables.joint_forces.dof)):
        i, slot = tables.joint_forces.dof[k], tables.joint_forces.slot[k]
        total += 0.5 * u[slot] * (z[i] - u[slot + 2]) ** 2
    return elastic_sum(tables, u, ws, total)
