"""Derivatives of channels by states and parameters: central differences of order four, along exact directions.

Samples are independent of each other, so one direction serves all of them at once.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.numerics.rotations.quaternions import turned
from rtmbs.results.catalogue import sources
from rtmbs.results.samples import Evaluation, Samples, select_samples
from rtmbs.results.self_stress import adopt_bases
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.neighbourhood import PLACES, STEP, WEIGHTS
from rtmbs.studies.sensitivities.parameters import SensitivityParameter, SensitivityParameters, with_offset
from rtmbs.studies.sensitivities.recorded_run import RunReadings
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
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
