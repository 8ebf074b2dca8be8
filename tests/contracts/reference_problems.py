"""Mechanisms under force states, inputs, constraints and drivers, with equations of motion written down here.

Each problem answers a model, a run, what a Simulation reads at the end and the same by SciPy's DOP853 at 1e-12.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import rtmbs

T = 0.2  # [s]
G = 9.81  # [m/s^2]
MASS, ARM, INERTIA = 2.0, 0.5, 0.3  # of the pendulum: [kg], [m], [kg m^2] about y through the mass centre
TURNING = INERTIA + MASS * ARM**2  # [kg m^2] about the pin
START = (0.4, -1.0)  # angle [rad] and rate [rad/s]


class Problem(NamedTuple):
    """A mechanism with an independent solution."""

    model: Callable[[], rtmbs.Model]
    run: Callable[[rtmbs.Simulation], None]
    read: Callable[[rtmbs.Simulation], list[float]]
    exact: Callable[[], list[float]]


def pendulum() -> rtmbs.Model:
    """Return a pendulum about y, horizontal at zero."""
    model = rtmbs.Model("pendulum")
    bob = model.add_body("bob", mass=MASS, inertia=(0.2, INERTIA, 0.2), center_of_mass=(ARM, 0.0, 0.0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", bob)
    model.set_initial("pin", position=START[0], rate=START[1])
    return model


def angle_and_rate(sim: rtmbs.Simulation) -> list[float]:
    return [sim["pin.angle"], sim["pin.rate"]]


def solved(slopes: Callable[..., list[float]], start: tuple[float, ...], span: tuple[float, float] = (0.0, T)) -> list:
    """Return the end of a motion by an integration to 1e-12."""
    return solve_ivp(slopes, span, start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1].tolist()


def weight(angle: float) -> float:
    return MASS * G * ARM * np.cos(angle)


# ---- force states ----------------------------------------------------------------------------------------------------


def lagged() -> rtmbs.Model:
    """Return the pendulum under a torque that follows its angle late."""
    model = pendulum()

    def law(t, kinematics, parameters, states):
        """A first-order lag of the angle, and a cubic spring on it."""
        return -40.0 * states["late"] ** 3, (kinematics.z - states["late"]) / 0.05

    model.add_force("lag", law, joint="pin", states={"late": 0.1})
    return model


def lagged_exact() -> list[float]:
    return solved(lambda t, y: [y[1], (weight(y[0]) - 40.0 * y[2] ** 3) / TURNING, (y[0] - y[2]) / 0.05], (*START, 0.1))


# ---- inputs ----------------------------------------------------------------------------------------------------------


def pushed() -> rtmbs.Model:
    model = pendulum()
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pin")
    return model


def push(sim: rtmbs.Simulation) -> None:
    """Switch the motor on at half time."""
    sim.run(0.5 * T)
    sim.inputs["motor.torque"] = 5.0
    sim.run(T)


def pushed_exact() -> list[float]:
    half = solved(lambda t, y: [y[1], weight(y[0]) / TURNING], START, (0.0, 0.5 * T))
    return solved(lambda t, y: [y[1], (weight(y[0]) + 5.0) / TURNING], tuple(half), (0.5 * T, T))


# ---- constraints -----------------------------------------------------------------------------------------------------


def on_a_rod() -> rtmbs.Model:
    """Return a mass on two rails, held by a rod of 1 m: a loop whose motion is that of a mathematical pendulum."""
    model = rtmbs.Model("on a rod")
    cross = model.add_body("cross", mass=0.0)
    bob = model.add_body("bob", mass=MASS, inertia=(0.2, 0.3, 0.2), position=(np.cos(0.4), 0.0, -np.sin(0.4)))
    model.add_joint("x", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", cross)
    model.add_joint("z", rtmbs.Prismatic(axis=(0, 0, 1)), cross, bob)
    model.add_rod("rod", between=(model.add_marker("pivot", "ground"), model.add_marker("eye", bob, bob.position)))
    model.set_initial("x", rate=np.sin(0.4))
    return model


def place_and_speed(sim: rtmbs.Simulation) -> list[float]:
    return [*sim["bob.position"][[0, 2]], *sim["bob.velocity"][[0, 2]]]


def on_a_rod_exact() -> list[float]:
    angle, rate = solved(lambda t, y: [y[1], G * np.cos(y[0])], START)
    return [np.cos(angle), -np.sin(angle), -rate * np.sin(angle), -rate * np.cos(angle)]


# ---- drivers ---------------------------------------------------------------------------------------------------------


def shaken() -> rtmbs.Model:
    """Return the pendulum on a carriage that a driver moves along x."""
    model = rtmbs.Model("shaken")
    carriage = model.add_body("carriage", mass=1.0, inertia=(0.1, 0.1, 0.1))
    bob = model.add_body("bob", mass=MASS, inertia=(0.2, INERTIA, 0.2), center_of_mass=(ARM, 0.0, 0.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", carriage)
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), carriage, bob)
    model.add_driver("shaker", rtmbs.Sine(0.1, 20.0), joint="rail")
    model.set_initial("pin", position=START[0], rate=START[1])
    return model


def shaken_exact() -> list[float]:
    def slopes(t, y):
        shaking = -0.1 * 20.0**2 * np.sin(20.0 * t)
        return [y[1], (weight(y[0]) + MASS * ARM * shaking * np.sin(y[0])) / TURNING]

    return [*solved(slopes, START), 0.1 * np.sin(20.0 * T)]


def to_the_end(sim: rtmbs.Simulation) -> None:
    sim.run(T)


PROBLEMS = {
    "force states": Problem(lagged, to_the_end, lambda sim: [*angle_and_rate(sim), *sim.state.s], lagged_exact),
    "inputs": Problem(pushed, push, angle_and_rate, pushed_exact),
    "constraints": Problem(on_a_rod, to_the_end, place_and_speed, on_a_rod_exact),
    "drivers": Problem(shaken, to_the_end, lambda sim: [*angle_and_rate(sim), sim["rail.displacement"]], shaken_exact),
}
