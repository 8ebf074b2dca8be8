"""Inputs that change between two steps: forces jump, positions and rates stay (METHODS 1.8).

``follow_inputs`` solves for the accelerations and multipliers of the new inputs. The equations are those of
``equations.py``. They are solved from nothing, so that the answer does not depend on the inputs before. With A = M
+ Phi_z^T w Phi_z and multipliers lam + w Phidd after each correction, forces balance by algebra: only Phidd is left,
and each pass leaves 1 / (1 + c s) of Phidd. Passes end where what is left, by the share that they leave, is below the
rounding of the factor. That rounding leaves up to c 1e-16 of the forces times the ratio of masses: one more pass takes
the forces that are left over. Where loops hold a direction so softly that the passes are slow, ``equations.py``
solves instead.

A step needs less: it begins with the accelerations before the change, and its first Newton matrix answers the forces
that the change leaves over, ``answer_jump``. Where nothing but forces read the changed inputs, these are the difference
of two sums of forces at first. What the step before left over comes along with what the first answer leaves. It must be
answered too: the end of a step moves the rates by the local error of the rule, which dampers and turning bodies feel.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import uint64 as at
from numpy.typing import NDArray

from rtmbs.forces.register import KINDS
from rtmbs.integrators.settings import KEPT, OWN, Settings, StateArrays
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import coarse_kernel, entry_for, inner_kernel, merged_kernel
from rtmbs.numerics.linear.sparse_lu import factor, solve
from rtmbs.numerics.spatial import add6, scale6
from rtmbs.semirecursive.balance import component_of, hold_energies
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back
from rtmbs.semirecursive.closures import closure_accelerations, evaluate_closures
from rtmbs.semirecursive.evaluation import add_mass_metric, evaluate_forces, evaluate_motion
from rtmbs.semirecursive.force_kernels import apply_wrench, chain, named
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.passes import (
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
    mass_times,
    place_inertias,
)
from rtmbs.semirecursive.projection_kernels import in_range, keep_Phi_z, largest_rate
from rtmbs.system.tables import GRAVITY_SLOT

STIFFNESS = 1e6  # dimensionless weight c of the loops
PASSES = 6
SOFT = 1e-3  # of the pass before: what a pass may leave where loops hold every direction
FIRST = 0.1  # the same of the first pass, whose change is that of forces too
ANSWERS = 9  # to a jump at most
TWO = 1e-4  # of the largest answer to a jump in a coordinate: what others may be left to give behind two
LEFT = 2e-5  # the same behind more
SLOW = 0.35  # of the answer before: where answers are left, if those to come are not enough
NOTHING = 1e-9  # of the first answer, in any coordinate: rounding
LITTLE = 1e-5  # of the acceleration of a coordinate: what its answers may be left to give
FAINT = 1e-8  # of the first answer of all: what others may be left to give where a coordinate is not stiff
STIFF = 0.1  # of the answer before: more is left by a coordinate that is stiff
MILD = 1e-3  # share of applied forces in N: below it no coordinate is stiff
FEEBLE = 1e-6  # of the first answer of all: a second answer of that size is a last one where no coordinate is stiff
ENOUGH, GO_ON, TOO_SLOW = 0, 1, 2
OF_JOINT = 4  # input slots of a force on a joint coordinate
EXACT = 1e-10  # of the accelerations: what passes may leave of Phidd; the last one takes the rounding of forces


@coarse_kernel
def follow_inputs(tables, lu, work, settings, u, state, ws, push):
    """Let state.zdd, state.lam and state.sd be those of the inputs ``u`` at its positions and rates.

    With ``push`` balances of energy go on with the potentials of the inputs. Returns False, accelerations as they were,
    where a few passes are not enough or a number is out of range.
    """
    done = follow_exactly(tables, lu, work, settings, u, state, ws)
    if push and len(tables.balance.first) > 0 and len(state.energy) <= len(state.z):  # a history of momenta is none
        shift_energies(tables, u, state, ws)
    return done


@coarse_kernel
def answer_jump(tables, lu, work, settings, alpha, u, known, begun, ws):
    """Let begun.zdd, begun.sd and balances be those of the inputs ``u``, by the Newton matrix N; ws.dz goes along.

    They come as those of the inputs ``known``. Returns False, with begun as it comes, where that leaves too much.

    The forces r that ``u`` leaves over are answered by x = -N^-1 r. That leaves the share s = E / (1 + E) of r, with
    E = h/2 M^-1 C + h^2/4 M^-1 K and the way from here to the iterate. What is left is answered again. Two answers are
    enough where s is below 0.01: s^2 is left, order h^3 in the rates. Above that answers go on to LEFT of the largest.
    A stiff damper has E of one or more, and s near one: then accelerations are to be solved for. ws.dz goes by the
    first x, which is N^-1 M of all. Loops are those of N.

    Where nothing but forces change, the first r is Q(known) - Q(u), and the second holds all that is left.
    """
    q4 = 0.25 * settings.h * settings.h
    differs = only_forces_change(tables, u, known)
    if differs:
        take_difference(tables, u, known, begun, ws)
    else:
        take_left_over(tables, u, begun, ws)
    first = 0.0
    for answers in range(ANSWERS):
        for i in range(len(ws.jump)):
            ws.way[i] = ws.jump[i]
        solve(lu, work.factored, work, ws.way)
        for i in range(len(ws.way)):
            begun.zdd[i] += ws.way[i]
        if answers == 0:
            first = largest_rate(ws.way, settings.typical)
            for i in range(len(ws.dz)):
                ws.dz[i] += q4 * ws.way[i]
        going = answers_go_on(answers, first, settings.typical, begun, ws)
        if going != GO_ON:
            return going == ENOUGH
        if differs and answers == 0:
            leave_all_over(tables, alpha, q4, u, begun, ws)
        else:
            leave_over(tables, alpha, q4, ws)
    return False


@inner_kernel
def only_forces_change(tables, u, known):
    """Return True where ``u`` differs from ``known`` in parameters of forces only, those of recorded laws not counted.

    Not a number, which stands for inputs that are not known, differs from itself; and no force reads gravity.
    """
    changed, forces = differing(u, known, 0, len(u)), tables.joint_forces
    for k in range(len(forces.dof)):
        changed -= differing(u, known, forces.slot[k], OF_JOINT)
    return count_others(tables, u, known, changed) == 0


@inner_kernel
def differing(u, known, first, count):
    """Return how many of ``count`` inputs from ``first`` on differ."""
    found = 0
    for k in range(first, first + count):
        found += 0 if u[at(k)] == known[at(k)] else 1
    return found


@merged_kernel
def rest_of(tables, u, known, changed):
    """End the chain of counts."""
    return changed


def discounting(name, kind, rest):
    """Return a kernel that takes the changed inputs of one kind of force off a count, then those of the rest."""
    table, size = kind.kernels.table, kind.size

    def count(tables, u, known, changed):
        slots = table(tables).slot
        for k in range(len(slots)):
            changed -= differing(u, known, slots[k], size)
        return rest(tables, u, known, changed)

    return count


def jumping(name, kind, rest):
    """Return a kernel that adds what changed inputs do to forces and potentials of one kind, then of the rest."""
    table, wrench, energy, size = kind.kernels.table, kind.kernels.wrench, kind.kernels.energy, kind.size

    def every(tables, u, known, ws):
        rows = table(tables)
        for k in range(len(rows.connector)):
            if differing(u, known, rows.slot[k], size) > 0:
                l = rows.connector[k]
                apply_wrench(
                    tables.connectors, l, add6(wrench(tables, k, u, ws), scale6(-1.0, wrench(tables, k, known, ws))), ws
                )
                c = component_of(tables.balance.component, tables.connectors, l)
                if c >= 0:
                    now, before = energy(tables, k, u, ws), energy(tables, k, known, ws)
                    ws.potential[c] += (now[0] + now[1]) - (before[0] + before[1])

    act = named(name, every)

    def jump(tables, u, known, ws):
        if len(table(tables).connector) > 0:
            act(tables, u, known, ws)
        rest(tables, u, known, ws)

    return jump


@merged_kernel
def no_more(tables, u, known, ws):
    """End the chain of jumps."""


BETWEEN = tuple((kind.name, kind) for kind in KINDS)
count_others = chain("discount", discounting, rest_of, BETWEEN)
jump_others = chain("jump", jumping, no_more, BETWEEN)


@inner_kernel
def take_difference(tables, u, known, begun, ws):
    """Let ws.jump be the forces of ``u`` less those of ``known``, and let balances go on with their potentials."""
    for i in range(len(ws.zd)):
        ws.z[i], ws.zd[i], ws.tau[i] = begun.z[i], begun.zd[i], 0.0
    forward_positions(tables, begun.R0, ws.z, ws)
    place_inertias(tables.dofs, ws)
    evaluate_closures(tables, ws.z, u, ws)
    if len(tables.connectors.a) > len(tables.closures.connector):  # a force between bodies
        forward_velocities(tables.dofs, ws.zd, ws)
    component, forces = tables.balance.component, tables.joint_forces
    for k in range(len(tables.balance.first)):
        ws.potential[tables.balance.first[k]] = 0.0
    for k in range(len(forces.dof)):
        i, slot = forces.dof[k], forces.slot[k]
        if differing(u, known, slot, OF_JOINT) > 0:
            ws.tau[i] += joint_load(u, slot, ws.z[i], ws.zd[i]) - joint_load(known, slot, ws.z[i], ws.zd[i])
            if component[i] >= 0:
                potential = joint_potential(u, slot, ws.z[i]) - joint_potential(known, slot, ws.z[i])
                ws.potential[component[i]] += potential
    jump_others(tables, u, known, ws)
    for i in range(len(ws.jump)):
        ws.jump[i] = -ws.tau[i]
    bad = 0
    for k in range(len(tables.balance.first)):
        bad += 0 if np.isfinite(ws.potential[tables.balance.first[k]]) else 1
    for k in range(len(tables.balance.first)):
        c = tables.balance.first[k]
        if bad == 0 and (begun.energy[c, KEPT] != 0.0 or begun.energy[c, OWN] != 0.0):
            begun.energy[c, KEPT] += ws.potential[c]
            begun.energy[c, OWN] += ws.potential[c]


@inner_kernel
def joint_load(u, slot, z, zd):
    """Return -Q of the force on a joint coordinate."""
    return u[slot] * (z - u[slot + 2]) + u[slot + 1] * zd - u[slot + 3]


@inner_kernel
def joint_potential(u, slot, z):
    """Return the elastic energy of the force on a joint coordinate, and the potential of its load."""
    return 0.5 * u[slot] * (z - u[slot + 2]) ** 2 - u[slot + 3] * z


@inner_kernel
def take_left_over(tables, u, begun, ws):
    """Let ws.jump be all forces that ``u`` leaves over, and begun.sd and balances those of ``u``."""
    evaluate_at(tables, u, begun, begun.zdd, ws)
    for i in range(len(ws.jump)):
        ws.jump[i] = -ws.tau[i]
    pull_back(tables, ws, begun.lam, -1.0, ws.jump)
    for i in range(len(begun.sd)):
        begun.sd[i] = ws.state_rate[i]
    if len(tables.balance.first) > 0:
        shift_energies(tables, u, begun, ws)


@inner_kernel
def answers_go_on(answers, first, typical, begun, ws):
    """Return ENOUGH, GO_ON or TOO_SLOW by the answers ws.way of every coordinate, and keep their sizes.

    A stiff damper in one coordinate may stand beside a jump that is far larger in others, so each is looked at by
    itself. ws.answered (n, 2) holds the largest answer of each so far, and the one before. A coordinate that the jump
    reaches through others only may be left with more of its own small answer, where answers fall quickly. Its second
    answer comes from the first ones of others, so the two tell no ratio. Where no coordinate is stiff the ratio is that
    of all, and a feeble answer is the last one. What it gets from others comes and goes: a wheel that is not driven
    answers half of the one before, then a quarter, and so on. So a slow answer ends the search only where the rest of
    ANSWERS would not be enough at its pace.
    """
    going = ENOUGH if answers > 0 else GO_ON
    feeble = FEEBLE * first if ws.stiff[0] <= MILD else 0.0
    for place in range(len(ws.way)):
        i = at(place)
        size = abs(ws.way[i]) / typical[i]
        if answers == 0:
            ws.answered[i, at(0)], ws.answered[i, at(1)] = size, size
            continue
        largest, before = ws.answered[i, at(0)], ws.answered[i, at(1)]
        ws.answered[i, at(0)], ws.answered[i, at(1)] = max(largest, size), size
        if size <= max(feeble, NOTHING * first + LITTLE * abs(begun.zdd[i]) / typical[i]):
            continue
        share = TWO if answers == 1 else LEFT
        faint = FAINT * first if size <= STIFF * before else 0.0
        if not size * size <= (share * largest + faint) * (before - size):
            if answers > 2 and not size <= SLOW * before:
                little = LITTLE * abs(begun.zdd[i]) / typical[i]
                if not falls_in_time(answers, size, before, max(little, LEFT * largest)):
                    return TOO_SLOW
            going = GO_ON
    return going


@inner_kernel
def falls_in_time(answers, size, before, wanted):
    """Return whether answers that go on to fall as from ``before`` to ``size`` come down to ``wanted`` in time."""
    ratio = size / before
    for _ in range(answers + 1, ANSWERS):
        size *= ratio
    return ratio < 1.0 and size <= wanted


@inner_kernel
def leave_over(tables, alpha, q4, ws):
    """Take from the forces ws.jump the ones that the accelerations ws.way answer: masses, and loops as of N."""
    pull_of_loops(tables, alpha, q4, ws)
    mass_times(tables.dofs, ws.way, ws, ws.base)
    for i in range(len(ws.jump)):
        ws.jump[i] -= ws.base[i]
    pull_back(tables, ws, ws.impulse, -1.0, ws.jump)


@inner_kernel
def leave_all_over(tables, alpha, q4, u, begun, ws):
    """Let ws.jump be all forces that ``u`` and begun.zdd leave over, ws.way among them, and begun.sd that of ``u``.

    Positions, inertias and loops of the start are evaluated.
    """
    for i in range(len(ws.zdd)):
        ws.zdd[i] = begun.zdd[i]
    hold_states(begun.s, ws)
    evaluate_motion(tables, u, ws)
    for i in range(len(begun.sd)):
        begun.sd[i] = ws.state_rate[i]
    pull_of_loops(tables, alpha, q4, ws)
    for row in range(len(alpha)):
        ws.impulse[row] += begun.lam[row]
    for i in range(len(ws.jump)):
        ws.jump[i] = -ws.tau[i]
    pull_back(tables, ws, ws.impulse, -1.0, ws.jump)


@inner_kernel
def pull_of_loops(tables, alpha, q4, ws):
    """Let ws.impulse be the multipliers that the loops of N answer to the accelerations ws.way."""
    apply_through(tables, ws.Phi_z_factored, ws.way, ws.impulse)
    for row in range(len(alpha)):
        ws.impulse[row] *= q4 * alpha[row]


@inner_kernel
def begun_of(old, ws):
    """Return ``old`` with memory of ``ws`` for what a change of inputs moves."""
    return StateArrays(old.z, old.zd, ws.begun_zdd, ws.begun_lam, old.R0, ws.begun_energy, old.s, ws.begun_sd)


@inner_kernel
def keep_start(old, begun):
    """Copy what a change of inputs moves."""
    for i in range(len(old.zdd)):
        begun.zdd[i] = old.zdd[i]
    for i in range(len(old.energy)):
        begun.energy[i, 0], begun.energy[i, 1] = old.energy[i, 0], old.energy[i, 1]
    for row in range(len(old.lam)):
        begun.lam[row] = old.lam[row]
    for i in range(len(old.sd)):
        begun.sd[i] = old.sd[i]


@inner_kernel
def follow_exactly(tables, lu, work, settings, u, state, ws):
    """Solve for accelerations and multipliers from nothing; False where a few passes are not enough."""
    for i in range(len(ws.way)):
        ws.way[i] = 0.0
    evaluate_at(tables, u, state, ws.way, ws)
    for i in range(len(ws.zd)):
        ws.base[i], ws.residual[i] = 0.0, ws.tau[i]
    for row in range(len(state.lam)):
        ws.lam_base[row], ws.lam_way[row] = 0.0, STIFFNESS * settings.mass[row]
    closure_accelerations(tables, state.zd, ws.zdd, u, ws)
    add_mass_metric(tables, 1.0, ws.lam_way, ws, work.factored)
    keep_Phi_z(ws)
    for i in range(len(ws.way)):
        ws.way[i] = ws.tau[i]
    size = reach(tables, settings, u, state)
    if factor(lu, work.factored, work) != 0 or not passes_end(tables, lu, work, settings, size, ws):
        return False
    if len(state.lam) > 0:
        balance_forces(tables, u, state.zd, ws)
        correct_once(tables, lu, work, ws)
    if not (in_range(ws.base) and in_range(ws.lam_base)):
        return False
    for i in range(len(ws.zd)):
        state.zdd[i] = ws.base[i]
    for row in range(len(state.lam)):
        state.lam[row] = ws.lam_base[row]
    for i in range(len(state.sd)):
        state.sd[i] = ws.state_rate[i]
    return True


@inner_kernel
def evaluate_at(tables, u, state, accelerations, ws):
    """Evaluate the equations of motion at a state with the inputs ``u`` and these accelerations (n,)."""
    for i in range(len(ws.zd)):
        ws.z[i], ws.zd[i], ws.zdd[i] = state.z[i], state.zd[i], accelerations[i]
    hold_states(state.s, ws)
    evaluate_forces(tables, state.R0, u, ws)


@inner_kernel
def shift_energies(tables, u, state, ws):
    """Add what potentials changed by, at the evaluated state, to the balances that have begun."""
    energy, found, bad = state.energy, ws.found_energy, 0
    hold_energies(tables, u, 1.0, state.zd, ws.still, ws.no_energy, ws.zd, ws.still, found, ws)
    for i in range(len(energy)):
        bad += 0 if np.isfinite(found[i, OWN]) else 1
    for i in range(len(energy)):
        if bad == 0 and (energy[i, KEPT] != 0.0 or energy[i, OWN] != 0.0):
            shift = found[i, OWN] - energy[i, OWN]
            energy[i, KEPT] += shift
            energy[i, OWN] += shift


@inner_kernel
def reach(tables, settings, u, state):
    """Size of what accelerations are the sum of [1/s^2] besides forces: rates squared, gravity by the length."""
    rates = largest_rate(state.zd, settings.typical)
    weight = np.sqrt(u[GRAVITY_SLOT] ** 2 + u[GRAVITY_SLOT + 1] ** 2 + u[GRAVITY_SLOT + 2] ** 2)
    return rates * rates + weight / tables.balance.length[0]


@inner_kernel
def passes_end(tables, lu, work, settings, size, ws):
    """Correct ws.base and ws.lam_base, accelerations and multipliers, until Phidd = 0; False when that is slow.

    ws.residual is M zdd - Q at zdd = 0, which the first pass takes away.
    """
    previous = np.inf
    for k in range(PASSES):
        correct_once(tables, lu, work, ws)
        for i in range(len(ws.residual)):
            ws.residual[i] = 0.0
        change = largest_rate(ws.dz, settings.typical)
        if not (in_range(ws.base) and in_range(ws.lam_base)):
            return False
        share = 1.0 if k < 2 else max(change / previous, SOFT)  # of the change: what the passes to come may add
        if share * change <= EXACT * (size + largest_rate(ws.base, settings.typical)) or len(ws.lam_base) == 0:
            return True
        if k > 0 and change > (FIRST if k == 1 else SOFT) * previous:
            return False
        previous = max(change, size) if k == 0 else change  # forces may balance, and the first change be next to none
    return False


@inner_kernel
def correct_once(tables, lu, work, ws):
    """Correct ws.base and ws.lam_base by what is left: forces ws.residual and ws.Phidd; ws.dz is the change."""
    for row in range(len(ws.lam_base)):
        ws.impulse[row] = ws.lam_way[row] * ws.Phidd[row]
    for i in range(len(ws.dz)):
        ws.dz[i] = -ws.residual[i]
    pull_back(tables, ws, ws.impulse, -1.0, ws.dz)
    solve(lu, work.factored, work, ws.dz)
    apply_Phi_z(tables, ws, ws.dz, ws.impulse)
    for i in range(len(ws.dz)):
        ws.base[i] += ws.dz[i]
    for row in range(len(ws.lam_base)):
        ws.Phidd[row] += ws.impulse[row]
        ws.lam_base[row] += ws.lam_way[row] * ws.Phidd[row]


@inner_kernel
def balance_forces(tables, u, zd, ws):
    """Let ws.residual be M zdd - Q + Phi_z^T lam at ws.base and ws.lam_base; ws.way is M 0 - Q.

    M zdd is the difference of two recursions at the same rates, so no force law is asked again.
    """
    forward_accelerations(tables.dofs, zd, ws.still, u, ws)
    inverse_dynamics(tables.dofs, ws)
    for i in range(len(ws.residual)):
        ws.residual[i] = ws.way[i] - ws.tau[i]
    forward_accelerations(tables.dofs, zd, ws.base, u, ws)
    inverse_dynamics(tables.dofs, ws)
    for i in range(len(ws.residual)):
        ws.residual[i] += ws.tau[i]
    pull_back(tables, ws, ws.lam_base, 1.0, ws.residual)


# ---- call from Python -----------------------------------------------------------------------------------------------

Array = NDArray[np.float64]


class FollowKernel:
    """The machine code of ``follow_inputs``, loaded when inputs first change.

    Looking up the types of its arguments takes longer than a small mechanism does.
    """

    def __init__(self) -> None:
        self.entry: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {"entry": None}

    def __call__(
        self, tables: Any, lu: Any, work: Any, settings: Settings, u: Array, state: StateArrays, ws: Any, push: bool
    ) -> bool:
        """Let accelerations of ``state`` follow ``u``, and with ``push`` balances; False when accelerations did not."""
        arguments = (tables, lu, work, settings, u, state, ws, push)
        if self.entry is None:
            with announced():
                self.entry = entry_for(follow_inputs, arguments)
        return bool(self.entry(*arguments))
