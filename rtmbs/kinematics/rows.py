"""Rows of Phi being written: primitive conditions in lists, by kind, so that each kind is recorded in one stroke."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics import conditions
from rtmbs.kinematics.conditions import Points, Pose
from rtmbs.kinematics.readings import Place, Reading

Array = NDArray[np.float64]
AXES = np.eye(3)


class Combination(NamedTuple):
    """A sum of readings that follows a driver or stays constant."""

    terms: tuple[tuple[float, Reading, int], ...]  # factor, reading, slot of its turns in f (-1 none)
    slot: int  # of the driver in f, -1: constant
    constant: float


class Curve(NamedTuple):
    """A point on a curve; the parameter is an unknown."""

    point: Place
    body: int
    curve: Callable[[Any], Any]
    place: int  # of the parameter in q


@dataclass
class Rows:
    """All rows in the order of the table: who owns each, its name, whether it is a length [m] or has no unit [1]."""

    owner: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    is_length: list[bool] = field(default_factory=list)
    lists: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def add(self, kind: str, owner: str, label: str, length: bool, *arguments: Any) -> None:
        """Write one row of a kind."""
        self.lists.setdefault(kind, []).append((len(self.owner), *arguments))
        self.owner.append(owner)
        self.label.append(label)
        self.is_length.append(length)

    def add_curve(self, owner: str, curve: Curve) -> None:
        """Write the three rows of a point on a curve."""
        first = len(self.owner)
        for label in "xyz":
            self.owner.append(owner)
            self.label.append(label)
            self.is_length.append(True)
        self.lists.setdefault("curve", []).append((first, curve))


def places(column: tuple[Place, ...]) -> Points:
    """Return many places as arrays."""
    bodies, vectors = zip(*column, strict=True)
    return Points(np.array(bodies), np.array(vectors))


def write_phi(rows: Rows, bodies: int, q: Any, f: Any) -> Any:
    """Return Phi (m,) at coordinates q (n,) and drivers f (nf,), in plain NumPy that the recorder follows."""
    pose, order, parts = Pose(q, bodies), list[int](), list[Any]()
    for kind, entries in rows.lists.items():
        first, *columns = zip(*entries, strict=True)
        values, taken = WRITERS[kind](pose, f, columns)
        parts.append(values)
        order += [row + k for row in first for k in range(taken)]
    return np.concatenate(parts)[np.argsort(order)]


def write_norms(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    return conditions.normalisation(pose)[np.array(columns[0])], 1


def write_held(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    place, value = columns
    return pose.q[np.array(place)] - np.array(value), 1


def write_points(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, axis = columns
    return conditions.coincident(pose, places(a), places(b), np.array(axis)), 1


def write_axes(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    u, v = columns
    return conditions.perpendicular_axes(pose, places(u), places(v)), 1


def write_across(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    u, a, b = columns
    return conditions.perpendicular_to_distance(pose, places(u), places(a), places(b)), 1


def write_rods(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, length = columns
    metres = np.array(length)
    return conditions.distance(pose, places(a), places(b), metres, metres), 1


def write_distances(pose: Pose, f: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, slot, divisor = columns
    return conditions.distance(pose, places(a), places(b), f[np.array(slot)], np.array(divisor)), 1


def write_combinations(pose: Pose, f: Any, columns: list[Any]) -> tuple[Any, int]:
    return np.stack([combined(pose, f, one) for one in columns[0]]), 1


def combined(pose: Pose, f: Any, one: Combination) -> Any:
    """Return the sum of readings less its driver or constant; a driven angle takes its turns from the driver itself."""
    total: Any = -one.constant
    for factor, reading, slot in one.terms:
        total = total + factor * reading.value(pose, f[slot])
        if slot >= 0 and slot != one.slot:
            total = total + factor * f[slot]
    driven_turn = one.slot >= 0 and one.terms[0][2] == one.slot
    return total if one.slot < 0 or driven_turn else total - f[one.slot]


def write_measured(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    return np.stack([less(pose, reading, pose.q[place]) for reading, place in zip(*columns, strict=True)]), 1


def less(pose: Pose, reading: Reading, value: Any) -> Any:
    """Return a reading less ``value``; of an angle the one within half a turn."""
    found = reading.value(pose, value)
    return found - value if reading.unit == "m" else found


def write_curves(pose: Pose, _: Any, columns: list[Any]) -> tuple[Any, int]:
    values = [
        conditions.on_curve(pose, places((one.point,)), one.body, one.curve, pose.q[one.place]) for one in columns[0]
    ]
    return np.concatenate(values), 3


WRITERS: dict[str, Callable[[Pose, Any, list[Any]], tuple[Any, int]]] = {
    "norm": write_norms,
    "held": write_held,
    "point": write_points,
    "axes": write_axes,
    "across": write_across,
    "rod": write_rods,
    "distance": write_distances,
    "combination": write_combinations,
    "curve": write_curves,
    "measured": write_measured,
}
