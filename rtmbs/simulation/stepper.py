"""One step of a Simulation: fused for the structured tangent, readable otherwise, dense when a pivot fails."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.registry import INTEGRATORS, TRAPEZOIDAL
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    ENOUGH,
    EVALUATIONS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    GIVEN,
    ITERATIONS,
    JACOBIANS,
    PHASES,
    POSITION_VIOLATION,
    RECORD_SIZE,
    RESIDUAL_TICKS,
    SHORTENED,
    SWEEPS,
    TRIES,
    VELOCITY_VIOLATION,
    Rows,
    Settings,
    StateArrays,
)
from rtmbs.jit.clock import seconds_per_tick
from rtmbs.jit.compiled import entry_for
from rtmbs.limits.bounds import BEYOND, are_rotations
from rtmbs.semirecursive.endings import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNBALANCED,
    UNFINISHED,
    UNPROJECTED,
)
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.step import advance
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.simulation.diagnosis import diagnose
from rtmbs.simulation.groups import Groups
from rtmbs.simulation.inputs import in_range, not_finite_inputs
from rtmbs.state import State
from rtmbs.system.system import System

Array = NDArray[np.float64]

ENDINGS = {
    CONVERGED: Outcome.CONVERGED,
    NOT_CONVERGED: Outcome.NOT_CONVERGED,
    NOT_FINITE: Outcome.NOT_FINITE,
    LOOP_OPEN: Outcome.LOOP_OPEN,
    UNFINISHED: Outcome.UNFINISHED,
    UNPROJECTED: Outcome.UNPROJECTED,
    NEAR: Outcome.NEAR_SINGULAR,
    UNBALANCED: Outcome.UNBALANCED,
}
GOOD = {code for code, outcome in ENDINGS.items() if outcome.good}
NAMED = 3  # culprits in a report
MOST_ROWS, MOST_BYTES = 1024, 4e6  # steps in one kernel call, and the memory of their rows
LONGEST_CALL = 0.05  # [s] so that Ctrl+C and the progress bar wait no longer, but for one step


def budget() -> int:
    """Return the ticks of the longest kernel call."""
    return round(LONGEST_CALL / seconds_per_tick())


def arrays_of(state: State) -> StateArrays:
    """Return the arrays a step reads and writes, shared with ``state``."""
    return StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, state.energy)


def one_row(state: State, record: Array) -> Rows:
    """Return the single row of a step into ``state``, shared with it."""
    arrays = {name: values[None] for name, values in arrays_of(state)._asdict().items()}
    return Rows(**arrays, u=state.u[None], record=record[None])


def rows_for(state: State, steps: int) -> Rows:
    """Return rows for up to ``steps`` steps from states like this one."""
    like = one_row(state, np.zeros(RECORD_SIZE))
    count = int(min(steps, MOST_ROWS, max(MOST_BYTES // sum(values.nbytes for values in like), 1)))
    return Rows(*(np.zeros((count, *values.shape[1:])) for values in like))


class Stepper:
    """Takes steps from a State to rows or to a spare State and reports; never touches the State it starts from.

    With more than one thread, components of the mechanism are stepped in groups, in rows and one by one alike, so that
    both give the same numbers; a step that a group cannot do is that of the whole.
    """

    def __init__(
        self, equations: SemiRecursiveEquations, settings: Settings, fused: bool, integrator: str, threads: int = 1
    ) -> None:
        self.equations, self.settings = equations, settings
        compiled = equations.source is None and not equations.system.called  # nothing asks Python
        self.fused = fused and compiled and integrator == TRAPEZOIDAL
        self.integrator = INTEGRATORS[integrator]
        self.record: Array = np.zeros(RECORD_SIZE)
        n, m = (equations.n,), (equations.m,)
        self.shapes = {
            "z": n, "zd": n, "zdd": n, "lam": m, "alpha": m, "R0": equations.system.R0.shape,
            "u": equations.system.u0.shape, "energy": (*n, 2),
        }  # fmt: skip
        self.entry: Callable[..., Any] | None = None  # of ``advance``: its types are always the same
        self.threads = threads if self.fused and not equations.system.signals else 1
        self._groups: Groups | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the entry for themselves: it is an address in this process."""
        return {**self.__dict__, "entry": None}

    @property
    def groups(self) -> Groups | None:
        """The groups that the mechanism is stepped in, or None when it is stepped as a whole."""
        if self.threads == 1:
            return None
        tables, lu = self.equations.tables, self.equations.lu
        if self._groups is None or self._groups.tables is not tables:  # a force was attached elsewhere
            self._groups = Groups(tables, lu, self.threads)
        return self._groups if len(self._groups) > 1 else None

    def keep_groups(self, other: "Stepper") -> None:
        """Go on with the groups of another Stepper of the same equations: making them takes longer than a step."""
        if self.threads == other.threads:
            self._groups = other._groups

    def like(self, equations: SemiRecursiveEquations, settings: Settings) -> "Stepper":
        """Return a Stepper of equations of the same types and sizes, with other settings and a record of its own."""
        other = copy.copy(self)
        other.equations, other.settings, other.entry = equations, settings, self.entry
        other.record = np.zeros(RECORD_SIZE)
        return other

    @property
    def coordinates(self) -> list[NDArray[np.int64]]:
        """The coordinates of each group, all in one when the mechanism is stepped as a whole."""
        groups = self.groups
        return [np.arange(self.equations.n)] if groups is None else groups.coordinates

    def advance(self, old: State, new: State) -> StepReport:
        """Fill ``new`` with the state at its time; its h, alpha and inputs at that time stand in it already."""
        old.tidy(self.shapes)
        new.tidy(self.shapes)
        self.take_over(new)
        if bad := not_finite_inputs(self.equations.system, new.u):
            self.record[:] = 0.0
            return self.report(Outcome.NOT_FINITE, new.t, False, 1.0, bad)
        if self.fused:
            row = one_row(new, self.record)
            code, _ = self.cross(old, row, side_by_side=False)
            if code not in GOOD and self.groups is not None:
                code, _ = self.cross_whole(old, row)
            if code != SMALL_PIVOT:
                outcome = ENDINGS[code]
                report = self.report(outcome, new.t, False, seconds_per_tick(), self.culprits(outcome, old))
                return self.explained(report, old)
        return self.readable(old, new)

    def fill(self, old: State, rows: Rows) -> tuple[int, bool]:
        """Take a step for every row, fused, in one kernel call a thread of at most LONGEST_CALL and a step.

        Returns (good steps, whether the next one failed): who takes that one again with ``advance`` gets its report.
        """
        if not in_range(rows.u):
            return 0, True
        old.tidy(self.shapes)
        self.take_over(old)
        code, done = self.cross(old, rows, side_by_side=True)
        return done, code not in GOOD

    def cross(self, old: State, rows: Rows, side_by_side: bool) -> tuple[int, int]:
        """Call the kernel, once for every group; returns how the last step ended, and the number of good steps."""
        groups, equations = self.groups, self.equations
        if groups is None:
            return self.cross_whole(old, rows)
        try:
            return groups.advance(self.settings, equations.alpha, arrays_of(old), rows, budget(), side_by_side)
        except BaseException:  # an interrupt: a thread may still be writing, to what nobody will read
            self._groups = None
            raise

    def cross_whole(self, old: State, rows: Rows) -> tuple[int, int]:
        """Call the kernel for the whole mechanism; returns as ``cross``."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, self.settings, equations.alpha, arrays_of(old), rows,
            equations.ws, budget(),
        )  # fmt: skip
        if self.entry is None:
            self.entry = entry_for(advance, arguments)
        code, done = self.entry(*arguments)
        return code, done

    def take_over(self, state: State) -> None:
        """Let inputs, penalty factors and h be those of the state."""
        self.equations.u, self.equations.alpha = state.u, state.alpha
        if state.h != self.settings.h:
            self.settings = self.settings._replace(h=float(state.h))

    def readable(self, old: State, new: State) -> StepReport:
        """The readable step, with the pivoted dense factor when the static order meets too small a pivot."""
        for dense in (False, True) if not self.fused else (True,):
            step = self.integrator(self.equations, self.settings, self.record, dense)
            outcome = step.advance(arrays_of(old), arrays_of(new))
            if outcome is not Outcome.SINGULAR_TANGENT:
                break
        return self.explained(self.report(outcome, new.t, dense, 1.0, self.culprits(outcome, old)), old)

    def explained(self, report: StepReport, old: State) -> StepReport:
        """Return the report of a failed step with its reason, and who is at fault in front of where it shows."""
        if report.outcome.good or report.outcome is Outcome.NOT_FINITE:
            return report
        found = diagnose(self.equations, self.settings, arrays_of(old))
        names = tuple(dict.fromkeys((*found.culprits, *report.culprits)))
        return replace(report, culprits=names, reason=found.reason, hopeless=found.hopeless)

    def culprits(self, outcome: Outcome, old: State) -> tuple[str, ...]:
        """Return the names that a failed step from ``old`` is to be known by.

        What was out of range before it, the coordinate without a pivot, or the coordinates or loop equations with the
        largest residual.
        """
        if outcome.good:
            return ()
        ws, system = self.equations.ws, self.equations.system
        if outcome is Outcome.NOT_FINITE and (bad := out_of_range(system, old) or not_finite_laws(system, ws)):
            return bad[:NAMED]
        if outcome is Outcome.SINGULAR_TANGENT and self.equations.weakest >= 0:
            return (system.coordinate_names[self.equations.weakest],)
        values: Any = ws.Phi / self.settings.scale if outcome is Outcome.LOOP_OPEN else ws.residual
        names = system.row_names if outcome is Outcome.LOOP_OPEN else system.coordinate_names
        size = np.where(np.isfinite(values), np.abs(values), np.inf)
        return tuple(dict.fromkeys(names[i] for i in np.argsort(-size, kind="stable")[:NAMED]))

    def report(
        self, outcome: Outcome, t: float, dense: bool, unit: float, culprits: tuple[str, ...] = ()
    ) -> StepReport:
        """Turn the record of a step into its report; ``unit`` is the length of a phase unit in seconds."""
        record = self.record.tolist()
        iterations = int(record[ITERATIONS])
        return StepReport(
            outcome=outcome,
            t=t,
            iterations=iterations,
            enough=int(record[ENOUGH]),
            tries=int(record[TRIES]),
            shortened=int(record[SHORTENED]),
            evaluations=int(record[EVALUATIONS]),
            jacobians=int(record[JACOBIANS]),
            factorisations=int(record[FACTORISATIONS]),
            sweeps=int(record[SWEEPS]),
            corrections=tuple(record[FIRST_CORRECTION : FIRST_CORRECTION + iterations]),
            position_violation=record[POSITION_VIOLATION],
            velocity_violation=record[VELOCITY_VIOLATION],
            acceleration_violation=record[ACCELERATION_VIOLATION],
            position_violation_rotation=record[POSITION_VIOLATION + 3],
            velocity_violation_rotation=record[VELOCITY_VIOLATION + 3],
            acceleration_violation_rotation=record[ACCELERATION_VIOLATION + 3],
            energy_given=record[GIVEN],
            dense=dense,
            phases={name: record[RESIDUAL_TICKS + k] * unit for k, name in enumerate(PHASES)},
            culprits=culprits,
        )


def out_of_range(system: System, state: State) -> tuple[str, ...]:
    """Return what no step can start from: entries of a state, such as ``zd of crank.angle``, that are out of range."""
    found, names, rows = [], system.coordinate_names, system.row_names
    for place, owner in (("z", names), ("zd", names), ("zdd", names), ("lam", rows)):
        bad = np.flatnonzero(~(np.abs(getattr(state, place)) <= BEYOND))
        found += [f"{place} of {owner[i]}" for i in bad[:NAMED]]
    with np.errstate(all="ignore"):
        first = [
            int(np.flatnonzero(system.tables.steps.reference == k)[0]) for k in np.flatnonzero(~are_rotations(state.R0))
        ]
    found += [f"R0 of {names[i].rpartition('.')[0]}, which is no rotation" for i in first[:NAMED]]
    bad = np.flatnonzero(~((state.alpha > 0.0) & np.isfinite(state.alpha)))
    return (*found, *(f"alpha of {rows[i]}" for i in bad[:NAMED]))


def not_finite_laws(system: System, ws: Workspace) -> tuple[str, ...]:
    """Return the names of force laws of the user that returned a number that is not finite."""
    found = []
    for force in system.forces.values():
        if force.kind == "law":
            values = ws.law_wrench[force.row]
        elif force.kind == "joint law":
            values = ws.law_force[force.row : force.row + len(force.steps)]
        else:
            continue
        if not np.all(np.isfinite(values)):
            found.append(force.name)
    return tuple(found)
