"""Driveline: engine by torque tables, gearbox with automatic shifts, and an open differential.

The engine turns with the mean speed of the driven wheels times the gear. Both driven wheels get half of the torque,
which is what an open differential does. The reaction of the torque is on the chassis.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, as_floats, number

RPM = np.pi / 30.0  # [rad/s]
IDLE = 1000.0 * RPM  # [rad/s] below it a slipping clutch lets the engine turn at this speed
UP, DOWN = 4000.0 * RPM, 1500.0 * RPM  # [rad/s] engine speeds at which gears change
CREEPS = 1.0  # [rad/s] of a wheel, below which the drag of the engine fades


@dataclass(frozen=True)
class Driveline:
    """Engine, gearbox and open differential of one driven axle.

    Inertias of the engine and of the gears are left out: they would add to those of the wheels.

    Parameters
    ----------
    full : array_like
        Full-throttle torque: rows of engine speed [rad/s] and torque [N m] (k, 2), increasing speeds.
    closed : array_like
        Torque of the closed throttle (k, 2), likewise; negative values brake.
    ratios : array_like
        Engine speed over wheel speed in each forward gear, from the first gear on (k,).
    max_brake_torque : float
        Largest brake torque of a wheel [N m].
    front_brakes : float, default 0.5
        Share of the front axle in the brake torque.

    Raises
    ------
    ModelError
        For tables that are no rows of two numbers with increasing speeds, and for ratios that are not positive.
    """

    full: Array
    closed: Array
    ratios: Array
    max_brake_torque: float
    front_brakes: float = 0.5
    _full: tuple[list[float], list[float]] = field(init=False, repr=False, compare=False)
    _closed: tuple[list[float], list[float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("full", "closed"):
            table = as_floats(getattr(self, name))
            if table.ndim != 2 or table.shape[1] != 2 or np.any(np.diff(table[:, 0]) <= 0.0):
                raise ModelError(f"driveline: {name} must be rows of engine speed and torque with increasing speeds")
            object.__setattr__(self, name, table)
            object.__setattr__(self, f"_{name}", tuple(table.T.tolist()))  # plain numbers, for every step of a driver
        ratios = as_floats(self.ratios)
        if ratios.ndim != 1 or not len(ratios) or np.any(ratios <= 0.0):
            raise ModelError("driveline: ratios must be numbers above zero")
        object.__setattr__(self, "ratios", ratios)
        share = number(self.front_brakes, "driveline: front_brakes")
        if not 0.0 <= share <= 1.0:
            raise ModelError(f"driveline: front_brakes is {share:g}; it must be between 0 and 1")

    @classmethod
    def of_file(cls, fields: Mapping[str, Any], max_brake_torque: float) -> "Driveline":
        """Return the driveline of a vehicle data file.

        Parameters
        ----------
        fields : Mapping[str, Any]
            ``CarData.powertrain``.
        max_brake_torque : float
            Largest brake torque of a wheel [N m].

        Returns
        -------
        Driveline
            Driveline with the tables of the file; one with 200 kW where the file has none.
        """
        if "engine_full_throttle_rpm_Nm" not in fields:
            return cls.of_power(2e5, max_brake_torque)
        full, closed = (as_floats(fields[f"engine_{name}_throttle_rpm_Nm"]) for name in ("full", "zero"))
        gears = as_floats(fields["forward_gear_ratios"]) * number(fields["conical_gear_ratio"], "conical_gear_ratio")
        scale = np.array([RPM, 1.0])
        return cls(full * scale, closed * scale, 1.0 / gears, max_brake_torque)

    @classmethod
    def of_power(cls, power: float, max_brake_torque: float = 3000.0) -> "Driveline":
        """Return a driveline with one gear: constant power above 30 rad/s of the wheels, constant torque below.

        Parameters
        ----------
        power : float
            Power [W].
        max_brake_torque : float, default 3000.0
            Largest brake torque of a wheel [N m].

        Returns
        -------
        Driveline
            Driveline without engine drag.
        """
        w = np.concatenate(([0.0], np.geomspace(30.0, 1000.0, 40)))
        full = np.stack((w, power / np.maximum(w, 30.0)), axis=1)
        closed = np.stack((w[[0, -1]], np.zeros(2)), axis=1)
        brakes = max_brake_torque if np.isfinite(max_brake_torque) else 3000.0
        return cls(full, closed, np.ones(1), brakes)

    def engine_speed(self, wheels: float, gear: int) -> float:
        """Return the engine speed [rad/s].

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].
        gear : int
            Gear, from 1.

        Returns
        -------
        float
            Engine speed [rad/s]; a slipping clutch keeps it at 1000 rpm and above in drivelines with gears.
        """
        turned = abs(wheels) * float(self.ratios[gear - 1])
        return turned if len(self.ratios) == 1 else max(turned, IDLE)

    def torque(self, throttle: float, wheels: float, gear: int) -> float:
        """Return the torque on both driven wheels together.

        Parameters
        ----------
        throttle : float
            Throttle from 0 to 1: the share between the torques of closed and of full throttle.
        wheels : float
            Mean speed of the driven wheels [rad/s], positive forward.
        gear : int
            Gear, from 1.

        Returns
        -------
        float
            Torque [N m], positive forward; zero beyond the highest speed of the full-throttle table.
        """
        low, high = self.limits(wheels, gear)
        return low + min(max(throttle, 0.0), 1.0) * (high - low)

    def limits(self, wheels: float, gear: int) -> tuple[float, float]:
        """Return the torques on both driven wheels together of closed and of full throttle.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s], positive forward.
        gear : int
            Gear, from 1.

        Returns
        -------
        tuple[float, float]
            Torques of closed and of full throttle [N m].
        """
        speed, ratio = self.engine_speed(wheels, gear), float(self.ratios[gear - 1])
        drag = interpolated(speed, *self._closed)
        full = interpolated(speed, *self._full) if speed <= self._full[0][-1] else 0.0
        return ratio * drag * min(max(wheels / CREEPS, 0.0), 1.0), ratio * full

    def shifted(self, wheels: float, gear: int) -> int:
        """Return the next gear: one up above 4000 rpm, one down below 1500 rpm where that does not shift back.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].
        gear : int
            Present gear, from 1.

        Returns
        -------
        int
            Gear, from 1.
        """
        turned = abs(wheels) * self.ratios
        if gear < len(turned) and turned[gear - 1] > UP:
            return gear + 1
        if gear > 1 and turned[gear - 1] < DOWN and turned[gear - 2] < 0.9 * UP:
            return gear - 1
        return gear

    def gear_at(self, wheels: float) -> int:
        """Return the highest gear with at least 1500 rpm, the first one when there is none.

        Parameters
        ----------
        wheels : float
            Mean speed of the driven wheels [rad/s].

        Returns
        -------
        int
            Gear, from 1.
        """
        high = np.flatnonzero(abs(wheels) * self.ratios >= DOWN)
        return int(high[-1]) + 1 if len(high) else 1


def interpolated(x: float, at: list[float], values: list[float]) -> float:
    """Return the value of a table between its points, that of its ends beyond; sums are those of ``np.interp``."""
    k = bisect_right(at, x) - 1
    if k < 0 or k >= len(at) - 1:
        return values[max(k, 0)]
    slope = (values[k + 1] - values[k]) / (at[k + 1] - at[k])
    return slope * (x - at[k]) + values[k]
