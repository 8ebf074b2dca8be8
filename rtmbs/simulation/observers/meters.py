"""Meters: single numbers about a run, read off its states and reports. ``summary()`` answers them by name."""

import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import GIVEN, ITERATIONS, ITERATIONS_TO_TOLERANCE, POSITION_VIOLATION, Chunk
from rtmbs.results.sample_kernels import resample_energies
from rtmbs.results.samples import one_sample, samples_of
from rtmbs.semirecursive.workspace import Workspace, workspace
from rtmbs.simulation.observers.observer import Observer, Schedule, Watched

Array = NDArray[np.float64]

VIOLATIONS = (
    "position_violation",
    "velocity_violation",
    "acceleration_violation",
    "position_violation_rotation",
    "velocity_violation_rotation",
    "acceleration_violation_rotation",
)
COUNTS = ("iterations", "jacobians", "factorisations", "projections")  # both in the order of the stats, see
# ``settings``


class Meter(Observer):
    """An observer that ends in a few numbers."""

    def summary(self) -> dict[str, float]:
        """Return the numbers by name, the unit at the end of the name."""
        raise NotImplementedError

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:.6g}" for name, value in self.summary().items())


class EnergyMeter(Meter):
    """Largest |E - E0|, E kinetic energy, gravity energy and elastic energy; dampers, motors and drivers are no part.

    ``exchanged`` is the range of the kinetic energy: what a drift is to be compared with. ``given`` is what the balance
    of energy gave to loops and took from them, as the sum of its sizes over the steps that were looked at: the energy
    that the integration rule alone would have lost or won, step by step.

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        super().__init__(schedule)
        self.initial = self.latest = self.error = 0.0  # [J]
        self.given = 0.0  # [J]
        self.least = self.most = 0.0  # kinetic energy [J]
        self._scratch: Workspace | None = None
        self._energies: Array = np.zeros((3, 1))

    def start(self, sim: Watched, steps: int | None) -> None:
        """Measure the initial energy, in scratch of its own."""
        self._scratch = workspace(sim.equations.tables)
        kinetic, self.initial = self.measure(sim)
        self.latest, self.error, self.least, self.most = self.initial, 0.0, kinetic, kinetic
        self.given = 0.0

    def look(self, sim: Watched, report: StepReport) -> None:
        kinetic, self.latest = self.measure(sim)
        self.error = max(self.error, abs(self.latest - self.initial))
        self.given += report.energy_given
        self.least, self.most = min(self.least, kinetic), max(self.most, kinetic)

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        if not len(t):
            return
        energies = np.zeros((3, len(t)))
        resample_energies(sim.equations.tables, samples_of(t, chunk), self._scratch, energies)
        total, kinetic = energies.sum(axis=0), energies[0]
        self.latest = float(total[-1])
        self.given += float(chunk.stats[:, GIVEN].sum())
        self.error = max(self.error, float(np.abs(total - self.initial).max()))
        self.least, self.most = min(self.least, float(kinetic.min())), max(self.most, float(kinetic.max()))

    def measure(self, sim: Watched) -> tuple[float, float]:
        """Return kinetic and total energy [J].

        Parameters
        ----------
        sim : Watched
            Simulation.

        Returns
        -------
        tuple[float, float]
            Kinetic and total energy [J].
        """
        resample_energies(sim.equations.tables, one_sample(sim.state), self._scratch, self._energies)
        return float(self._energies[0, 0]), float(self._energies.sum())

    @property
    def exchanged(self) -> float:
        """Range of the kinetic energy so far [J]."""
        return self.most - self.least

    def summary(self) -> dict[str, float]:
        """Return the numbers by name, the unit at the end of the name.

        Returns
        -------
        dict[str, float]
            Numbers by name, the unit at the end of the name.
        """
        return {
            "initial_J": self.initial,
            "latest_J": self.latest,
            "error_J": self.error,
            "exchanged_J": self.exchanged,
            "given_J": self.given,
        }


class ViolationMeter(Meter):
    """Largest violations of the loop equations after projection; rotation rows apart from translations [m, ...].

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        super().__init__(schedule)
        self.largest = dict.fromkeys(VIOLATIONS, 0.0)  # by the names of StepReport

    def start(self, sim: Watched, steps: int | None) -> None:
        self.largest = dict.fromkeys(VIOLATIONS, 0.0)

    def look(self, sim: Watched, report: StepReport) -> None:
        for name in VIOLATIONS:
            self.largest[name] = max(self.largest[name], getattr(report, name))

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        for place, name in enumerate(VIOLATIONS, POSITION_VIOLATION):
            self.largest[name] = max(self.largest[name], float(chunk.stats[:, place].max(initial=0.0)))

    def summary(self) -> dict[str, float]:
        return dict(self.largest)


class IterationMeter(Meter):
    """Sums of Newton iterations, Jacobians, factorisations and projection iterations; the most iterations of one step.

    ``iterations_to_tolerance`` counts steps by the iterations after which Newton's test was first met, 0 where it was
    not: what a fixed number of iterations is to be compared with.

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        super().__init__(schedule)
        self.steps = self.most = self.dense = 0
        self.total: Counter[str] = Counter()
        self.iterations_to_tolerance: Counter[int] = Counter()  # steps by the iterations that were enough; 0: none were

    def start(self, sim: Watched, steps: int | None) -> None:
        self.steps = self.most = self.dense = 0
        self.total, self.iterations_to_tolerance = Counter(), Counter()

    def look(self, sim: Watched, report: StepReport) -> None:
        self.steps += 1
        self.dense += report.dense
        self.most = max(self.most, report.iterations)
        self.iterations_to_tolerance[report.iterations_to_tolerance] += 1
        for name in COUNTS:
            self.total[name] += getattr(report, name)

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        self.steps += len(t)
        self.most = max(self.most, int(chunk.stats[:, ITERATIONS].max(initial=0.0)))
        self.iterations_to_tolerance.update(chunk.stats[:, ITERATIONS_TO_TOLERANCE].astype(int).tolist())
        for place, name in enumerate(COUNTS, ITERATIONS):
            self.total[name] += int(chunk.stats[:, place].sum())

    @property
    def mean(self) -> float:
        """Newton iterations a step."""
        return self.total["iterations"] / max(self.steps, 1)

    def summary(self) -> dict[str, float]:
        counts = {name: self.total[name] for name in COUNTS}
        return {"steps": self.steps, **counts, "mean": self.mean, "most": self.most, "dense": self.dense}


class StepTimeMeter(Meter):
    """Wall time of a step, from one look to the next: what other observers and the loop take is in it.

    It looks after every step, for nothing else would measure steps. ``phases`` sums the phases of the StepReports.
    """

    def __init__(self) -> None:
        super().__init__()
        self.phases: Counter[str] = Counter()  # [s]
        self._times: list[float] = []
        self._last = 0.0

    def start(self, sim: Watched, steps: int | None) -> None:
        self.phases, self._times = Counter(), []
        self._last = time.perf_counter()

    def look(self, sim: Watched, report: StepReport) -> None:
        now = time.perf_counter()
        self._times.append(now - self._last)
        self.phases.update(report.phases)
        self._last = time.perf_counter()

    @property
    def seconds(self) -> Array:
        """Wall time of every step (steps,) [s]."""
        return np.array(self._times)

    def summary(self) -> dict[str, float]:
        if not self._times:
            return {"p50_us": 0.0, "p99_us": 0.0, "max_us": 0.0, "total_s": 0.0}
        times = self.seconds
        p50, p99 = np.percentile(times, (50, 99))
        return {
            "p50_us": 1e6 * p50,
            "p99_us": 1e6 * p99,
            "max_us": 1e6 * float(times.max()),
            "total_s": float(times.sum()),
        }
