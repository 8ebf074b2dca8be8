"""Mechanisms that sessions are tested on, as factories that another process can import."""

import rtmbs


def motored(length: float = 1.0, torque: float = 0.0) -> rtmbs.Model:
    """A four-bar with a motor on its crank, a spring, and a marker; ``length`` of the coupler [m]."""
    model = rtmbs.Model("motored")
    bar = {"mass": 1.0, "inertia": (0.02, 0.02, 0.02)}
    crank = model.add_body("crank", center_of_mass=(0.0, 0.0, -0.2), **bar)
    coupler = model.add_body("coupler", center_of_mass=(0.0, length / 2, -0.4), **bar)
    rocker = model.add_body("rocker", center_of_mass=(0.0, length, -0.2), **bar)
    pin = rtmbs.Revolute(axis=(1.0, 0.0, 0.0))
    model.add_joint("base", pin, "ground", crank)
    model.add_joint("knee", pin, crank, coupler, point=(0.0, 0.0, -0.4))
    model.add_joint("elbow", pin, coupler, rocker, point=(0.0, length, -0.4), cut=True, closure="line")
    model.add_joint("foot", pin, "ground", rocker, point=(0.0, length, 0.0))
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(torque)), joint="base")
    ends = model.add_marker("hook", "ground", (0.0, 0.5, -1.0)), model.add_marker("eye", "coupler", (0.0, 0.5, -0.4))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=50.0, damping=1.0), between=ends)
    return model


def broken() -> rtmbs.Model:
    """A model that cannot be: a body that hangs on nothing."""
    model = rtmbs.Model("broken")
    model.add_body("lost", mass=1.0)
    return model


def raising() -> rtmbs.Model:
    """A factory with a fault of its own."""
    raise ZeroDivisionError("the factory divides by zero")


def nothing() -> None:
    """A factory that forgets to return."""


def failing(at: float = 0.05) -> rtmbs.Model:
    """A pendulum whose motor is not a number from ``at`` [s] on."""
    model = rtmbs.Model("failing")
    model.add_body("bob", mass=1.0, center_of_mass=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
    model.add_joint("pivot", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), "ground", "bob")
    model.add_force("motor", rtmbs.Motor(lambda t: 1.0 if t < at else float("nan")), joint="pivot")
    model.add_force("brake", rtmbs.TorsionSpring(stiffness=0.0, damping=0.1), joint="pivot")
    return model
