"""What all templates of axles share: wheel, spring and damper of the left side, chassis frame at design."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, number, numbers
from rtmbs.vehicle.anti_roll_bar import CHASSIS, AntiRollBar
from rtmbs.vehicle.axle import Axle, Connection, Part, Strut
from rtmbs.vehicle.struts import Damper, Spring


@dataclass(frozen=True, kw_only=True)
class AxleTemplate:
    """Data of all templates: wheel, spring and damper of the left side, chassis frame at design.

    Parameters
    ----------
    wheel_centre : array_like
        Left wheel centre (3,) [m].
    spring : Spring
        Law of the spring.
    damper : Damper
        Law of the damper.
    spindle : Part, optional
        Part that turns with the wheel beside rim and tyre.
    shaft_inertia : float, default 0.0
        Inertia of the drive shaft about the spin axis [kg m^2].
    toe : float, default 0.0
        Toe at design [rad], positive when the left wheel is turned to the left.
    camber : float, default 0.0
        Camber at design [rad], positive when the top of the left wheel leans to the right.
    anti_roll_bar : AntiRollBar, optional
        Anti-roll bar between both sides.
    """

    wheel_centre: Numbers
    spring: Spring
    damper: Damper
    spindle: Part | None = None
    shaft_inertia: float = 0.0
    toe: float = 0.0
    camber: float = 0.0
    anti_roll_bar: AntiRollBar | None = None

    def centre(self) -> Array:
        """Return the left wheel centre, checked.

        Returns
        -------
        ndarray
            Wheel centre (3,) [m].

        Raises
        ------
        ModelError
            For a wheel centre that is not on the left.
        """
        what = type(self).__name__
        found = numbers(self.wheel_centre, f"{what}: wheel_centre", (3,))
        if found[1] <= 0.0:
            raise ModelError(
                f"{what}: wheel_centre is {shown(self.wheel_centre)}; it must be on the left, y above zero"
            )
        return found

    def struts(self, other: str, chassis: str, end: str) -> tuple[Strut, ...]:
        """Return spring and damper between a point of the chassis and one of another part.

        Parameters
        ----------
        other : str
            Name of the other part.
        chassis : str
            Field with the point on the chassis.
        end : str
            Field with the point on the other part.

        Returns
        -------
        tuple[Strut, ...]
            Spring "spring" and damper "shock".
        """
        what = type(self).__name__
        one, two = (numbers(getattr(self, name), f"{what}: {name}", (3,)) for name in (chassis, end))
        laws = (("spring", self.spring), ("shock", self.damper))
        return tuple(Strut(name, CHASSIS, other, one, two, law) for name, law in laws)

    def made(
        self, kind: str, carrier: str, parts: tuple[Part, ...], joints: tuple[Connection, ...],
        struts: tuple[Strut, ...], **both: Any,
    ) -> Axle:  # fmt: skip
        """Return the axle of a template with its wheels.

        Parameters
        ----------
        kind : str
            Kind of the axle, such as "double_wishbone".
        carrier : str
            Part that the wheels turn in.
        parts : tuple[Part, ...]
            Parts of the left side.
        joints : tuple[Connection, ...]
            Joints and rods of the left side.
        struts : tuple[Strut, ...]
            Springs and dampers of the left side.
        **both : Any
            Arguments of ``Axle`` for what both sides share.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side.
        """
        what = type(self).__name__
        spin = spin_axis_of(number(self.toe, f"{what}: toe"), number(self.camber, f"{what}: camber"))
        shaft = number(self.shaft_inertia, f"{what}: shaft_inertia")
        return Axle(
            kind, parts, joints, struts, self.centre(), self.spindle, spin, carrier, shaft, self.anti_roll_bar, **both
        )


def spin_axis_of(toe: float, camber: float) -> Array:
    """Return the spin axis (3,) of a left wheel by toe and camber [rad]."""
    return np.array([-np.sin(toe) * np.cos(camber), np.cos(toe) * np.cos(camber), np.sin(camber)])
