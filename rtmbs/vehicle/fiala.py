"""Fiala tyre: force and moment from six numbers (Fiala 1954, in the form of Adams/Tyre)."""

from typing import Any, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import number
from rtmbs.vehicle.smooth import at_least, at_most, magnitude, sign
from rtmbs.vehicle.tyre import Tyre, TyreForces, TyreInput


def positive(what: str, values: dict[str, float], zero: tuple[str, ...] = ()) -> dict[str, float]:
    """Return checked numbers above zero, or from zero on for those named in ``zero``."""
    found = {name: number(value, f"{what}: {name}") for name, value in values.items()}
    for name, value in found.items():
        if value < 0.0 or (value == 0.0 and name not in zero):
            least = "zero or more" if name in zero else "above zero"
            raise ModelError(f"{what}: {name} is {value:g}; it must be {least}")
    return found


class FialaTyre(Tyre):
    """Fiala tyre: friction that falls from ``friction`` to ``sliding_friction`` with the total slip.

    Force and moment follow from six numbers (Fiala 1954, in the form of Adams/Tyre). Camber has no effect. Longitudinal
    and lateral force share the friction through the total slip only.

    Parameters
    ----------
    free_radius : float
        Radius without load [m].
    width : float
        Width [m].
    vertical_stiffness : float
        Vertical stiffness [N/m].
    slip_stiffness : float
        Slope dFx/dslip at no slip [N].
    cornering_stiffness : float
        Slope -dFy/dslip_angle at no slip [N/rad].
    friction : float
        Coefficient of friction at no slip.
    sliding_friction : float
        Coefficient of friction at a total slip of one.
    vertical_damping : float, default 0.0
        Vertical damping [N s/m].
    rolling_resistance : float, default 0.0
        Lever of the vertical force [m].
    relaxation_length : float, default 0.3
        Longitudinal and lateral relaxation length [m].

    Examples
    --------
    >>> tyre = rtmbs.vehicle.FialaTyre(
    ...     free_radius=0.32, width=0.2, vertical_stiffness=2e5, slip_stiffness=1e5, cornering_stiffness=8e4,
    ...     friction=1.0, sliding_friction=0.8,
    ... )
    >>> bool(tyre.steady(load=4000.0, slip_angle=0.02).Fy < 0.0)  # the contact point moves to the left
    True
    """

    kind: ClassVar[str] = "Fiala"

    def __init__(
        self,
        *,
        free_radius: float,
        width: float,
        vertical_stiffness: float,
        slip_stiffness: float,
        cornering_stiffness: float,
        friction: float,
        sliding_friction: float,
        vertical_damping: float = 0.0,
        rolling_resistance: float = 0.0,
        relaxation_length: float = 0.3,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        found = positive("tyre", given, ("vertical_damping", "rolling_resistance"))
        self.free_radius, self.width = found["free_radius"], found["width"]
        self.vertical_stiffness, self.vertical_damping = found["vertical_stiffness"], found["vertical_damping"]
        self.slip_stiffness, self.cornering_stiffness = found["slip_stiffness"], found["cornering_stiffness"]
        self.friction, self.sliding_friction = found["friction"], found["sliding_friction"]
        self.rolling_resistance, self.relaxation_length = found["rolling_resistance"], found["relaxation_length"]

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment at steady slip.

        Parameters
        ----------
        at : TyreInput
            Load, slips, camber, speed and friction of the wheel.

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.
        """
        tangent = np.tan(at.slip_angle)
        total = np.sqrt(at.slip * at.slip + tangent * tangent + 1e-30)
        grip = self.friction - (self.friction - self.sliding_friction) * at_most(total, 1.0)
        limit = at_least(grip * at.friction * at.load, 1e-6)
        stiff = self.slip_stiffness * at.slip
        size = magnitude(stiff)
        slides = sign(at.slip) * (limit - limit * limit / (4.0 * at_least(size, 0.5 * limit)))
        Fx = np.where(size.real < 0.5 * limit.real, stiff, slides)
        share = at_most(self.cornering_stiffness * magnitude(tangent) / (3.0 * limit), 1.0)
        H = 1.0 - share
        side = sign(at.slip_angle)
        Fy, Mz = -limit * (1.0 - H**3) * side, limit * self.width * share * H**3 * side * at.forward
        return TyreForces(Fx, Fy, 0.0 * Fy, -self.rolling_resistance * at.load * at.forward, Mz)

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the relaxation length of the constructor for both directions.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            Longitudinal and lateral relaxation length [m].
        """
        return self.relaxation_length, self.relaxation_length

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slip stiffness and the cornering stiffness of the constructor.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            dFx/dslip [N] and -dFy/dslip_angle [N/rad] at no slip, both positive.
        """
        return self.slip_stiffness, self.cornering_stiffness

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the friction at no slip times the load for both directions.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            Largest longitudinal and lateral force [N], both positive.
        """
        return self.friction * load, self.friction * load
