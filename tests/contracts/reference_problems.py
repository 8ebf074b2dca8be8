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


# ---- rotations -------------------------------------------------------------------------------------------------------

SPIN = (3.0, -1.0, 20.0)  # of the top about its own axes [rad/s]
ABOUT = np.diag((0.5, 0.7, 0.3))  # inertia about the mass centre [kg m^2]
CENTRE = np.array([0.1, 0.0, 0.4])  # of mass, from the tip [m]


def top() -> rtmbs.Model:
    """Return a heavy top of three unequal inertias on its tip: three rotations on the group."""
    model = rtmbs.Model("top")
    body = model.add_body("body", mass=MASS, inertia=ABOUT, center_of_mass=CENTRE)
    model.add_joint("tip", rtmbs.Spherical(), "ground", body)
    model.set_initial("tip", rate=SPIN)
    return model


def top_reading(sim: rtmbs.Simulation) -> list[float]:
    q = sim["body.orientation"]
    return [*(q * np.sign(q[0])), *sim["body.angular_velocity"]]


def turn_of(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a quaternion w, x, y, z."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def top_exact() -> list[float]:
    """Return the end of Euler's equations with quaternions."""
    at_tip = ABOUT + MASS * (CENTRE @ CENTRE * np.eye(3) - np.outer(CENTRE, CENTRE))

    def slopes(t, y):
        (w, x, y_, z), spin = y[:4], y[4:]
        pull = MASS * np.cross(CENTRE, turn_of(y[:4]).T @ (0.0, 0.0, -G))
        a, b, c = spin
        turning = 0.5 * np.array([-x * a - y_ * b - z * c, w * a + y_ * c - z * b, w * b + z * a - x * c,
                                  w * c + x * b - y_ * a])  # fmt: skip
        return [*turning, *np.linalg.solve(at_tip, pull - np.cross(spin, at_tip @ spin))]

    end = np.array(solved(slopes, (1.0, 0.0, 0.0, 0.0, *SPIN)))
    return [*end[:4] / np.linalg.norm(end[:4]) * np.sign(end[0]), *turn_of(end[:4]) @ end[4:]]


# ---- redundant loops -------------------------------------------------------------------------------------------------

SIDE, CRANK = 0.6, 0.8  # length of a crank [m], its mass [kg]


def parallelogram() -> rtmbs.Model:
    """Return a beam on two equal cranks, all hinges upright: the closing hinge has three rows too many."""
    model = rtmbs.Model("parallelogram")
    along = np.array([np.cos(START[0]), 0.0, -np.sin(START[0])])
    turned = about_y(START[0])
    cranks = [
        model.add_body(
            name, mass=CRANK, inertia=(0.01, 0.02, 0.01), center_of_mass=(0.5 * SIDE, 0.0, 0.0),
            position=(x, 0.0, 0.0), orientation=turned,
        )
        for name, x in (("left", 0.0), ("right", 1.0))
    ]  # fmt: skip
    beam = model.add_body("beam", mass=MASS, inertia=(0.1, 0.2, 0.1), center_of_mass=(0.5, 0, 0), position=SIDE * along)
    hinge = rtmbs.Revolute(axis=(0, 1, 0))
    model.add_joint("a", hinge, "ground", cranks[0], point=(0.0, 0.0, 0.0))
    model.add_joint("b", hinge, "ground", cranks[1], point=(1.0, 0.0, 0.0))
    model.add_joint("c", hinge, cranks[0], beam, point=SIDE * along)
    model.add_joint("d", hinge, cranks[1], beam, point=SIDE * along + (1.0, 0.0, 0.0), cut=True)
    model.set_initial("a", rate=START[1])
    return model


def about_y(angle: float) -> np.ndarray:
    """Return the rotation by an angle about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def parallelogram_reading(sim: rtmbs.Simulation) -> list[float]:
    return [*sim["beam.position"][[0, 2]], sim["a.rate"], sim["b.rate"]]


def parallelogram_exact() -> list[float]:
    inertia = 2.0 * (0.02 + CRANK * 0.25 * SIDE**2) + MASS * SIDE**2
    moment = (CRANK * SIDE + MASS * SIDE) * G
    angle, rate = solved(lambda t, y: [y[1], moment * np.cos(y[0]) / inertia], START)
    return [SIDE * np.cos(angle), -SIDE * np.sin(angle), rate, rate]


def to_the_end(sim: rtmbs.Simulation) -> None:
    sim.run(T)


PROBLEMS = {
    "force states": Problem(lagged, to_the_end, lambda sim: [*angle_and_rate(sim), *sim.state.s], lagged_exact),
    "inputs": Problem(pushed, push, angle_and_rate, pushed_exact),
    "constraints": Problem(on_a_rod, to_the_end, place_and_speed, on_a_rod_exact),
    "rotations": Problem(top, to_the_end, top_reading, top_exact),
    "redundant": Problem(parallelogram, to_the_end, parallelogram_reading, parallelogram_exact),
    "drivers": Problem(shaken, to_the_end, lambda sim: [*angle_and_rate(sim), sim["rail.displacement"]], shaken_exact),
}
