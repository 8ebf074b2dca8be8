"""Models with one number ``a`` in a function of time or in a ratio: trees and loops, planar, spatial and skew."""

import numpy as np

import rtmbs
from tests.studies.sensitivities.cases import sprung_rocker

AXES = ((0.3, 1.0, -0.2), (0.1, -0.4, 1.0), (1.0, 0.2, 0.3))
KNOTS = np.linspace(0.0, 0.25, 6)


def chain():
    """Three bodies on skew hinges, the last one on a slide beside them too."""
    model = rtmbs.Model("chain", gravity=(0.7, -1.0, -9.7))
    ends = ("ground", "one", "two", "three")
    for k in range(3):
        model.add_body(
            ends[k + 1], mass=2.0 - 0.5 * k, center_of_mass=(0.5 * k + 0.3, 0.1, 0.1), inertia=(0.1, 0.2, 0.3)
        )
        joint = rtmbs.Revolute(AXES[k])
        model.add_joint(("A", "B", "C")[k], joint, ends[k], ends[k + 1], point=(0.5 * k, 0.02 * k, 0.0))
    model.add_body("slide", mass=1.3, inertia=(0.1, 0.2, 0.15), center_of_mass=(0.0, 1.0, 0.1))
    model.add_joint("S", rtmbs.Prismatic((0.2, 0.1, 1.0)), "ground", "slide", point=(0, 1, 0))
    model.add_marker("tip", "three", (1.4, 0.1, 0.2))
    model.add_marker("post", "ground", (1.0, 0.3, 1.0))
    model.add_marker("eye", "slide", (0.1, 1.0, 0.2))
    model.add_force("spring", rtmbs.SpringDamper(40.0, 1.0, 0.5), between=("post", "tip"))
    model.add_force("link", rtmbs.SpringDamper(30.0, 0.5, 0.6), between=("eye", "tip"))
    return model


def rocker():
    """A four-bar in a skew plane, free to be driven."""
    model = sprung_rocker()
    del model.initials["A"]
    return model


def slider():
    """A spatial slider-crank with a ball joint, free to be driven."""
    model = rtmbs.library.build("slider_crank")
    model.initials.clear()
    return model


def ball():
    """A body on a ball joint."""
    model = rtmbs.Model("ball", gravity=(0.5, -0.3, -9.81))
    model.add_body("bob", mass=1.3, inertia=(0.03, 0.02, 0.05), center_of_mass=(0.1, 0.05, -0.4))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "bob", point=(0, 0, 0))
    model.set_initial("ball", position=(0.9, 0.1, -0.2, 0.3), rate=(1.0, -2.0, 4.0))
    return model


def built(base, add):
    """Return a function of ``a`` that builds a base with something added."""

    def build(a):
        model = base()
        add(model, a)
        return model

    return build


def driver(profile, joint="A"):
    """Return what adds a driver with a profile of ``a``."""
    return lambda m, a: m.add_driver("drive", profile(a), joint=joint)


def motor(function, joint="A"):
    """Return what adds a motor with a function of ``a`` and t."""
    return lambda m, a: m.add_force("motor", rtmbs.Motor(lambda t: function(a, t)), joint=joint)


def cubic(a):
    """A profile by functions of the user."""
    return rtmbs.Function(lambda t: a * t**3 + a * a * t, lambda t: 3 * a * t**2 + a * a, lambda t: 6 * a * t)


def pinned(m, a):
    m.set_initial("A", position=a, rate=0.6)
    m.add_driver("drive", rtmbs.Sine(0.2, 3.0, offset=a), joint="A")


def distance(m, a):
    m.add_marker("hook", "ground", (-0.2, 0.9, 0.8))
    m.add_driver("drive", rtmbs.Sine(0.05, a, offset=float(np.linalg.norm([1.6, 0.8, 0.6]))), between=("hook", "tip"))


def started_distance(m, a):
    m.add_driver("drive", rtmbs.Sine(0.05, 5.0, offset=a), between=("post", "tip"))


def wrench(body):
    law = rtmbs.Wrench
    return lambda m, a: m.add_force(
        "push", law(force=lambda t: (a * t, 1.0, np.sin(a * t)), torque=lambda t: (0.1, a * a * t, 0.0)), body=body
    )


def followed(m, a):
    """A driver of a body, which a joint follows by a shift and a slope that ``a`` changes."""
    m.add_body("cart", mass=0.8, inertia=(0.1, 0.1, 0.1), position=(0.2, 0.0, 2.0))
    m.add_joint("T", rtmbs.Prismatic((1.0, a, 0.1)), "ground", "cart", point=(0.3, 0.0, 2.0))
    m.add_force("tie", rtmbs.SpringDamper(30.0, 0.5, 0.6), between=(m.add_marker("c", "cart", (0, 0, 0)), "tip"))
    m.add_driver("drive", rtmbs.Sine(0.2, 3.0, offset=0.2), body=("cart", "x"))


CHAIN = ("tip.position", "tip.velocity", "tip.acceleration", "A.reaction", "S.displacement")
ROCKER = ("tip.position", "rocker.velocity", "tip.acceleration", "D.reaction", "B.angle")
SLIDER = ("rod.position", "rod.velocity", "rod.acceleration", "ball.reaction")
BALL = ("bob.mass_center", "bob.angular_velocity", "bob.orientation")

CASES = {
    "amplitude": (built(chain, driver(lambda a: rtmbs.Sine(a, 3.0))), 0.4, CHAIN),
    "offset": (built(chain, driver(lambda a: rtmbs.Sine(0.3, 3.0, offset=a), "B")), 0.4, CHAIN),
    "frequency": (built(chain, driver(lambda a: rtmbs.Sine(0.3, a, phase=0.5))), 20.0, CHAIN),
    "rate": (built(chain, driver(lambda a: rtmbs.ConstantRate(a, start=a * a))), 0.7, CHAIN),
    "end of a step": (built(chain, driver(lambda a: rtmbs.SmoothStep(0.0, 0.2, 0.1, a), "S")), 0.4, CHAIN),
    "time of a step": (built(chain, driver(lambda a: rtmbs.SmoothStep(0.02, a, 0.0, 0.5))), 0.31, CHAIN),
    "spline": (built(chain, driver(lambda a: rtmbs.Spline(KNOTS, a * np.sin(9 * KNOTS)))), 0.3, CHAIN),
    "function": (built(chain, driver(cubic)), 0.8, CHAIN),
    "pinned": (built(chain, pinned), 0.3, CHAIN),
    "followed": (built(chain, followed), 0.3, CHAIN[:4]),
    "motor": (built(chain, motor(lambda a, t: a * np.sin(a * t))), 6.0, (*CHAIN, "motor.torque")),
    "wrench": (built(chain, wrench("three")), 3.0, CHAIN),
    "gear": (built(chain, lambda m, a: m.add_gear("gear", "A", "B", a)), 1.4, CHAIN),
    "gear of one": (built(chain, lambda m, a: m.add_gear("gear", "A", "B", a)), 1.0, CHAIN),
    "gear the other way": (built(chain, lambda m, a: m.add_gear("gear", "B", "C", a)), -1.0, CHAIN),
    "three wheels": (built(chain, lambda m, a: m.add_coupler("sum", {"A": 1.0, "B": a, "C": -a})), 0.7, CHAIN),
    "rack": (built(chain, lambda m, a: m.add_rack_and_pinion("rack", "S", "A", a)), 0.4, CHAIN),
    "offset of a gear": (
        built(chain, lambda m, a: m.add_gear("gear", "A", "B", 1.3, offset=rtmbs.Sine(a, 4.0, offset=a))),
        0.2,
        CHAIN,
    ),
    "ratio and offset": (
        built(chain, lambda m, a: m.add_gear("gear", "A", "B", a, offset=rtmbs.Sine(0.2, 4.0 * a))),
        1.0,
        CHAIN,
    ),
    "driven loop": (built(rocker, driver(lambda a: rtmbs.Sine(a, 5.0, offset=0.4))), 0.3, ROCKER),
    "driven loop, cut joint": (built(rocker, driver(lambda a: rtmbs.Sine(0.1, a, offset=a / 50), "D")), 5.0, ROCKER),
    "loop with a motor": (built(rocker, motor(lambda a, t: a * t + np.cos(a * t), "D")), 3.0, ROCKER),
    "loop with a wrench": (built(rocker, wrench("coupler")), 3.0, ROCKER),
    "loop with a gear": (
        built(rocker, lambda m, a: (m.add_body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.1)),
                                    m.add_joint("W", rtmbs.Revolute((0.2, 0.1, 1.0)), "ground", "wheel"),
                                    m.add_gear("gear", "A", "W", a, offset=rtmbs.Sine(a, 2.0)))),
        -1.3,
        (*ROCKER, "W.angle"),
    ),
    "driven distance": (built(chain, distance), 6.0, CHAIN),
    "start of a driven distance": (built(rocker, started_distance), 0.62, ROCKER),
    "spatial loop": (built(slider, driver(lambda a: rtmbs.Sine(a, 4.0, phase=0.6), "pivot")), 0.5, SLIDER),
    "spatial loop with a motor": (built(slider, motor(lambda a, t: 0.1 * a * np.exp(-a * t), "pivot")), 2.0, SLIDER),
    "ball": (built(ball, wrench("bob")), 2.0, BALL),
}  # fmt: skip
