"""Suspension templates: an axle of hard points, in the names of the field, left side, chassis frame at design."""

from dataclasses import dataclass, field, replace

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, direction, numbers
from rtmbs.vehicle.axle import CHASSIS, RACK, UPRIGHT, Axle, Connection, Part, Strut, ball, hinge, part, rod
from rtmbs.vehicle.axle_template import AxleTemplate

ARM, UPPER = "lower_arm", "upper_arm"
ROUND = (0.02, 0.02, 0.03)  # [kg m2] inertia of an arm when none is given


@dataclass(frozen=True, kw_only=True)
class Suspension(AxleTemplate):
    """Data of all templates with an upright, which a tie rod guides.

    Parameters
    ----------
    tie_rod_inner : array_like
        End (3,) of the tie rod on rack or chassis [m].
    tie_rod_outer : array_like
        End (3,) of the tie rod on the upright [m].
    steered : bool, default False
        True for an inner end of the tie rod on the rack, False for one on the chassis.
    upright : Part, optional
        Upright with mass, centre of mass and inertia; 10 kg at the wheel centre unless given.
    """

    tie_rod_inner: Numbers
    tie_rod_outer: Numbers
    steered: bool = False
    upright: Part | None = None

    def built(
        self, kind: str, parts: tuple[Part, ...], joints: tuple[Connection, ...], struts: tuple[Strut, ...]
    ) -> Axle:
        """Return the axle of a template with upright, tie rod and wheel.

        Parameters
        ----------
        kind : str
            Kind of the suspension, such as "double_wishbone".
        parts : tuple[Part, ...]
            Parts of the left side besides the upright.
        joints : tuple[Connection, ...]
            Joints and rods of the left side besides the tie rod.
        struts : tuple[Strut, ...]
            Springs and dampers of the left side.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side.
        """
        upright = self.upright or part(
            UPRIGHT, 10.0, self.centre(), (0.2, 0.2, 0.15), f"{type(self).__name__}: upright"
        )
        inner = RACK if self.steered else CHASSIS
        tie_rod = rod("tie_rod", inner, UPRIGHT, self.tie_rod_inner, self.tie_rod_outer)
        return self.made(kind, UPRIGHT, (replace(upright, name=UPRIGHT), *parts), (*joints, tie_rod), struts)


def arm_of(name: str, mass: float, front: Numbers, back: Numbers, end: Numbers, what: str) -> Part:
    """Return an arm of three points with its centre of mass in the middle of them."""
    points = [numbers(point, f"{what}: {name}", (3,)) for point in (front, back, end)]
    return part(name, mass, np.mean(points, axis=0), np.array(ROUND) * mass / 2.0, f"{what}: {name}")


@dataclass(frozen=True, kw_only=True)
class DoubleWishbone(Suspension):
    """Double wishbone suspension: two arms, each with a hinge on the chassis and a ball joint on the upright.

    Points are those of the left side in the chassis frame at design (ISO 8855: x forward, y left, z up).

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
    tie_rod_inner : array_like
        End (3,) of the tie rod on rack or chassis [m].
    tie_rod_outer : array_like
        End (3,) of the tie rod on the upright [m].
    steered : bool, default False
        True for an inner end of the tie rod on the rack, False for one on the chassis.
    upright : Part, optional
        Upright with mass, centre of mass and inertia; 10 kg at the wheel centre unless given.
    upper_front : array_like
        Front point (3,) of the hinge of the upper arm [m].
    upper_back : array_like
        Back point (3,) of that hinge [m].
    upper_ball : array_like
        Ball joint (3,) of the upper arm [m].
    lower_front : array_like
        Front point (3,) of the hinge of the lower arm [m].
    lower_back : array_like
        Back point (3,) of that hinge [m].
    lower_ball : array_like
        Ball joint (3,) of the lower arm [m].
    strut_chassis : array_like
        End (3,) of spring and damper on the chassis [m].
    strut_arm : array_like
        End (3,) of spring and damper on the lower arm [m].
    upper_arm_mass : float, default 2.0
        Mass of the upper arm [kg].
    lower_arm_mass : float, default 4.0
        Mass of the lower arm [kg].

    Examples
    --------
    >>> suspension = rtmbs.vehicle.DoubleWishbone(
    ...     wheel_centre=(0.0, 0.75, 0.0), steered=True,
    ...     upper_front=(0.1, 0.4, 0.15), upper_back=(-0.1, 0.4, 0.15), upper_ball=(0.0, 0.65, 0.15),
    ...     lower_front=(0.15, 0.35, -0.12), lower_back=(-0.15, 0.35, -0.12), lower_ball=(0.0, 0.7, -0.12),
    ...     tie_rod_inner=(0.12, 0.35, -0.05), tie_rod_outer=(0.12, 0.68, -0.05),
    ...     strut_chassis=(0.0, 0.45, 0.35), strut_arm=(0.0, 0.55, -0.1),
    ...     spring=rtmbs.vehicle.Spring(free_length=0.5, stiffness=40000.0),
    ...     damper=rtmbs.vehicle.Damper(damping=2500.0),
    ... )
    >>> suspension.axle().steered
    True
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
        """Return the axle of this suspension.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side.
        """
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
        return self.built("double_wishbone", parts, joints, self.struts(ARM, "strut_chassis", "strut_arm"))


@dataclass(frozen=True, kw_only=True)
class MacPherson(Suspension):
    """MacPherson suspension: a lower arm, and a strut that slides in the upright with its top on the chassis.

    Points are those of the left side in the chassis frame at design (ISO 8855: x forward, y left, z up).

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
    tie_rod_inner : array_like
        End (3,) of the tie rod on rack or chassis [m].
    tie_rod_outer : array_like
        End (3,) of the tie rod on the upright [m].
    steered : bool, default False
        True for an inner end of the tie rod on the rack, False for one on the chassis.
    upright : Part, optional
        Upright with mass, centre of mass and inertia; 10 kg at the wheel centre unless given.
    lower_front : array_like
        Front point (3,) of the hinge of the lower arm [m].
    lower_back : array_like
        Back point (3,) of that hinge [m].
    lower_ball : array_like
        Ball joint (3,) of the lower arm [m].
    strut_top : array_like
        Ball joint (3,) of the strut on the chassis [m].
    strut_bottom : array_like
        Another point (3,) of the line that the strut slides along, on the upright; end of spring and damper [m].
    lower_arm_mass : float, default 4.0
        Mass of the lower arm [kg].
    """

    lower_front: Numbers
    lower_back: Numbers
    lower_ball: Numbers
    strut_top: Numbers
    strut_bottom: Numbers
    lower_arm_mass: float = 4.0

    def axle(self) -> Axle:
        """Return the axle of this suspension.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side.
        """
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
        return self.built("macpherson", (arm,), joints, self.struts(UPRIGHT, "strut_top", "strut_bottom"))


@dataclass(frozen=True, kw_only=True)
class FiveLink(Suspension):
    """Five-link suspension: five massless links between chassis and upright; the tie rod is one of them.

    Points are those of the left side in the chassis frame at design (ISO 8855: x forward, y left, z up).

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
    tie_rod_inner : array_like
        End (3,) of the tie rod on rack or chassis [m].
    tie_rod_outer : array_like
        End (3,) of the tie rod on the upright [m].
    steered : bool, default False
        True for an inner end of the tie rod on the rack, False for one on the chassis.
    upright : Part, optional
        Upright with mass, centre of mass and inertia; 10 kg at the wheel centre unless given.
    links : tuple[tuple[array_like, array_like], ...]
        Four pairs of points (3,), on the chassis and on the upright [m].
    strut_chassis : array_like
        End (3,) of spring and damper on the chassis [m].
    strut_upright : array_like
        End (3,) of spring and damper on the upright [m].
    """

    links: tuple[tuple[Numbers, Numbers], ...] = field(default=())
    strut_chassis: Numbers
    strut_upright: Numbers

    def axle(self) -> Axle:
        """Return the axle of this suspension.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side.

        Raises
        ------
        ModelError
            For another number of links than four beside the tie rod.
        """
        if len(self.links) != 4:
            raise ModelError(f"FiveLink: {len(self.links)} links; it must be 4 beside the tie rod")
        links = tuple(rod(f"link_{k}", CHASSIS, UPRIGHT, *ends) for k, ends in enumerate(self.links, 1))
        centre = numbers(self.wheel_centre, "FiveLink: wheel_centre", (3,))
        links = (Connection("upright_pose", "free", CHASSIS, UPRIGHT, centre), *links)
        return self.built("five_link", (), links, self.struts(UPRIGHT, "strut_chassis", "strut_upright"))
