"""Entry kernels of the native library: a step, following inputs, and outputs, each on an ``Instance``.

They take one address, and call the kernels that a Simulation calls. So the native library and Python give the same
bytes.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.export.signal_kernels import DRIVER_JUMPED, JUMPED, NO_JUMP, mean_inputs, values_at
from rtmbs.forces.bushings import BUSHINGS
from rtmbs.forces.springs import SPRINGS
from rtmbs.forces.wrenches import WRENCHES
from rtmbs.integrators.settings import Chunk, StateArrays
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.numerics.spatial import cross3, load3, load6, place, scale6, sub3
from rtmbs.results.sample_kernels import balance_bodies, connector_wrenches, read_instant
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.force_kernels import evaluate_laws, spring_energy
from rtmbs.semirecursive.input_jump import begun_of, follow_exactly, follow_inputs
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.machine_code import NOT_CONVERGED, NOT_FINITE, NOT_FOLLOWED, SMALL_PIVOT, accepted
from rtmbs.semirecursive.newton_restarts import retry
from rtmbs.semirecursive.passes import (
    commit_rotations,
    forward_positions,
    forward_velocities,
    gravity_energy,
    inverse_dynamics,
    kinetic_energy,
    place_inertias,
)
from rtmbs.semirecursive.step import march, take_changed_step

HALF_TURN, DRIVER_JUMP = 9, 12  # further exit codes, behind those of ``semirecursive.machine_code``
# Kinds of numbers that ``picked`` returns.
ENERGY, MISSED, SPRING, GIVEN, BUSHING, LAW_FORCE, INPUT, JOINT_FORCE, MULTIPLIER, LAW_STATE, LAW_WRENCH = range(11)
NO_LIMIT = 2**62  # ticks of a kernel call

measure_spring, measure_given, measure_bushing = SPRINGS.measure, WRENCHES.measure, BUSHINGS.measure


@inner_kernel
def present(it):
    """Return the present state."""
    return StateArrays(it.z, it.zd, it.zdd, it.lam, it.R0, it.energy, it.s, it.sd)


@inner_kernel
def seen(it):
    """Return the present state with accelerations and multipliers of the inputs now."""
    return StateArrays(it.z, it.zd, it.seen_zdd, it.seen_lam, it.R0, it.energy, it.s, it.seen_sd)


@inner_kernel
def next_row(it):
    """Return the row that a step writes."""
    return Chunk(
        it.next_z, it.next_zd, it.next_zdd, it.next_lam, it.next_R0, it.next_energy, it.next_u, it.stats, it.next_s,
        it.next_sd,
    )  # fmt: skip


@kernel
def take_step(it):
    """Take a step from the present state into the next row, and go on from there; returns how it ended.

    ``it.clock`` are the times at its ends. Across a jump of a function of time a step takes mean inputs, and its
    accelerations are solved anew (METHODS 1.27). A step that fails leaves the present state as it was.
    """
    jumped = inputs_at_end(it)
    if jumped == DRIVER_JUMPED:
        return DRIVER_JUMP
    bad = 0
    for i in range(len(it.u)):
        bad += 0 if abs(it.next_u[0, i]) <= BEYOND else 1
    if bad > 0:
        return NOT_FINITE
    old, row = present(it), next_row(it)
    if len(it.turns) > 0:
        note_turns(it, old.R0, old.z, it.u, it.turns)
    if inputs_changed(it):
        ending = take_changed_step(
            it.tables, it.lu, it.work, it.settings, it.alpha, it.u, it.begun_u, old, row, it.ws, NO_LIMIT
        )
        if ending == NOT_FOLLOWED:
            return ending
        old = begun_of(old, it.ws)
    else:
        ending, _ = march(
            it.tables, it.lu, it.work, it.settings, it.alpha, old, row, it.ws, NO_LIMIT, it.u, it.begun_u, False
        )
    if may_retry(ending, it.settings):
        ending = retry(it.tables, it.lu, it.work, it.settings, it.alpha, old, row, it.ws)
    if accepted(ending) and len(it.turns) > 0 and half_turn(it):
        return HALF_TURN
    if accepted(ending) and jumped == JUMPED and not follow_jump(it):
        return NOT_FOLLOWED
    if accepted(ending):
        go_on(it)
    return ending


@inner_kernel
def inputs_changed(it):
    """True when inputs are not those of the accelerations."""
    other = 0
    for i in range(len(it.u)):
        other += 0 if it.u[i] == it.begun_u[i] else 1
    return other > 0


@inner_kernel
def inputs_at_end(it):
    """Fill ``it.next_u`` with the inputs of the step, and ``it.after`` with those at its end.

    Returns NO_JUMP, JUMPED or DRIVER_JUMPED.
    """
    for i in range(len(it.u)):
        it.next_u[0, i] = it.target[i]
    signals = it.signals
    if len(signals.slot) == 0:
        return NO_JUMP
    values_at(signals, it.clock[1], signals.value)
    for k in range(len(signals.slot)):
        it.next_u[0, signals.slot[k]] = signals.value[k]
    for i in range(len(it.u)):
        it.after[i] = it.next_u[0, i]
    return mean_inputs(signals, it.clock[0], it.settings.h, it.u, it.next_u[0])


@inner_kernel
def follow_jump(it):
    """Let accelerations at the end of a step be those behind its jumps; False where none were found."""
    for i in range(len(it.u)):
        it.next_u[0, i] = it.after[i]
    state = StateArrays(
        it.next_z[0], it.next_zd[0], it.next_zdd[0], it.next_lam[0], it.next_R0[0], it.next_energy[0], it.next_s[0],
        it.next_sd[0],
    )  # fmt: skip
    return follow_inputs(it.tables, it.lu, it.work, it.settings, it.after, state, it.ws, True)


@inner_kernel
def may_retry(ending, settings):
    """True when further tries of a failed step may help, as ``compiled_steps.may_retry`` says."""
    if accepted(ending) or settings.tries == 0 or ending == SMALL_PIVOT:
        return False
    return not settings.fixed_iterations or ending == NOT_CONVERGED


@inner_kernel
def go_on(it):
    """Let the present state be the one that the step reached."""
    for i in range(len(it.z)):
        it.z[i], it.zd[i], it.zdd[i] = it.next_z[0, i], it.next_zd[0, i], it.next_zdd[0, i]
        it.energy[i, 0], it.energy[i, 1] = it.next_energy[0, i, 0], it.next_energy[0, i, 1]
    for row in range(len(it.lam)):
        it.lam[row] = it.next_lam[0, row]
    for k in range(len(it.R0)):
        for i in range(3):
            for j in range(3):
                it.R0[k, i, j] = it.next_R0[0, k, i, j]
    for i in range(len(it.s)):
        it.s[i], it.sd[i] = it.next_s[0, i], it.next_sd[0, i]
    for i in range(len(it.u)):
        it.u[i] = it.target[i] = it.begun_u[i] = it.next_u[0, i]


@inner_kernel
def note_turns(it, R0, z, u, turns):
    """turns (bushings, 3): rotation vectors of the bushings at a pose."""
    bushings = it.outputs.bushings
    forward_positions(it.tables, R0, z, it.ws)
    for i in range(len(it.ws.zd)):
        it.ws.zd[i] = 0.0
    forward_velocities(it.tables.dofs, it.ws.zd, it.ws)
    for k in range(len(turns)):
        measure_bushing(it.tables, k, u, it.ws, bushings[k])
        for c in range(3):
            turns[k, c] = bushings[k, 3 + c]


@inner_kernel
def half_turn(it):
    """True when a bushing with torques passes half a turn in the step: its rotation vector jumps."""
    bushings = it.outputs.bushings
    forward_positions(it.tables, it.next_R0[0], it.next_z[0], it.ws)
    forward_velocities(it.tables.dofs, it.next_zd[0], it.ws)
    for k in range(len(it.turns)):
        measure_bushing(it.tables, k, it.next_u[0], it.ws, bushings[k])
        jump = 0.0
        for c in range(3):
            jump += (bushings[k, 3 + c] - it.turns[k, c]) ** 2
        if it.turning[k] == 1 and np.sqrt(jump) > np.pi:
            return True
    return False


@kernel
def follow_present_inputs(it):
    """Solve for the accelerations and multipliers that are read; returns 0, or NOT_FOLLOWED."""
    found = follow_exactly(it.tables, it.lu, it.work, it.settings, it.u, seen(it), it.ws)
    return 0 if found else NOT_FOLLOWED


@kernel
def end_balances(it):
    """Let balances of energy begin anew: an input moves along a step."""
    for i in range(len(it.energy)):
        it.energy[i, 0], it.energy[i, 1] = 0.0, 0.0
    return 0


@kernel
def evaluate_loops(it):
    """Fill ``it.outputs.missed`` and ``it.ws.Phi_z`` at the present positions and rates; returns 0."""
    forward_positions(it.tables, it.R0, it.z, it.ws)
    forward_velocities(it.tables.dofs, it.zd, it.ws)
    evaluate_closures(it.tables, it.z, it.u, it.ws)
    closure_velocities(it.tables, it.zd, it.u, it.ws)
    for row in range(len(it.lam)):
        it.outputs.missed[0, row], it.outputs.missed[1, row] = it.ws.Phi[row], it.ws.Phid[row]
    return 0


@kernel
def take_signals(it):
    """Let inputs that are functions of time be those at the time ``it.clock[1]``; returns 0."""
    signals = it.signals
    values_at(signals, it.clock[1], signals.value)
    for k in range(len(signals.slot)):
        it.u[signals.slot[k]] = it.target[signals.slot[k]] = signals.value[k]
    return 0


@kernel
def commit_turns(it):
    """Let the reference rotations take in the turns of the present state; returns 0."""
    commit_rotations(it.tables.dofs, it.z, it.R0)
    return 0


# ---- outputs --------------------------------------------------------------------------------------------------------


@kernel
def read_outputs(it):
    """Fill ``it.outputs.values`` at the present state; returns 0."""
    out = it.outputs
    read_instant(it.tables, out.plan, out.points, seen(it), it.u, it.ws, out.values)
    if len(out.reactions) > 0 or len(out.picked) > 0:
        evaluate_present(it)
    if len(out.reactions) > 0 or asks_for(out.picked, LAW_WRENCH):
        connector_wrenches(it.tables, it.seen_lam, it.u, it.ws, out.wrenches[len(it.graph.dof) :])
    if len(out.reactions) > 0:
        balance_bodies(it.tables, it.graph, it.ws, out.wrenches)
    for k in range(len(out.reactions)):
        row, dof, ground, first = out.reactions[k, 0], out.reactions[k, 1], out.reactions[k, 2], out.reactions[k, 3]
        F = scale6(out.signs[k], load6(out.wrenches, row))
        if dof >= 0:
            x = place(it.ws.A, it.ws.r, dof, load3(out.ends, k))
        else:
            x = sub3(load3(out.ends, k), scale_ground(it.ws.r, ground))
        f = (F[0], F[1], F[2])
        moment = sub3((F[3], F[4], F[5]), cross3(x, f))
        out.values[first], out.values[first + 1], out.values[first + 2] = f
        out.values[first + 3], out.values[first + 4], out.values[first + 5] = moment
    for k in range(len(out.picked)):
        out.values[out.picked[k, 3]] = picked(it, out.picked[k, 0], out.picked[k, 1], out.picked[k, 2])
    return 0


@inner_kernel
def scale_ground(r, ground):
    """Return the origin that the row ``ground`` sees, (3,): minus its r."""
    return -r[ground, 0], -r[ground, 1], -r[ground, 2]


@inner_kernel
def evaluate_present(it):
    """Evaluate loops, laws, energies and force elements at the present state."""
    out = it.outputs
    evaluate_closures(it.tables, it.z, it.u, it.ws)
    closure_velocities(it.tables, it.zd, it.u, it.ws)
    closure_accelerations(it.tables, it.zd, it.seen_zdd, it.u, it.ws)
    for row in range(len(it.lam)):
        out.missed[0, row], out.missed[1, row], out.missed[2, row] = it.ws.Phi[row], it.ws.Phid[row], it.ws.Phidd[row]
    if len(it.ws.s) > 0:
        hold_states(it.s, it.ws)
    if len(it.ws.law_output) > 0:
        evaluate_laws(it.tables, it.z, it.zd, it.u, it.ws)
    for k in range(len(out.law_forces)):
        out.law_forces[k] = it.ws.law_force[k]
    for k in range(len(out.springs)):
        measure_spring(it.tables, k, it.u, it.ws, out.springs[k])
    for k in range(len(out.given)):
        measure_given(it.tables, k, it.u, it.ws, out.given[k])
    for k in range(len(out.bushings)):
        measure_bushing(it.tables, k, it.u, it.ws, out.bushings[k])
    place_inertias(it.tables.dofs, it.ws)
    inverse_dynamics(it.tables.dofs, it.ws)
    out.energies[0] = kinetic_energy(it.ws)
    out.energies[1] = gravity_energy(it.tables, it.ws, it.u)
    out.energies[2] = spring_energy(it.tables, it.z, it.u, it.ws)


@inner_kernel
def picked(it, kind, row, column):
    """Return one number of the evaluated state."""
    out = it.outputs
    if kind == ENERGY:
        return out.energies[row] if row < 3 else out.energies[0] + out.energies[1] + out.energies[2]
    if kind == MISSED:
        return out.missed[column, row]
    if kind == SPRING:
        return out.springs[row, column]
    if kind == GIVEN:
        return out.given[row, column]
    if kind == BUSHING:
        return out.bushings[row, column]
    if kind == LAW_FORCE:
        return out.law_forces[row]
    if kind == JOINT_FORCE:
        forces = it.tables.joint_forces
        dof, slot = forces.dof[row], forces.slot[row]
        push = it.u[slot + 3] - it.u[slot] * (it.z[dof] - it.u[slot + 2])
        return push - it.u[slot + 1] * it.zd[dof]
    if kind == MULTIPLIER:
        return -it.seen_lam[row]
    if kind == LAW_STATE:
        return it.s[row]
    if kind == LAW_WRENCH:
        return law_wrench(it, row, column)
    return it.u[row]


@inner_kernel
def asks_for(picked, kind):
    """True when one of the rows of ``picked`` is of a kind."""
    found = 0
    for k in range(len(picked)):
        found += 1 if picked[k, 0] == kind else 0
    return found > 0


@inner_kernel
def law_wrench(it, row, column):
    """Return one number of what a force law does to body b at b's marker: force, then torque, world axes."""
    laws = it.tables.laws
    connector = laws.connector[row]
    F, body = load6(it.outputs.wrenches, len(it.graph.dof) + connector), it.tables.connectors.b[connector]
    if column < 3:
        return F[column]
    frame = laws.frame_b
    x = place(it.ws.A, it.ws.r, body, (frame[row, 0, 3], frame[row, 1, 3], frame[row, 2, 3]))
    moment = sub3((F[3], F[4], F[5]), cross3(x, (F[0], F[1], F[2])))
    return moment[column - 3]


ENTRIES = {
    "rtmbs_kernel_step": take_step,
    "rtmbs_kernel_follow": follow_present_inputs,
    "rtmbs_kernel_end_balances": end_balances,
    "rtmbs_kernel_loops": evaluate_loops,
    "rtmbs_kernel_outputs": read_outputs,
    "rtmbs_kernel_signals": take_signals,
    "rtmbs_kernel_commit": commit_turns,
}
