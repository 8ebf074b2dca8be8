"""Laws of springs and dampers along the line of two points: linear, by tables, with bump and rebound stops.

f > 0 pushes the points apart; l is their distance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.library.force_laws import Curve
from rtmbs.model.checks import Array
from rtmbs.model.forces import Kinematics, SpringDamper

STRAIGHT = 1e-12  # change of slope between pieces of a table, relative to the steepest: one straight line
Table = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Stops:
    """Bump stop below ``min_length`` and rebound stop above ``max_length``: tables of force by travel into them.

    Tables are piecewise linear, and held beyond their last point.

    Parameters
    ----------
    min_length : float
        Length at which the bump stop begins [m].
    max_length : float
        Length at which the rebound stop begins [m].
    bump : Sequence[Sequence[float]]
        Pairs of travel [m] and force [N] of the bump stop, which pushes the points apart.
    rebound : Sequence[Sequence[float]]
        Pairs of travel [m] and force [N] of the rebound stop, which pulls the points together.
    """

    min_length: float
    max_length: float
    bump: Table
    rebound: Table

    def force(self, length: Any) -> Any:
        """Return the force of both stops; tables are held beyond their last point.

        Parameters
        ----------
        length : float or ndarray
            Distance of the points [m].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        bump, rebound = curve_of(self.bump), curve_of(self.rebound)
        into, beyond = np.maximum(self.min_length - length, 0.0), np.maximum(length - self.max_length, 0.0)
        return bump(into) - rebound(beyond)


@dataclass(frozen=True)
class Spring:
    """Spring between two points: f = preload - stiffness (l - free_length) + stops, or a table of the force.

    f > 0 pushes the points apart; l is their distance.

    Parameters
    ----------
    free_length : float
        Length at which stiffness or table give no force [m].
    preload : float, default 0.0
        Force at the free length [N].
    stiffness : float, optional
        Stiffness of a linear spring [N/m].
    table : Sequence[Sequence[float]], optional
        Pairs of stretch l - free_length [m] and force that resists it [N], in place of a stiffness.
    stops : Stops, optional
        Bump and rebound stop.

    Examples
    --------
    >>> spring = rtmbs.vehicle.Spring(free_length=0.4, stiffness=25000.0)
    >>> round(spring.force(0.3))
    2500
    """

    free_length: float
    preload: float = 0.0
    stiffness: float | None = None
    table: Table | None = None
    stops: Stops | None = None

    def force(self, length: Any) -> Any:
        """Return the force at a length.

        Parameters
        ----------
        length : float or ndarray
            Distance of the points [m].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        stretch = length - self.free_length
        elastic = self.stiffness * stretch if self.table is None else curve_of(self.table)(stretch)
        return self.preload - elastic + (0.0 if self.stops is None else self.stops.force(length))

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers.

        Returns
        -------
        SpringDamper or function
            A SpringDamper for a linear spring without stops; a function (t, kinematics, parameters) otherwise.
        """
        if self.table is None and self.stops is None:
            assert self.stiffness is not None
            return SpringDamper(stiffness=self.stiffness, damping=0.0, length=self.free_length + self.shift())

        def spring(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
            return -self.force(np.sqrt(np.dot(kinematics.r, kinematics.r)))

        return spring

    def shift(self) -> float:
        """Return the length that a preload adds to the free length of a linear spring.

        Returns
        -------
        float
            Length preload / stiffness [m].

        Raises
        ------
        ModelError
            For a preload without a stiffness.
        """
        if not self.stiffness:
            if self.preload:
                raise ModelError("spring: preload needs a stiffness above zero; it must have one")
            return 0.0
        return self.preload / self.stiffness


@dataclass(frozen=True)
class Damper:
    """Damper between two points: f = -damping dl/dt, or a table of the force against the motion by dl/dt.

    f > 0 pushes the points apart; l is their distance.

    Parameters
    ----------
    damping : float, optional
        Damping of a linear damper [N s/m].
    table : Sequence[Sequence[float]], optional
        Pairs of rate dl/dt [m/s] and force against the motion [N], in place of a damping.

    Examples
    --------
    >>> damper = rtmbs.vehicle.Damper(damping=1500.0)
    >>> damper.force(0.1)
    -150.0
    """

    damping: float | None = None
    table: Table | None = None  # force against the motion [N] by rate [m/s]

    def force(self, rate: Any) -> Any:
        """Return the force at a rate of the length.

        Parameters
        ----------
        rate : float or ndarray
            Rate of the distance of the points dl/dt [m/s].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        if self.table is not None:
            return -Curve(*knots_of(self.table))(rate)
        assert self.damping is not None
        return -self.damping * rate

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers.

        Returns
        -------
        SpringDamper or function
            A SpringDamper for a linear damper; a function (t, kinematics, parameters) for a table.
        """
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
