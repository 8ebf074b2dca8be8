"""Suspension templates: an axle of hard points, in the names of the field, left side, chassis frame at design."""

from dataclasses import dataclass, field

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Numbers, direction, number, numbers
from rtmbs.vehicle.anti_roll_bar import CHASSIS, AntiRollBar
from rtmbs.vehicle.axle import RACK, UPRIGHT, Axle, Connection, Part, Strut, ball, hinge, part, rod
from rtmbs.vehicle.struts import Damper, Spring

ARM, UPPER = "lower_arm", "upper_arm"
ROUND = (0.02, 0.02, 0.03)  # [kg m2] inertia of an arm when none is given


@dataclass(frozen=True, kw_only=True)
class Suspension:
    """What all templates have.

    Parameters
    ----------
    wheel_centre : left wheel centre [m]
    tie_rod_inner : end of the tie rod on rack or chassis [m]
    tie_rod_outer : its end on the upright [m]
    spring : law of the spring
    damper : law of the damper
    steered : the inner end is on the rack, or else on the chassis
    upright : mass [kg], centre of mass [m] and inertia [kg m2] of the upright; 10 kg at the wheel centre by default
    spindle : of what turns with the wheel beside rim and tyre
    shaft_inertia : of the drive shaft about the spin axis [kg m2]
    toe : at design [rad], positive turns the left wheel to the left
    camber : at design [rad], positive leans the top of the left wheel to the right
    anti_roll_bar : between both sides
    """

    wheel_centre: Numbers
    spring: Spring
    damper: Damper
    tie_rod_inner: Numbers
    tie_rod_outer: Numbers
    steered: bool = False
    upright: Part | None = None
    spindle: Part | None = None
    shaft_inertia: float = 0.0
    toe: float = 0.0
    camber: float = 0.0
    anti_roll_bar: AntiRollBar | None = None

    def built(
        self, kind: str, parts: tuple[Part, ...], joints: tuple[Connection, ...], struts: tuple[Strut, ...]
    ) -> Axle:
        """Return the axle of a template with upright, tie rod and wheel."""
        what = f"{type(self).__name__}"
        centre = numbers(self.wheel_centre, f"{what}: wheel_centre", (3,))
        if centre[1] <= 0.0:
            raise ModelError(
                f"{what}: wheel_centre is {shown(self.wheel_centre)}; it must be on the left, y above zero"
            )
        upright = self.upright or part(UPRIGHT, 10.0, centre, (0.2, 0.2, 0.15), f"{what}: upright")
        inner = RACK if self.steered else CHASSIS
        tie_rod = rod("tie_rod", inner, UPRIGHT, self.tie_rod_inner, self.tie_rod_outer)
        toe, camber = number(self.toe, f"{what}: toe"), number(self.camber, f"{what}: camber")
        spin = np.array([-np.sin(toe) * np.cos(camber), np.cos(toe) * np.cos(camber), np.sin(camber)])
        shaft = number(self.shaft_inertia, f"{what}: shaft_inertia")
        found = (Part(UPRIGHT, upright.mass, upright.com, upright.inertia), *parts)
        return Axle(
            kind, found, (*joints, tie_rod), struts, centre, self.spindle, spin, UPRIGHT, shaft, self.anti_roll_bar
        )

    def struts(self, other: str, chassis: Numbers, end: Numbers) -> tuple[Strut, ...]:
        """Return spring and damper between a point of the chassis and one of another part."""
        what = f"{type(self).__name__}: strut"
        one, two = numbers(chassis, f"{what}_chassis", (3,)), numbers(end, f"{what}_arm", (3,))
        laws = (("spring", self.spring), ("shock", self.damper))
        return tuple(Strut(name, CHASSIS, other, one, two, law) for name, law in laws)


def arm_of(name: str, mass: float, front: Numbers, back: Numbers, end: Numbers, what: str) -> Part:
    """Return an arm of three points with its centre of mass in the middle of them."""
    points = [numbers(point, f"{what}: {name}", (3,)) for point in (front, back, end)]
    return part(name, mass, np.mean(points, axis=0), np.array(ROUND) * mass / 2.0, f"{what}: {name}")


@dataclass(frozen=True, kw_only=True)
class DoubleWishbone(Suspension):
    """Two arms, each with a hinge on the chassis and a ball joint on the upright.

    Parameters
    ----------
    upper_front : front point of the hinge of the upper arm [m]
    upper_back : its back point [m]
    upper_ball : ball joint of the upper arm [m]
    lower_front : front point of the hinge of the lower arm [m]
    lower_back : its back point [m]
    lower_ball : ball joint of the lower arm [m]
    strut_chassis : end of spring and damper on the chassis [m]
    strut_arm : their end on the lower arm [m]
    upper_arm_mass : of the upper arm [kg]
    lower_arm_mass : of the lower arm [kg]
    """

    upper_front: Numbers
    upper_back: Numbers
    upper_ball: Numbers
    lower_front: Numbers
    lower_back: Numbers
    lower_ball: Numbers
    strut_chassis: Numbers
    strut_arm: Numbers
    upper_arm_mass: float = 2.0
    lower_arm_mass: float = 4.0

    def axle(self) -> Axle:
        """Return the axle."""
        what = "DoubleWishbone"
        parts = (
            arm_of(UPPER, self.upper_arm_mass, self.upper_front, self.upper_back, self.upper_ball, what),
            arm_of(ARM, self.lower_arm_mass, self.lower_front, self.lower_back, self.lower_ball, what),
        )
        joints = (
            hinge("upper_arm_hinge", CHASSIS, UPPER, self.upper_front, self.upper_back),
            hinge("lower_arm_hinge", CHASSIS, ARM, self.lower_front, self.lower_back),
            ball("upper_ball", UPPER, UPRIGHT, self.upper_ball),
            ball("lower_ball", ARM, UPRIGHT, self.lower_ball),
        )
        return self.built("double_wishbone", parts, joints, self.struts(ARM, self.strut_chassis, self.strut_arm))


@dataclass(frozen=True, kw_only=True)
class MacPherson(Suspension):
    """A lower arm, and a strut that slides in the upright with its top on the chassis.

    Parameters
    ----------
    lower_front : front point of the hinge of the lower arm [m]
    lower_back : its back point [m]
    lower_ball : ball joint of the lower arm [m]
    strut_top : ball joint of the strut on the chassis [m]
    strut_bottom : another point of the line that the strut slides along, on the upright; end of spring and damper [m]
    lower_arm_mass : of the lower arm [kg]
    """

    lower_front: Numbers
    lower_back: Numbers
    lower_ball: Numbers
    strut_top: Numbers
    strut_bottom: Numbers
    lower_arm_mass: float = 4.0

    def axle(self) -> Axle:
        """Return the axle."""
        what = "MacPherson"
        arm = arm_of(ARM, self.lower_arm_mass, self.lower_front, self.lower_back, self.lower_ball, what)
        top = numbers(self.strut_top, f"{what}: strut_top", (3,))
        bottom = numbers(self.strut_bottom, f"{what}: strut_bottom", (3,))
        axis = direction(top - bottom, f"{what}: strut")
        joints = (
            hinge("lower_arm_hinge", CHASSIS, ARM, self.lower_front, self.lower_back),
            ball("lower_ball", ARM, UPRIGHT, self.lower_ball),
            Connection("strut", "line", UPRIGHT, CHASSIS, top, axis=axis),
        )
        return self.built("macpherson", (arm,), joints, self.struts(UPRIGHT, top, bottom))


@dataclass(frozen=True, kw_only=True)
class FiveLink(Suspension):
    """Five massless links between chassis and upright; the tie rod is one of them.

    Parameters
    ----------
    links : four pairs of points, on the chassis and on the upright [m]
    strut_chassis : end of spring and damper on the chassis [m]
    strut_upright : their end on the upright [m]
    """

    links: tuple[tuple[Numbers, Numbers], ...] = field(default=())
    strut_chassis: Numbers
    strut_upright: Numbers

    def axle(self) -> Axle:
        """Return the axle."""
        if len(self.links) != 4:
            raise ModelError(f"FiveLink: {len(self.links)} links; it must be 4 beside the tie rod")
        links = tuple(rod(f"link_{k}", CHASSIS, UPRIGHT, *ends) for k, ends in enumerate(self.links, 1))
        centre = numbers(self.wheel_centre, "FiveLink: wheel_centre", (3,))
        links = (Connection("upright_pose", "free", CHASSIS, UPRIGHT, centre), *links)
        return self.built("five_link", (), links, self.struts(UPRIGHT, self.strut_chassis, self.strut_upright))
