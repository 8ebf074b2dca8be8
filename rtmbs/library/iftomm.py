"""IFToMM benchmarks A02 (windows), A04 (Bricard mechanism), A05 (flyball governor); a planar loop of any length."""

import math

from rtmbs.errors import InputError
from rtmbs.library.shapes import add_bar
from rtmbs.model import Body, Fixed, Model, Prismatic, Revolute, SpringDamper

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
