"""How channels change with states and parameters: central differences of order four, along exact directions.

Samples are independent of each other, so one direction serves all of them at once.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtmbs.analysis.differences import PLACES, STEP, WEIGHTS
from rtmbs.results.catalogue import run_result
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.sensitivities.designs import with_offset
from rtmbs.sensitivities.parameters import Parameter, Parameters
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System

Array = NDArray[np.float64]
FEW = 8  # samples that tell whether channels depend on something


class Direction(NamedTuple):
    """A change of every sample."""

    z: Array  # (S, n), of rotation dofs small turns in body axes
    zd: Array  # (S, n)
    zdd: Array  # (S, n)
    lam: Array  # (S, m)


class Channels:
    """Some channels of a recorded run, flat: number after number, sample after sample."""

    def __init__(self, sim: Simulation, samples: Samples, names: Sequence[str]) -> None:
        self.sim, self.samples, self.names = sim, samples, tuple(names)
        self.dofs = sim.system.tables.dofs
        self.first = np.flatnonzero(self.dofs.reference >= 0)
        self.pace = max(float(np.abs(samples.zd / sim.system.typical).max(initial=0.0)), 1.0)

    def flat(self, samples: Samples, other: System | None = None) -> Array:
        """Return all numbers (S, w) of the channels."""
        sim = self.sim
        system, tables = (sim.system, sim.equations.tables) if other is None else (other, other.tables)
        result = run_result(system, tables, samples, {})
        return np.hstack([np.asarray(result[name]).reshape(len(samples.t), -1) for name in self.names])

    def along(self, way: Direction) -> Array:
        """Return the derivative (S, w) of the channels along a change of the samples."""
        size = self.sizes(way)
        values = [w * self.flat(self.moved(way, STEP * p / size)) for w, p in zip(WEIGHTS, PLACES, strict=True)]
        total = np.sum(values, axis=0)
        return np.asarray(total * (size / STEP)[:, None])

    def sizes(self, way: Direction) -> Array:
        """Return the sizes (S,) of a change, in typical sizes of coordinates; 1 where nothing moves."""
        typical = self.sim.system.typical
        z, zd = (np.max(np.abs(one) / typical, axis=1, initial=0.0) for one in (way.z, way.zd))
        size = np.maximum(z, zd / self.pace)
        return np.where(size > 0.0, size, 1.0)

    def moved(self, way: Direction, share: Array, samples: Samples | None = None) -> Samples:
        """Return samples moved by ``share`` (S,) of a change."""
        old, step = self.samples if samples is None else samples, share[:, None]
        z, R0 = old.z + step * way.z, old.R0
        if len(self.first):
            z, R0 = z.copy(), R0.copy()
            for e, i in enumerate(self.first):
                vector = (step * way.z[:, i : i + 3]) @ self.dofs.axis[i : i + 3]
                R0[:, e] = R0[:, e] @ Rotation.from_rotvec(vector).as_matrix()
                z[:, i : i + 3] = old.z[:, i : i + 3]
        return old._replace(
            z=z, zd=old.zd + step * way.zd, zdd=old.zdd + step * way.zdd, lam=old.lam + step * way.lam, R0=R0
        )

    def explicit(self, parameter: Parameter) -> Array:
        """Return the derivative (S, w) of the channels by a parameter at fixed samples."""
        few = self.few
        none = np.zeros((len(self.samples.t), self.flat(few).shape[1]))
        if parameter.pin is not None:
            return none
        least, most = self.at_places(parameter, few, (0, len(PLACES) - 1))
        if np.array_equal(least, most):
            return none
        total = np.tensordot(WEIGHTS, np.array(self.at_places(parameter, self.samples, range(len(PLACES)))), 1)
        return np.asarray(total / (STEP * self.size_of(parameter)))

    @cached_property
    def few(self) -> Samples:
        """Some samples, enough to see whether anything depends on a parameter."""
        which = np.unique(np.linspace(0, len(self.samples.t) - 1, FEW).astype(int))
        kept = {name: getattr(self.samples, name)[which] for name in ("t", *OF_STATE)}
        return Samples(**kept)

    def size_of(self, parameter: Parameter) -> float:
        """Return the step of differences by a parameter, over STEP."""
        if parameter.design is not None:
            return parameter.design.size
        return max(abs(float(self.samples.u[0, parameter.slot])), 1.0)

    def at_places(self, parameter: Parameter, samples: Samples, places: Iterable[int]) -> list[Array]:
        """Return the channels (S, w) of fixed samples at some places of the difference formula."""
        found, offset = [], self.sim.equations.assembly_offset
        for k in places:
            u = samples.u.copy()
            if parameter.design is not None:
                system = parameter.systems[k]
                u += system.u0 - self.sim.system.u0
                found.append(self.flat(samples._replace(u=u), with_offset(system, offset)))
            else:
                u[:, parameter.slot] += STEP * self.size_of(parameter) * PLACES[k]
                found.append(self.flat(samples._replace(u=u)))
        return found

    def derivatives(self, parameters: Parameters, X: Array, lam: Array) -> Array:
        """Return the derivatives (S, w, np) by all parameters, from those of states (S, nx, np) and multipliers."""
        n = self.sim.system.n
        parts = {"z": X[:, :n], "zd": X[:, n : 2 * n], "zdd": X[:, 2 * n : 3 * n], "lam": lam}
        if len(self.moving) < len(parameters.found):
            changes = np.stack([parts[name][:, i] for name, i in self.moving] or [X[:, 0] * 0.0], axis=1)
            changes = changes[:, : len(self.moving)]
            found = np.einsum("swi,sip->swp", self.jacobian, changes)
        else:
            ways = [Direction(*(part[:, :, j] for part in parts.values())) for j in range(X.shape[2])]
            found = np.stack([self.along(way) for way in ways], axis=2)
        for j, parameter in enumerate(parameters.found):
            found[:, :, j] += self.explicit(parameter)
        return found

    @cached_property
    def moving(self) -> list[tuple[str, int]]:
        """Numbers of a sample that the channels depend on: its kind and its place."""
        base = self.flat(self.few)
        return [
            (name, i)
            for name, size in self.counts.items()
            if not np.array_equal(self.flat(self.shifted(name, self.few)), base)
            for i in range(size)
        ]

    @cached_property
    def jacobian(self) -> Array:
        """Derivatives (S, w, k) of the channels by the numbers that they depend on."""
        ways = [self.along(self.unit(name, i)) for name, i in self.moving]
        return np.stack(ways, axis=2) if ways else np.zeros((*self.flat(self.samples).shape, 0))

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers of each kind a sample has."""
        n = self.sim.system.n
        return {"z": n, "zd": n, "zdd": n, "lam": self.sim.system.m}

    def shifted(self, name: str, samples: Samples) -> Samples:
        """Return samples of which all numbers of one kind are moved, each by another way."""
        parts = {one: np.zeros((len(samples.t), size)) for one, size in self.counts.items()}
        parts[name][:] = 1.0 + 0.37 * np.arange(self.counts[name])
        return self.moved(Direction(**parts), np.full(len(samples.t), STEP), samples)

    def unit(self, name: str, i: int) -> Direction:
        """Return the unit change of one number of every sample."""
        parts = {one: np.zeros((len(self.samples.t), size)) for one, size in self.counts.items()}
        parts[name][:, i] = 1.0
        return Direction(**parts)

    def pulled_back(self, weights: Array) -> Direction:
        """Return the gradient of the sum of ``weights`` (S, w) times channels, by all numbers of the samples."""
        found = {name: np.zeros((len(self.samples.t), size)) for name, size in self.counts.items()}
        pulled = np.einsum("sw,swi->si", weights, self.jacobian)
        for k, (name, i) in enumerate(self.moving):
            found[name][:, i] = pulled[:, k]
        return Direction(**found)
