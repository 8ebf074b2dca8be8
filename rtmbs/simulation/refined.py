"""Runs of h, h/2 and h/4 side by side, extrapolated to a higher order, with an error estimate for every channel.

Differences between extrapolations of ever smaller steps shrink by 2^p. Smooth motions have the power p of theory. A
force with a kink, a step too long for what happens in it, or chaotic motion have a smaller one (METHODS 1.34).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from threading import Event as ThreadEvent
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

from rtmbs.errors import InputError, RtmbsError, shown
from rtmbs.integrators.checks import whole
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.numerics.rotations.quaternions import turn_between, turned
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import QUATERNION, units_of
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Evaluation, Samples, one_sample
from rtmbs.simulation.dense_output import Track, increments
from rtmbs.simulation.jumps import NONE, Piece, jump_times, pieces
from rtmbs.simulation.observers.observer import Schedule
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.simulation.options import MOST_HALVINGS
from rtmbs.simulation.running import run, steps_between
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System
from rtmbs.system.tables import Array

LINEAR = ("z", "zd", "zdd", "lam", "s")  # what is extrapolated number by number; R0 is on the rotation group


def extrapolated(runs: Sequence[Samples], powers: Sequence[int]) -> Samples:
    """Return the samples that the runs, each with half the steps of the one before, tend to.

    ``powers`` are those of the first ``len(runs) - 1`` terms of the error. Rotations are extrapolated as turns from
    those of the last run.
    """
    weights = weights_of(len(runs), powers)
    last = runs[-1]
    values = {name: combined([getattr(run, name) for run in runs], weights) for name in LINEAR}
    turns = combined([turn_between(last.R0, run.R0) for run in runs], weights)
    doubtful = np.max([run.doubtful for run in runs], axis=0)
    return last._replace(**values, R0=turned(last.R0, turns), doubtful=doubtful)


def combined(values: Sequence[Array], weights: Array) -> Array:
    """Return the sum of the last values and weighted differences to them: no digit is lost where runs agree."""
    last = values[-1]
    return reduce(lambda total, part: total + part[0] * (part[1] - last), zip(weights, values, strict=True), last)


def weights_of(runs: int, powers: Sequence[int]) -> Array:
    """Return the weight of each run; their sum is 1 and the terms h^q of the error cancel."""
    table = np.eye(runs)
    for q in powers[: runs - 1]:
        table = (2.0**q * table[1:] - table[:-1]) / (2.0**q - 1.0)
    return np.asarray(table[0])


PAIR = 2  # steps of the grid in a step of the witness
SEEN = 0.75  # of a power: what is missing in the measured one for an order to be doubted
LEAST, MOST = 0.5, 1.0  # powers that an estimate counts on
SAFETY = 1.5  # of an estimate: a kink within a step has an error that depends on its place there
LUCK = 0.4  # of a power above the expected one
TWICE = 0.8  # of the difference to the extrapolation of steps twice as large
AROUND = 8  # an error is the largest of a time around: the run over this
NEAR = 4  # samples at least
IRREGULAR = 2  # the same of a motion that is not regular, on both sides
ROUNDING = 1e-9  # of the largest value: errors below it are those of penalties
TELLING = 1e-8  # of the largest value: differences below it show no power


class Ladder(NamedTuple):
    """Extrapolations and runs beside the best one, as Samples or as Results.

    ``coarser`` and ``twice`` have every other sample.
    """

    fine: Any  # of one run less, without the coarsest
    coarse: Any  # without the finest
    coarser: Any | None  # of as many runs, with the witness; None: no witness
    twice: Any | None  # of all runs but the finest, and the witness
    plain: Any  # the last run but one
    finest: Any  # the last run


def ladder(runs: list[Samples], witness: Samples | None, powers: tuple[int, ...]) -> Ladder:
    """Return the extrapolations of runs of h, h/2, ... and of a witness of 2 h."""
    fine, coarse = extrapolated(runs[1:], powers), extrapolated(runs[:-1], powers)
    if witness is None:
        return Ladder(fine, coarse, None, None, *runs[-2:])
    count = len(witness.t)
    others = [every_other(run, count) for run in runs[:-1]]
    coarser, twice = (extrapolated([witness, *some], powers) for some in (others[:-1], others))
    return Ladder(fine, coarse, coarser, twice, *runs[-2:])


def every_other(samples: Samples, count: int) -> Samples:
    """Return ``count`` samples, every other one."""
    return Samples(*(values[::PAIR][:count] for values in samples))


def measured_power(beside: Ladder, typical: Array) -> float:
    """Return the power of h by which the differences of coordinates, rates and accelerations shrink, the least of them.

    NaN without a witness, inf where all differences are rounding.
    """
    if beside.coarser is None:
        return float("nan")
    count = len(beside.coarser.t)
    middle, fine = every_other(beside.coarse, count), every_other(beside.fine, count)
    powers = []
    for name in ("z", "zd", "zdd"):
        values = [getattr(one, name) for one in (beside.coarser, middle, fine)]
        first, second = (largest(b - a, typical) for a, b in pairwise(values))
        if name == "z" and fine.R0.shape[1]:
            turns = [
                float(np.abs(turn_between(a.R0, b.R0)).max()) for a, b in ((beside.coarser, middle), (middle, fine))
            ]
            first, second = max(first, turns[0]), max(second, turns[1])
        if max(first, second) > TELLING * max(largest(values[2], typical), 1.0 if name == "z" else 0.0):
            powers.append(np.log2(first / second) if second > 0.0 else np.inf)
    return float(min(powers, default=np.inf))


def largest(values: Array, typical: Array) -> float:
    """Return the largest of some values of coordinates, in typical sizes."""
    return float(np.max(np.abs(values) / typical, initial=0.0))


def estimate(value: Array, beside: Ladder, regular: bool, known: bool, expected: float) -> Array:
    """Return the error (k,) of a channel's ``value`` (k, ...), the largest of its components around every sample.

    The difference of the last two extrapolations would be the error for p = 1 and is divided by 2^p - 1, with the
    least of the measured power, there and in the whole run, and 1, times SAFETY. Where the motion is not ``regular``,
    it is at least that of the last two runs themselves: extrapolation may have made them worse. It is then the largest
    of half of the run on both sides: all runs may miss a steep force alike, and part later. NaN: the differences
    do not shrink, although no rounding explains that: the whole motion is not ``known``. Differences that shrink faster
    than by the ``expected`` power are luck: the error is then at least that of one power less, from the larger one.
    """
    fine, coarse, coarser, twice = beside[:4]
    near = around(fine - coarse)
    floor = ROUNDING * float(np.max(np.abs(value), initial=0.0))
    if coarser is None or twice is None:
        return np.maximum(near, floor)
    count = len(coarser)
    first, second = around(coarser - coarse[::PAIR][:count]), around((coarse - fine)[::PAIR][:count])
    if not known and first.max() <= second.max():
        return np.full(len(value), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        here, whole = np.log2(first / second), np.log2(first.max() / second.max())
    power = np.clip(np.nan_to_num(np.minimum(here, whole), nan=MOST), LEAST, MOST)
    errors = np.maximum(SAFETY * near / (2.0 ** spread(power, len(near)) - 1.0), floor)
    doubled = around(value[::PAIR][:count] - twice)
    errors = np.maximum(errors, TWICE * spread(doubled, len(near)))
    lucky = np.where(np.maximum(here, whole) > expected + LUCK, first / 2.0 ** (expected - 1.0), 0.0)
    errors = np.maximum(errors, spread(lucky, len(near)))
    if regular:
        return errors
    errors = np.maximum(errors, around(beside.finest - beside.plain))
    return np.asarray(maximum_filter1d(errors, 2 * (len(errors) // IRREGULAR) + 1, mode="nearest"))


def around(difference: Array) -> Array:
    """Return the largest absolute component (k,) in a time around every sample."""
    flat = np.abs(difference.reshape(len(difference), -1)).max(axis=1, initial=0.0)
    wide = max(len(flat) // AROUND, NEAR)
    return np.asarray(maximum_filter1d(flat, 2 * wide + 1, mode="nearest"))


def spread(values: Array, count: int) -> Array:
    """Return values of every other sample at ``count`` samples."""
    return np.asarray(np.repeat(values, PAIR)[np.minimum(np.arange(count), PAIR * len(values) - 1)])


# ---- three runs side by side, and their error estimates --------------------------------------------------------------


TURNING = 1e-6  # velocity that projections take, of the largest rate: below it there is only rounding of penalties
FEWEST_RUNS, MOST_RUNS = 2, 4  # runs
SHORTEST = 4  # steps of a witness that show something
LOWER = "order measured: differences between runs shrink by h^{:.1f}, expected h^{}; errors follow the measured one"
UNMEASURED = "order not measured: no run of 2 h beside the others; errors are larger than they have to be"
PROJECTED = 1e-13  # of the largest rate is all that projections leave: more would add up in the finest run


class RefinedResult(Result):
    """Result of runs side by side, with its order and with an error estimate for every channel; ``refined`` returns it.

    ``expected_order`` is the order of theory for smooth forces. ``expected_power`` is the power of h by which the
    differences between the runs should shrink. ``measured_power`` is the power by which they do shrink. It is NaN where
    it was not measured, and inf where all differences are rounding.

    ``order`` is the expected order, or the measured power where that is smaller by more than 0.75. Forces are then not
    smooth in steps of h, or the motion is chaotic.

    ``samples`` has the extrapolated coordinates, rates, accelerations and multipliers, and ``runs`` is the number of
    runs.

    Parameters
    ----------
    system : System
        System of the runs.
    resampled : Evaluation
        Extrapolated samples.
    beside : Ladder
        Extrapolations of fewer runs, which the error estimates are made of.
    powers : Sequence[int]
        Powers of h in the error of a run, the smallest first.
    runs : Sequence[Level]
        The runs, that of the largest step first.
    """

    def __init__(
        self,
        system: System,
        resampled: Evaluation,
        beside: Ladder,
        powers: Sequence[int],
        runs: "Sequence[Level]",
    ) -> None:
        outcomes: Counter[str] = Counter()
        warnings: Counter[str] = Counter()
        for level in runs:
            outcomes.update(level.outcomes)
            warnings.update(level.warnings)
        super().__init__(
            lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warnings, system
        )
        self.runs = len(runs)
        self.samples = resampled.samples  # coordinates, rates, accelerations and multipliers, extrapolated
        self.expected_order, self.expected_power = powers[self.runs - 1], powers[self.runs - 2]
        self.measured_power = measured_power(beside, system.typical)
        missing = self.expected_power - self.measured_power
        self.order: float = max(round(self.measured_power, 1), 0.0) if missing > SEEN else self.expected_order
        if missing > SEEN:
            warnings[LOWER.format(self.measured_power, self.expected_power)] = 1
        if np.isnan(missing):
            warnings[UNMEASURED] = 1
        self._beside = Ladder(*(one and result_of(system, resampled, one) for one in beside))

    def error(self, name: str) -> Array:
        """Return the estimate of the error of a channel at every sample.

        Components of one unit share the largest of their errors, around a sample for an eighth of the run. Errors that
        pass through zero are so not missed. The estimate follows the measured power.

        Parameters
        ----------
        name : str
            Name of the channel.

        Returns
        -------
        ndarray
            Estimates in the unit of the channel, of the shape of its values. NaN means that the error is not known: the
            runs do not come closer to each other.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist.

        Examples
        --------
        >>> system = rtmbs.library.build("pendulum").compile()
        >>> result = rtmbs.refined(system, h=5e-3, t_end=0.5)
        >>> angle, error = result["pivot.angle"], result.error("pivot.angle")
        >>> bool(error.max() < 1e-4)
        True
        """
        channel = self.channel(name)
        others = [one if one is None else one[name] for one in self._beside]
        if channel.axes == QUATERNION:  # q and -q are the same turn
            others = [one if one is None else same_sign(channel.values, one) for one in others]
        units = np.array(units_of(channel.axes, channel.unit))
        values = channel.values.reshape(len(channel.values), -1)
        found = np.empty_like(values)
        for unit in dict.fromkeys(units):
            mine = np.flatnonzero(np.resize(units, values.shape[1]) == unit)
            parts = Ladder(*(one if one is None else one.reshape(len(one), -1)[:, mine] for one in others))
            regular, known = self.order == self.expected_order, self.measured_power > 0.0
            found[:, mine] = estimate(values[:, mine], parts, regular, known, self.expected_power)[:, None]
        return found.reshape(channel.values.shape)

    def __repr__(self) -> str:
        return f"Refined{super().__repr__()[:-1]}; {self.runs} runs, order {self.order:g})"


def result_of(system: System, resampled: Evaluation, samples: Samples) -> Result:
    """Return the channels of other samples."""
    other = Evaluation(system, resampled.tables, samples)
    return Result(lambda: sources(system, other))


def same_sign(values: Array, others: Array) -> Array:
    """Return quaternions with the signs of those of the same run, all of them or every other one."""
    near = values if len(values) == len(others) else values[::PAIR][: len(others)]
    return np.where(np.sum(near * others, axis=1, keepdims=True) < 0.0, -others, others)


class EveryFew(Schedule):
    """After every so many steps; CancelledError when the runs beside this one were given up."""

    simulated_time = True

    def __init__(self, steps: int, stopped: ThreadEvent) -> None:
        self.steps, self.seen, self.stopped = steps, 0, stopped

    def start(self, t: float) -> None:
        self.seen = 0

    def samples(self, steps: int, h: float) -> int | None:
        return steps // self.steps

    def due(self, t: float) -> bool:
        if self.stopped.is_set():
            raise CancelledError
        self.seen += 1
        return self.seen % self.steps == 0


@dataclass
class Level:
    """One of the runs."""

    samples: Samples  # at the grid times
    outcomes: Mapping[str, int]
    warnings: Mapping[str, int]
    turning: float  # largest share of the rates that the velocity projections took


def refined(
    system: System,
    h: float,
    t_end: float,
    *,
    method: Method | None = None,
    runs: int = 2,
    threads: int = 2,
    jacobian: str = "structured",
    assembly_offset: bool = False,
) -> RefinedResult:
    """Run with steps of h and h/2 from the start to ``t_end``, and return the extrapolation at multiples of h.

    Two runs of the trapezoidal rule give order four, and three runs give order six, in every channel. This holds for
    trees, and for loops whose reactions keep their direction, as those of parallelograms. Loops whose reactions turn
    have an error term h^3 (METHODS 1.34): there two runs give order three, and three runs give order four. With
    ``VariationalMidpoint`` these orders are four and six for every loop (METHODS 6).

    A further run of 2 h measures the order. ``RefinedResult.order`` is the order that the runs show, and error
    estimates follow it.

    Jumps of functions of time end a step and begin the next, as exactly as they are known.

    Parameters
    ----------
    system : System
        Mechanism that ``Model.compile`` returned.
    h : float
        Step of the coarsest run [s]. Every run goes its own way, so each is as stable as its method.
    t_end : float
        End of the runs [s].
    method : Method, optional
        Any method with an order; ``PenaltyTrapezoidal(hold_energy=False, projection_tol=1e-13)`` unless given.
    runs : int, default 2
        Number of runs, 2 to 4. The third run has steps of h/4, the fourth of h/8.
    threads : int, default 2
        1 or 2. With 2 the finest run has a thread of its own, and both threads call functions of time.
    jacobian : str, default "structured"
        Source of stiffness and damping matrices, as of a Simulation.
    assembly_offset : bool, default False
        Measure inconsistent redundant closures from the pose as it is, as a Simulation does.

    Returns
    -------
    RefinedResult
        Channels at multiples of h, with order and error estimates.

    Raises
    ------
    InputError
        For ``runs``, ``threads`` or a method out of range, and where a Simulation or its ``run`` raises it.
    ModelError
        For a massless body that nothing holds.
    StartError
        When no consistent start exists.
    StepError
        When a step of a run fails for good.

    Examples
    --------
    >>> system = rtmbs.library.build("pendulum").compile()
    >>> result = rtmbs.refined(system, h=5e-3, t_end=0.5, runs=3)
    >>> result.order, result["pivot.angle"].shape
    (6, (101,))
    """
    chosen = PenaltyTrapezoidal(hold_energy=False, projection_tol=PROJECTED) if method is None else method
    order_of(chosen)
    whole("runs", runs, FEWEST_RUNS, MOST_RUNS)
    whole("threads", threads, 1, 2)
    sim = Simulation(system, h, chosen, jacobian=jacobian, assembly_offset=assembly_offset)
    return refined_from(sim, t_end, runs, threads)


def refined_from(sim: Simulation, t_end: float, runs: int = FEWEST_RUNS, threads: int = 2) -> RefinedResult:
    """Return the extrapolation of runs from where ``sim`` stands, which goes the way of the coarsest itself."""
    system, method, h, t = sim.system, sim.method, sim.h, sim.t
    steps = steps_between(t, t_end, h)
    plan = pieces(t, h, steps, jump_times(system, t, t_end, h))
    sims = [sim, *(copy(sim) for _ in range(runs - 1))]
    stopped = ThreadEvent()
    beside = witness(copy(sim), steps // PAIR, PAIR * h, stopped)
    tasks = [partial(level, one, plan, 2**k, steps, h, stopped) for k, one in enumerate(sims)]
    levels = side_by_side(tasks, threads, stopped)
    powers = powers_of(method, sim, levels[0])
    samples = [one.samples for one in levels]
    best = Evaluation(system, sim.equations.tables, extrapolated(samples, powers))
    return RefinedResult(system, best, ladder(samples, beside, powers), powers, levels)


def witness(sim: Simulation, steps: int, h: float, stopped: ThreadEvent) -> Samples | None:
    """Return a run of steps twice as large, which shows the order of the others; None: too few steps, or it failed."""
    if steps < SHORTEST:
        return None
    try:
        plan = pieces(sim.t, h, steps, jump_times(sim.system, sim.t, sim.t + steps * h, h))
        return level(sim, plan, 1, steps, h, stopped).samples
    except RtmbsError:
        return None


def order_of(method: Any) -> None:
    """Refuse a method that tells no order: InputError."""
    order = getattr(method, "order", None)
    if getattr(method, "orders", order) is None:  # steps by a tolerance of its own
        order = None
    if isinstance(order, bool) or not (isinstance(order, int) and order >= 1):
        raise InputError(
            f"method {type(method).__name__} has order {shown(order)}; refined needs a method whose order is a whole "
            "number of at least 1"
        )


def powers_of(method: Method, sim: Simulation, coarse: Level) -> tuple[int, ...]:
    """Return the powers of h in the error of a run, the first ``MOST_RUNS`` of them."""
    balanced, even = len(sim.equations.tables.balance.first) > 0, getattr(method, "even_powers", None)
    if even is not None and even(balanced, coarse.turning > TURNING):
        return 2, 4, 6, 8
    return tuple(range(method.order, method.order + MOST_RUNS))


def side_by_side(tasks: Sequence[Callable[[], Level]], threads: int, stopped: ThreadEvent) -> list[Level]:
    """Return what the tasks return, the last one on a thread of its own; raises what the first failing one raises.

    Whatever raises here, an interrupt too, sets ``stopped``, so that the other thread ends soon.
    """
    if threads == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(1) as pool:
        finest = pool.submit(tasks[-1])
        try:
            return [*(task() for task in tasks[:-1]), finest.result()]
        except BaseException:
            stopped.set()
            raise


def level(sim: Simulation, plan: Sequence[Piece], parts: int, steps: int, h: float, stopped: ThreadEvent) -> Level:
    """Take every step of the plan in ``parts`` parts, and return the samples of the grid."""
    start = one_sample(sim.state)
    fields = {name: np.zeros((steps + 1, *getattr(start, name).shape[1:])) for name in OF_STATE}
    doubtful, outcomes, warnings, turning = np.zeros(steps + 1), Counter[str](), Counter[str](), 0.0

    def keep(found: Samples, at: slice) -> None:
        for name, values in fields.items():
            values[at] = getattr(found, name)

    keep(start, slice(0, 1))
    for piece in plan:
        if piece.steps:
            sim._store.step_from_here((piece.end - piece.start) / (piece.steps * parts))
            recorder = Recorder(EveryFew(parts, stopped))
            run(sim, piece.steps * parts, recorder, [], False, "halve", MOST_HALVINGS)
            found, result = recorder.samples, recorder.result()
            outcomes.update(recorder.outcomes)
            warnings.update(result.warnings)
            turning = max(turning, share_projected(sim.system, found))
            if piece.grid != NONE:
                at = slice(piece.grid, piece.grid + piece.steps)
                keep(Samples(*(values[1:] for values in found)), at)
                doubtful[at] = found.doubtful[1:]
        if piece.go > piece.end:
            sim._store.move_by_rates(piece.go)
            if piece.behind != NONE:
                keep(one_sample(sim.state), slice(piece.behind, piece.behind + 1))
    t = start.t[0] + h * np.arange(steps + 1)
    return Level(Samples(t=t, **fields, doubtful=doubtful), outcomes, warnings, turning)


def share_projected(system: System, samples: Samples) -> float:
    """Return the largest velocity that a projection took, relative to the largest rate.

    The rule moves coordinates by h/2 (zd_n + zd*), so 2 dz/h - zd_n is the velocity zd* before the projection.
    """
    if samples.lam.shape[1] == 0:
        return 0.0
    h = np.diff(samples.t)[:, None]
    moved = increments(system.tables.dofs, Track(samples.t, samples.z, samples.zd, samples.zdd, samples.R0))
    taken = (2.0 * moved / h - samples.zd[1:] - samples.zd[:-1]) / system.typical
    largest = float(np.max(np.abs(samples.zd) / system.typical, initial=0.0))
    return float(np.max(np.abs(taken), initial=0.0)) / largest if largest > 0.0 else 0.0
