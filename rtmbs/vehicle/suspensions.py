"""Templates of axles with independent suspensions, and of axles with a beam.

A template makes an axle of hard points, in the names of the field, left side, chassis frame at design.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, direction, number, numbers
from rtmbs.vehicle.axle import (
    CHASSIS,
    RACK,
    UPRIGHT,
    AntiRollBar,
    Axle,
    Connection,
    Damper,
    Part,
    Spring,
    Strut,
    TwistSpring,
    ball,
    hinge,
    part,
    rod,
)


@dataclass(frozen=True, kw_only=True)
class AxleTemplate(ABC):
    """Data of all templates: wheel, spring and damper of the left side, chassis frame at design."""

    wheel_centre: Numbers
    spring: Spring
    damper: Damper
    spindle: Part | None = None
    shaft_inertia: float = 0.0
    toe: float = 0.0
    camber: float = 0.0
    anti_roll_bar: AntiRollBar | None = None

    @abstractmethod
    def axle(self) -> Axle:
        """Return the axle of this template.

        Returns
        -------
        Axle
            Parts, joints, rods and struts of the left side, and what both sides share.
        """

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

    def own_part(self, field: str, name: str, mass: float, centre: Array, inertia: tuple[float, ...]) -> Part:
        """Return the part of a field under the name of the template, or the usual one where none is given.

        Parameters
        ----------
        field : str
            Field with the part.
        name : str
            Name of the part in the template.
        mass : float
            Usual mass [kg].
        centre : ndarray
            Usual centre of mass (3,) [m].
        inertia : tuple[float, ...]
            Usual moments of inertia (3,) [kg m^2].

        Returns
        -------
        Part
            Part.

        Raises
        ------
        ModelError
            For a field that is no Part.
        """
        what, given = f"{type(self).__name__}: {field}", getattr(self, field)
        if given is None:
            return part(name, mass, centre, inertia, what)
        if not isinstance(given, Part):
            raise ModelError(f"{what} is {shown(given)}; it must be a Part")
        return replace(given, name=name)

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

        Raises
        ------
        ModelError
            For a spring or damper that is none.
        """
        what = type(self).__name__
        one, two = (numbers(getattr(self, name), f"{what}: {name}", (3,)) for name in (chassis, end))
        for name, kind in (("spring", Spring), ("damper", Damper)):
            if not hasattr(getattr(self, name), "law"):
                given = shown(getattr(self, name))
                raise ModelError(f"{what}: {name} is {given}; it must be a {kind.__name__} of rtmbs.vehicle")
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

        Raises
        ------
        ModelError
            For a spindle or an anti-roll bar that is none.
        """
        what = type(self).__name__
        for name, needed in (("spindle", Part), ("anti_roll_bar", AntiRollBar)):
            given = getattr(self, name)
            if not isinstance(given, needed | None):
                raise ModelError(f"{what}: {name} is {shown(given)}; it must be of the class {needed.__name__}")
        spin = spin_axis_of(number(self.toe, f"{what}: toe"), number(self.camber, f"{what}: camber"))
        shaft = number(self.shaft_inertia, f"{what}: shaft_inertia")
        return Axle(
            kind, parts, joints, struts, self.centre(), self.spindle, spin, carrier, shaft, self.anti_roll_bar, **both
        )


def spin_axis_of(toe: float, camber: float) -> Array:
    """Return the spin axis (3,) of a left wheel by toe and camber [rad]."""
    return np.array([-np.sin(toe) * np.cos(camber), np.cos(toe) * np.cos(camber), np.sin(camber)])


ARM, UPPER = "lower_arm", "upper_arm"
ROUND = (0.02, 0.02, 0.03)  # [kg m2] inertia of an arm when none is given


@dataclass(frozen=True, kw_only=True)
class Suspension(AxleTemplate):
    """Data of all templates with an upright, which a tie rod guides."""

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
        upright = self.own_part("upright", UPRIGHT, 10.0, self.centre(), (0.2, 0.2, 0.15))
        inner = RACK if self.steered else CHASSIS
        tie_rod = rod("tie_rod", inner, UPRIGHT, self.tie_rod_inner, self.tie_rod_outer)
        return self.made(kind, UPRIGHT, (upright, *parts), (*joints, tie_rod), struts)


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
        """Return the axle of this suspension."""
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


BEAM, TRAILING_ARM = "beam", "trailing_arm"
LINKS = 4  # of a solid axle: they leave it heave and roll


@dataclass(frozen=True, kw_only=True)
class BeamAxle(AxleTemplate):
    """Data of both templates: spring and damper stand on one part."""

    strut_chassis: Numbers
    strut_axle: Numbers


@dataclass(frozen=True, kw_only=True)
class SolidAxle(BeamAxle):
    """Solid axle: a beam with both wheels on four links; a Panhard rod is one of them.

    Four links leave the beam its heave and roll. Links are massless. The body of the beam is ``beam_r``.

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
        Anti-roll bar between both sides; its ``part`` is "beam".
    strut_chassis : array_like
        End (3,) of spring and damper on the chassis [m].
    strut_axle : array_like
        End (3,) of spring and damper on the beam [m].
    links : tuple[tuple[array_like, array_like], ...]
        Links of the left side, which the right side mirrors: pairs of points (3,), on the chassis and on the beam [m].
    upper_link : tuple[array_like, array_like], optional
        Link that is there once, points (3,) on the chassis and on the beam [m].
    panhard_rod : tuple[array_like, array_like], optional
        Panhard rod, points (3,) on the chassis and on the beam [m].
    beam : Part, optional
        Beam with mass, centre of mass and inertia; 80 kg between the wheel centres unless given.
    live : bool, default True
        Drive torques react on the beam, which has the differential; False for a De Dion axle, whose differential is on
        the chassis. The torque of the propeller shaft about x is left out.

    Examples
    --------
    >>> axle = rtmbs.vehicle.SolidAxle(
    ...     wheel_centre=(-1.4, 0.75, 0.0), strut_chassis=(-1.4, 0.5, 0.4), strut_axle=(-1.4, 0.5, 0.05),
    ...     links=(((-0.9, 0.5, -0.05), (-1.4, 0.55, -0.1)),),
    ...     upper_link=((-0.95, 0.1, 0.15), (-1.4, 0.1, 0.15)),
    ...     panhard_rod=((-1.5, -0.5, 0.06), (-1.5, 0.5, 0.05)),
    ...     spring=rtmbs.vehicle.Spring(free_length=0.45, stiffness=40000.0),
    ...     damper=rtmbs.vehicle.Damper(damping=2500.0),
    ... ).axle()
    >>> axle.kind
    'solid_axle'
    """

    links: tuple[tuple[Numbers, Numbers], ...]
    upper_link: tuple[Numbers, Numbers] | None = None
    panhard_rod: tuple[Numbers, Numbers] | None = None
    beam: Part | None = None
    live: bool = True

    def axle(self) -> Axle:
        """Return the axle.

        Raises
        ------
        ModelError
            For another number of links than four, and for a beam that is not in the middle.
        """
        single = [(name, getattr(self, name)) for name in ("upper_link", "panhard_rod")]
        central = tuple(rod(name, CHASSIS, BEAM, *ends) for name, ends in single if ends is not None)
        count = 2 * len(self.links) + len(central)
        if count != LINKS:
            raise ModelError(
                f"SolidAxle: {count} links; it must be 4: two for each pair of points, one for upper_link and one for "
                "panhard_rod"
            )
        centre = self.centre() * np.array([1.0, 0.0, 1.0])
        shared = (self.own_part("beam", BEAM, 80.0, centre, (12.0, 0.6, 12.0)),)
        links = tuple(rod(f"link_{k}", CHASSIS, BEAM, *ends) for k, ends in enumerate(self.links, 1))
        pose = Connection("beam_pose", "free", CHASSIS, BEAM, centre)
        struts = self.struts(BEAM, "strut_chassis", "strut_axle")
        return self.made(
            "solid_axle", BEAM, (), links, struts, shared=shared, central=(pose, *central), live=bool(self.live)
        )


@dataclass(frozen=True, kw_only=True)
class TwistBeam(BeamAxle):
    """Twist beam: a trailing arm on each side, on a hinge of the chassis, and a beam that twists between them.

    The hinge leads from its outer point through the centre of shear of the beam for the path of roll, or along y for
    that of heave. The spring of the beam is ``twist_r``.

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
        Anti-roll bar between both sides; its ``part`` is "trailing_arm".
    strut_chassis : array_like
        End (3,) of spring and damper on the chassis [m].
    strut_axle : array_like
        End (3,) of spring and damper on the arm [m].
    hinge_outer : array_like
        Outer point (3,) of the hinge [m].
    hinge_inner : array_like
        Inner point (3,) of the hinge [m].
    torsion_stiffness : float
        Torque of the beam for each angle between both arms [N m/rad].
    torsion_damping : float, default 0.0
        Damping of the beam [N m s/rad].
    arm : Part, optional
        Arm with its half of the beam; 15 kg between hinge and wheel centre unless given.

    Examples
    --------
    >>> axle = rtmbs.vehicle.TwistBeam(
    ...     wheel_centre=(-1.4, 0.75, 0.0), hinge_outer=(-1.0, 0.65, 0.05), hinge_inner=(-1.0, 0.45, 0.05),
    ...     strut_chassis=(-1.35, 0.55, 0.4), strut_axle=(-1.35, 0.55, -0.05), torsion_stiffness=6000.0,
    ...     spring=rtmbs.vehicle.Spring(free_length=0.55, stiffness=40000.0),
    ...     damper=rtmbs.vehicle.Damper(damping=2500.0),
    ... ).axle()
    >>> axle.twist.stiffness
    6000.0
    """

    hinge_outer: Numbers
    hinge_inner: Numbers
    torsion_stiffness: float
    torsion_damping: float = 0.0
    arm: Part | None = None

    def axle(self) -> Axle:
        """Return the axle.

        Raises
        ------
        ModelError
            For a stiffness or damping below zero.
        """
        stiffness = number(self.torsion_stiffness, "TwistBeam: torsion_stiffness")
        damping = number(self.torsion_damping, "TwistBeam: torsion_damping")
        if stiffness < 0.0 or damping < 0.0:
            raise ModelError(
                f"TwistBeam: torsion_stiffness is {stiffness:g} and torsion_damping {damping:g}; they must be zero or "
                "more"
            )
        joint = hinge("arm_hinge", CHASSIS, TRAILING_ARM, self.hinge_outer, self.hinge_inner)
        middle = 0.5 * (self.centre() + joint.point)
        arm = self.own_part("arm", TRAILING_ARM, 15.0, middle, (0.3, 0.4, 0.5))
        point = joint.point * np.array([1.0, 0.0, 1.0])
        twist = TwistSpring(TRAILING_ARM, point, stiffness, damping)
        parts, struts = (arm,), self.struts(TRAILING_ARM, "strut_chassis", "strut_axle")
        return self.made("twist_beam", TRAILING_ARM, parts, (joint,), struts, twist=twist)
