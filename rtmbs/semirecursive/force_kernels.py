"""Compiled forces and force laws of the user: their share of Q, and their local stiffness and damping in the tangent.

A connector carries a wrench F on dof b and -F on dof a, so Q_j = sign_j S_j . F on its branch. The derivative of Q_j
by z_i has two parts: S_j turns with dof i when i lies above j, or in its element (S_j . (S_i x* F) with a minus sign),
and F itself changes. F changes with the displacement twist S_i of its end and, through the velocities, with
S_i x V_end + psid_i (METHODS 1.26). Both parts stay on the branch, because every element is invariant under a common
rigid motion or hangs on ground.

Kernels cannot choose by a Python object, so what goes through all kinds of force is composed when this room is loaded:
``chain`` makes one kernel out of the register. It calls a kernel for each kind that the mechanism has, with the loop
over the elements of that kind.

Recorded laws run as compiled programs. Others are called in Python before the kernels run, with central differences,
and write to the same arrays (``law_wrench``, ``law_local``, ``law_force``, ``law_entry``). A law between two frames
acts through a connector as a spring does. Its wrench depends on r, R, v, w of b relative to a in axes of a, so a common
rigid motion changes nothing but directions. Its derivative by these twelve numbers (``law_local``, a turn d of R as
(d x) R) is all that the tangent asks for.
"""

from typing import Any

import numpy as np
from numpy import uint64 as at
from numpy.typing import NDArray

from rtmbs.ad.simd_programs import evaluate_rest
from rtmbs.forces.frames import relative_change, relative_motion, world_variation, world_wrench
from rtmbs.forces.kind import ForceKernels
from rtmbs.forces.register import KINDS
from rtmbs.jit.compiled import inner_kernel, kernel, lazy_kernel, merged_kernel
from rtmbs.numerics.spatial import add6, combine6, cross_force, cross_motion, dot3, dot6, load6, scale6
from rtmbs.semirecursive.contact_sets import apply_sets, evaluate_sets
from rtmbs.semirecursive.law_states import (
    evaluate_recorded,
    follow_inputs,
    followed,
    moved,
    moves,
    settle_states,
    take_correction,
)
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.system.system import CalledLaw, System
from rtmbs.system.tables import FRAME_INPUTS, ROTATION, Tables


@lazy_kernel
def evaluate_laws(tables, z, zd, u, ws):
    """Fill wrenches and generalised forces of the recorded laws, at the evaluated state; for some.

    Their derivatives are filled by ``take_slopes``, where a tangent asks for them: a step asks once, and evaluates
    forces twice. ws.law_left (2,) is 1 until then, and h/2 of the states.

    The program takes real numbers. In complex arithmetic the imaginary parts follow by the derivatives it gives, which
    is what a complex step is about.
    """
    laws, inputs = tables.laws, set_inputs(tables, z, zd, u, ws)
    if len(ws.state_change) == 0:
        evaluate_recorded(laws, inputs, ws)
    else:
        settle_states(laws, inputs, True, ws)
    take_forces(laws, ws)
    ws.law_left[0], ws.law_left[1] = 1.0, ws.state_half[0]
    if len(ws.state_change) > 0 and ws.state_half[0] != 0.0:
        for b in range(len(laws.state_block)):
            correct_forces(laws, laws.state_block[b], ws)
    imaginary = 0
    for i in range(len(ws.law_input)):  # of real numbers the compiler knows that there are none
        imaginary += 1 if ws.law_input[i].imag != 0.0 else 0
    if imaginary > 0:
        fill_slopes(laws, ws)


@lazy_kernel
def take_slopes(tables, ws):
    """Fill the derivatives of the recorded laws where ``evaluate_laws`` last was, if they are not."""
    if ws.law_left[0] != 0.0:
        fill_slopes(tables.laws, ws)


@inner_kernel
def fill_slopes(laws, ws):
    """Fill the derivatives of wrenches and generalised forces, and imaginary parts of these."""
    ws.law_left[0] = 0.0
    if len(laws.lanes.lanes) > 0:
        evaluate_rest(laws.lanes, ws.law_lanes, ws.law_output)
    take_wrench_slopes(laws, ws)
    take_force_slopes(laws, ws)
    if len(ws.state_change) > 0:
        count = len(laws.force_entry)
        for e in range(count + laws.state_block[0, 8], count):  # of states that are held: nothing
            ws.law_entry[e] = 0.0
        if ws.law_left[1] != 0.0:
            for b in range(len(laws.state_block)):
                let_states_follow(laws, laws.state_block[b], ws)


@inner_kernel
def set_inputs(tables, z, zd, u, ws):
    """Write kinematics and parameters of the recorded laws; returns the number of kinematic inputs."""
    laws = tables.laws
    counts = laws.counts
    for k in range(counts[0]):
        set_kinematics(tables, k, ws)
    inputs = FRAME_INPUTS * counts[0]
    for i in range(counts[2]):
        dof = laws.input[i, 0]
        ws.law_input[inputs + i] = zd[dof] if laws.input[i, 1] == 1 else z[dof]
    inputs += counts[2]
    for i in range(inputs):
        ws.law_number[i] = ws.law_input[i].real
    for i in range(len(laws.slot)):
        ws.law_parameter[i] = u[laws.slot[i]].real
    return inputs


@lazy_kernel
def end_states(tables, z, zd, u, ws):
    """Find the states of force laws at the end of a step, and their rates; forces are not asked for."""
    laws = tables.laws
    if len(tables.sets.dof) > 0:
        evaluate_sets(tables, u, ws)
    if len(ws.state_change) == 0:
        return
    settle_states(laws, set_inputs(tables, z, zd, u, ws), False, ws)
    if ws.state_half[0] != 0.0:
        for b in range(len(laws.state_block)):
            take_correction(laws.state_block[b], ws)


@kernel
def reevaluate_laws(tables, z, zd, u, ws):
    """``evaluate_laws`` for callers in Python, derivatives with them, and contact sets."""
    if len(tables.sets.dof) > 0:
        evaluate_sets(tables, u, ws)
    if len(ws.law_output) > 0:
        evaluate_laws(tables, z, zd, u, ws)
        take_slopes(tables, ws)


@inner_kernel
def take_forces(laws, ws):
    """Read wrenches and generalised forces from the program's outputs."""
    wrenches = laws.counts[0]
    for k in range(wrenches):
        for row in range(6):
            ws.law_wrench[at(k), at(row)] = ws.law_output[at(6 * k + row)]
    for o in range(laws.counts[1]):
        ws.law_force[at(o)] = ws.law_output[at(6 * wrenches + o)]


@inner_kernel
def take_wrench_slopes(laws, ws):
    """Read the derivatives of wrenches from the program's outputs."""
    wrenches = laws.counts[0]
    for k in range(wrenches):
        for row in range(6):
            for column in range(12):
                ws.law_local[at(k), at(row), at(column)] = 0.0
    first = 6 * wrenches + laws.counts[1]
    for e in range(len(laws.wrench_entry)):
        k, row = laws.wrench_entry[at(e), at(0)], laws.wrench_entry[at(e), at(1)]
        column, entry = laws.wrench_entry[at(e), at(2)], ws.law_output[at(first + e)]
        place = FRAME_INPUTS * k + column
        if ws.law_input[place].imag != 0.0:  # of real numbers the compiler knows that it is zero
            ws.law_wrench[k, row] += entry * (ws.law_input[place] - ws.law_number[place])
        add_local(ws.law_local, k, row, column, entry, ws.law_number, FRAME_INPUTS * k)


@inner_kernel
def add_local(local, k, row, column, entry, x, first):
    """Add a derivative by one of the 18 inputs to those by the twelve; R + d x R for the turn d."""
    if column < 3:
        local[at(k), at(row), at(column)] += entry
    elif column < 12:
        i, j = (column - 3) // 3, (column - 3) % 3
        after, before = (i + 1) % 3, (i + 2) % 3
        local[at(k), at(row), at(3 + after)] += entry * x[at(first + 3 + 3 * before + j)]
        local[at(k), at(row), at(3 + before)] -= entry * x[at(first + 3 + 3 * after + j)]
    else:
        local[at(k), at(row), at(column - 6)] += entry


@inner_kernel
def take_force_slopes(laws, ws):
    """Read the derivatives of generalised forces from the program's outputs."""
    counts = laws.counts
    first, inputs = 6 * counts[0] + counts[1] + len(laws.wrench_entry), FRAME_INPUTS * counts[0]
    for e in range(counts[3]):
        entry = ws.law_output[first + e]
        ws.law_entry[e] = entry
        place = inputs + laws.force_entry[e, 1]
        if ws.law_input[place].imag != 0.0:
            ws.law_force[laws.force_entry[e, 0]] += entry * (ws.law_input[place] - ws.law_number[place])


@inner_kernel
def correct_forces(laws, block, ws):
    """Take the last correction of the states of one law, and add to its force what that does."""
    take_correction(block, ws)
    if block[7] >= 0:
        for row in range(6):
            ws.law_wrench[block[7], row] += moved(block, row, ws)  # no number where no states were found
        return
    force = block[2] - 6 * laws.counts[0]
    for row in range(block[3]):
        ws.law_force[force + row] += moved(block, row, ws)


@inner_kernel
def let_states_follow(laws, block, ws):
    """Add to the derivative of one law what its states do that follow its kinematics."""
    first = block[4]
    if block[7] >= 0 and not moves(block, ws):  # an open contact
        return
    follow_inputs(block, ws.law_left[1], ws)
    if block[7] >= 0:
        let_wrench_follow(block, ws)
        return
    force, inputs = block[2] - 6 * laws.counts[0], FRAME_INPUTS * laws.counts[0]
    last = len(laws.force_entry) + block[8] + block[9]
    for e in range(last - block[9], last):
        o, place = laws.force_entry[e, 0], inputs + laws.force_entry[e, 1]
        entry = followed(block, o - force, place - first, ws)
        ws.law_entry[e] = entry
        if ws.law_input[place].imag != 0.0:
            ws.law_force[o] += entry * (ws.law_input[place] - ws.law_number[place])


@inner_kernel
def let_wrench_follow(block, ws):
    """The same for a law between two frames, whose ds/dx is in ws.state_right."""
    first, k = block[4], block[7]
    for row in range(6):
        for column in range(FRAME_INPUTS):
            place = first + column
            if ws.law_input[place].imag != 0.0:
                imaginary = ws.law_input[place] - ws.law_number[place]
                ws.law_wrench[k, row] += followed(block, row, column, ws) * imaginary
    for c in range(block[1]):
        take_turn(ws.state_right, c, ws.law_number, first)
        for row in range(6):
            slope = ws.state_slope[at(block[6] + row * block[1] + c)]
            for j in range(12):
                ws.law_local[at(k), at(row), at(j)] += slope * ws.state_right[at(c), at(j)]


@inner_kernel
def take_turn(slopes, c, x, first):
    """Row ``c`` of slopes by the 18 inputs becomes that by r, a turn d of R as (d x) R, v and w; see ``add_local``."""
    t0 = t1 = t2 = 0.0
    for j in range(3):
        s0, s1, s2 = slopes[at(c), at(3 + j)], slopes[at(c), at(6 + j)], slopes[at(c), at(9 + j)]
        x0, x1, x2 = x[at(first + 3 + j)], x[at(first + 6 + j)], x[at(first + 9 + j)]
        t0 += s2 * x1 - s1 * x2
        t1 += s0 * x2 - s2 * x0
        t2 += s1 * x0 - s0 * x1
    slopes[c, 3], slopes[c, 4], slopes[c, 5] = t0, t1, t2
    for j in range(6, 12):
        slopes[c, j] = slopes[c, j + 6]


@kernel
def set_kinematics(tables, k, ws):
    """Write r, R, v, w of law ``k`` between two frames, at the evaluated state."""
    r, R, v, w = relative_motion(tables.laws, k, tables.connectors, ws)
    first = FRAME_INPUTS * k
    for c in range(3):
        ws.law_input[first + c], ws.law_input[first + 12 + c], ws.law_input[first + 15 + c] = r[c], v[c], w[c]
        for j in range(3):
            ws.law_input[first + 3 + 3 * c + j] = R[j][c]


@merged_kernel
def table(tables):
    """Return the laws."""
    return tables.laws


@inner_kernel
def law_wrench(tables, k, u, ws):
    """Return the wrench of law ``k`` on dof b about the global origin."""
    W = load6(ws.law_wrench, k)
    return world_wrench(tables.laws, k, tables.connectors, (W[0], W[1], W[2]), (W[3], W[4], W[5]), ws)


@inner_kernel
def law_variation(tables, k, side, X, dV, u, ws):
    """Change of the wrench on b when the end ``side`` (-1: a, +1: b) moves by the twist X and its velocity by dV."""
    dr, turn, dv, dw = relative_change(tables.laws, k, tables.connectors, side, X, dV, ws)
    df, dn = local_change(ws.law_local, k, dr, turn, dv, dw)
    W = load6(ws.law_wrench, k)
    f, n = (W[0], W[1], W[2]), (W[3], W[4], W[5])
    return world_variation(tables.laws, k, tables.connectors, side, X, f, n, df, dn, ws)


@inner_kernel
def law_acts(tables, k, ws):
    """Return False where wrench and derivative of law ``k`` are zeros, as in an open contact."""
    for row in range(6):
        if ws.law_wrench[k, row] != 0.0:
            return True
    for row in range(6):
        for column in range(12):
            if ws.law_local[k, row, column] != 0.0:
                return True
    return False


@inner_kernel
def law_energy(tables, k, u, ws):
    """No energy, but uncounted work: a law that is zero now, as a contact that ends, may have worked."""
    return 0.0, 0.0, 1.0


@inner_kernel
def local_change(local, k, dr, turn, dv, dw):
    """Return the change of force and torque in axes of a."""
    return (
        local_row(local, k, 0, dr, turn, dv, dw),
        local_row(local, k, 1, dr, turn, dv, dw),
        local_row(local, k, 2, dr, turn, dv, dw),
    ), (
        local_row(local, k, 3, dr, turn, dv, dw),
        local_row(local, k, 4, dr, turn, dv, dw),
        local_row(local, k, 5, dr, turn, dv, dw),
    )


@inner_kernel
def local_row(local, k, row, dr, turn, dv, dw):
    """Return one row of the local derivative times (dr, turn, dv, dw)."""
    entries = local[k, row]
    total = dot3((entries[0], entries[1], entries[2]), dr) + dot3((entries[3], entries[4], entries[5]), turn)
    total += dot3((entries[6], entries[7], entries[8]), dv)
    return total + dot3((entries[9], entries[10], entries[11]), dw)


LAWS = ForceKernels(table, law_wrench, law_variation, law_energy, law_acts)


# ---- force laws that only Python can evaluate -----------------------------------------------------------------------


Array = NDArray[np.float64]
INCREMENT = 6e-6  # cube root of the rounding unit: the best of a central difference


def call_laws(system: System, tables: Tables, R0: Array, u: Array, ws: Workspace) -> None:
    """Evaluate every called law at ``ws.z``, ``ws.zd``; raises what a law raises."""
    if not system.called:
        return
    forward_positions(tables, R0, ws.z, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    for law in system.called:
        values = law.function(law_input(law, tables, ws), u[law.slot])
        if law.row >= 0:
            ws.law_wrench[law.row] = values
        else:
            ws.law_force[law.force : law.force + len(values)] = values


def differentiate_laws(system: System, tables: Tables, u: Array, ws: Workspace) -> None:
    """Take central differences of every called law at the state last given to ``call_laws``."""
    for law in system.called:
        x, p = law_input(law, tables, ws), u[law.slot]
        if law.row >= 0:
            ws.law_local[law.row] = wrench_differences(law, x, p, system.length)
        else:
            entries = np.stack(
                [difference(law, x, p, unit, max(abs(float(x @ unit)), 1.0)) for unit in np.eye(law.n)], axis=1
            )
            ws.law_entry[law.entry : law.entry + entries.size] = entries.ravel()


def law_input(law: CalledLaw, tables: Tables, ws: Workspace) -> Array:
    """Return the law's inputs at the evaluated state: r, R, v, w, or coordinates and rates."""
    if law.row >= 0:
        set_kinematics(tables, law.row, ws)
        return ws.law_input[FRAME_INPUTS * law.row : FRAME_INPUTS * (law.row + 1)].copy()
    laws = tables.laws
    mine = laws.input[laws.force_entry[law.entry : law.entry + law.n, 1]]
    return np.array([(ws.zd if rate else ws.z)[dof] for dof, rate in mine])


def wrench_differences(law: CalledLaw, x: Array, p: Array, length: float) -> Array:
    """Return the derivative (6, 12) of a wrench by r, a turn d of R as (d x) R, v and w."""
    along = np.zeros((12, FRAME_INPUTS))
    along[0:3, 0:3] = along[6:9, 12:15] = along[9:12, 15:18] = np.eye(3)
    for k in range(3):
        along[3 + k, 3:12] = np.cross(np.eye(3)[k], x[3:12].reshape(3, 3).T).T.ravel()
    sizes = np.repeat((length, 1.0, length, 1.0), 3)
    values = np.abs(np.concatenate((x[:3], np.zeros(3), x[12:])))
    columns = [difference(law, x, p, *one) for one in zip(along, np.maximum(sizes, values), strict=True)]
    return np.stack(columns, axis=1)


def difference(law: CalledLaw, x: Array, p: Array, dx: Array, size: float) -> Array:
    """Return the derivative of the law along ``dx`` by a step of the typical ``size``."""
    step = INCREMENT * size
    return (law.function(x + step * dx, p) - law.function(x - step * dx, p)) / (2.0 * step)


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
        j = at(connectors.dof[at(k)])
        ws.tau[j] -= connectors.sign[at(k)] * dot6(load6(ws.S, j), F)


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
        j, sign = at(connectors.dof[at(k)]), connectors.sign[at(k)]
        W = with_turn if dofs.tip[j] >= i and sign == connectors.sign[at(c)] else below
        values[at(connectors.entry[at(place_in_values)])] += sign * dot6(load6(ws.S, j), W)
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
    if len(ws.law_output) > 0:
        take_slopes(tables, ws)
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
