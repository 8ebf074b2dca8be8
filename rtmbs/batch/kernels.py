"""Steps of many copies of one mechanism in one kernel call without the interpreter lock, by any step rule.

The copies are rows of arrays. Each call steps the copies that it is given, one after the other, each over all of its
steps. So the numbers of a copy stay in the caches, and copies never wait for each other. A copy whose step is not
accepted stops, and the caller takes that step by the methods of a single Simulation.
"""

from typing import Any, NamedTuple

from rtmbs.core.bounds import BEYOND
from rtmbs.integrators.settings import Chunk, ExplicitRule, StateArrays
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.results.sample_kernels import read_instant
from rtmbs.semirecursive.explicit_step import ExplicitScratch, follow_tree, step_tree
from rtmbs.semirecursive.input_jump import follow_inputs
from rtmbs.semirecursive.machine_code import NOT_FINITE, accepted
from rtmbs.semirecursive.midpoint_step import Scratch, march_midpoint
from rtmbs.semirecursive.step import march, startable, state_in_row, take_changed_step
from rtmbs.semirecursive.trbdf2_step import StageScratch, march_trbdf2

Array = Any  # numba types by value; the shapes and dtypes stand on the fields

RUNNING, BAD_INPUT, NOT_FOLLOWED, NOT_TAKEN, TIMED = range(5)  # why a copy stands where it is


@struct
class CopyStates(NamedTuple):
    """States of all copies, a row a copy."""

    z: Array  # (n, nz) [rad or m]
    zd: Array  # (n, nz)
    zdd: Array  # (n, nz)
    lam: Array  # (n, m)
    R0: Array  # (n, nr, 3, 3)
    energy: Array  # (n, nz, 2), or (n, 0, 2)
    s: Array  # (n, ns)
    sd: Array  # (n, ns)
    u: Array  # (n, nu)
    alpha: Array  # (n, m) penalty factors
    weight: Array  # (n, m) weights of the loops beside M
    own: Array  # (n, own) numbers of the tables that differ between copies


@struct
class CopyRun(NamedTuple):
    """One run of some copies: inputs, channels, and how far each copy came."""

    given: Array  # (n, steps, inputs) inputs at the start of each step
    slot: Array  # (inputs,) int64: place of each in u
    timed: Array  # (groups, steps, signals) values of functions of time at the end of each step
    timed_slot: Array  # (signals,) int64: place of each in u
    group: Array  # (n,) int64: copies of a group have the same time
    held: Array  # (groups, steps) int64: 1 where the kernel may take the step
    plan: Array  # (rows, 4) int64 of ``read_instant``
    points: Array  # (1 or n, rows, 3) of the same, for all copies or for each
    moving: Array  # (3,) int64: 1 where a row of the plan needs frames, where points are for each copy, and where
    # a row reads accelerations
    out: Array  # (n, steps, numbers) channels at the end of each step
    taken: Array  # (n,) int64: steps taken
    unread: Array  # (n,) int64: 1 where the channels of the last step are not written yet
    followed: Array  # (n,) int64: 1 where the accelerations are those of the inputs of the next step already
    changed: Array  # (n,) int64: 1 where the inputs of a step were taken, and accelerations are of those before
    known: Array  # (n, nu) inputs that accelerations were those of before the inputs of a step were taken
    reason: Array  # (n,) int64: why the copy stands where it is
    ending: Array  # (n,) int64: exit code of its last step


@struct
class Bench(NamedTuple):
    """Scratch of one thread: the row that a step writes, and the numbers of the tables of the copy at hand."""

    z: Array  # (1, nz)
    zd: Array  # (1, nz)
    zdd: Array  # (1, nz)
    lam: Array  # (1, m)
    R0: Array  # (1, nr, 3, 3)
    energy: Array  # (1, nz, 2)
    u: Array  # (1, nu)
    stats: Array  # (1, STATS_SIZE)
    s: Array  # (1, ns)
    sd: Array  # (1, ns)
    own: Array  # (own,) numbers that the tables and settings of this thread look at


@inner_kernel
def state_of(copies, i):
    """Return the state of copy ``i``, as views."""
    return StateArrays(
        copies.z[i], copies.zd[i], copies.zdd[i], copies.lam[i], copies.R0[i], copies.energy[i], copies.s[i],
        copies.sd[i],
    )  # fmt: skip


@inner_kernel
def next_row(bench):
    """Return the row that a step writes."""
    return Chunk(
        bench.z, bench.zd, bench.zdd, bench.lam, bench.R0, bench.energy, bench.u, bench.stats, bench.s, bench.sd
    )


@inner_kernel
def take_own(copies, i, bench):
    """Let the tables and settings of this thread be those of copy ``i``."""
    for k in range(len(bench.own)):
        bench.own[k] = copies.own[i, k]


@inner_kernel
def take_inputs(copies, run, i, k):
    """Write the inputs of step ``k`` to the state of copy ``i``; 0 as before, 1 changed, -1 not in range."""
    bad, changed = 0, 0
    for c in range(len(run.slot)):
        bad += 0 if abs(run.given[i, k, c]) <= BEYOND else 1
    if bad > 0:
        return -1
    for c in range(len(run.slot)):
        if copies.u[i, run.slot[c]] != run.given[i, k, c]:
            copies.u[i, run.slot[c]] = run.given[i, k, c]
            changed = 1
    return changed


@inner_kernel
def keep_inputs(copies, run, i):
    """Remember the inputs of copy ``i``, before those of a step are taken."""
    for c in range(run.known.shape[1]):
        run.known[i, c] = copies.u[i, c]


@inner_kernel
def accelerations_count(copies, run, i, k):
    """True when the accelerations at the end of step ``k`` of copy ``i`` are looked at.

    They are not where the next step begins with other inputs, which accelerations follow, and no channel reads them.
    """
    if run.moving[2] == 1 or k + 1 == run.given.shape[1] or run.held[run.group[i], k + 1] == 0:
        return True
    bad, changed = 0, 0
    for c in range(len(run.slot)):
        bad += 0 if abs(run.given[i, k + 1, c]) <= BEYOND else 1
        changed += 0 if copies.u[i, run.slot[c]] == run.given[i, k + 1, c] else 1
    return bad > 0 or changed == 0


@inner_kernel
def begin_row(copies, run, bench, i, k):
    """Write inputs and functions of time at the end of step ``k`` of copy ``i`` to the row that it writes."""
    for c in range(bench.u.shape[1]):
        bench.u[0, c] = copies.u[i, c]
    for c in range(len(run.timed_slot)):
        bench.u[0, run.timed_slot[c]] = run.timed[run.group[i], k, c]
    for c in range(bench.energy.shape[1]):  # what a step does not write stays as it is
        bench.energy[0, c, 0], bench.energy[0, c, 1] = copies.energy[i, c, 0], copies.energy[i, c, 1]


@inner_kernel
def commit(copies, bench, i):
    """Let the state of copy ``i`` be the row that the step wrote."""
    for c in range(bench.z.shape[1]):
        copies.z[i, c], copies.zd[i, c], copies.zdd[i, c] = bench.z[0, c], bench.zd[0, c], bench.zdd[0, c]
    for c in range(bench.lam.shape[1]):
        copies.lam[i, c] = bench.lam[0, c]
    for c in range(bench.R0.shape[1]):
        for a in range(3):
            for b in range(3):
                copies.R0[i, c, a, b] = bench.R0[0, c, a, b]
    for c in range(bench.energy.shape[1]):
        copies.energy[i, c, 0], copies.energy[i, c, 1] = bench.energy[0, c, 0], bench.energy[0, c, 1]
    for c in range(bench.s.shape[1]):
        copies.s[i, c], copies.sd[i, c] = bench.s[0, c], bench.sd[0, c]
    for c in range(bench.u.shape[1]):
        copies.u[i, c] = bench.u[0, c]


@inner_kernel
def read_copy(tables, ws, copies, run, i, k):
    """Write the channels of copy ``i`` behind its step ``k``."""
    if run.moving[0] == 1:
        points = run.points[i * run.moving[1]]
        read_instant(tables, run.plan, points, state_of(copies, i), copies.u[i], ws, run.out[i, k])
        return
    for row in range(len(run.plan)):
        order, dof, first = run.plan[row, 1], run.plan[row, 2], run.plan[row, 3]
        if order == 0:
            run.out[i, k, first] = copies.z[i, dof]
        elif order == 1:
            run.out[i, k, first] = copies.zd[i, dof]
        else:
            run.out[i, k, first] = copies.zdd[i, dof]


@inner_kernel
def begin_copy(tables, work, ws, copies, run, bench, i):
    """Let the thread work on copy ``i``, and write the channels that are owed."""
    take_own(copies, i, bench)
    work.step[0] = 0.0  # the factor is that of another copy
    run.reason[i] = RUNNING
    if run.unread[i] == 1:
        read_copy(tables, ws, copies, run, i, run.taken[i] - 1)
        run.unread[i] = 0


@inner_kernel
def end_copy_step(tables, ws, copies, run, bench, i, k, ending):
    """Commit a step and write its channels; False where it was not accepted."""
    run.ending[i] = ending
    if not accepted(ending):
        run.reason[i] = NOT_TAKEN
        return False
    commit(copies, bench, i)
    run.taken[i] = k + 1
    read_copy(tables, ws, copies, run, i, k)
    return True


@inner_kernel
def must_follow(copies, run, i, k):
    """Take the inputs of step ``k``: 1 where accelerations are of other ones, else 0; -1 for what is no number."""
    changed = take_inputs(copies, run, i, k)
    if changed < 0:
        run.reason[i] = BAD_INPUT
    return changed if changed < 0 or run.followed[i] == 0 else 0


@inner_kernel
def begin_copy_step(copies, run, bench, i, k, followed):
    """Begin step ``k`` of copy ``i`` with accelerations that ``followed``; False where it cannot be taken."""
    if not followed:
        run.reason[i] = NOT_FOLLOWED
        return False
    run.followed[i] = 0
    if run.held[run.group[i], k] == 0:
        run.reason[i] = TIMED
        return False
    begin_row(copies, run, bench, i, k)
    return True


# ---- rules ----------------------------------------------------------------------------------------------------------


@struct
class Room(NamedTuple):
    """Scratch of the trapezoidal rule: none."""

    none: Array  # (0,)


@struct
class MidpointRoom(NamedTuple):
    """Scratch of the variational midpoint rule."""

    own: Scratch


@struct
class TRBDF2Room(NamedTuple):
    """Scratch of TR-BDF2."""

    own: Scratch
    stage: StageScratch


@struct
class ExplicitRoom(NamedTuple):
    """Rule and scratch of explicit steps of trees."""

    rule: ExplicitRule
    own: ExplicitScratch


@inner_kernel
def follow_newton(tables, lu, work, settings, ws, room, copies, i, u, bench, never):
    """Let accelerations of copy ``i`` follow the inputs ``u``, as methods with Newton's iteration do."""
    return follow_inputs(tables, lu, work, settings, u, state_of(copies, i), ws, not never)


@inner_kernel
def follow_explicit(tables, lu, work, settings, ws, room, copies, i, u, bench, never):
    """Let accelerations of copy ``i`` follow the inputs ``u``, by the factor of M where the last step ended here."""
    return follow_tree(tables, lu, work, state_of(copies, i), u, ws, room.own)


@inner_kernel
def take_trapezoidal(tables, lu, work, settings, ws, copies, run, i, bench, limit, changed, never):
    """Take a step of the trapezoidal rule, behind ``changed`` inputs or not; returns how it ended."""
    old, row, u, known = state_of(copies, i), next_row(bench), copies.u[i], run.known[i]
    if changed:
        return take_changed_step(tables, lu, work, settings, copies.alpha[i], u, known, old, row, ws, limit)
    ending, _ = march(tables, lu, work, settings, copies.alpha[i], old, row, ws, limit, u, known, never)
    return ending


@inner_kernel
def take_midpoint(tables, lu, work, settings, ws, room, copies, i, bench, limit):
    """Take a step of the variational midpoint rule; returns how it ended."""
    old, row = state_of(copies, i), next_row(bench)
    ending, _, _, _ = march_midpoint(
        tables, lu, work, settings, copies.weight[i], old, copies.u[i], row, ws, room.own, limit, 0, 0
    )
    return ending


@inner_kernel
def take_trbdf2(tables, lu, work, settings, ws, room, copies, i, bench, never, limit):
    """Take a step of TR-BDF2; returns how it ended."""
    old, row = state_of(copies, i), next_row(bench)
    ending, _ = march_trbdf2(
        tables, lu, work, settings, copies.alpha[i], copies.weight[i], old, copies.u[i], row, ws, room.own, room.stage,
        never, limit,
    )  # fmt: skip
    return ending


@inner_kernel
def take_explicit(tables, lu, work, settings, ws, room, copies, i, bench, complete):
    """Take an explicit step, with accelerations at its end where that is ``complete``; returns how it ended."""
    old, row = state_of(copies, i), next_row(bench)
    if not startable(old, room.own.no_loops):
        return NOT_FINITE
    new, stats = state_in_row(row, 0), bench.stats[0]
    return step_tree(tables, lu, work, settings.h, room.rule, old, bench.u[0], new, ws, room.own, stats, complete)


# ---- kernels that Python calls: each rule has its own, for kernels know each other by name -----------------------


@inner_kernel
def begin_newton_step(tables, lu, work, settings, ws, room, copies, run, bench, i, k, never):
    """Begin step ``k`` of copy ``i`` by a method with Newton's iteration; False where it cannot be taken."""
    changed = must_follow(copies, run, i, k)
    if changed < 0:
        return False
    followed = True
    if changed > 0:
        followed = follow_newton(tables, lu, work, settings, ws, room, copies, i, copies.u[i], bench, never)
    return begin_copy_step(copies, run, bench, i, k, followed)


@kernel
def step_copies(tables, lu, work, settings, ws, room, copies, run, bench, which, never, limit, budget):
    """Step the copies ``which`` to the end of the run by the trapezoidal rule; returns how many were looked at.

    It ends behind a copy when ``budget`` ticks are over. ``never`` is False, and ``limit`` a number of ticks that
    no step takes: variables, so that the code of single Simulations serves.
    """
    begun = ticks()
    for j in range(len(which)):
        i = which[j]
        begin_copy(tables, work, ws, copies, run, bench, i)
        for k in range(run.taken[i], run.given.shape[1]):
            keep_inputs(copies, run, i)
            run.changed[i] = must_follow(copies, run, i, k)
            if run.changed[i] < 0 or not begin_copy_step(copies, run, bench, i, k, True):
                break
            changed = run.changed[i] > 0
            ending = take_trapezoidal(tables, lu, work, settings, ws, copies, run, i, bench, limit, changed, never)
            if not end_copy_step(tables, ws, copies, run, bench, i, k, ending):
                break
        if ticks() - begun > budget:
            return j + 1
    return len(which)


@kernel
def step_copies_midpoint(tables, lu, work, settings, ws, room, copies, run, bench, which, never, limit, budget):
    """Step the copies ``which`` by the variational midpoint rule, as ``step_copies`` does."""
    begun = ticks()
    for j in range(len(which)):
        i = which[j]
        begin_copy(tables, work, ws, copies, run, bench, i)
        for k in range(run.taken[i], run.given.shape[1]):
            if not begin_newton_step(tables, lu, work, settings, ws, room, copies, run, bench, i, k, never):
                break
            ending = take_midpoint(tables, lu, work, settings, ws, room, copies, i, bench, limit)
            if not end_copy_step(tables, ws, copies, run, bench, i, k, ending):
                break
        if ticks() - begun > budget:
            return j + 1
    return len(which)


@kernel
def step_copies_trbdf2(tables, lu, work, settings, ws, room, copies, run, bench, which, never, limit, budget):
    """Step the copies ``which`` by TR-BDF2, as ``step_copies`` does."""
    begun = ticks()
    for j in range(len(which)):
        i = which[j]
        begin_copy(tables, work, ws, copies, run, bench, i)
        for k in range(run.taken[i], run.given.shape[1]):
            if not begin_newton_step(tables, lu, work, settings, ws, room, copies, run, bench, i, k, never):
                break
            ending = take_trbdf2(tables, lu, work, settings, ws, room, copies, i, bench, never, limit)
            if not end_copy_step(tables, ws, copies, run, bench, i, k, ending):
                break
        if ticks() - begun > budget:
            return j + 1
    return len(which)


@kernel
def step_copies_explicit(tables, lu, work, settings, ws, room, copies, run, bench, which, never, limit, budget):
    """Step the copies ``which`` by an explicit rule, as ``step_copies`` does; accelerations only where they count."""
    begun = ticks()
    for j in range(len(which)):
        i, complete = which[j], True
        begin_copy(tables, work, ws, copies, run, bench, i)
        for k in range(run.taken[i], run.given.shape[1]):
            changed, followed = must_follow(copies, run, i, k), True
            if changed < 0:
                break
            if changed > 0:
                followed = follow_explicit(tables, lu, work, settings, ws, room, copies, i, copies.u[i], bench, never)
            if not followed and not complete:  # accelerations are then those of the inputs before
                follow_explicit(tables, lu, work, settings, ws, room, copies, i, bench.u[0], bench, never)
            if not begin_copy_step(copies, run, bench, i, k, followed):
                break
            complete = accelerations_count(copies, run, i, k)
            ending = take_explicit(tables, lu, work, settings, ws, room, copies, i, bench, complete)
            if not end_copy_step(tables, ws, copies, run, bench, i, k, ending):
                break
        if ticks() - begun > budget:
            return j + 1
    return len(which)


@kernel
def follow_copies(tables, lu, work, settings, ws, room, copies, bench, which, failed, never):
    """Let accelerations, multipliers and balances of the copies ``which`` follow their inputs; ``failed`` (n,) or 0."""
    for j in range(len(which)):
        i = which[j]
        take_own(copies, i, bench)
        done = follow_newton(tables, lu, work, settings, ws, room, copies, i, copies.u[i], bench, never)
        failed[i] = 0 if done else 1


@kernel
def follow_copies_explicit(tables, lu, work, settings, ws, room, copies, bench, which, failed, never):
    """Let accelerations of the copies ``which`` follow their inputs by explicit rules, as ``follow_copies`` does."""
    for j in range(len(which)):
        i = which[j]
        take_own(copies, i, bench)
        work.step[0] = 0.0  # the factor is that of another copy
        done = follow_explicit(tables, lu, work, settings, ws, room, copies, i, copies.u[i], bench, never)
        failed[i] = 0 if done else 1
