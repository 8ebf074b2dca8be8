"""Coordinates of kinematics, seven a body (origin of its frame and Euler parameters), and their samples over time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import in_words, machine_memory
from rtmbs.errors import InputError
from rtmbs.model import Model
from rtmbs.numerics.rotations.quaternions import quaternions

Array = NDArray[np.float64]

SIZE = 7  # x, y, z [m], e0, e1, e2, e3 [1]
NAMES = ("x", "y", "z", "e0", "e1", "e2", "e3")
SHARE = 0.5  # of the memory that samples may take: channels are worked out beside them


def reference_coordinates(model: Model) -> Array:
    """Return the coordinates (nb, 7) of the reference pose, ground first."""
    bodies = list(model.bodies.values())
    places = np.array([body.position for body in bodies])
    turns = np.array([body.orientation for body in bodies])
    parameters = np.concatenate([quaternions(turn[None]) for turn in turns])
    return np.concatenate((places, parameters), axis=1)


class KinematicSamples(NamedTuple):
    """Positions, velocities and accelerations of the unknowns over K times."""

    t: Array  # (K,) [s]
    drivers: Array  # (K, 3, nf) values, rates, accelerations of the drivers
    q: Array  # (K, n)
    qd: Array  # (K, n)
    qdd: Array  # (K, n)
    f: Array  # (K, nf) values of the drivers, and turns that are counted
    weak: Array  # (K,) smallest singular value of the rows that are solved, without unit
    iterations: NDArray[np.int64]  # (K,) of Newton
    bend: Array  # (K,) share by which the matrix of the rows that are solved changed since the row before

    def part(self, first: int, last: int) -> "KinematicSamples":
        """Return some rows; they stay the same memory."""
        columns: list[Any] = [column[first:last] for column in self]
        return KinematicSamples(*columns)

    def take(self, row: int, other: "KinematicSamples", place: int) -> None:
        """Copy a row of other samples."""
        for mine, theirs in zip(self[2:], other[2:], strict=True):
            mine[row] = theirs[place]


def check_room(count: int, n: int, nf: int) -> None:
    """Refuse a number of samples that the memory of this machine does not hold."""
    wanted = 8.0 * count * (3 * n + 4 * nf + 4)
    if wanted > SHARE * (memory := machine_memory()):
        raise InputError(
            f"{count} times take {in_words(wanted)}, and this machine has {in_words(memory)} of memory; take a longer"
            " interval, or an earlier end"
        )


def new_samples(t: Array, drivers: Array, n: int) -> KinematicSamples:
    """Allocate rows for these times."""
    K, nf = len(t), drivers.shape[2]
    q, qd, qdd = (np.zeros((K, n)) for _ in range(3))
    return KinematicSamples(t, drivers, q, qd, qdd, np.zeros((K, nf)), np.zeros(K), np.zeros(K, np.int64), np.zeros(K))
