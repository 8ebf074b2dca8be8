"""A step by hand as one kernel call: changed inputs, the step, and the check of stiff forces.

Its arguments are one struct, made once for each of the two States of a Simulation, that stays for as long as these
arrays do: one address crosses from Python. Numbers of the report come back in its order, as bytes. What the kernel does
not accept is left to the step of ``StateStore``, which begins anew and says why.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Callable
from struct import Struct as Layout
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.integrators.contract import Method
from rtmbs.integrators.report import StepReport, report_of
from rtmbs.integrators.settings import (
    EVALUATIONS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    GIVEN,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    POSITION_VIOLATION,
    PROJECTIONS,
    RESIDUAL_TICKS,
    SHORTENED,
    TRIES,
    Chunk,
    StateArrays,
    arrays_of,
    one_row_chunk,
)
from rtmbs.jit.compiled import entry_for, inner_kernel, kernel
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.jit.struct import struct
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.machine_code import ACCEPTED, LONGEST_CALL, OUTCOMES, accepted
from rtmbs.semirecursive.step import march, take_changed_step
from rtmbs.simulation.stiff_forces import any_stiff
from rtmbs.state import State

Array = Any  # numba types by value; the shapes stand on the fields

STEP = "penalty-trapezoidal"  # the compiled step of this kernel
FEW = 8  # iterations of a step, by default
PHASES, VIOLATIONS = 5, 6  # numbers of a report
ENERGY = VIOLATIONS  # places of its sizes: violations, energy given, phases, corrections
FIRST_PHASE, CORRECTIONS = ENERGY + 1, ENERGY + 1 + PHASES
COUNTS = (
    ITERATIONS, ITERATIONS_TO_TOLERANCE, TRIES, SHORTENED, EVALUATIONS, JACOBIANS, FACTORISATIONS, PROJECTIONS,
)  # fmt: skip
PARTS = 5  # place among counts of the parts of a step, which are one
NUMBERS = Layout(f"{len(COUNTS) + 1}q{CORRECTIONS}d")  # of a report without its corrections
FIRST_FEW = [Layout(f"{k}d") for k in range(FEW + 1)]  # corrections
SET, MOVING = 1, 2  # what is asked: inputs were set since the last step, inputs move along this one
OUT_OF_RANGE, STIFF = -1, 100  # answers besides exit codes; STIFF is added to one


@struct
class StepArrays(NamedTuple):
    """Arrays of the State that a step begins with, and of the row that it writes."""

    z: Array  # (n,)
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,)
    R0: Array  # (nr, 3, 3)
    energy: Array  # (n, 2)
    s: Array  # (ns,)
    sd: Array  # (ns,)
    u: Array  # (nu,)
    known: Array  # (nu,) inputs that accelerations are those of, where these are others
    target: Array  # (nu,) at the end of the step, where inputs move along it
    alpha: Array  # (m,)
    next_z: Array  # (1, n)
    next_zd: Array  # (1, n)
    next_zdd: Array  # (1, n)
    next_lam: Array  # (1, m)
    next_R0: Array  # (1, nr, 3, 3)
    next_energy: Array  # (1, n, 2)
    next_u: Array  # (1, nu)
    stats: Array  # (1, STATS_SIZE)
    next_s: Array  # (1, ns)
    next_sd: Array  # (1, ns)
    typical: Array  # (n,) sizes of coordinates; empty where no force may be stiff
    count: Array  # (9,) int64 counts of a report: ``COUNTS``, and parts at their place
    size: Array  # (12 + FEW,) sizes of a report: violations, energy given, phases [s], corrections
    unit: Array  # (1,) length of a tick [s]


@struct
class StepArguments(NamedTuple):
    """All that a step by hand takes."""

    tables: Any
    lu: Any
    work: Any
    settings: Any
    ws: Any
    arrays: StepArrays
    budget: int  # ticks


@inner_kernel
def present(it):
    """Return the State that the step begins with."""
    return StateArrays(it.z, it.zd, it.zdd, it.lam, it.R0, it.energy, it.s, it.sd)


@inner_kernel
def next_row(it):
    """Return the row that the step writes."""
    return Chunk(
        it.next_z, it.next_zd, it.next_zdd, it.next_lam, it.next_R0, it.next_energy, it.next_u, it.stats, it.next_s,
        it.next_sd,
    )  # fmt: skip


@inner_kernel
def tell(it):
    """Write counts and sizes of the step in the order of its report."""
    stats = it.stats[0]
    for k in range(PARTS):
        it.count[k] = int(stats[COUNTS[k]])
    it.count[PARTS] = 1
    for k in range(PARTS, len(COUNTS)):
        it.count[k + 1] = int(stats[COUNTS[k]])
    for k in range(VIOLATIONS):
        it.size[k] = stats[POSITION_VIOLATION + k]
    it.size[ENERGY] = stats[GIVEN]
    for k in range(PHASES):
        it.size[FIRST_PHASE + k] = stats[RESIDUAL_TICKS + k] * it.unit[0]
    for k in range(FEW):
        it.size[CORRECTIONS + k] = stats[FIRST_CORRECTION + k]


@kernel
def take_step_by_hand(given, asked):
    """Take a step; returns its exit code, or OUT_OF_RANGE.

    ``asked`` has SET where ``it.known`` are the inputs that the accelerations are those of, and MOVING where the inputs
    at the end of the step are ``it.target``. STIFF is added where the step shows a force that is too stiff for it.
    """
    tables, lu, work, settings, ws, it = given.tables, given.lu, given.work, given.settings, given.ws, given.arrays
    bad, changed, ramped = 0, False, asked >= MOVING
    for i in range(len(it.u)):
        it.next_u[0, i] = it.target[i] if ramped else it.u[i]
        bad += 0 if abs(it.next_u[0, i]) <= BEYOND and abs(it.u[i]) <= BEYOND else 1
    if bad > 0:
        return OUT_OF_RANGE
    if asked % MOVING == SET:
        for i in range(len(it.u)):
            changed = changed or it.known[i] != it.u[i]
    for i in range(len(it.energy)):
        it.next_energy[0, i, 0], it.next_energy[0, i, 1] = it.energy[i, 0], it.energy[i, 1]
    begun, row, zdd = present(it), next_row(it), it.zdd
    if changed:
        zdd = ws.begun_zdd
        ending = take_changed_step(tables, lu, work, settings, it.alpha, it.u, it.known, begun, row, ws, given.budget)
    else:
        ending, _ = march(
            tables, lu, work, settings, it.alpha, begun, row, ws, given.budget, it.u, it.known, False
        )  # fmt: skip
    tell(it)
    watched = accepted(ending) and len(it.typical) > 0
    if watched and any_stiff(settings.h, it.zd, zdd, it.next_zd, it.next_zdd, it.typical):
        return ending + STIFF
    return ending


NEW = tuple.__new__  # of a NamedTuple, without the call of its own


class PreparedStep:
    """The arguments of one step of a Simulation, from one of its States to the other."""

    __slots__ = (
        "after",
        "alpha",
        "back",
        "entry",
        "equations",
        "few",
        "given",
        "known",
        "known_memory",
        "new",
        "numbers",
        "old",
        "pair",
        "settings",
        "stats",
        "tables",
        "target",
        "tick",
        "u",
        "u_memory",
        "work",
    )

    def __init__(
        self, method: Method, equations: SemiRecursiveEquations, work: Any, old: State, new: State, typical: Array,
        entry: Any = None,
    ) -> None:  # fmt: skip
        row = one_row_chunk(new, work.stats)
        self.tick = seconds_per_tick()
        self.numbers = bytearray(NUMBERS.size + FIRST_FEW[FEW].size)
        whole = np.frombuffer(self.numbers, np.int64)
        count, size = whole[: len(COUNTS) + 1], whole[len(COUNTS) + 1 :].view(np.float64)
        self.target, self.known = np.zeros_like(old.u), np.zeros_like(old.u)
        self.u, self.u_memory, self.known_memory = old.u, old.u.data, self.known.data
        begun = arrays_of(old)._asdict()
        names = ("z", "zd", "zdd", "lam", "R0", "energy", "u", "s", "sd")
        written = {f"next_{name}": getattr(row, name) for name in names}
        arrays = StepArrays(
            **begun, u=old.u, known=self.known, target=self.target, alpha=method.penalties_of(old), **written,
            stats=row.stats, typical=typical, count=count, size=size, unit=np.array([self.tick]),
        )  # fmt: skip
        self.old, self.new, self.work, self.equations = old, new, work, equations
        self.alpha = method.penalties_of(new)
        self.settings, self.tables = work.settings, equations.tables
        self.few, self.stats = work.settings.max_iterations <= FEW, work.stats
        self.given = StepArguments(
            equations.tables, equations.lu, equations.work, work.settings, equations.ws, arrays,
            round(LONGEST_CALL / self.tick),
        )  # fmt: skip
        self.entry: Callable[..., int] = entry or entry_for(take_step_by_hand, (self.given, 0))
        self.back: PreparedStep | None = None
        self.pair, self.after = (old, new), dict[str, Any]()

    def take(self, asked: int) -> tuple[StepReport | None, bool]:
        """Take the step; its report, or None where it was not accepted, and whether a force looks too stiff.

        ``asked`` has SET where accelerations are those of the inputs in ``known``, and MOVING where those at the end of
        the step are in ``target``.
        """
        code = self.entry(self.given, asked)
        stiff = code >= STIFF
        if stiff:
            code -= STIFF
        if code not in ACCEPTED:
            return None, False
        new, equations = self.new, self.equations
        equations.u, equations.alpha = new.u, self.alpha
        t = new.t_ref + new.k * new.h
        if not self.few:
            return report_of(self.stats, OUTCOMES[code], t, self.tick), stiff
        (
            iterations, to_tolerance, tries, shortened, evaluations, parts, jacobians, factorisations, projections,
            position, velocity, acceleration, position_rotation, velocity_rotation, acceleration_rotation, given,
            residual, tangent, factor, solve, projection,
        ) = NUMBERS.unpack_from(self.numbers)  # fmt: skip
        values = (  # as ``report_of``, in the order of the fields
            OUTCOMES[code], t, iterations, to_tolerance, tries, shortened, evaluations, parts, jacobians,
            factorisations, projections, FIRST_FEW[iterations].unpack_from(self.numbers, NUMBERS.size),
            position, velocity, acceleration, position_rotation, velocity_rotation, acceleration_rotation, given,
            False, {
                "residual": residual, "tangent": tangent, "factor": factor, "solve": solve, "projection": projection,
            }, (), "", False,
        )  # fmt: skip
        return NEW(StepReport, values), stiff


def prepared_pair(
    method: Method, equations: SemiRecursiveEquations, work: Any, old: State, new: State, typical: Array,
    after: dict[str, Any],
) -> PreparedStep | None:  # fmt: skip
    """Return the arguments of the next step, with those of the step behind it; None where no such kernel serves.

    ``after`` is what each step leaves in its ``StateStore``, beside its States.
    """
    if method.compiled_step != STEP or not method.takes_many(equations) or method.groups(equations) is not None:
        return None
    if equations.threads > 1 or new.h != work.settings.h or old.h != new.h:
        return None
    if not np.array_equal(method.penalties_of(old), method.penalties_of(new)):
        return None
    there = PreparedStep(method, equations, work, old, new, typical)
    back = PreparedStep(method, equations, work, new, old, typical, there.entry)
    for one, other in ((there, back), (back, there)):
        one.back, one.after = other, {**after, "states": other.pair, "prepared": other}
    return there
