"""Axles with a beam: solid axle on links or a Panhard rod, and twist beam; left side, chassis frame at design."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number
from rtmbs.vehicle.axle import CHASSIS, Axle, Connection, Part, TwistSpring, hinge, part, rod
from rtmbs.vehicle.axle_template import AxleTemplate

BEAM, TRAILING_ARM = "beam", "trailing_arm"
LINKS = 4  # of a solid axle: they leave it heave and roll


@dataclass(frozen=True, kw_only=True)
class BeamAxle(AxleTemplate):
    """Data of both templates: spring and damper stand on one part.

    Parameters
    ----------
    strut_chassis : array_like
        End (3,) of spring and damper on the chassis [m].
    strut_axle : array_like
        End (3,) of spring and damper on the axle [m].
    """

    strut_chassis: Numbers
    strut_axle: Numbers

    def built(
        self, kind: str, carrier: str, parts: tuple[Part, ...], joints: tuple[Connection, ...], **both: Any
    ) -> Axle:
        """Return the axle of a template with its wheels, springs and dampers.

        Parameters
        ----------
        kind : str
            Kind of the axle.
        carrier : str
            Part that the wheels turn in, and springs and dampers stand on.
        parts : tuple[Part, ...]
            Parts of the left side.
        joints : tuple[Connection, ...]
            Joints and rods of the left side.
        **both : Any
            Arguments of ``Axle`` for what both sides share.

        Returns
        -------
        Axle
            Axle.
        """
        return self.made(kind, carrier, parts, joints, self.struts(carrier, "strut_chassis", "strut_axle"), **both)


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

        Returns
        -------
        Axle
            Beam, links and struts.

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
        beam = self.beam or part(BEAM, 80.0, centre, (12.0, 0.6, 12.0), "SolidAxle: beam")
        shared = (replace(beam, name=BEAM),)
        links = tuple(rod(f"link_{k}", CHASSIS, BEAM, *ends) for k, ends in enumerate(self.links, 1))
        pose = Connection("beam_pose", "free", CHASSIS, BEAM, centre)
        return self.built("solid_axle", BEAM, (), links, shared=shared, central=(pose, *central), live=bool(self.live))


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

        Returns
        -------
        Axle
            Arms, hinges, struts and the spring of the beam.

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
        arm = self.arm or part(TRAILING_ARM, 15.0, middle, (0.3, 0.4, 0.5), "TwistBeam: arm")
        point = joint.point * np.array([1.0, 0.0, 1.0])
        twist = TwistSpring(TRAILING_ARM, point, stiffness, damping)
        return self.built("twist_beam", TRAILING_ARM, (replace(arm, name=TRAILING_ARM),), (joint,), twist=twist)
