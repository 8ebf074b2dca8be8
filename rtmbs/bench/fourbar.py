"""Measured run of the multiple four-bar: options of the command line, times of steps, work, errors, printed report."""

import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rtmbs import __version__, library
from rtmbs.commands.warmup import ONE_RUN, compiling_processes
from rtmbs.errors import InputError
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.report import StepReport
from rtmbs.jit.compile_progress import announced, usable_cores
from rtmbs.library import references
from rtmbs.simulation import Simulation
from rtmbs.simulation.observers import EnergyMeter, IterationMeter, StepTimeMeter, ViolationMeter
from rtmbs.simulation.observers.observer import Observer
from rtmbs.simulation.running import error_of
from rtmbs.simulation.simulation import store_of, thread_groups
from rtmbs.state import State

Record = dict[str, Any]
Lines = Iterable[tuple[str, str]]
LABEL = 26  # columns of a label
MANY = 10**9
DEFINITION = "simulated time / wall time of the steps; above 1 is faster than real time"


def text(record: Record) -> str:
    """Return the report of a four-bar run, one aligned line a value."""
    head = f"multiple four-bar, {record['layout']} {record['ny']} x {record['nz']}, rtmbs {record['version']}"
    sections = (
        ("mechanism", mechanism(record)),
        ("method", method_rows(record)),
        ("time", times(record)),
        ("work", work(record)),
        ("errors", error_lines(record)),
        ("end", end(record)),
    )
    blocks = [head] + ["\n".join([title, *aligned(lines)]) for title, lines in sections]
    return "\n\n".join(blocks)


def aligned(lines: Lines) -> list[str]:
    return [f"  {label:<{LABEL}}{value}".rstrip() for label, value in lines]


def mechanism(r: Record) -> Lines:
    yield "bodies", f"{r['bodies']} with ground"
    yield "coordinates", f"{r['coordinates']}"
    yield "loop equations", f"{r['loop_equations']} (cuts closed as {r['closure']})"
    yield "degrees of freedom", f"{r['degrees_of_freedom']}"
    yield "start", f"{r['angle_deg']:g} degrees, first row at {r['rate']:g} rad/s"


def method_rows(r: Record) -> Lines:
    yield "steps", f"{r['steps']} of {1e3 * r['h']:g} ms to t = {r['t_end']:g} s"
    chosen = f"c = {r['penalty']:g}" if r["penalty"] is not None else "fixed"
    yield "penalty", f"{chosen}, alpha {spread(r['alpha_min'], r['alpha_max'])}"
    yield "tolerance, Jacobian", f"{r['tol']:g}, {r['jacobian']}, Newton matrix {r['refactor']}"


def times(r: Record) -> Lines:
    yield "load and compile kernels", f"{r['compile_s']:.3f} s"
    yield "set up the mechanism", f"{r['setup_s']:.3f} s"
    yield "run", f"{r['wall_s']:.3f} s wall for {r['t_end']:g} s simulated"
    yield "run in one call", "steps ask Python" if r["run_s"] is None else f"{r['run_s']:.3f} s"
    yield "threads in one call", threads(r)
    yield "real-time factor", f"{r['real_time_factor']:.2f} ({DEFINITION})"
    step = r["step_us"]
    yield "one step", f"p50 {duration(step['p50'])}, p99 {duration(step['p99'])}, max {duration(step['max'])}"
    yield "phases", split(r["phases_s"])


def threads(r: Record) -> str:
    """Return how many threads a run in one call has, and why not as many as it might."""
    groups = r["groups"]
    if len(groups) > 1:
        return f"{len(groups)}, for {', '.join(map(str, groups[:-1]))} and {groups[-1]} coordinates"
    if r["threads"] == 1:
        return "1"
    return "1 (one component: nothing to share)" if r["run_s"] is not None else "1 (steps ask Python)"


def work(r: Record) -> Lines:
    steps = r["steps"]
    yield "Newton iterations", f"{r['newton_iterations']} ({r['newton_iterations'] / steps:.2f} a step)"
    if r["fixed_iterations"] is not None:
        yield "enough would have been", ", ".join(enough(r["enough"]))
    yield "Jacobians, factorisations", f"{r['jacobians']}, {r['factorisations']}"
    yield "projection iterations", f"{r['sweeps']} ({r['sweeps'] / steps:.2f} a step)"
    if r["dense_steps"]:
        yield "dense factors", f"{r['dense_steps']} steps met a pivot that was too small"


def enough(steps: dict[str, int]) -> Iterable[str]:
    """Yield how many steps would have been done after how many iterations, more than the fixed number last."""
    for count in sorted(steps, key=lambda count: int(count) or MANY):
        yield f"{count} iterations in {steps[count]} steps" if int(count) else f"more in {steps[count]} steps"


def error_lines(r: Record) -> Lines:
    for name, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2")):
        translation, rotation = r[f"max_{name}_violation"], r[f"max_{name}_violation_rad"]
        yield f"loop {name}", f"{translation:.2e} {unit}, rotation {rotation:.2e} {unit.replace('m', 'rad', 1)}"
    yield "energy", f"{r['energy_error']:.2e} J, largest |E - E0|, {r['energy_given']:.2e} J given back to the loops"
    yield "largest over all angles", f"{r['error_theta_max']:.2e} rad from the exact reference"
    yield "angle of row 1", f"{r['error_theta1']:.2e} rad"


def end(r: Record) -> Lines:
    """The angles and rates of the first rods: all of a few rows, the outer ones of many."""
    nz = r["nz"]
    shown = range(nz) if nz <= 6 else (0, 1, 2, nz - 2, nz - 1)
    for k in shown:
        if nz > 6 and k == nz - 2:
            yield "...", ""
        yield f"rod of row {k + 1}", f"{r['theta'][k]: .8f} rad {r['thetad'][k]: .8f} rad/s"


def spread(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def duration(microseconds: float) -> str:
    return f"{microseconds:.0f} us" if microseconds < 1e4 else f"{microseconds / 1e3:.1f} ms"


def split(phases: dict[str, float]) -> str:
    """Return the share of every phase of the time that was measured inside the steps."""
    total = sum(phases.values())
    if not total:
        return "not measured"
    return ", ".join(f"{name} {100.0 * seconds / total:.0f} %" for name, seconds in phases.items())


SCHEMA_VERSION = 1
MAX_ITERATIONS = 8  # METHODS 1.11
WHOLE = 1e-9  # relative distance of t_end / h from a whole number that is taken for rounding
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """Options of a run; ``rtmbs.bench.command`` holds the defaults."""

    ny: int
    nz: int
    layout: str
    closure: str
    angle: float  # degrees
    rate: float  # [rad/s]
    h: float  # [s]
    t_end: float  # [s]
    penalty: float | None  # dimensionless, or
    alpha: float | None  # in SI units
    tol: float
    jacobian: str
    refactor: str = "adaptive"
    fixed_iterations: int | None = None  # so many in every step, or as many as Newton's test asks for
    threads: int = 1  # at most, in a run in one call

    @classmethod
    def names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    def model(self, ny: int, nz: int) -> Any:
        """Return the mechanism of this size."""
        start = {"angle": math.radians(self.angle), "rate": self.rate}
        return library.build("fourbar", ny=ny, nz=nz, layout=self.layout, closure=self.closure, **start)

    def simulation(self, ny: int, nz: int) -> Simulation:
        """Return the mechanism of this size, consistent and ready for its first step."""
        method = PenaltyTrapezoidal(
            penalty=self.penalty, alpha=self.alpha, tol=self.tol, refactor=self.refactor,
            max_iterations=self.fixed_iterations or MAX_ITERATIONS,
            fixed_iterations=self.fixed_iterations is not None,
        )  # fmt: skip
        system = self.model(ny, nz).compile()
        return Simulation(system, self.h, method, jacobian=self.jacobian, threads=self.threads)

    def steps(self) -> int:
        """Return the number of steps; t_end must be a whole number of them."""
        ratio = self.t_end / self.h
        steps = max(round(ratio), 1)
        if abs(ratio - steps) > WHOLE * steps:
            told = f"t_end = {self.t_end:g} s is not a whole number of steps h = {self.h:g} s"
            raise InputError(f"{told}; the nearest h is {self.t_end / steps!r}")
        return steps


def measure(options: Options) -> Record:
    """Run the problem and return everything the report and the JSON file say; keys as in ``schema.json``."""
    steps = options.steps()
    start = time.perf_counter()
    warm(options)
    compiled = time.perf_counter()
    sim = options.simulation(options.ny, options.nz)
    prepare_source(sim)
    ready = time.perf_counter()
    watching, before = meters(), sim.state.copy()
    seconds = timed_steps(sim, steps, watching, f"four-bar {options.ny} x {options.nz}")
    wall = sum(seconds)

    record: Record = {"schema_version": SCHEMA_VERSION, "version": __version__, "problem": "fourbar"}
    record |= {("angle_deg" if name == "angle" else name): value for name, value in asdict(options).items()}
    record |= sizes(sim) | {"steps": steps}
    record |= {"setup_s": ready - compiled, "compile_s": compiled - start, "wall_s": wall}
    record |= {"real_time_factor": options.t_end / wall, "step_us": percentiles_us(seconds)}
    record |= counts(watching) | errors(sim, options) | violations(watching)
    return record | in_one_call(sim, before, options.t_end)


def in_one_call(sim: Simulation, before: State, t_end: float) -> Record:
    """Return the time of the same steps in one call of ``run``, and the coordinates of each thread that took them.

    Wall time None: a step asks Python, and ``run`` takes them one by one.
    """
    found: Record = {"groups": [len(group) for group in thread_groups(sim)], "run_s": None}
    if store_of(sim).takes_chunks:
        sim.restore(before)
        start = time.perf_counter()
        sim.run(t_end)
        found["run_s"] = time.perf_counter() - start
    return found


class Meters(NamedTuple):
    """Observers of a run, outside of the measured times of steps."""

    iterations: IterationMeter
    violations: ViolationMeter
    energy: EnergyMeter
    phases: StepTimeMeter


def meters() -> Meters:
    """Return new meters."""
    return Meters(IterationMeter(), ViolationMeter(), EnergyMeter(), StepTimeMeter())


def warm(options: Options) -> None:
    """Load or compile every kernel of the run on the smallest mechanism of its kind."""
    with announced() as compilations, compiling_processes(compilations, ONE_RUN, usable_cores() - 1):
        timed_steps(options.simulation(1, 1), 1, meters(), "warm")


def prepare_source(sim: Simulation) -> None:
    """Ask the source of K and C once: "trace" records and compiles its tape at its first answer, which is no step."""
    if (source := sim.equations.source) is not None:
        state = sim.state
        with announced():
            source(state.z, state.zd, state.R0, np.concatenate((state.u, state.s)))


def sizes(sim: Simulation) -> Record:
    """Return the sizes of the mechanism and of its penalties."""
    alpha = sim.method.penalties_of(sim.state)
    return {
        "bodies": len(sim.system.bodies) + ("ground" not in sim.system.bodies),
        "coordinates": len(sim.state.z),
        "loop_equations": len(sim.system.row_names),
        "degrees_of_freedom": sim.start_report.degrees_of_freedom,
        "alpha_min": float(alpha.min()),
        "alpha_max": float(alpha.max()),
    }


def counts(meters: Meters) -> Record:
    """Return the counts of the steps."""
    total = meters.iterations.total
    return {
        "newton_iterations": total["iterations"],
        "enough": {str(count): steps for count, steps in sorted(meters.iterations.iterations_to_tolerance.items())},
        "jacobians": total["jacobians"],
        "factorisations": total["factorisations"],
        "sweeps": total["projections"],
        "dense_steps": meters.iterations.dense,
        "phases_s": dict(meters.phases.phases),
        "energy_error": meters.energy.error,
        "energy_given": meters.energy.given,
    }


def violations(meters: Meters) -> Record:
    """Return the largest loop violations after projection: [m], [m/s], [m/s^2], and rotation rows under ``*_rad``."""
    largest = meters.violations.largest
    return {f"max_{name.replace('_rotation', '_rad')}": value for name, value in largest.items()}


def errors(sim: Simulation, options: Options) -> Record:
    """Return the angles of the first rods and their distance from the exact reference."""
    theta, thetad = rod_angles(sim, options)
    angle = math.radians(options.angle)
    exact = references.fourbar(options.ny, options.nz, options.t_end, options.layout, angle, options.rate)
    error = np.abs(theta - exact.q)
    return {
        "theta": theta.tolist(),
        "thetad": thetad.tolist(),
        "error_theta_max": float(error.max()),
        "error_theta1": float(error[0]),
    }


def rod_angles(sim: Simulation, options: Options) -> tuple[Array, Array]:
    """Return the absolute angle of the first rod of every row [rad] and its rate.

    Coordinates are relative: a rod turns against the coupler it hangs on, which turned against the rod above.
    """
    angles = []
    for values in (sim.state.z, sim.state.zd):
        pins = np.array([coordinate(sim, f"pin_{k}_0", values) for k in range(1, options.nz + 1)])
        if options.layout == "stacked":
            hinges = np.array([coordinate(sim, f"hinge_{k}_0", values) for k in range(1, options.nz)])
            pins[1:] += np.cumsum(pins[:-1] + hinges)
        angles.append(pins)
    return angles[0], angles[1]


def coordinate(sim: Simulation, joint: str, values: Array) -> float:
    """Return the coordinate of a one-step tree joint from an array over steps, with the user's sign."""
    return float(values[sim.system.joints[joint].dofs[0]])


def timed_step(sim: Simulation) -> tuple[StepReport, float]:
    """Take one step; return its report and its wall time [s]. A step that fails raises its error."""
    before = time.perf_counter()
    report = sim.step()
    seconds = time.perf_counter() - before
    if not report.outcome.accepted:
        raise error_of(sim, report)
    return report, seconds


def timed_steps(sim: Simulation, steps: int, observers: Iterable[Observer], description: str) -> list[float]:
    """Take ``steps`` steps and return the wall time of each [s]; a progress bar runs on a terminal only."""
    watching = list(observers)
    for observer in watching:
        observer.begin(sim, steps)
    seconds = []
    for _ in tqdm(range(steps), desc=description, unit="step", disable=None, leave=False):
        report, time_of_step = timed_step(sim)
        seconds.append(time_of_step)
        for observer in watching:
            observer.observe(sim, report)
    for observer in watching:
        observer.end(sim)
    return seconds


def percentiles_us(seconds: list[float]) -> dict[str, float]:
    """Return the wall time of a step in microseconds: median, 99th percentile, largest."""
    times = 1e6 * np.array(seconds)
    p50, p99 = np.percentile(times, (50, 99))
    return {"p50": float(p50), "p99": float(p99), "max": float(times.max())}
