"""One mechanism written in several ways moves in one way: turned joints, other cuts, auxiliary bodies, welds, other
frames.
"""

import numpy as np
import pytest

from rtmbs.model import (
    Cylindrical,
    Fixed,
    Floating,
    Model,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    TorsionSpring,
    Universal,
    Wrench,
)
from rtmbs.simulation import Simulation

X, Y, Z = np.eye(3)
LOOP = ["crank pin", "ball", "slide"]
CHANNELS = ("position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")


def mechanism(turned=False, cut=None, auxiliary=False, welded=False):
    """A spatial slider-crank with an arm of every kind of joint behind the slider, all at rest and under load.

    turned swaps a and b of every joint; cut names the joint that closes the loop; auxiliary puts an idle torsion spring
    on it; welded splits a body in two.
    """
    model = Model("one")

    def joint(name, type, a, b, point, swapped=None):
        a, b = (b, a) if turned else (a, b)
        model.add_joint(name, (swapped or type) if turned else type, a, b, point=point, cut=name == cut)

    model.add_body("crank", mass=1.0, center_of_mass=(0, 0.1, 0.2), inertia=(0.2, 0.3, 0.25), position=(0, 0, 0))
    model.add_body("rod", mass=0.7, inertia=(0.1, 0.1, 0.05), position=(0.5, 0.3, 0.6), orientation=(3, 1, 2, -1))
    model.add_body("slider", mass=2.0, center_of_mass=(0.1, 0, 0), inertia=(0.3, 0.2, 0.2), position=(1.5, 0, 0))
    joint("crank pin", Revolute((1, 0.5, 0)), "ground", "crank", (0, 0, 0))
    joint("ball", Spherical(), "crank", "rod", (0, 0.3, 0.6))
    joint("cross", Universal(Y, Z), "rod", "slider", (1.5, 0, 0), Universal(Z, Y))
    joint("slide", Prismatic((1, 0.2, 0)), "ground", "slider", (1.5, 0, 0))

    model.add_body("arm", mass=0.5, inertia=(0.1, 0.2, 0.15), center_of_mass=(0, 0, -0.4), position=(1.5, 0, 0))
    joint("collar", Cylindrical((0, 1, 0.5)), "slider", "arm", (1.5, 0.1, 0))
    model.add_body("puck", mass=0.4, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.1, 0.2, 0), position=(1.5, 0, -0.8))
    joint("table", Planar((0, 1, 2)), "arm", "puck", (1.5, 0, -0.8))
    model.add_body("bell", mass=0.3, inertia=(0.2, 0.1, 0.2), center_of_mass=(0, 0, -0.3), position=(1.6, 0, -0.9))
    joint("socket", Spherical(), "puck", "bell", (1.6, 0, -0.9))
    model.add_body("kite", mass=0.2, inertia=(0.1, 0.1, 0.1), position=(3, 0, 1), orientation=(1, 2, 0, 1))
    joint("free", Floating(), "ground", "kite", (3, 0, 1))
    if welded:
        half, d = 0.15, np.array([0.2, 0.1, 0.0])
        steiner = 2 * half * (d @ d * np.eye(3) - np.outer(d, d))
        model.bodies["bell"] = None
        del model.bodies["bell"], model.joints["socket"]
        core = np.diag([0.2, 0.1, 0.2]) - steiner
        model.add_body("bell", mass=half, inertia=core / 2, center_of_mass=(0.2, 0.1, -0.3), position=(1.6, 0, -0.9))
        at = (1.4, -0.1, -1.2)
        model.add_body("clapper", mass=half, inertia=core / 2, position=at)
        model.add_joint("weld", Fixed(), "clapper", "bell", point=(1, 2, 3))
        joint("socket", Spherical(), "puck", "clapper", (1.6, 0, -0.9))
    load(model, turned, cut if auxiliary else None)
    return model.compile()


def load(model, turned, auxiliary):
    """Springs, motors and wrenches; those on coordinates of joints that are written the other way act the other way."""
    sign = -1.0 if turned else 1.0
    model.add_marker("rod end", "rod", (0.7, 0.2, 0.5))
    model.add_marker("kite end", "kite", (3, 0.1, 1))
    model.add_marker("bell end", "bell", (1.6, 0.1, -1.5))
    model.add_marker("post", "ground", (1, 1, 1))
    model.add_force("string", SpringDamper(30.0, 1.0, length=0.5), between=("rod end", "kite end"))
    model.add_force("tie", SpringDamper(20.0, 0.5, length=1.0), between=("post", "bell end"))
    model.add_force("helix", TorsionSpring(5.0, 0.1, angle=sign * 0.3), joint=("collar", "angle"))
    model.add_force("screw", TorsionSpring(50.0, 0.1, angle=sign * 0.02), joint=("collar", "displacement"))
    model.add_force("bend", TorsionSpring(3.0, angle=sign * 0.2), joint=("cross", "angle_b" if turned else "angle_a"))
    model.add_force("motor", Motor(sign * 2.0), joint=("table", "angle"))
    model.add_force("push", Wrench(force=(1, 2, 3), torque=(0.1, 0.2, 0.3)), body="puck", point=(0.1, 0, 0))
    model.add_force("jet", Wrench(force=(0, 0.3, 0.5), axes="body"), body="kite", point=(0.1, 0.2, 0))
    if auxiliary:
        model.add_force("idle", TorsionSpring(0.0), joint=auxiliary)


def motion(system, bodies=("crank", "rod", "slider", "arm", "puck", "bell", "kite")):
    result = Simulation(system, h=1e-3).run(0.05)
    return {f"{name}.{channel}": result[f"{name}.{channel}"] for name in bodies for channel in CHANNELS}


@pytest.fixture(scope="module")
def reference():
    return motion(mechanism())


WAYS = {
    "turned": {"turned": True},
    "auxiliary of a revolute": {"cut": "crank pin", "auxiliary": True},
    "auxiliary of a slide": {"cut": "slide", "auxiliary": True},
    "welded": {"welded": True},
    **{f"cut at {name}": {"cut": name} for name in LOOP},
    **{f"turned, cut at {name}": {"cut": name, "turned": True} for name in LOOP},
    "turned auxiliary": {"cut": "crank pin", "auxiliary": True, "turned": True},
}


@pytest.mark.parametrize("way", WAYS)
def test_the_motion_does_not_depend_on_how_the_mechanism_was_written(way, reference):
    found = motion(mechanism(**WAYS[way]))
    for channel, wanted in reference.items():
        if way == "welded" and channel.startswith("bell.") and "angular" not in channel:
            continue  # the half that kept the name has its own origin
        size = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(
            found[channel][0], wanted[0], atol=1e-8 * size, err_msg=channel
        )  # the same equations
        np.testing.assert_allclose(found[channel], wanted, atol=1e-4 * size, err_msg=channel)  # each with its own h^2
