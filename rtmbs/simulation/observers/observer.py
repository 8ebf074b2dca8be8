"""The contract of an observer of a run, its schedule, a worker thread for what it writes, and meters.

A schedule is every step, every dt of simulated time, or by wall time. The worker takes jobs one after the other. An
interrupt may come between any two instructions of the main thread. A lock that is taken there may then stay taken, and
the next job of an executor would wait for ever. Here the main thread only puts into a ``SimpleQueue``, made for that,
and looks at a flag.

Meters are observers that read single numbers off the states and reports of a run. ``summary()`` answers them by name.
"""

import math
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import GIVEN, ITERATIONS, ITERATIONS_TO_TOLERANCE, POSITION_VIOLATION, Chunk
from rtmbs.results.sample_kernels import resample_energies
from rtmbs.results.samples import one_sample, samples_of
from rtmbs.semirecursive.workspace import Workspace, workspace
from rtmbs.state import State
from rtmbs.system.system import System

BEYOND_ALL = 1e15  # intervals or steps: a count of more is no exact number
ROUNDING = 1e-9  # of an interval: a step that ends this little early is in time


class Schedule:
    """Schedule of the steps after which an observer looks; every observer sees the initial state."""

    simulated_time = False  # True when ``due`` depends on nothing else, so that it may be asked after many steps

    def start(self, t: float) -> None:
        """Begin at simulated time ``t`` [s]."""

    def samples(self, steps: int, h: float) -> int | None:
        """Return the largest number of samples of so many steps of ``h`` [s]; None where it is not known."""
        return None

    def uneven(self, h: float) -> str:
        """Return a warning when steps of ``h`` [s] cannot meet the times of the schedule; otherwise ''.

        Parameters
        ----------
        h : float
            Step [s].

        Returns
        -------
        str
            What there is to say when steps of ``h`` [s] cannot meet the times that are asked for; else ''.
        """
        return ""

    def due(self, t: float) -> bool:
        """Return True when the step that ended at ``t`` [s] is to be observed; called once a step."""
        raise NotImplementedError

    def due_of(self, t: NDArray[np.float64]) -> slice | list[int]:
        """Return which of the steps that ended at ``t`` (k,) [s] are to be looked at.

        Parameters
        ----------
        t : ndarray
            Time [s].

        Returns
        -------
        slice | list[int]
            Which of the steps that ended at ``t`` (k,) [s] are to be looked at.
        """
        return [k for k, instant in enumerate(t.tolist()) if self.due(instant)]

    def due_ahead(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for every step that will end at ``t`` (k,) [s] whether it may be due; no call counts."""
        return np.ones(len(t), np.bool_)


class EveryStep(Schedule):
    """Schedule of every step."""

    simulated_time = True

    def samples(self, steps: int, h: float) -> int | None:
        return steps

    def due(self, t: float) -> bool:
        return True

    def due_of(self, t: NDArray[np.float64]) -> slice | list[int]:
        return slice(None)


class Every(Schedule):
    """Schedule of every ``dt`` [s] of simulated time, from the start: after the first step at or past each multiple.

    Parameters
    ----------
    dt : float
        Interval of simulated time [s].
    """

    simulated_time = True

    def __init__(self, dt: float) -> None:
        self.dt = positive("dt", dt, "s")
        self.first = 0.0
        self.seen = 0  # multiples so far

    def start(self, t: float) -> None:
        self.first, self.seen = t, 0

    def samples(self, steps: int, h: float) -> int | None:
        return math.ceil(min(steps * h / self.dt + 1.0, steps))  # infinite for a dt far below every step

    def uneven(self, h: float) -> str:
        ratio = self.dt / h  # infinite, or far beyond the run: only the first sample
        if ratio > BEYOND_ALL:
            return ""
        if abs(ratio - round(ratio)) <= ROUNDING * ratio:
            return ""
        return f"distances of samples that differ: {self.dt:g} s is no multiple of the step of {h:g} s"

    def due(self, t: float) -> bool:
        ratio = (t - self.first) / self.dt + ROUNDING
        multiple = math.floor(ratio) if ratio < BEYOND_ALL else self.seen + 1  # so fine an interval has ended
        if multiple <= self.seen:
            return False
        self.seen = multiple
        return True

    def due_ahead(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        ratio = (t - self.first) / self.dt + ROUNDING
        multiple = np.floor(np.minimum(ratio, BEYOND_ALL))
        return np.asarray((multiple > np.concatenate(([self.seen], multiple[:-1]))) | (ratio >= BEYOND_ALL))


class At(Schedule):
    """Schedule of given times [s]: after the first step at or past each; a run with a tolerance meets them exactly.

    Parameters
    ----------
    times : Iterable[float]
        Times [s], ascending.

    Raises
    ------
    InputError
        For times that are not finite or do not ascend.

    Examples
    --------
    >>> sim.run(1.0, tolerance=1e-6, record=At([0.1, 0.25, 1.0]))
    """

    simulated_time = True

    def __init__(self, times: Iterable[float]) -> None:
        try:
            self.times = [float(t) for t in times]
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"times is {shown(times)}; it must be a list of times in seconds") from None
        if not all(map(math.isfinite, self.times)) or any(b <= a for a, b in pairwise(self.times)):
            raise InputError(f"times is {shown(self.times)}; they must be finite and ascend")
        self.seen = 0

    def start(self, t: float) -> None:
        """Begin at simulated time ``t`` [s].

        Parameters
        ----------
        t : float
            Time [s].
        """
        self.seen = bisect_right(self.times, t)

    def samples(self, steps: int, h: float) -> int | None:
        """Return how many of so many steps of ``h`` [s] are to be looked at, at most; None when that is not known.

        Parameters
        ----------
        steps : int
            Number of steps.
        h : float
            Step [s].

        Returns
        -------
        int or None
            How many of so many steps of ``h`` [s] are to be looked at, at most; None when that is not known.
        """
        return min(steps, len(self.times))

    def due(self, t: float) -> bool:
        """Return True when the step that ended at ``t`` [s] is to be observed; called once a step.

        Parameters
        ----------
        t : float
            Time [s].

        Returns
        -------
        bool
            True when the step that ended at ``t`` [s] is to be looked at; asked once a step.
        """
        passed = bisect_right(self.times, t + ROUNDING * abs(t))
        late, self.seen = passed > self.seen, max(passed, self.seen)
        return late

    def due_ahead(self, t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for every step that will end at ``t`` (k,) [s] whether it will be due; no call counts.

        Parameters
        ----------
        t : ndarray
            Times (k,) at the ends of the steps to come [s].

        Returns
        -------
        ndarray
            True (k,) for steps that will be looked at.
        """
        passed = np.searchsorted(self.times, t + ROUNDING * np.abs(t), side="right")
        return np.asarray(passed > np.concatenate(([self.seen], passed[:-1])))


class AtRate(Schedule):
    """Schedule of at most ``rate`` [Hz] looks a second of wall time; looks that a slow look misses are dropped.

    Parameters
    ----------
    rate : float
        Largest number of looks in a second of wall time [Hz].
    clock : Callable[[], float], default time.perf_counter
        Monotonic clock [s].
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.interval = 1.0 / positive("rate", rate, "Hz")
        self.clock = clock
        self.next = 0.0

    def start(self, t: float) -> None:
        self.next = self.clock() + self.interval

    def due(self, t: float) -> bool:
        now = self.clock()
        if now < self.next:
            return False
        self.next += self.interval
        if self.next <= now:  # behind by more than an interval: the missed looks are dropped
            self.next = now + self.interval
        return True


def positive(option: str, value: float, unit: str) -> float:
    """Return ``value`` when it is a positive number; InputError otherwise."""
    if not (math.isfinite(value) and value > 0.0):
        raise InputError(f"{option} is {value!r}; it must be a positive number [{unit}]")
    return float(value)


Array = NDArray[np.float64]


class Watched(Protocol):
    """The part of a Simulation that an observer may read."""

    @property
    def system(self) -> System: ...
    @property
    def equations(self) -> Any: ...
    @property
    def state(self) -> State: ...
    @property
    def t(self) -> float: ...
    def snapshot(self, take: Callable[[State], Any] = ...) -> Any: ...
    @property
    def method(self) -> Any: ...
    @property
    def start_report(self) -> Any: ...


class Observer:
    """Observer of a simulation between steps.

    To write one:

    1. Inherit from this class; pass a schedule to ``super().__init__`` when not every step matters.
    2. ``start(sim, steps)`` comes once, before the first step: look at the initial state, allocate. ``steps`` is the
       number of steps to come, or None when it is not known.
    3. ``look(sim, report)`` comes after every step that is due. ``sim.state`` is the new state, ``report`` the
       StepReport of the step.
    4. ``finish(sim)`` comes once, after the last step; not after a step that failed for good.
    5. Read, never write: no attribute of ``sim``, no array that hangs on it, and none of its scratch. A run gives the
       same bytes with and without you.
    6. Copy the arrays of ``sim.state`` that you keep: they are overwritten two steps on.
    7. An observer may watch several runs; ``start`` begins anew.
    8. ``look_at_chunk(sim, t, chunk)``, if you write it, stands for a ``look`` at every row: a run then need not come
       back to Python after every step. ``sim.state`` is already the last of them; ``chunk`` is overwritten later.

    A Simulation calls ``begin``, ``observe`` and ``end``. A loop of single steps calls them likewise. The schedule
    stands between these and the methods above.

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.

    Examples
    --------
    >>> class Highest(rtmbs.Observer):
    ...     def start(self, sim, steps):
    ...         self.angle = abs(sim.state.z[0])
    ...     def look(self, sim, report):
    ...         self.angle = max(self.angle, abs(sim.state.z[0]))
    >>> highest, model = Highest(), rtmbs.library.build("pendulum")
    >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(1.0, observers=[highest])
    >>> bool(highest.angle == abs(result["pivot.angle"]).max())
    True
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        self.schedule: Schedule = EveryStep() if schedule is None else schedule

    def begin(self, sim: Watched, steps: int | None = None) -> None:
        """Start watching ``sim``, which will take ``steps`` steps."""
        self.schedule.start(sim.t)
        self.start(sim, steps)

    def observe(self, sim: Watched, report: StepReport) -> None:
        """Look at the step just taken when it is due."""
        if self.schedule.due(sim.state.t):
            self.look(sim, report)

    @property
    def takes_chunks(self) -> bool:
        """True when chunks serve as well as looks: ``look_at_chunk`` belongs to the class that says how to look."""
        own = type(self)
        home: type[Observer] = next(kind for kind in own.__mro__ if "look_at_chunk" in vars(kind))
        meant = home is not Observer and own.look is home.look and own.observe is home.observe
        return meant and self.schedule.simulated_time

    def observe_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Look at the steps just taken, those that are due."""
        due = self.schedule.due_of(t)
        self.look_at_chunk(sim, t[due], Chunk(*(values[due] for values in chunk)))

    def end(self, sim: Watched) -> None:
        """Stop watching.

        Parameters
        ----------
        sim : Watched
            Simulation that was watched.
        """
        self.finish(sim)

    def start(self, sim: Watched, steps: int | None) -> None:
        """Prepare; see point 2."""

    def look(self, sim: Watched, report: StepReport) -> None:
        """See one step; see point 3."""

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """See many steps, which ended at ``t`` (k,) [s]; see point 8."""
        raise NotImplementedError

    def finish(self, sim: Watched) -> None:
        """Conclude; see point 4."""


T = TypeVar("T")
LOOK = 1e-4  # [s] between two looks at a flag
PAUSE = 1e-6  # [s] long enough for the system to let another thread run


class Job(Generic[T]):
    """A call, and what came of it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self.call = call
        self.value: T | None = None
        self.error: BaseException | None = None
        self.done = False

    def run(self) -> None:
        """Make the call, and keep its value or its error."""
        try:
            self.value = self.call()
        except BaseException as error:  # noqa: BLE001 - it comes out where the job is waited for
            self.error = error
        self.done = True

    def result(self) -> T:
        """Return the value of a job that is done, or raise its error."""
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value


def give_way() -> None:
    """Let a thread go on that waits for the interpreter.

    A step ends in compiled code that runs beside this thread. Its thread would then wait 5 ms, the switch interval of
    the interpreter, which is many steps.
    """
    time.sleep(PAUSE)


def serve(jobs: "SimpleQueue[Job[object] | None]") -> None:
    """Do the jobs that come, until None does."""
    while (job := jobs.get()) is not None:
        job.run()


class WriterThread:
    """The thread; it holds nothing but its queue, and ends with the process."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job[object] | None] = SimpleQueue()
        self.thread = threading.Thread(target=serve, args=(self.jobs,), daemon=True)
        self.thread.start()

    def submit(self, call: Callable[[], T]) -> Job[T]:
        """Let a call be made after all others."""
        job: Job[T] = Job(call)
        self.jobs.put(job)  # type: ignore[arg-type]
        return job

    def wait(self, job: Job[T]) -> T:
        """Wait for a job; return its value, or raise its error."""
        while not job.done:
            if not self.thread.is_alive():  # the interpreter is about to end
                job.run()
            time.sleep(LOOK)
        return job.result()

    def end(self) -> None:
        """Wait for all jobs, and end the thread."""
        if self.thread.is_alive():
            self.wait(self.submit(lambda: True))
            self.jobs.put(None)


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
