"""Brush tyre: elastic bristles under a parabolic pressure, for teaching (Pacejka, Tyre and Vehicle Dynamics, ch. 3)."""

from typing import Any, ClassVar

import numpy as np

from rtmbs.vehicle.fiala import positive
from rtmbs.vehicle.smooth import at_least, at_most
from rtmbs.vehicle.tyre import Tyre, TyreForces, TyreInput

TINY = 1e-30  # under a root: keeps its derivative at zero


class BrushTyre(Tyre):
    """Isotropic brush tyre with Coulomb friction (Pacejka, Tyre and Vehicle Dynamics, ch. 3).

    Bristles of stiffness ``tread_stiffness`` c stand on a contact length 2 a, with a = sqrt(R0 Fz / stiffness). The
    theoretical slips are slip / (1 + slip) and tan(slip_angle) / (1 + slip), their size is s, and
    x = 2 c a^2 s / (3 mu Fz). The force is mu Fz (3 x - 3 x^2 + x^3) up to x = 1, where the whole contact slides.

    Parameters
    ----------
    free_radius : float
        Radius without load R0 [m].
    vertical_stiffness : float
        Vertical stiffness [N/m].
    tread_stiffness : float
        Stiffness of the bristles for each length of the contact c [N/m^2].
    friction : float
        Coefficient of friction mu.
    vertical_damping : float, default 0.0
        Vertical damping [N s/m].
    relaxation_length : float, default 0.3
        Longitudinal and lateral relaxation length [m].

    Examples
    --------
    >>> tyre = rtmbs.vehicle.BrushTyre(
    ...     free_radius=0.32, vertical_stiffness=2e5, tread_stiffness=2e7, friction=1.0
    ... )
    >>> round(float(tyre.steady(load=4000.0, slip_angle=0.5).Fy))  # slides: -mu Fz
    -4000
    """

    kind: ClassVar[str] = "brush"

    def __init__(
        self,
        *,
        free_radius: float,
        vertical_stiffness: float,
        tread_stiffness: float,
        friction: float,
        vertical_damping: float = 0.0,
        relaxation_length: float = 0.3,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        found = positive("tyre", given, ("vertical_damping",))
        self.free_radius, self.vertical_stiffness = found["free_radius"], found["vertical_stiffness"]
        self.vertical_damping, self.tread_stiffness = found["vertical_damping"], found["tread_stiffness"]
        self.friction, self.relaxation_length = found["friction"], found["relaxation_length"]

    def half_length(self, load: Any) -> Any:
        """Return half of the contact length.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].

        Returns
        -------
        float or ndarray
            Half length a = sqrt(R0 Fz / stiffness) [m].
        """
        return np.sqrt(self.free_radius * load / self.vertical_stiffness + 1e-12)

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
        rolled = at_least(1.0 + at.slip, 1e-2)
        sx, sy = at.slip / rolled, np.tan(at.slip_angle) / rolled
        size = np.sqrt(sx * sx + sy * sy + TINY)
        a, limit = self.half_length(at.load), at_least(self.friction * at.friction * at.load, 1e-6)
        stiffness = 2.0 * self.tread_stiffness * a * a
        x = at_most(stiffness * size / (3.0 * limit), 1.0)
        over_slip = limit * x * (3.0 - 3.0 * x + x * x) / size
        Fx, Fy = over_slip * sx, -over_slip * sy
        trail = a * (1.0 - x) ** 3 / (3.0 - 3.0 * x + x * x)
        return TyreForces(Fx, Fy, 0.0 * Fy, 0.0 * Fy, -at.forward * trail * Fy)

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
        """Return the slip stiffness 2 c a^2 for both directions.

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
        value = 2.0 * self.tread_stiffness * self.half_length(load) ** 2
        return value, value

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the largest force mu Fz for both directions.

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
