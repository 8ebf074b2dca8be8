"""Driven mechanisms with closed forms or independent solutions, for tests, campaigns and pictures of kinematics."""

import math
from itertools import pairwise

import numpy as np

from rtmbs import Cylindrical, Model, Prismatic, Revolute, Spherical, Universal
from rtmbs.kinematics import PointOnCurve
from rtmbs.model import ConstantRate, Sine

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def pqr(p, q, r):
    """Return body axes f, g, h as columns: h from p to q, f the part of r - p across it."""
    p, q, r = (np.array(x, float) for x in (p, q, r))
    h = (q - p) / np.linalg.norm(q - p)
    f = (r - p) - ((r - p) @ h) * h
    f /= np.linalg.norm(f)
    return np.stack([f, np.cross(h, f), h], axis=1)


def paper_slider_crank():
    """Return the slider-crank of BENCHMARKS 4, driven by x = 8 + 3 sin 4 t."""
    model = Model("slider_crank")
    for name, place, r in (
        ("pend1", (0, 3, 0), (0, 4, 0)),
        ("pend2", (4, 3, 0), (8, 0, 0)),
        ("block", (8, 0, 0), (9, 0, 0)),
    ):
        above = (place[0], place[1], 1)
        model.add_body(name, mass=0.0, position=place, orientation=pqr(place, above, r))
    model.add_joint("rev1", Revolute(axis=Z), "ground", "pend1", point_a=(0, 0, 0), point_b=(-3, 0, 0))
    model.add_joint("sph1", Spherical(), "pend1", "pend2", point_a=(3, 0, 0), point_b=(-5, 0, 0))
    model.add_joint("sph2", Spherical(), "pend2", "block", point_a=(5, 0, 0), point_b=(0, 0, 0))
    model.add_joint("tran1", Prismatic(axis=X), "block", "ground", point_a=(0, 0, 0), point_b=(0, 0, 0))
    model.add_driver("d1", Sine(3.0, 4.0, offset=8.0), body=("block", "x"))
    return model


def random_triad(rng):
    """Return a random rotation (3, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def chain_of_everything(rng, left_out=()):
    """Return a tree of bodies in every joint type but those ``left_out``, for tests of the equations.

    Reference poses are drawn at random.
    """
    from rtmbs.model import JOINT_TYPES

    kinds = [name for name in JOINT_TYPES if name not in left_out]

    model = Model("everything")
    names = ["ground"]
    for k, kind in enumerate(map(JOINT_TYPES.__getitem__, kinds)):
        name = f"b{k}"
        model.add_body(
            name, mass=1.0, inertia=(1.0, 1.0, 1.0), position=rng.normal(size=3), orientation=random_triad(rng)
        )
        model.add_joint(f"j{k}", kind.example(random_triad(rng)), names[-1], name, point=rng.normal(size=3))
        names.append(name)
    ends = [model.add_marker(f"m{k}", f"b{k}", point=rng.normal(size=3)) for k in (1, 4)]
    model.add_rod("rod", between=tuple(ends))
    model.add_driver(
        "apart", Sine(0.1, 3.0, offset=2.0), between=(ends[0], model.add_marker("m7", "b7", point=rng.normal(size=3)))
    )
    model.add_driver("turn", ConstantRate(0.7, 0.2), joint="j0")
    model.add_driver("slide", Sine(0.4, 2.0), joint="j1")
    model.add_driver("fork", Sine(0.3, 2.0), joint=(f"j{kinds.index('Universal')}", "angle_b"))
    return model


def four_bar(ground=1.0, crank=0.4, coupler=1.2, rocker=0.9, rate=2.0):
    """Return a planar four-bar of revolutes about Z, its crank driven at ``rate``: three equations too many."""
    model = Model("four-bar")
    a, b, c, d = four_bar_corners(math.pi / 3, ground, crank, coupler, rocker)
    for name, place in (("crank", a), ("coupler", b), ("rocker", d)):
        model.add_body(name, mass=0.0, position=place)
    model.add_joint("A", Revolute(axis=Z), "ground", "crank", point=a)
    model.add_joint("B", Revolute(axis=Z), "crank", "coupler", point=b)
    model.add_joint("C", Revolute(axis=Z), "coupler", "rocker", point=c)
    model.add_joint("D", Revolute(axis=Z), "ground", "rocker", point=d)
    model.add_marker("pin", "coupler", point=c)
    model.add_driver("motor", ConstantRate(rate), joint="A")
    return model


def four_bar_corners(angle, ground=1.0, crank=0.4, coupler=1.2, rocker=0.9):
    """Return crank pivot, crank end, rocker end, rocker pivot."""
    bx, by = crank * math.cos(angle), crank * math.sin(angle)
    dx, dy = ground - bx, -by
    gap = math.hypot(dx, dy)
    along = (gap**2 + coupler**2 - rocker**2) / (2.0 * gap)
    across = math.sqrt(coupler**2 - along**2)
    c = (bx + (along * dx - across * dy) / gap, by + (along * dy + across * dx) / gap, 0.0)
    return (0.0, 0.0, 0.0), (bx, by, 0.0), c, (ground, 0.0, 0.0)


def hooke_chain(bends=(0.4, -0.5, 0.7), rate=3.0):
    """Return shafts joined by Hooke joints, each shaft in a bearing of its own; the last two bearings may slide.

    The first shaft turns at ``rate``; bend k is the angle between shafts k and k + 1, all axes in the plane XZ.
    """
    model, place, direction = Model("Hooke chain"), np.zeros(3), 0.0
    along = np.array(Z)
    model.add_body("s0", mass=0.0)
    model.add_joint("bearing0", Revolute(axis=Z), "ground", "s0", point=(0, 0, 0))
    model.add_driver("motor", ConstantRate(rate), joint="bearing0")
    for k, bend in enumerate(bends):
        place = place + along
        direction += bend
        along = np.array([math.sin(direction), 0.0, math.cos(direction)])
        model.add_body(f"s{k + 1}", mass=0.0, position=place)
        across = np.array([math.cos(direction), 0.0, -math.sin(direction)])
        model.add_joint(f"hooke{k}", Universal(axis_a=Y, axis_b=across), f"s{k}", f"s{k + 1}", point=place)
        model.add_joint(f"bearing{k + 1}", Cylindrical(axis=along), "ground", f"s{k + 1}", point=place)
    return model


def bennett(a=1.0, b=1.5, alpha=0.7, rate=1.0, first=0.9):
    """Return a Bennett linkage driven at its first joint, its twist beta, and the first two angles at the start.

    sin(alpha) / a = sin(beta) / b; links follow each other by Denavit and Hartenberg with no offset; opposite joints
    turn by opposite angles, and tan(theta1 / 2) tan(theta2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2).
    """
    beta = math.asin(b * math.sin(alpha) / a)
    second = 2.0 * math.atan(bennett_ratio(alpha, beta) / math.tan(0.5 * first))
    frames = [np.eye(4)]
    for angle, (length, twist) in zip(
        (first, second, -first, -second), ((a, alpha), (b, beta), (a, alpha), (b, beta)), strict=True
    ):
        frames.append(frames[-1] @ turn_about_z(angle) @ advance(length, twist))
    model, names = Model("Bennett"), ["ground", "link1", "link2", "link3"]
    for name, frame in zip(names[1:], frames[1:4], strict=True):
        model.add_body(name, mass=0.0, position=frame[:3, 3], orientation=frame[:3, :3])
    for k, frame in enumerate(frames[:4]):
        axis = tuple(frame[:3, 2])
        model.add_joint(f"r{k}", Revolute(axis=axis), names[k], names[(k + 1) % 4], point=frame[:3, 3])
    model.add_driver("motor", ConstantRate(rate), joint="r0")
    return model, alpha, beta, first, second


def bennett_ratio(alpha, beta):
    return math.sin(0.5 * (beta + alpha)) / math.sin(0.5 * (beta - alpha))


def turn_about_z(angle):
    """Return the homogeneous matrix of a turn."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def advance(length, twist):
    """Return the homogeneous matrix of a way along x and a twist about it."""
    c, s = math.cos(twist), math.sin(twist)
    return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def stewart(base=2.0, top=1.0):
    """Return a platform on six driven distances, and its motion: position, angle about a fixed axis, as functions of t.

    The distances follow from that motion with their first two derivatives, so the platform must follow it.
    """
    axis = np.array([0.6, -0.3, 0.74])
    axis /= np.linalg.norm(axis)
    model = Model("Stewart platform")
    model.add_body("platform", mass=0.0, position=(0.0, 0.0, 1.5))
    for k in range(6):
        foot_angle, head_angle = (
            2.0 * math.pi / 3.0 * (k // 2) + (k % 2 - 0.5) * 0.5,
            2.0 * math.pi / 3.0 * (k // 2) + (k % 2 - 0.5) * 1.6,
        )
        foot = base * np.array([math.cos(foot_angle), math.sin(foot_angle), 0.0])
        head = top * np.array([math.cos(head_angle), math.sin(head_angle), 0.0])
        ends = (
            model.add_marker(f"foot{k}", "ground", point=foot),
            model.add_marker(f"head{k}", "platform", point=head, frame="platform"),
        )
        model.add_driver(f"leg{k}", Leg(foot, head, axis), between=ends)
    return model, axis


def platform_motion(t):
    """Return position, velocity, acceleration (3,), and angle, rate, acceleration of the platform."""
    s, c = np.sin, np.cos
    p = np.array([0.2 * s(1.1 * t), 0.15 * (c(0.7 * t) - 1.0), 1.5 + 0.1 * s(1.3 * t)])
    v = np.array([0.22 * c(1.1 * t), -0.105 * s(0.7 * t), 0.13 * c(1.3 * t)])
    a = np.array([-0.242 * s(1.1 * t), -0.0735 * c(0.7 * t), -0.169 * s(1.3 * t)])
    return p, v, a, 0.4 * s(0.9 * t), 0.36 * c(0.9 * t), -0.324 * s(0.9 * t)


class Leg:
    """The length of one leg while the platform moves as ``platform_motion`` says."""

    def __init__(self, foot, head, axis):
        self.foot, self.head, self.axis = foot, head, axis

    def __call__(self, t):
        p, v, a, angle, rate, gain = platform_motion(t)
        k = self.axis
        turned = self.head * math.cos(angle) + np.cross(k, self.head) * math.sin(angle)
        turned = turned + k * (k @ self.head) * (1.0 - math.cos(angle))
        across = np.cross(k, turned)
        d, dd = p + turned - self.foot, v + rate * across
        ddd = a + gain * across + rate**2 * np.cross(k, across)
        length = math.sqrt(d @ d)
        first = d @ dd / length
        return length, first, (dd @ dd + d @ ddd - first**2) / length


BARS = {"m": 15.0, "j": 50.0, "k": 61.9, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7,
        "i": 49.0}  # fmt: skip
ENDS = {"m": "OM", "j": "MT", "k": "MU", "b": "BT", "c": "BU", "d": "BV", "e": "TV", "f": "VW", "g": "UW", "h": "WF",
        "i": "UF"}  # fmt: skip


def leg_points(angle):
    """Return the pins of Jansen's leg for a crank angle, by intersections of circles, as vectors (3,)."""
    at = {"O": np.zeros(2), "B": np.array([-38.0, -7.8])}
    at["M"] = BARS["m"] * np.array([math.cos(angle), math.sin(angle)])
    for new, (p, bar_p), (q, bar_q) in (
        ("T", ("M", "j"), ("B", "b")), ("V", ("T", "e"), ("B", "d")), ("U", ("B", "c"), ("M", "k")),
        ("W", ("V", "f"), ("U", "g")), ("F", ("W", "h"), ("U", "i")),
    ):  # fmt: skip
        at[new] = circles(at[p], BARS[bar_p], at[q], BARS[bar_q])
    return {name: np.append(point, 0.0) for name, point in at.items()}


def circles(p, r, q, s):
    """Return the intersection of two circles on the right of the way from p to q."""
    d = q - p
    gap = np.linalg.norm(d)
    along = (gap**2 + r**2 - s**2) / (2.0 * gap)
    across = math.sqrt(r**2 - along**2)
    return p + (along * d + across * np.array([d[1], -d[0]])) / gap


def walking_leg(start=0.3, rate=2.0):
    """Return Jansen's walking leg, each of its eleven bars a body of its own, pins as revolutes about Z."""
    model, at = Model("walking leg"), leg_points(start)
    pins = {}
    for bar, ends in ENDS.items():
        model.add_body(bar, mass=0.0, position=at[ends[0]])
        for pin in ends:
            pins.setdefault(pin, ["ground"] if pin in "OB" else []).append(bar)
    for pin, bars in pins.items():
        for before, after in pairwise(bars):
            model.add_joint(f"{pin}_{before}{after}", Revolute(axis=Z), before, after, point=at[pin])
    model.add_marker("foot", "h", point=at["F"])
    model.add_driver("motor", ConstantRate(rate), joint="O_groundm")
    return model


def cam(rate=2.0):
    """Return a cam whose profile the tip of a follower that slides along Y touches, and its constraint."""
    model = Model("cam")
    model.add_body("cam", mass=0.0)
    model.add_body("follower", mass=0.0, position=(0.0, float(cam_radius(math.pi / 2)), 0.0))
    model.add_joint("shaft", Revolute(axis=Z), "ground", "cam", point=(0, 0, 0))
    model.add_joint("guide", Prismatic(axis=Y), "ground", "follower", point=model.bodies["follower"].position)
    model.add_marker("tip", "follower", point=model.bodies["follower"].position)
    model.add_driver("motor", ConstantRate(rate), joint="shaft")

    def profile(s):
        return np.stack([cam_radius(s) * np.cos(s), cam_radius(s) * np.sin(s), 0.0 * s])

    return model, PointOnCurve("contact", "tip", "cam", profile, start=math.pi / 2)


def cam_radius(s):
    return 1.0 + 0.2 * np.cos(s) + 0.1 * np.sin(2.0 * s)


def loops(count, rate=0.5):
    """Return a planar chain of ``count`` parallelograms, the rocker of one the crank of the next."""
    model, arm, reach = Model(f"{count} loops"), np.array([0.5, 0.8, 0.0]), np.array([1.0, 0.1, 0.0])
    model.add_body("arm0", mass=0.0)
    model.add_joint("pivot0", Revolute(axis=Z), "ground", "arm0", point=(0, 0, 0))
    model.add_driver("motor", ConstantRate(rate), joint="pivot0")
    for k in range(1, count + 1):
        foot, before = k * reach, (k - 1) * reach + arm
        model.add_body(f"bar{k}", mass=0.0, position=before)
        model.add_body(f"arm{k}", mass=0.0, position=foot)
        model.add_joint(f"pin{k}", Revolute(axis=Z), f"arm{k - 1}", f"bar{k}", point=before)
        model.add_joint(f"knee{k}", Revolute(axis=Z), f"bar{k}", f"arm{k}", point=foot + arm)
        model.add_joint(f"pivot{k}", Revolute(axis=Z), "ground", f"arm{k}", point=foot)
    return model


def free_arm(masses=False):
    """Return three links on ball joints, the tip's x driven: eight directions are free."""
    model, rng, at = Model("arm"), np.random.default_rng(2), np.zeros(3)
    before = "ground"
    for k in range(3):
        way = np.array([1.0, (-1.0) ** k, 0.3 * (k - 1)])
        name = f"link{k}"
        weight = (
            {"mass": 1.0 + k, "inertia": (0.1, 0.2, 0.25), "center_of_mass": (0.2, 0.1, -0.1)}
            if masses
            else {"mass": 0.0}
        )
        model.add_body(name, position=at + 0.3 * way, orientation=random_triad(rng), **weight)
        model.add_joint(f"ball{k}", Spherical(), before, name, point=at)
        before, at = name, at + way
    model.add_driver("pull", Sine(0.3, 2.0, offset=float(model.bodies["link2"].position[0])), body=("link2", "x"))
    return model
