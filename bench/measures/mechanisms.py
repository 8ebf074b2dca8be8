"""Mechanisms that only measurements need."""

from collections.abc import Collection, Mapping
from typing import Literal

import numpy as np

from rtmbs import Floating, Model, Motor, Revolute, Sine, Spherical, TorsionSpring
from rtmbs.library.linkages import LENGTHS, START, add_bar, corners
from rtmbs.model.profiles import Profile

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def five_bar() -> Model:
    """A driven (rheonomic) loop that keeps one degree of freedom: one crank follows a sine, the other swings freely.

    Both hang; uniform bars of 1 kg/m in the plane YZ, gravity along -Z. ``near`` is driven, ``far`` starts at 1 rad/s.
    """
    model = Model("driven five-bar")
    points = np.array([(0.0, 0.0), (0.1, -0.5), (0.6, -0.9), (1.3, -0.6), (1.2, 0.0)])
    a, b, c, d, e = ((0.0, float(y), float(z)) for y, z in points)
    for name, start, end in (("near", a, b), ("left", b, c), ("right", d, c), ("far", e, d)):
        add_bar(model, name, start, end, float(np.linalg.norm(np.subtract(end, start))))
    model.add_joint("near_pivot", Revolute(axis=X), "ground", "near", point=a)
    model.add_joint("near_pin", Revolute(axis=X), "near", "left", point=b)
    model.add_joint("far_pivot", Revolute(axis=X), "ground", "far", point=e)
    model.add_joint("far_pin", Revolute(axis=X), "far", "right", point=d)
    model.add_joint("knee", Revolute(axis=X), "left", "right", point=c, cut=True)
    model.add_driver("drive", Sine(amplitude=0.5, frequency_rad_s=4.0), joint="near_pivot")
    model.set_initial("far_pivot", rate=1.0)
    return model


def free_body() -> Model:
    """An asymmetric body on a floating joint, gravity 9.81 along -Z; joint ``free``."""
    model = Model("free body")
    model.add_body("stone", mass=2.0, center_of_mass=(0.1, -0.2, 0.05), inertia=(0.3, 0.5, 0.4))
    model.add_joint("free", Floating(), "ground", "stone", point=(0.0, 0.0, 0.0))
    return model


JOINTS = ("crank_pivot", "pin", "rocker_pivot", "knee")


def crank_rocker(
    cut: str = "knee",
    closure: Literal["line", "point"] | None = None,
    turned: Collection[str] = (),
    springs: Mapping[str, TorsionSpring] | None = None,
    rate: float | None = 3.0,
) -> Model:
    """The crank-rocker of the library, written in another way.

    cut, closure: the joint that closes the loop, and how.  turned: joints whose bodies a and b are swapped.
    springs: on joints.  rate: of the crank [rad/s]; None leaves it to a driver.
    """
    model = Model("crank-rocker")
    a, b, c, d = corners(START)
    add_bar(model, "crank", a, b, LENGTHS.crank)
    add_bar(model, "coupler", b, c, LENGTHS.coupler)
    add_bar(model, "rocker", d, c, LENGTHS.rocker)
    places = (("ground", "crank", a), ("crank", "coupler", b), ("ground", "rocker", d), ("coupler", "rocker", c))
    for name, (first, second, point) in zip(JOINTS, places, strict=True):
        one, two = (second, first) if name in turned else (first, second)
        how = closure if name == cut else None
        model.add_joint(name, Revolute(axis=X), one, two, point=point, cut=name == cut, closure=how)
    for joint, spring in (springs or {}).items():
        model.add_force(f"{joint}_spring", spring, joint=joint)
    if rate is not None:
        model.set_initial("crank_pivot", rate=-rate if "crank_pivot" in turned else rate)
    return model


def parallelogram(
    n: int = 2, angle: float = 0.0, rate: float = -1.0, coupler: float = 1.0, weight: float = 9.81
) -> Model:
    """n windows of links of 1 m and 1 kg about Z; posts at ``angle`` from upright [rad], couplers of ``coupler`` kg.

    At pi/2 the posts lie flat and the start is singular.
    """
    model = Model(f"{n} windows", gravity=(0.0, -weight, 0.0))
    s, c = -np.sin(angle), np.cos(angle)
    for i in range(n + 1):
        post = add_bar(model, f"post_{i}", (i, 0.0, 0.0), (i + s, c, 0.0))
        model.add_joint(f"pivot_{i}", Revolute(axis=Z), "ground", post, point=(i, 0.0, 0.0))
        model.set_initial(f"pivot_{i}", position=0.0, rate=rate, pin=i == 0)
    previous = "post_0"
    for j in range(n):
        name, place = f"coupler_{j}", (j + s, c, 0.0)
        if coupler > 0.0:
            add_bar(model, name, place, (j + 1.0 + s, c, 0.0), coupler)
        else:
            model.add_body(name, mass=0.0, position=place)
        model.add_joint(f"hinge_{j}", Revolute(axis=Z), previous, name, point=place)
        end = (j + 1.0 + s, c, 0.0)
        model.add_joint(f"cut_{j}", Revolute(axis=Z), name, f"post_{j + 1}", point=end, cut=True)
        model.set_initial(f"hinge_{j}", position=0.0, rate=-rate if j == 0 else 0.0, pin=False)
        previous = name
    return model


def three_posts(mismatch: float = 0.0, angle: float = 0.3) -> Model:
    """One window with a third post under the middle of its coupler: redundant, and inconsistent by ``mismatch`` [m]."""
    model = Model("three posts", gravity=(0.0, -9.81, 0.0))
    s, c = float(np.sin(angle)), float(np.cos(angle))
    for k, x in enumerate((0.0, 1.0, 0.5)):
        add_bar(model, f"post_{k}", (x, 0.0, 0.0), (x + s, c, 0.0))
        model.add_joint(f"pivot_{k}", Revolute(axis=Z), "ground", f"post_{k}", point=(x, 0.0, 0.0))
    add_bar(model, "beam", (s, c, 0.0), (1.0 + s, c, 0.0))
    model.add_joint("left", Revolute(axis=Z), "post_0", "beam", point=(s, c, 0.0))
    model.add_joint("right", Revolute(axis=Z), "beam", "post_1", point=(1.0 + s, c, 0.0), cut=True)
    tip = ((1.0 + mismatch) * s, (1.0 + mismatch) * c, 0.0)
    model.add_joint("middle", Revolute(axis=Z), "beam", "post_2", point_a=(0.5, 0.0, 0.0), point_b=tip, cut=True)
    model.set_initial("pivot_0", position=0.0, rate=-1.0)
    return model


def jib(profile: Profile) -> Model:
    """A boom on a heel pin about Z, held by a ram of length ``profile`` from (0.5, -1) to the boom, 1.5 m along it."""
    model = Model("jib", gravity=(0.0, -9.81, 0.0))
    add_bar(model, "boom", (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), 3.0)
    model.add_joint("heel", Revolute(axis=Z), "ground", "boom", point=(0.0, 0.0, 0.0))
    model.add_marker("foot", "ground", (0.5, -1.0, 0.0))
    model.add_marker("eye", "boom", (1.5, 0.0, 0.0))
    model.add_driver("ram", profile, between=("foot", "eye"))
    return model


def floating_ring() -> Model:
    """A crank-rocker on a base that floats: a motor turns the crank against the base, a spring ties the rocker to it.

    Gravity pulls along -Z and the base tumbles, so that all parts of the momentum are at work.
    """
    model = Model("floating ring")
    a, b, c, d = corners(START)
    model.add_body("base", mass=3.0, center_of_mass=(0.05, 0.5, -0.1), inertia=(0.3, 0.2, 0.25))
    add_bar(model, "crank", a, b, LENGTHS.crank, axial=0.01)
    add_bar(model, "coupler", b, c, LENGTHS.coupler, axial=0.01)
    add_bar(model, "rocker", d, c, LENGTHS.rocker, axial=0.01)
    model.add_joint("free", Floating(), "ground", "base", point=(0.0, 0.0, 0.0))
    model.add_joint("crank_pivot", Revolute(axis=X), "base", "crank", point=a)
    model.add_joint("pin", Revolute(axis=X), "crank", "coupler", point=b)
    model.add_joint("rocker_pivot", Revolute(axis=X), "base", "rocker", point=d)
    model.add_joint("knee", Revolute(axis=X), "coupler", "rocker", point=c, cut=True)
    model.add_force("motor", Motor(1.5), joint="crank_pivot")
    model.add_force("helix", TorsionSpring(3.0, damping=0.2), joint="rocker_pivot")
    model.set_initial("free", position=(0, 0, 0, 1, 0, 0, 0), rate=(0.5, -0.3, 2.0, 1.0, 2.0, -1.5))
    model.set_initial("crank_pivot", rate=2.0)
    return model


def rssr(rate: float = 6.0) -> Model:
    """Return a spatial four-bar whose rod hangs in two balls and spins about its own axis."""
    a, b, c, d = map(np.array, ((0.0, 0.0, 0.0), (0.3, 0.1, 0.3), (0.2, 1.2, 0.8), (0.1, 1.3, 0.0)))
    model = Model("rssr")
    for name, start, end, mass, axial in (
        ("crank", a, b, 1.0, 1e-3),
        ("rod", b, c, 0.7, 1e-2),
        ("rocker", d, c, 1.5, 1e-3),
    ):
        add_bar(model, name, start, end, mass, axial=axial * mass * float(np.sum((end - start) ** 2)))
    model.add_joint("crank_pivot", Revolute((1.0, 0.1, 0.0)), "ground", "crank", point=a)
    model.add_joint("near", Spherical(), "crank", "rod", point=b)
    model.add_joint("far", Spherical(), "rod", "rocker", point=c, cut=True)
    model.add_joint("rocker_pivot", Revolute((0.3, 1.0, 0.1)), "ground", "rocker", point=d)
    model.set_initial("crank_pivot", position=0.0, rate=rate)
    return model
