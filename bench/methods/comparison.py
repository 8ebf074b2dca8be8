"""Comparison of methods of time: error, violations, energy, wall time and work at three steps or tolerances."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.methods.problems import PROBLEMS, Problem
from rtmbs.dae import METHODS, AdamsBashforthMoulton
from rtmbs.dae.contract import Integrator, Motion, MotionError, Orders, Point
from rtmbs.dae.driver import integrate, simulation_at
from rtmbs.dae.runge_kutta import RungeKutta
from rtmbs.dae.solve_ivp import SolveIVP
from rtmbs.errors import InputError, unknown_name
from rtmbs.formulations import FORMULATIONS
from rtmbs.formulations.contract import FormulationError
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.methods import METHODS as ALL_METHODS
from rtmbs.methods import Capability, capabilities_of
from rtmbs.results.result import Result
from rtmbs.simulation.refined import refined_from

TOLERANCES = (1e-5, 1e-7, 1e-9)
SAMPLES = 100  # of an adaptive run
REPEATS = 3  # of a run; the shortest counts
LONG = 3.0  # [s] of all repeats, after which none follows
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One run. ``error`` is the largest of |q - reference| / max(1, |reference|) at the end."""

    problem: str
    method: str
    level: float  # step [s], or tolerance
    error: float | None
    violations: tuple[float, float, float] | None  # largest |Phi|, |Phid|, |Phidd|
    energy: float | None  # largest change, in terms of the largest kinetic energy or 1e-9 J
    wall: float | None  # [s], the shortest of REPEATS
    evaluations: int | None
    factorisations: int | None
    remark: str = ""


def configurations(redundant: bool) -> dict[str, Callable[[float], Any]]:
    """Return the compared methods by name, each as a function of the tolerance."""
    form = FORMULATIONS["qr" if redundant else "partitioning"]
    fixed: dict[str, Any] = {
        f"runge-kutta, {name}": RungeKutta(formulation=FORMULATIONS[name]()) for name in FORMULATIONS
    }
    fixed["adams-bashforth-moulton 4"] = AdamsBashforthMoulton(4, form())
    found: dict[str, Any] = {name: steady(method) for name, method in fixed.items()}
    for name, kind in METHODS.items():
        if name not in ("runge-kutta", "adams-bashforth-moulton", "solve-ivp", "cvode"):
            found[name] = adaptive(kind) if name == "ida" else steady(kind())
    for runs in (2, 3):
        found[f"refined {runs} runs"] = steady(Refined(runs))
    for solver in ("DOP853", "Radau", "LSODA"):
        found[f"solve-ivp {solver}"] = adaptive(SolveIVP, solver=solver, formulation=form())
    for name, kind in ALL_METHODS.added.items():  # those of the user
        if Capability.OWN_EQUATIONS in capabilities_of(kind):
            found[name] = adaptive(kind) if getattr(kind, "orders", None) is None else steady(kind())
    if "cvode" in METHODS:
        found["cvode adams"] = adaptive(METHODS["cvode"], formula="adams", formulation=form())
    return found


def named(text: str) -> list[str]:
    """Return names of methods, or beginnings of them, that commas separate; a name may hold a comma itself."""
    parts, known = [part.strip() for part in text.split(",") if part.strip()], configurations(False)
    found: list[str] = []
    while parts:
        both = ", ".join(parts[:2])
        size = 2 if len(parts) > 1 and any(name.startswith(both) for name in known) else 1
        found.append(", ".join(parts[:size]))
        del parts[:size]
    return found


def steady(method: Any) -> Callable[[float], Any]:
    """Return a function of the tolerance for a method that has none."""
    return lambda tolerance: method


def adaptive(kind: Any, **options: Any) -> Callable[[float], Any]:
    """Return a function of the tolerance that makes a method."""
    return lambda tolerance: kind(rtol=tolerance, atol=tolerance, **options)


def measure(problems: Sequence[str], methods: Sequence[str]) -> list[Row]:
    """Return the rows of problems and of methods by beginnings of their names; all where empty.

    Raises UnknownNameError for a problem or a method that is not there.
    """
    for name in problems:
        if name not in PROBLEMS:
            raise unknown_name("problem", name, PROBLEMS)
    known = configurations(False)
    for name in methods:
        if not any(one.startswith(name) for one in known):
            raise unknown_name("method", name, known)
    rows: list[Row] = []
    for name in problems or PROBLEMS:
        problem = PROBLEMS[name]()
        wanted, made = problem.reference(), configurations(problem.redundant)
        chosen = [one for one in made if not methods or any(one.startswith(start) for start in methods)]
        for one in chosen:
            for level, tolerance in enumerate(TOLERANCES):
                rows.append(run(problem, one, made[one](tolerance), level, wanted))
                if rows[-1].remark and "stopped after" not in rows[-1].remark:
                    break  # refused at every step; a motion that stopped may go further with a finer one
    return rows


def run(problem: Problem, name: str, method: Integrator, level: int, wanted: Any) -> Row:
    """Return the row of one run; its remark says why there is none."""
    fixed = method.orders is not None
    h = problem.steps[level] if fixed else problem.t_end / SAMPLES
    shown = h if fixed else TOLERANCES[level]
    try:
        runs: list[Result] = []
        for _ in range(REPEATS):
            runs.append(integrate(problem.system, method, problem.q, problem.v, problem.t_end, h))
            if sum(one.report.wall for one in runs) > LONG:
                break
    except (InputError, FormulationError, MotionError) as error:
        return Row(problem.name, name, shown, None, None, None, None, None, None, str(error))
    found = min(runs, key=lambda one: one.report.wall)
    energies = np.array([problem.energy(q, v) for q, v in zip(found["q"], found["v"], strict=True)])
    kinetic = max(0.5 * float(v @ problem.system.mass(q, 0.0) @ v) for q, v in zip(found["q"], found["v"], strict=True))
    first, second, third = (float(x) for x in found["violations"].max(axis=0))
    return Row(
        problem.name,
        name,
        shown,
        float(np.max(np.abs(found["q"][-1] - wanted) / np.maximum(1.0, np.abs(wanted)))),
        (first, second, third),
        float(np.ptp(energies)) / max(kinetic, 1e-9),
        found.report.wall,
        None if isinstance(method, Refined) else found.report.counts.evaluations,  # not reported by its runs
        None if isinstance(method, Refined) else found.report.counts.factorisations,
    )


def record(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rows as JSON holds them."""
    return {"rows": [asdict(row) for row in rows]}


def text(rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    head = f"{'problem':13}{'method':35}{'h or tol':>9}{'error':>10}{'Phi':>10}{'Phid':>10}{'Phidd':>10}"
    lines = [f"{head}{'energy':>10}{'time [s]':>10}{'evals':>8}{'factors':>8}"]
    for row in rows:
        start = f"{row.problem:13}{row.method:35}{row.level:9.0e}"
        if row.error is None or row.violations is None:
            lines.append(f"{start}  {row.remark}")
            continue
        numbers = "".join(f"{x:10.1e}" for x in (row.error, *row.violations, row.energy))
        lines.append(f"{start}{numbers}{row.wall:10.3f}{number(row.evaluations):>8}{number(row.factorisations):>8}")
    return "\n".join(lines)


def number(count: int | None) -> str:
    """Return a count as text; a dash where nothing was counted."""
    return "-" if count is None else str(count)


@dataclass(frozen=True)
class Refined:
    """The extrapolated points of a motion; ``runs`` is 2 or 3. Its orders are the lowest that ``refined`` reports."""

    runs: int = 2
    redundant = True

    @property
    def orders(self) -> Orders:
        return Orders(*[self.runs + 1] * 4)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each coarse step."""
        sim, point = simulation_at(motion, times, PenaltyTrapezoidal(hold_energy=False))
        samples = refined_from(sim, float(times[-1]), self.runs, threads=1).samples
        yield point
        parts = (samples.z[1:], samples.zd[1:], samples.zdd[1:], samples.lam[1:])
        for t, *values in zip(times[1:], *parts, strict=True):
            yield Point(float(t), *(value.copy() for value in values))
