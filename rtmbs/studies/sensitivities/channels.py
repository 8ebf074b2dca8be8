"""Recorded run with checkpoints, the cost function of its channels on a tape, and derivatives of channels.

States are kept at segment starts, and the steps between are repeated when needed. A saved State continues with the same
bytes, so the steps are the same ones. Memory holds the checkpoints and the record of one segment, the channels of the
cost, and samples that show how channels depend on states. Derivatives of channels by states and parameters are central
differences of order four, along exact directions. Samples are independent of each other, so one direction serves all of
them at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import Trace
from rtmbs.errors import DerivativeError, InputError, shown
from rtmbs.numerics.rotations.quaternions import turned
from rtmbs.results.catalogue import run_result, sources
from rtmbs.results.channel import QUATERNION, TIME, Source, StoredValues
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Evaluation, Samples, select_samples
from rtmbs.results.self_stress import adopt_bases
from rtmbs.simulation.observers.recorder import continued
from rtmbs.simulation.simulation import Simulation
from rtmbs.state import State
from rtmbs.studies.analysis.neighbourhood import PLACES, STEP, WEIGHTS
from rtmbs.studies.sensitivities.parameters import SensitivityParameter, SensitivityParameters, with_offset
from rtmbs.studies.sensitivities.steps import RecordedSteps, RunRecorder, sizes_of
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Cost = Callable[[Mapping[str, Any]], Any]
FEW = 8  # samples that tell whether channels depend on something


class TracedChannels(Mapping[str, Any]):
    """Channels of a run as traced arrays, marked at their first use; ``t`` is a plain array.

    ``offered`` is a Result of the same System, of any samples.
    """

    def __init__(self, offered: Result, t: Array, trace: Trace) -> None:
        self.offered, self.t, self.trace = offered, t, trace
        self.marked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == TIME:
            return self.t
        if name not in self.marked:
            axes, _ = self.offered.about(name)
            self.marked[name] = self.trace.independent((len(self.t), len(axes)) if axes else (len(self.t),))
        return self.marked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.offered)

    def __len__(self) -> int:
        return len(self.offered.names())


class RecordedCost:
    """Cost function of channels over ``length`` samples, with its derivatives.

    ``names`` are the channels that it reads, and ``widths`` their numbers a sample. ``take`` gives it the values.
    """

    def __init__(self, of: Any, offered: Result, t: Array) -> None:
        function = last_values(of) if isinstance(of, str | list | tuple) else of
        if not callable(function):
            raise InputError(
                f"of is {shown(of)}; it must be a function of channels, or names of channels whose last values count"
            )
        trace = Trace()
        try:
            with trace:
                read = TracedChannels(offered, t, trace)
                y = function(read)
                if not read.marked:
                    raise InputError("of reads no channel of the run; write it as lambda r: r['tip.position'][-1], say")
                trace.dependent(y)
        except DerivativeError as error:
            raise InputError(f"of cannot be recorded: {error}") from error
        self.names, self.length = tuple(read.marked), len(t)
        self.widths = [max(len(offered.about(name)[0]), 1) for name in self.names]
        self.evaluator = Evaluator(trace.tape)
        if not self.count:
            raise InputError("of returns no value; an empty array has no derivatives")
        self.x = np.zeros(0)
        self.slopes: Any = None

    def take(self, values: Array) -> None:
        """Set the values (S, w) of the channels, those of a sample side by side. Raises InputError for nan."""
        self.x, self.slopes = self.joined(values), None
        if not np.all(np.isfinite(self.value)):
            raise InputError(
                f"of returned {shown(self.value.tolist())}, which is not finite; look for a division by zero or the "
                "root of a negative number"
            )
        if not np.all(np.isfinite(self.by_channels().data)):
            raise InputError(
                "of has no finite derivative at this run, as a root or a norm at zero; square it, or add a small "
                "number inside of the root"
            )

    @property
    def count(self) -> int:
        """Number of values."""
        return self.evaluator.m

    @property
    def value(self) -> Array:
        """Values (k,)."""
        return self.evaluator.value(self.x)

    def by_channels(self) -> Any:
        """Return the sparse derivatives (k, N) by all numbers of the channels, channel after channel."""
        if self.slopes is None and self.count == 1:
            self.slopes = scipy.sparse.csr_array(self.evaluator.reverse(self.x, np.ones((1, 1))))
        elif self.slopes is None:
            entries, row, column = self.evaluator.entries(self.x).copy(), self.evaluator.row, self.evaluator.column
            self.slopes = scipy.sparse.csr_array((entries, (row, column)), shape=(self.count, len(self.x)))
        return self.slopes

    def split(self, flat: Array) -> Array:
        """Return numbers (N,) of all channels as (S, w), the channels of a sample side by side."""
        ends = self.length * np.cumsum(self.widths)
        return np.hstack([part.reshape(self.length, -1) for part in np.split(flat, ends[:-1])])

    def joined(self, rows: Array) -> Array:
        """Return (S, w, ...) of some samples as (N, ...), channel after channel."""
        parts = np.split(rows, np.cumsum(self.widths)[:-1], axis=1)
        return np.concatenate([part.reshape(-1, *rows.shape[2:]) for part in parts])

    def places(self, samples: slice) -> NDArray[np.int64]:
        """Return the places of the numbers of some samples among all of them, channel after channel."""
        firsts = self.length * np.concatenate(([0], np.cumsum(self.widths)[:-1]))
        which = np.arange(samples.start, samples.stop)[:, None]
        return np.concatenate(
            [
                (first + which * width + np.arange(width)).ravel()
                for first, width in zip(firsts, self.widths, strict=True)
            ]
        )


def last_values(names: Any) -> Cost:
    """Return the function of the last values of channels."""
    wanted = [names] if isinstance(names, str) else list(names)

    def function(result: Mapping[str, Any]) -> Any:
        return np.concatenate([np.reshape(result[name][-1], (-1,)) for name in wanted])

    return function


class CheckpointedRun:
    """Steps from the present state of a Simulation that is private to this run."""

    def __init__(self, sim: Simulation, steps: int, segments: int = 1) -> None:
        self.sim, self.steps = sim, steps
        self.bounds = np.unique(np.linspace(0, steps, min(segments, steps) + 1).round().astype(np.int64)).tolist()
        self.t_ref, self.k = sim.state.t_ref, sim.state.k
        self.states: list[State] = []
        self.last: RecordedSteps | None = None
        self.sizes = np.zeros(2)  # largest rate and acceleration

    @property
    def t(self) -> Array:
        """Times (steps + 1,) of all samples [s]."""
        return np.asarray(self.t_ref + np.arange(self.k, self.k + self.steps + 1, dtype=np.float64) * self.sim.h)

    def first(self) -> Iterator[tuple[int, RecordedSteps]]:
        """Take all steps for the first time: yield the first sample number and the record of each segment."""
        for begin, end in zip(self.bounds, self.bounds[1:], strict=False):
            self.states.append(self.sim.state.copy())
            self.last = self.taken(end)
            self.sizes = np.maximum(self.sizes, sizes_of(self.last.samples))
            yield begin, self.last

    def again(self, backwards: bool = False) -> Iterator[tuple[int, RecordedSteps]]:
        """Yield all segments once more; the record of the last one is still there."""
        order = range(len(self.states))
        for number in reversed(order) if backwards else order:
            if number == order[-1] and self.last is not None:
                yield self.bounds[number], self.last
            else:
                self.last = None if backwards else self.last
                self.sim.restore(self.states[number])
                yield self.bounds[number], self.taken(self.bounds[number + 1])

    def taken(self, end: int) -> RecordedSteps:
        """Step to the sample of a number, and return the record."""
        watch = RunRecorder()
        self.sim.run(float(self.t[end]), observers=[watch], on_failure="raise")
        return watch.recorded()


@dataclass(frozen=True)
class RunReadings:
    """Values read from all segments of a run."""

    result: Result
    values: Array  # (S, w) channels of the cost, those of a sample side by side
    turning: NDArray[np.bool_]  # (w,) components of orientations, whose sign goes on from sample to sample
    few: Samples  # some samples of the whole run
    pace: float  # largest rate in typical sizes [1/s]


def read_run(run: CheckpointedRun, cost: RecordedCost) -> RunReadings:
    """Take the steps of a run. A run of several segments keeps the channels of the cost alone."""
    sim, parts, few, pace = run.sim, [], [], 0.0
    wanted = np.unique(np.linspace(0, run.steps, FEW).astype(int))
    last: dict[str, Array] = {}
    for first, recorded in run.first():
        samples = recorded.samples
        result = run_result(sim.system, sim.equations.tables, samples, {})
        found = {
            name: Source(*result.about(name), StoredValues(result[name]), result.frame(name)) for name in cost.names
        }
        new = {name: continued(one.values(), one, last.get(name)) for name, one in found.items()}
        last = {name: values[-1] for name, values in new.items()}
        lead = int(first > 0)  # the sample that segments share
        parts.append({name: values[lead:] for name, values in new.items()})
        own = wanted[(wanted >= first + lead) & (wanted < first + len(samples.t))] - first
        few.append(select_samples(samples, own))
        pace = max(pace, float(np.abs(samples.zd / sim.system.typical).max(initial=0.0)))
    values = {name: np.concatenate([part[name] for part in parts]) for name in cost.names}
    if len(parts) > 1:
        kept = {name: Source(one.axes, one.unit, StoredValues(values[name]), one.frame) for name, one in found.items()}
        result = Result({TIME: Source((), "s", StoredValues(run.t)), **kept}, sim.system.name, sim.system.fingerprint)
    flat = np.hstack([one.reshape(len(one), -1) for one in values.values()])
    turning = turning_numbers(cost, result)
    together = (np.concatenate([getattr(one, name) for one in few]) for name in ("t", *OF_STATE))
    return RunReadings(result, flat, turning, Samples(*together), pace)


def read_part(
    run: CheckpointedRun, cost: RecordedCost, offered: Result, read: Callable[[Samples], Array]
) -> RunReadings:
    """Take the steps of a run of one segment, and ``read`` the channels of the cost alone, named in ``offered``."""
    ((_, recorded),) = run.first()
    samples = recorded.samples
    few = select_samples(samples, np.unique(np.linspace(0, run.steps, FEW).astype(int)))
    pace = float(np.abs(samples.zd / run.sim.system.typical).max(initial=0.0))
    return RunReadings(offered, read(samples), turning_numbers(cost, offered), few, pace)


def turning_numbers(cost: RecordedCost, offered: Result) -> NDArray[np.bool_]:
    """Return which numbers (w,) of the channels are components of orientations."""
    return np.repeat([offered.about(name)[0] == QUATERNION for name in cost.names], cost.widths)


READERS = 4  # lengths of samples whose memory is kept
Number = tuple[str, int]  # of a sample: its kind and its place


class Direction(NamedTuple):
    """Variation of every sample."""

    z: Array  # (S, n), of rotation dofs small turns in body axes
    zd: Array  # (S, n)
    zdd: Array  # (S, n)
    lam: Array  # (S, m)
    s: Array  # (S, ns)


class Reader:
    """Reader of some channels of samples as flat numbers; samples of the same length share its memory."""

    def __init__(
        self, system: System, tables: Tables, samples: Samples, names: Sequence[str], rank_held: bool = True
    ) -> None:
        self.names = tuple(names)
        self.samples, self.length = Samples(*(np.array(one) for one in samples)), len(samples.t)
        self.given = samples
        self.resampled = Evaluation(system, tables, self.samples)
        self.resampled.rank_held = rank_held
        offered = sources(system, self.resampled)
        self.read = [offered[name].values for name in names]

    def __call__(self, samples: Samples) -> Array:
        """Return all numbers (S, w) of the channels."""
        for own, given, last in zip(self.samples, samples, self.given, strict=True):
            if given is not last:
                own[...] = given
        self.given = samples
        self.resampled.forget()
        return np.hstack([np.asarray(read()).reshape(self.length, -1) for read in self.read])


class Channels:
    """Flat values and derivatives of some channels of a run, number after number, sample after sample.

    ``first`` is the number of the first of some samples among all samples of the run.
    """

    def __init__(self, sim: Simulation, names: Sequence[str], readings: RunReadings) -> None:
        self.sim, self.names = sim, tuple(names)
        self.dofs = sim.system.tables.dofs
        self.first = np.flatnonzero(self.dofs.reference >= 0)
        self.readers: dict[int, Reader] = {}
        self.take(readings)

    def take(self, readings: RunReadings) -> None:
        """Take up the readings of another run of the same System."""
        self.readings, self.few, self.pace = readings, readings.few, max(readings.pace, 1.0)
        largest = np.max(np.abs(readings.few.s), axis=0, initial=0.0)
        self.usual = np.where(largest > 0.0, largest, 1.0)  # (ns,) sizes of states of force laws
        self.asked: set[str] = set()
        self.touched: set[str] = set()

    def flat(self, samples: Samples, other: System | None = None) -> Array:
        """Return all numbers (S, w) of the channels."""
        if other is not None:
            adopt_bases(other, self.sim.system)
            return Reader(other, other.tables, samples, self.names)(samples)
        length = len(samples.t)
        if length not in self.readers:
            if len(self.readers) > READERS:
                self.readers.clear()
            self.readers[length] = Reader(self.sim.system, self.sim.equations.tables, samples, self.names)
        return self.readers[length](samples)

    def signs(self, samples: Samples, first: int) -> Array:
        """Return signs (w,), -1 for orientations that the run records with the other sign."""
        turning, told = self.readings.turning, self.readings.values[first]
        found = np.ones(len(turning))
        if np.any(turning):
            values = self.flat(samples)[0]
            for k in range(int(turning.sum()) // 4):
                own = np.flatnonzero(turning)[4 * k : 4 * k + 4]
                found[own] = 1.0 if values[own] @ told[own] >= 0.0 else -1.0
        return found

    def along(self, samples: Samples, way: Direction) -> Array:
        """Return the derivative (S, w) of the channels along a change of the samples."""
        size = self.sizes(way)

        total = 0.0
        for weight, place in zip(WEIGHTS, PLACES, strict=True):
            total = total + weight * self.flat(self.moved(samples, way, STEP * place / size))
        return np.asarray(total * (size / STEP)[:, None])

    def sizes(self, way: Direction) -> Array:
        """Return the sizes (S,) of a change, in typical sizes of coordinates and states; 1 where nothing moves."""
        typical = self.sim.system.typical
        z, zd = (np.max(np.abs(one) / typical, axis=1, initial=0.0) for one in (way.z, way.zd))
        s = np.max(np.abs(way.s) / self.usual, axis=1, initial=0.0)
        size = np.maximum(np.maximum(z, zd / self.pace), s)
        return np.where(size > 0.0, size, 1.0)

    def moved(self, samples: Samples, way: Direction, share: Array) -> Samples:
        """Return samples moved by ``share`` (S,) of a change; what does not change is the same array."""
        step = share[:, None]
        changed = {
            name: getattr(samples, name) + step * change
            for name, change in zip(way._fields, way, strict=True)
            if np.any(change)
        }
        if len(self.first) and "z" in changed:
            changed["R0"], z = samples.R0.copy(), changed["z"]
            for e, i in enumerate(self.first):
                vector = (step * way.z[:, i : i + 3]) @ self.dofs.axis[i : i + 3]
                changed["R0"][:, e] = turned(samples.R0[:, e], vector)
                z[:, i : i + 3] = samples.z[:, i : i + 3]
        return samples._replace(**changed)

    # ---- parameters -------------------------------------------------------------------------------------------------

    def partial_derivative(self, samples: Samples, first: int, parameter: SensitivityParameter) -> Array | None:
        """Return the derivative (S, w) of the channels by a parameter at fixed samples; None where there is none."""
        if parameter.of_motion or parameter.name not in self.touching(parameter):
            return None
        total = np.tensordot(WEIGHTS, np.array(self.at_places(parameter, samples, range(len(PLACES)))), 1)
        return np.asarray(total / (STEP * self.size_of(parameter)) * self.signs(samples, first))

    def touching(self, parameter: SensitivityParameter) -> set[str]:
        """Return the parameters that channels depend on at fixed samples, among those of earlier calls."""
        if parameter.name not in self.asked:
            self.asked.add(parameter.name)
            least, most = self.at_places(parameter, self.few, (0, len(PLACES) - 1))
            if not np.array_equal(least, most):
                self.touched.add(parameter.name)
        return self.touched

    def ask_together(self, parameters: Iterable[SensitivityParameter]) -> None:
        """Find inputs that channels do not depend on at fixed samples, by one change of all of them."""
        inputs = [one for one in parameters if one.slot >= 0 and not one.of_motion and one.name not in self.asked]
        u, slots = self.few.u.copy(), np.array([one.slot for one in inputs], np.int64)
        sizes = np.maximum(np.abs(u[0, slots]), 1.0)
        u[:, slots] += STEP * sizes * (1.0 + 0.37 * np.arange(len(inputs)))
        if np.array_equal(self.flat(self.few._replace(u=u)), self.flat(self.few)):
            self.asked.update(one.name for one in inputs)

    def size_of(self, parameter: SensitivityParameter) -> float:
        """Return the step of differences by a parameter, over STEP."""
        if parameter.design is not None:
            return parameter.design.size
        return max(abs(float(self.few.u[0, parameter.slot])), 1.0)

    def at_places(self, parameter: SensitivityParameter, samples: Samples, places: Iterable[int]) -> list[Array]:
        """Return the channels (S, w) of fixed samples at some places of the difference formula."""
        found, offset = [], self.sim.equations.assembly_offset
        for k in places:
            if parameter.design is not None:
                u = parameter.inputs(self.sim.system, k, samples.u, samples.t)
                found.append(self.flat(samples._replace(u=u), with_offset(parameter.systems[k], offset)))
            else:
                u = samples.u.copy()
                u[:, parameter.slot] += STEP * self.size_of(parameter) * PLACES[k]
                found.append(self.flat(samples._replace(u=u)))
        return found

    # ---- states -----------------------------------------------------------------------------------------------------

    def derivatives(
        self, samples: Samples, first: int, parameters: SensitivityParameters, X: Array, lam: Array
    ) -> Array:
        """Return the derivatives (S, w, np) by all parameters, from those of states (S, nx, np) and multipliers."""
        n, ns = self.sim.system.n, len(self.sim.system.states)
        parts = {"z": X[:, :n], "zd": X[:, n : 2 * n], "zdd": X[:, 2 * n : 3 * n], "lam": lam}
        parts["s"] = X[:, X.shape[1] - 2 * ns : X.shape[1] - ns]
        if len(self.moving) < len(parameters.found):
            numbers, jacobian = self.jacobian(samples, first)
            changes = np.stack([parts[name][:, i] for name, i in numbers] or [X[:, 0] * 0.0], axis=1)
            found = np.einsum("swi,sip->swp", jacobian, changes[:, : len(numbers)])
        else:
            ways = [Direction(*(part[:, :, j] for part in parts.values())) for j in range(X.shape[2])]
            found = np.stack([self.along(samples, way) for way in ways], axis=2) * self.signs(samples, first)[:, None]
        self.ask_together(parameters.found)
        for j, parameter in enumerate(parameters.found):
            if (explicit := self.partial_derivative(samples, first, parameter)) is not None:
                found[:, :, j] += explicit
        return found

    @cached_property
    def moving(self) -> list[Number]:
        """Numbers of a sample that the channels depend on: kind and index, found on a few samples of the first run.

        ``jacobian`` looks at the others in every run.
        """
        return self.found_among(self.all_numbers)

    def found_among(self, numbers: list[Number]) -> list[Number]:
        """Return those of some numbers that the channels depend on, by halves."""
        if not numbers or not self.depends(numbers, self.few):
            return []
        if len(numbers) == 1:
            return numbers
        middle = len(numbers) // 2
        return self.found_among(numbers[:middle]) + self.found_among(numbers[middle:])

    @property
    def all_numbers(self) -> list[Number]:
        """All numbers of a sample."""
        return [(name, i) for name, size in self.counts.items() for i in range(size)]

    def depends(self, numbers: Sequence[Number], samples: Samples) -> bool:
        """Return whether the channels of any sample change when numbers do, each by another amount."""
        way = self.still(len(samples.t))
        for k, (name, i) in enumerate(numbers):
            getattr(way, name)[:, i] = 1.0 + 0.37 * k
        moved = self.moved(samples, way, np.full(len(samples.t), STEP))
        return not np.array_equal(self.flat(moved), self.flat(samples))

    def jacobian(self, samples: Samples, first: int) -> tuple[list[Number], Array]:
        """Return the numbers that the channels depend on, and the derivatives (S, w, k) by them.

        Numbers that do not matter in a few samples must not matter in any: a contact may have been open.
        """
        numbers = self.moving
        others = [one for one in self.all_numbers if one not in numbers]
        if others and self.depends(others, samples):
            numbers = self.all_numbers
        ways = [self.along(samples, self.unit(len(samples.t), name, i)) for name, i in numbers]
        if not ways:
            return [], np.zeros((*self.flat(samples).shape, 0))
        return numbers, np.asarray(np.stack(ways, axis=2) * self.signs(samples, first)[:, None])

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers of each kind a sample has."""
        n = self.sim.system.n
        return {"z": n, "zd": n, "zdd": n, "lam": self.sim.system.m, "s": len(self.sim.system.states)}

    def unit(self, length: int, name: str, i: int) -> Direction:
        """Return the unit change of one number of every sample."""
        way = self.still(length)
        getattr(way, name)[:, i] = 1.0
        return way

    def still(self, length: int) -> Direction:
        """Return the zero variation of samples."""
        return Direction(**{name: np.zeros((length, size)) for name, size in self.counts.items()})

    def pulled_back(self, samples: Samples, first: int, weights: Array) -> list[Direction]:
        """Return gradients of sums of ``weights`` (k, S, w) times channels, by all numbers of the samples.

        Only samples between the first and the last one with a weight are looked at.
        """
        found = [self.still(len(samples.t)) for _ in weights]
        used = np.flatnonzero(np.any(weights, axis=(0, 2)))
        if len(used):
            part = slice(int(used[0]), int(used[-1]) + 1)
            numbers, jacobian = self.jacobian(select_samples(samples, part), first + part.start)
            for way, one in zip(found, weights, strict=True):
                pulled = np.einsum("sw,swi->si", one[part], jacobian)
                for k, (name, i) in enumerate(numbers):
                    getattr(way, name)[part, i] = pulled[:, k]
        return found
