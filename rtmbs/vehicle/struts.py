"""Laws of springs and dampers along the line of two points: linear, by tables, with bump and rebound stops.

f > 0 pushes the points apart; l is their distance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.library.tables import Curve
from rtmbs.model.checks import Array
from rtmbs.model.forces import SpringDamper
from rtmbs.model.laws import Kinematics

STRAIGHT = 1e-12  # change of slope between pieces of a table, relative to the steepest: one straight line
Table = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Stops:
    """Bump stop below ``min_length`` and rebound stop above ``max_length`` [m]: tables of force by travel into them."""

    min_length: float
    max_length: float
    bump: Table
    rebound: Table

    def force(self, length: Any) -> Any:
        """Return the force [N]; tables are held beyond their last point."""
        bump, rebound = curve_of(self.bump), curve_of(self.rebound)
        into, beyond = np.maximum(self.min_length - length, 0.0), np.maximum(length - self.max_length, 0.0)
        return bump(into) - rebound(beyond)


@dataclass(frozen=True)
class Spring:
    """f = preload - stiffness (l - free_length) + stops, or a table of the force by l - free_length."""

    free_length: float
    preload: float = 0.0
    stiffness: float | None = None
    table: Table | None = None
    stops: Stops | None = None

    def force(self, length: Any) -> Any:
        """Return the force at a length [N]."""
        stretch = length - self.free_length
        elastic = self.stiffness * stretch if self.table is None else curve_of(self.table)(stretch)
        return self.preload - elastic + (0.0 if self.stops is None else self.stops.force(length))

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers."""
        if self.table is None and self.stops is None:
            assert self.stiffness is not None
            return SpringDamper(stiffness=self.stiffness, damping=0.0, length=self.free_length + self.shift())

        def spring(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
            return -self.force(np.sqrt(np.dot(kinematics.r, kinematics.r)))

        return spring

    def shift(self) -> float:
        """Return by how much a preload lengthens a linear spring [m]."""
        if not self.stiffness:
            if self.preload:
                raise ModelError("spring: preload needs a stiffness above zero; it must have one")
            return 0.0
        return self.preload / self.stiffness


@dataclass(frozen=True)
class Damper:
    """f = -damping dl/dt, or a table of the force against the motion by dl/dt."""

    damping: float | None = None
    table: Table | None = None  # force against the motion [N] by rate [m/s]

    def force(self, rate: Any) -> Any:
        """Return the force at a rate of the length [N]."""
        if self.table is not None:
            return -Curve(*knots_of(self.table))(rate)
        assert self.damping is not None
        return -self.damping * rate

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers."""
        if self.table is None:
            assert self.damping is not None
            return SpringDamper(stiffness=0.0, damping=self.damping, length=1.0)

        def damper(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
            length = np.sqrt(np.dot(kinematics.r, kinematics.r))
            return -self.force(np.dot(kinematics.r, kinematics.v) / length)

        return damper


StrutLaw = Spring | Damper


def knots_of(table: Table) -> tuple[Array, Array]:
    """Return knots and values of a table, without knots on straight lines."""
    x, y = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    slope = np.diff(y) / np.diff(x)
    bends = np.abs(np.diff(slope)) > STRAIGHT * np.max(np.abs(slope), initial=1e-300)
    kept = np.concatenate(([True], bends, [True]))
    return x[kept], y[kept]


def curve_of(table: Table) -> Curve:
    """Return a table that is piecewise linear and held at its end values."""
    return Curve(*knots_of(table), outside="hold")
