"""IFToMM benchmarks, mechanisms of one body, and a body whose position and orientation are prescribed.

The benchmarks are A01 (simple pendulum), A02 (windows), A03 (Andrews' squeezing mechanism), A04 (Bricard mechanism) and
A05 (flyball governor), beside a planar loop of any length. A03 has seven planar bodies driven by a constant torque,
with the benchmark's numbers as printed by Hairer and Wanner (Solving Ordinary Differential Equations II, VII.7) and by
the library of computational multibody benchmarks. Lengths in m, masses in kg, angles in rad. No gravity. Bodies 1, 3, 5
and 7 turn about O, B and A on ground; bodies 2, 4 and 6 lead from them to the common point E.

A prescribed pose has six driven joints, with massless bodies between them. Angles are yaw, pitch and roll, given as
profiles or found from a quaternion that is a function of time:

    rtmbs.library.drive_pose(model, "plate", position=(0.0, 0.0, rtmbs.Sine(0.1, 3.0)), angles=(yaw, 0.0, roll))
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown, unknown_name
from rtmbs.library.linkages import add_bar, add_planar_body
from rtmbs.model import (
    Body,
    ConstantRate,
    Cylindrical,
    Driver,
    Fixed,
    Input,
    Joint,
    JointType,
    Model,
    Motor,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    Universal,
)
from rtmbs.model.checks import rotation, rotation_of_quaternion
from rtmbs.numerics.rotations.quaternions import conjugate, product

Array = NDArray[np.float64]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
AXIAL, TRANSVERSE = 0.02 / 12.0, 1.01 / 12.0  # [kg m^2] a bar of 1 kg, 1 m, square section of 0.1 m
CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, -1.0, 0.0), (1.0, -1.0, 1.0), (0.0, -1.0, 1.0), (0.0, 0.0, 1.0))
AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def windows(n: int = 2, rate: float = -1.0) -> Model:
    """Return N square windows made of 2 N + 1 identical links.

    Links of 1 m and 1 kg, uniform (1/12 kg m^2). Pivots at (i, 0), i = 0 .. N; posts upright; couplers at y = 1;
    gravity 9.81 m/s^2 along -Y. ``rate`` of all posts [rad/s] about Z: -1 gives v(B0) = (1, 0) m/s. Whenever the posts
    are horizontal the mobility jumps from 1 to N + 1; the parallelogram branch must be kept.

    Names: ``post_i``, ``coupler_j``; joints ``pivot_i``, ``hinge_j``, ``cut_j``; marker ``B0`` at the end of post_0.
    Coordinates are angles from the upright pose.

    Parameters
    ----------
    n : int, default 2
        Number of windows.
    rate : float, default -1.0
        Rate of all posts about Z at the start [rad/s]; -1 gives v(B0) = (1, 0) m/s.

    Returns
    -------
    Model
        Model of the windows.
    """
    model = Model(f"windows {n}", gravity=(0.0, -9.81, 0.0))
    for i in range(n + 1):
        post = add_bar(model, f"post_{i}", (i, 0.0, 0.0), (i, 1.0, 0.0))
        model.add_joint(f"pivot_{i}", Revolute(axis=Z), model.ground, post, point=(i, 0.0, 0.0))
        model.set_initial(f"pivot_{i}", position=0.0, rate=rate, pin=i == 0)

    previous = "post_0"
    for j in range(n):
        coupler = add_bar(model, f"coupler_{j}", (j, 1.0, 0.0), (j + 1, 1.0, 0.0))
        model.add_joint(f"hinge_{j}", Revolute(axis=Z), previous, coupler, point=(j, 1.0, 0.0))
        model.add_joint(f"cut_{j}", Revolute(axis=Z), coupler, f"post_{j + 1}", point=(j + 1, 1.0, 0.0), cut=True)
        model.set_initial(f"hinge_{j}", position=0.0, rate=-rate if j == 0 else 0.0, pin=False)
        previous = coupler.name
    model.add_marker("B0", "post_0", point=(0.0, 1.0, 0.0))
    return model


def bricard() -> Model:
    """Return five rods of 1 m and 1 kg and six revolutes, at rest, gravity 9.81 m/s^2 along -Y.

    Names: ``rod_1`` .. ``rod_5``; joints ``joint_1`` (ground to rod_1 about Y at the origin) .. ``joint_6`` (rod_5 to
    ground). ``joint_4`` is the cut; one of its equations is redundant. Marker ``P3`` stands at the third joint. Period
    4.991711513690 s; the angle of joint_1 swings over pi.

    Returns
    -------
    Model
        Model of the mechanism.
    """
    model = Model("bricard", gravity=(0.0, -9.81, 0.0))
    for i in range(5):
        add_bar(model, f"rod_{i + 1}", CORNERS[i], CORNERS[i + 1], axial=AXIAL, transverse=TRANSVERSE)
    chain = ["ground", *(f"rod_{i + 1}" for i in range(5)), "ground"]
    for i in range(6):
        model.add_joint(f"joint_{i + 1}", Revolute(axis=AXES[i]), chain[i], chain[i + 1], point=CORNERS[i], cut=i == 3)
    model.add_marker("P3", "rod_2", point=CORNERS[2])
    return model


def loop(k: int = 15, length: float = 1.0) -> Model:
    """Return k links, one of them ground, and k revolute pairs about X in one planar loop, at rest.

    The start is the regular polygon below the ground link, which leads from (0, 0, 0) to (0, length, 0); the loop is
    cut in the middle and has k - 3 degrees of freedom. The published problem gives only the count, the fixed base and
    the cut; lengths, masses and pose are ours. Names: ``link_1`` .. ``link_{k-1}``, ``pair_1`` .. ``pair_k``.

    Parameters
    ----------
    k : int, default 15
        Number of pairs, at least 4.
    length : float, default 1.0
        Length of every link [m], 1 kg each, uniform. Gravity 9.81 m/s^2 along -Z.

    Returns
    -------
    Model
        Model of the loop.

    Raises
    ------
    InputError
        For arguments out of range.
    """
    if not (isinstance(k, int) and k >= 4):
        raise InputError(f"loop: k is {k!r}; it must be a whole number of at least 4 for the loop to move")
    model = Model(f"loop of {k}", gravity=(0.0, 0.0, -9.81))
    corners = _polygon(k, length)
    chain = ["ground", *(f"link_{i}" for i in range(1, k)), "ground"]
    for i in range(1, k):
        add_bar(model, chain[i], corners[i - 1], corners[i])
    middle = k // 2 + 1
    for i in range(1, k + 1):
        pair = Revolute(axis=X)
        model.add_joint(f"pair_{i}", pair, chain[i - 1], chain[i], point=corners[i - 1], cut=i == middle)
    return model


def _polygon(k: int, length: float) -> list[tuple[float, float, float]]:
    """Return the k corners from (0, 0, 0) round below to (0, length, 0)."""
    corners = [(0.0, 0.0, 0.0)]
    for i in range(1, k):
        heading = math.pi + 2.0 * math.pi * i / k  # of link i about X from +Y; the ground link closes at pi
        _, y, z = corners[-1]
        corners.append((0.0, y + length * math.cos(heading), z + length * math.sin(heading)))
    return corners


HALF_WIDTH = 0.05  # [m] of the slider; the rods are hinged that far from the shaft axis
STIFFNESS, DAMPING, FREE_LENGTH = 8e5, 4e4, 0.5  # [N/m], [N s/m], [m]
ROD_MASS = 0.3  # [kg] 1 x 0.01 x 0.01 m at 3000 kg/m^3
ROD_AXIAL = ROD_MASS * (0.01**2 + 0.01**2) / 12.0
ROD_TRANSVERSE = ROD_MASS * (1.0 + 0.01**2) / 12.0
SLIDER_MASS = 3.0  # [kg] a cube of 0.1 m
SLIDER_MOMENT = SLIDER_MASS * 2.0 * 0.1**2 / 12.0
BALL_MASS = 5.0  # [kg] point masses at the rod tips


def governor(height: float = 0.5, angle: float = math.radians(30.0), rate: float = 2.0 * math.pi) -> Model:
    """Return the stiff flyball governor on a shaft that turns freely, with gravity 9.81 m/s^2 along -Z.

    Each spring leads from the slider (+-0.05, 0) to the middle of a rod.

    Names: ``shaft``, ``slider``, ``rod_right``, ``rod_left``, ``ball_right``, ``ball_left``; joints ``bearing``,
    ``slide`` (its displacement is the slider's height minus ``height``), ``hinge_right``, ``hinge_left``.
    s(0.1) = 0.52383648, s(0.5) = 0.74324942, s(1) = 0.50142092 m with the default start.

    Parameters
    ----------
    height : float, default 0.5
        Height of the slider's centre [m].
    angle : float, default pi / 6
        Angle of the rods below the horizontal [rad].
    rate : float, default 2 pi
        Rate of the shaft about Z [rad/s].

    Returns
    -------
    Model
        Model of the governor.
    """
    model = Model("flyball governor", gravity=(0.0, 0.0, -9.81))
    add_bar(model, "shaft", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), ROD_MASS, axial=ROD_AXIAL, transverse=ROD_TRANSVERSE)
    model.add_joint("bearing", Revolute(axis=Z), model.ground, "shaft", point=(0.0, 0.0, 0.0))
    model.set_initial("bearing", position=0.0, rate=rate)
    slider = model.add_body("slider", mass=SLIDER_MASS, inertia=(SLIDER_MOMENT,) * 3, position=(0.0, 0.0, height))
    model.add_joint("slide", Prismatic(axis=Z), "shaft", slider, point=(0.0, 0.0, height))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        _add_arm(model, side, sign, angle, slider, height)
    return model


def _add_arm(model: Model, side: str, sign: float, angle: float, slider: Body, height: float) -> None:
    """Hinge a rod with its ball on the shaft's top and tie its middle to the slider."""
    hinge = (sign * HALF_WIDTH, 0.0, 1.0)
    reach, drop = sign * math.cos(angle), math.sin(angle)
    middle = (hinge[0] + reach / 2.0, 0.0, 1.0 - drop / 2.0)
    tip = (hinge[0] + reach, 0.0, 1.0 - drop)
    rod = add_bar(model, f"rod_{side}", hinge, tip, ROD_MASS, axial=ROD_AXIAL, transverse=ROD_TRANSVERSE)
    ball = model.add_body(f"ball_{side}", mass=BALL_MASS, inertia=(0.0, 0.0, 0.0), position=tip)
    model.add_joint(f"hinge_{side}", Revolute(axis=Y), "shaft", rod, point=hinge)
    model.add_joint(f"weld_{side}", Fixed(), rod, ball, point=tip)
    start = model.add_marker(f"spring_foot_{side}", slider, point=(sign * HALF_WIDTH, 0.0, height))
    end = model.add_marker(f"spring_head_{side}", rod, point=middle)
    model.add_force(f"spring_{side}", SpringDamper(STIFFNESS, DAMPING, FREE_LENGTH), between=(start, end))


TORQUE = 0.033  # [N m] on body 1
STEP = 5e-5  # [s]: body 1 turns 15 times in the first 0.05 s
MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
MOMENT = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # about the mass centres [kg m^2]
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
SPRING_STIFFNESS, SPRING_LENGTH = 4530.0, 0.07785  # c0, l0
D_, DA, E_, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA = 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, ZT = 0.02308, 0.00916, 0.04
U, UA, UB = 0.04, 0.01228, 0.00449
ZF, FA = 0.02, 0.01421
BETA, THETA, GAMMA = -0.0617138900142764, 0.0, 0.455279819163070
PHI, DELTA, OMEGA, EPSILON = 0.222668390165886, 0.487364979543843, -0.222668390165886, 1.23054744454982


def andrews(torque: float = TORQUE) -> Model:
    """Return the mechanism at rest in its initial pose, in the plane XY.

    Names: ``body_1`` .. ``body_7``; joints O, F, B, A5, G, A7, H and the cuts E2, E4, E6 to body 3; force ``torque`` on
    joint O, ``spring`` from D (body 3) to C (ground). Coordinates are zero in the initial pose; beta is the angle of O,
    Theta the angle of F.

    Parameters
    ----------
    torque : float, default 0.033
        Torque of the motor on joint O [N m].

    Returns
    -------
    Model
        The mechanism.
    """
    model = Model("Andrews' squeezing mechanism", gravity=(0.0, 0.0, 0.0), h=STEP)
    points = initial_points()
    for i, (joint, center) in enumerate(zip("OFBGAHA", mass_centers(points), strict=True)):
        add_planar_body(model, f"body_{i + 1}", _in_space(points[joint]), _in_space(center), MASS[i], MOMENT[i])

    for name, a, b in (
        ("O", "ground", "body_1"),
        ("F", "body_1", "body_2"),
        ("B", "ground", "body_3"),
        ("A5", "ground", "body_5"),
        ("G", "body_5", "body_4"),
        ("A7", "ground", "body_7"),
        ("H", "body_7", "body_6"),
    ):
        model.add_joint(name, Revolute(axis=Z), a, b, point=_in_space(points[name[0]]))
    for i in (2, 4, 6):
        model.add_joint(f"E{i}", Revolute(axis=Z), f"body_{i}", "body_3", point=_in_space(points["E"]), cut=True)

    model.add_force("torque", Motor(torque), joint="O")
    c = model.add_marker("C", model.ground, point=_in_space(points["C"]))
    d = model.add_marker("D", "body_3", point=_in_space(points["D"]))
    model.add_force("spring", SpringDamper(SPRING_STIFFNESS, length=SPRING_LENGTH), between=(c, d))
    return model


def initial_points() -> dict[str, Array]:
    """Return the named points of the initial pose, (2,) each [m]. E is reached from body 3."""
    a, b = np.array(A), np.array(B)
    f = RR * _unit(BETA)
    down = _down(GAMMA)
    return {
        "O": np.zeros(2),
        "A": a,
        "B": b,
        "C": np.array(C),
        "D": b + SC * down + SD * _unit(GAMMA),
        "E": b + SS * down,
        "F": f,
        "G": a + ZT * _unit(DELTA),
        "H": a + U * _down(EPSILON),
    }


def mass_centers(points: dict[str, Array]) -> list[Array]:
    """Return the mass centres of bodies 1 .. 7 in the initial pose, (2,) each [m]."""
    a, b = points["A"], points["B"]
    return [
        RA * _unit(BETA),
        points["F"] - DA * _unit(BETA + THETA),
        b + SA * _down(GAMMA) + SB * _unit(GAMMA),
        points["G"] + (E_ - EA) * _down(PHI + DELTA),
        a + TA * _unit(DELTA) + TB * _left(_unit(DELTA)),
        points["H"] + (ZF - FA) * _unit(OMEGA + EPSILON),
        a + UA * _down(EPSILON) - UB * _left(_down(EPSILON)),
    ]


def _unit(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def _down(angle: float) -> Array:
    return np.array([np.sin(angle), -np.cos(angle)])


def _left(vector: Array) -> Array:
    return np.array([-vector[1], vector[0]])


def _in_space(point: Array) -> tuple[float, float, float]:
    return (float(point[0]), float(point[1]), 0.0)


TOP_MASS = 1.0  # [kg]
TOP_CENTER = (0.05, -0.1, 0.4)  # of mass, body axes from the pivot [m]
TOP_INERTIA = (0.20, 0.35, 0.45)  # about the mass centre, body axes [kg m^2]
TOP_RATE = (3.0, 5.0, -4.0)  # at the start, body axes [rad/s]
GRAVITY = (0.0, 0.0, -9.80665)
FRAMES = {  # joint origin in the world [m], turn of the joint frame about X [rad]
    "origin": ((0.0, 0.0, 0.0), math.radians(-90.0)),
    "tilted": ((1.0, 2.0, 3.0), math.radians(-45.0)),
}
TYPES: dict[str, JointType] = {  # axes in the joint frame
    "revolute": Revolute(axis=(0.0, 0.0, 1.0)),
    "prismatic": Prismatic(axis=(0.0, 0.0, 1.0)),
    "cylindrical": Cylindrical(axis=(0.0, 0.0, 1.0)),
    "universal": Universal(axis_a=(1.0, 0.0, 0.0), axis_b=(0.0, 1.0, 0.0)),
    "spherical": Spherical(),
}


def pendulum(angle: float = -math.pi / 2) -> Model:
    """Return IFToMM benchmark A01, the simple pendulum.

    A point mass of 1 kg on a massless bar of 1 m that turns about Z at the origin, gravity 9.81 m/s^2 along -Y.
    ``angle`` from the hanging pose [rad]; -pi/2 releases it at rest from (-1, 0). Marker ``P`` is the point mass.

    Parameters
    ----------
    angle : float, default -math.pi / 2
        Angle from the hanging pose [rad]; -pi/2 releases the pendulum at rest from (-1, 0).

    Returns
    -------
    Model
        Model of the pendulum.
    """
    model = Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add_body("bob", mass=1.0, center_of_mass=(0.0, -1.0, 0.0), inertia=(0.0, 0.0, 0.0))
    model.add_joint("pivot", Revolute(axis=Z), model.ground, bob, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=angle, rate=0.0)
    model.add_marker("P", bob, point=(0.0, -1.0, 0.0))
    return model


def top() -> Model:
    """Return the top: three different moments of inertia, gravity 9.81 m/s^2 along -Z, pivot at the origin.

    The body axes are those of the world at the start; the rates about all three are large enough to carry the body
    through every orientation. All numbers are ours. Names: ``top``, joint ``pivot``, marker ``center``.

    Returns
    -------
    Model
        Model of the top.
    """
    model = Model("heavy asymmetric top", gravity=(0.0, 0.0, -9.81))
    body = model.add_body("top", mass=TOP_MASS, center_of_mass=TOP_CENTER, inertia=TOP_INERTIA)
    model.add_joint("pivot", Spherical(), model.ground, body, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=(1.0, 0.0, 0.0, 0.0), rate=TOP_RATE)
    model.add_marker("center", body, point=TOP_CENTER)
    return model


def single_joint(joint: str = "revolute", frame: str = "origin") -> Model:
    """Return a body of 1 kg whose mass centre is 2 m from its joint to ground, at rest, gravity 9.80665 along -Z.

    The mass centre starts along +x of the joint frame, for the universal joint along -z. Inertia (0.04, 0.1, 0.1), for
    the universal joint (0.1, 0.1, 0.04) [kg m^2], axes of the joint frame. Names: ``body``, joint ``joint``, marker
    ``center``.

    Parameters
    ----------
    joint : str, default "revolute"
        Revolute, prismatic or cylindrical (about or along z of the joint frame), universal (x, then y) or spherical.
    frame : str, default "origin"
        ``origin`` (at the origin, turned by -90 degrees about X) or ``tilted`` (at (1, 2, 3), by -45 degrees).

    Returns
    -------
    Model
        Model of the body on its joint.

    Raises
    ------
    UnknownNameError
        For an unknown name; the nearest ones are listed.
    """
    if joint not in TYPES:
        raise unknown_name("joint type", joint, TYPES)
    if frame not in FRAMES:
        raise unknown_name("frame", frame, FRAMES)
    origin, turn = FRAMES[frame]
    orientation = np.array(
        [[1.0, 0.0, 0.0], [0.0, math.cos(turn), -math.sin(turn)], [0.0, math.sin(turn), math.cos(turn)]]
    )
    hangs = joint == "universal"
    center = (0.0, 0.0, -2.0) if hangs else (2.0, 0.0, 0.0)
    inertia = (0.1, 0.1, 0.04) if hangs else (0.04, 0.1, 0.1)

    model = Model(f"{joint} joint, {frame}", gravity=GRAVITY)
    body = model.add_body(
        "body", mass=1.0, center_of_mass=center, inertia=inertia, position=origin, orientation=orientation
    )
    model.add_joint("joint", TYPES[joint], model.ground, body, point=(0.0, 0.0, 0.0), frame=body)
    model.add_marker("center", body, point=center, frame=body)
    return model


SLIDES, TURNS = ("x", "y", "z"), ("yaw", "pitch", "roll")
AXIS_OF = {"x": 0, "y": 1, "z": 2, "yaw": 2, "pitch": 1, "roll": 0}  # column of the axes
Quaternion = Callable[[float], tuple[Any, Any, Any]]
STEEPEST = 0.9998  # sine of the pitch: yaw and roll are one turn beyond
NEXT, TURNED, LEAST = 0.05, 0.5, 1e-6  # [s], [rad], [s]: how far apart angles are compared to count whole turns


def drive_pose(
    model: Model,
    body: Body | str,
    *,
    position: Sequence[Any] = (0.0, 0.0, 0.0),
    angles: Sequence[Any] | None = None,
    quaternion: Quaternion | None = None,
    axes: Any = None,
    parent: Body | str = "ground",
) -> dict[str, Driver]:
    """Prescribe where the origin of a body goes, and how the body turns there; return its six drivers by name.

    A profile is any of a driver: an ``rtmbs.Sine``, an ``rtmbs.Input``, a function that answers (f, fd, fdd), or a
    number. Joints are called "BODY x" to "BODY roll", drivers "drive BODY x" to "drive BODY roll". Forces of x, y, z
    [N] act along ``axes``; moments of yaw, pitch and roll [N m] about their joint axes. ``"BODY roll.reaction"`` is the
    whole wrench. The body must have no other joint to its parent.

    Parameters
    ----------
    model : Model
        Model that the joints and drivers are added to.
    body : Body or str
        Body to move, or its name.
    position : Sequence[object], default (0.0, 0.0, 0.0)
        Three profiles, of the displacement from the reference pose along ``axes`` [m].
    angles : Sequence[object], optional
        Three profiles, yaw, pitch and roll [rad]: R = Rz(yaw) Ry(pitch) Rx(roll) in ``axes``, from the reference.
    quaternion : Quaternion, optional
        In place of angles, a function of t that returns the quaternion (w, x, y, z) of R with its first and second
        derivative; the pitch stays within 89 degrees.
    axes : object, optional
        A rotation (3, 3) whose columns are the directions, or a quaternion; those of the world unless given.
    parent : Body or str, default "ground"
        The body that the motion is relative to.

    Returns
    -------
    dict[str, Driver]
        The six drivers, by x, y, z, yaw, pitch, roll.

    Raises
    ------
    ModelError
        For both ``angles`` and ``quaternion``, a wrong count of profiles, or a body with another joint to its parent.
    UnknownNameError
        For an unknown name; the nearest ones are listed.

    Examples
    --------
    >>> drivers = rtmbs.library.drive_pose(model, "plate", angles=(rtmbs.Sine(0.2, 3.0), 0.0, rtmbs.Input(0.0)))
    """
    name = getattr(body, "name", body)
    if not (isinstance(name, str) and name in model.bodies):
        raise unknown_name("body", name, model.bodies)
    moved = model.bodies[name]
    what = f"pose of body {moved.name!r}"
    if angles is not None and quaternion is not None:
        raise ModelError(f"{what}: give angles= or quaternion=, one of the two")
    if quaternion is not None and not callable(quaternion):
        raise ModelError(f"{what}: quaternion is {shown(quaternion)}; it must be a function of t")
    turns = three(angles, f"{what}: angles") if quaternion is None else angles_of(quaternion, what)
    profiles = dict(zip(SLIDES + TURNS, (*three(position, f"{what}: position"), *turns), strict=True))
    basis = np.eye(3) if axes is None else rotation(axes, f"{what}: axes")
    joints = carry(model, moved, parent, basis)
    return {one: model.add_driver(f"drive {joint.name}", profiles[one], joint=joint) for one, joint in joints.items()}


def three(profiles: Sequence[Any] | None, what: str) -> tuple[Any, ...]:
    """Return three profiles, numbers made constant ones; ModelError for another count."""
    if profiles is None:
        profiles = (0.0, 0.0, 0.0)
    if isinstance(profiles, str) or not isinstance(profiles, Sequence | np.ndarray) or len(profiles) != 3:
        raise ModelError(f"{what} is {shown(profiles)}; it must be three profiles, numbers among them")
    return tuple(
        one if callable(one) or isinstance(one, Input) else ConstantRate(rate=0.0, start=one) for one in profiles
    )


def carry(model: Model, body: Body, parent: Body | str, basis: Array) -> dict[str, Joint]:
    """Add the six joints from the parent to the body, and the massless bodies between them."""
    last, joints, point = parent, {}, np.array(body.position)
    for name, axis in AXIS_OF.items():
        kind, along = Prismatic if name in SLIDES else Revolute, basis[:, axis]
        here = f"{body.name} {name}"
        if name == TURNS[-1]:
            after: Body = body
        else:
            after = model.add_body(f"{here} carrier", mass=0.0, inertia=(0.0, 0.0, 0.0), position=point)
        joints[name] = model.add_joint(here, kind(axis=along), last, after, point=point)
        last = after
    return joints


def angles_of(quaternion: Quaternion, what: str) -> tuple["Angle", ...]:
    """Return profiles of yaw, pitch and roll of a quaternion, whole turns counted."""
    at = lru_cache(maxsize=512)(lambda t: cardan(quaternion, t, what))
    return tuple(Angle(at, k) for k in range(3))


class Angle:
    """One angle of a turn: the value, its rate and its acceleration; continuous through whole turns from t = 0."""

    jumps = ()

    def __init__(self, at: Callable[[float], Array], k: int) -> None:
        self.at, self.k = at, k
        self.known = {sign: [(0.0, float(at(0.0)[0, k]))] for sign in (1.0, -1.0)}  # (|t|, angle), by the sign of t

    def __call__(self, t: float) -> tuple[float, float, float]:
        f, fd, fdd = (float(one) for one in self.at(float(t))[:, self.k])
        return self.continued(f, float(t)), fd, fdd

    def continued(self, f: float, t: float) -> float:
        """Return an angle with the whole turns that it has made since t = 0."""
        sign = math.copysign(1.0, t)
        nodes = self.known[sign]
        while nodes[-1][0] < abs(t):
            place, value = nodes[-1]
            rate = abs(float(self.at(sign * place)[1, self.k]))
            after = place + max(min(NEXT, TURNED / max(rate, 1e-300)), LEAST)
            nodes.append((after, nearest(float(self.at(sign * after)[0, self.k]), value)))
        return nearest(f, nodes[bisect_right(nodes, abs(t), key=lambda node: node[0]) - 1][1])


def nearest(angle: float, other: float) -> float:
    """Return an angle plus whole turns, the nearest to another."""
    return angle + 2.0 * math.pi * round((other - angle) / (2.0 * math.pi))


def cardan(quaternion: Quaternion, t: float, what: str) -> Array:
    """Return yaw, pitch and roll with rates and accelerations (3, 3) of a quaternion with its two derivatives."""
    try:
        q, qd, qdd = np.asarray(quaternion(t), np.float64).reshape(3, 4)
    except (TypeError, ValueError):
        raise ModelError(
            f"{what}: quaternion must return (q, qd, qdd) at t = {t:g}, four numbers each, not {shown(quaternion(t))}"
        ) from None
    n = float(q @ q)
    if not (math.isfinite(n) and n > 0.0):
        raise ModelError(f"{what}: quaternion is {shown(q.tolist())} at t = {t:g}; no rotation is (1, 0, 0, 0)")
    R = rotation_of_quaternion(q / math.sqrt(n))
    back = conjugate(q)
    w = 2.0 * product(qd, back)[1:] / n
    alpha = 2.0 * product(qdd, back)[1:] / n - w * 2.0 * float(q @ qd) / n
    if abs(R[2, 0]) > STEEPEST:
        raise InputError(
            f"{what}: the pitch is {math.degrees(math.asin(-np.clip(R[2, 0], -1, 1))):.4g} degrees at t = {t:g} s, "
            "where yaw and roll are one turn; give axes= turned so that the pitch stays small"
        )
    yaw, pitch, roll = math.atan2(R[1, 0], R[0, 0]), math.asin(-R[2, 0]), math.atan2(R[2, 1], R[2, 2])
    first, second = np.array((0.0, 0.0, 1.0)), np.array((-math.sin(yaw), math.cos(yaw), 0.0))
    third = R[:, 0]
    J = np.column_stack((first, second, third))
    rates = np.linalg.solve(J, w)
    carried = rates[0] * first + rates[1] * second
    moved = rates[1] * np.cross(rates[0] * first, second) + rates[2] * np.cross(carried, third)
    return np.array(((yaw, pitch, roll), rates, np.linalg.solve(J, alpha - moved)))
