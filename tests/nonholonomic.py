"""Mechanisms with nonholonomic constraints, and their motions in closed form or by equations of their own."""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import rtmbs

GRAVITY = 9.81
ACROSS = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0))  # marker axes whose h axis is -y of the body
LEAN, TURN, RADIUS = 0.4, 2.5, 0.5  # of the steady disc [rad], [rad/s], [m]


class Motion(NamedTuple):
    """A model and the exact values of some channels at the time ``end``."""

    model: rtmbs.Model
    end: float
    wanted: dict[str, np.ndarray]


def steady_disc(end=1.5):
    """A thin disc of 1 kg that rolls on a circle at a constant lean."""
    across, axial = 0.25 * RADIUS**2, 0.5 * RADIUS**2
    c, s = np.cos(LEAN), np.sin(LEAN)
    spin = (across * TURN**2 * c * s - GRAVITY * RADIUS * s) / ((axial + RADIUS**2) * TURN * c)
    R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    w, v = np.array([0.0, 0.0, TURN]) + (spin - TURN * s) * R[:, 1], np.array([RADIUS * spin, 0.0, 0.0])
    model, center = rtmbs.Model("disc", gravity=(0, 0, -GRAVITY)), (0.0, 0.0, RADIUS * c)
    disc = model.add_body("disc", mass=1.0, inertia=(across, axial, across), position=center, orientation=R)
    model.add_joint("free", rtmbs.Floating(), "ground", disc, point=center)
    model.add_rolling(
        "contact", model.add_marker("axle", disc, frame=disc, axes=ACROSS), model.add_marker("floor", "ground"), RADIUS
    )
    model.set_initial("free", rate=(*v, *(R.T @ w)), pin=False)
    angle, size = TURN * end, RADIUS * spin / TURN
    about_z = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    pull = about_z @ np.cross([0.0, 0.0, TURN], v)
    place = np.array([size * np.sin(angle), size * (1.0 - np.cos(angle)), RADIUS * c])
    wanted = {
        "disc.position": place,
        "disc.velocity": about_z @ v,
        "disc.acceleration": pull,
        "contact.force": pull + np.array([0.0, 0.0, GRAVITY]),
        "contact.normal_force": np.array(GRAVITY),
        "contact.point": place + about_z @ np.array([0.0, RADIUS * s, -RADIUS * c]),
    }
    return Motion(model, end, wanted)


def sphere_on_turntable(end=1.0, spin=1.5, tilt=0.1):
    """A solid sphere on a tilted turntable: the velocity turns at 2/7 of the table, and drifts by 5/7 of gravity."""
    radius, start, speed = 0.2, np.array([0.3, 0.1]), np.array([0.2, -0.1])
    pull = GRAVITY * np.sin(tilt)
    model = rtmbs.Model("turntable", gravity=(pull, 0.0, -GRAVITY * np.cos(tilt)))
    place = (*start, radius)
    ball = model.add_body("ball", mass=2.0, inertia=3 * (0.4 * 2.0 * radius**2,), position=place)
    table = model.add_body("table", mass=5.0, inertia=(1.0, 1.0, 2.0))
    model.add_joint("bearing", rtmbs.Revolute(axis=(0, 0, 1)), "ground", table)
    model.add_driver("motor", rtmbs.ConstantRate(spin), joint="bearing")
    model.add_joint("free", rtmbs.Floating(), "ground", ball, point=place)
    center = model.add_marker("center", ball, place)
    model.add_rolling("contact", center, model.add_marker("top", table), radius, crown=radius)
    turn = ((start[0] * spin - speed[1]) / radius, (speed[0] + spin * start[1]) / radius, 0.0)
    model.set_initial("free", rate=(*speed, 0.0, *turn), pin=False)
    w, a = 2.0 / 7.0 * spin, 5.0 / 7.0 * pull  # V' = i w V + a for V = vx + i vy
    V0, drift = complex(*speed), a / (1j * w)
    V = (V0 + drift) * np.exp(1j * w * end) - drift
    X = complex(*start) + (V0 + drift) * (np.exp(1j * w * end) - 1.0) / (1j * w) - drift * end
    A = 1j * w * V + a
    wanted = {
        "ball.position": np.array([X.real, X.imag, radius]),
        "ball.velocity": np.array([V.real, V.imag, 0.0]),
        "ball.acceleration": np.array([A.real, A.imag, 0.0]),
        "contact.normal_force": np.array(2.0 * GRAVITY * np.cos(tilt)),
        "contact.force": 2.0 * np.array([A.real - pull, A.imag, GRAVITY * np.cos(tilt)]),
    }
    return Motion(model, end, wanted)


def sleigh(end=1.5):
    """Chaplygin's sleigh: a blade whose mass centre lies ahead of its edge, on a level plane."""
    mass, ahead, inertia, u, w = 1.3, 0.4, 0.3, 0.3, 1.8
    model = rtmbs.Model("sleigh")
    body = model.add_body("sleigh", mass=mass, center_of_mass=(ahead, 0, 0), inertia=(1.0, 1.0, inertia))
    model.add_joint("plane", rtmbs.Planar(normal=(0, 0, 1)), "ground", body)
    model.add_knife_edge("edge", model.add_marker("blade", body))
    model.set_initial("plane", rate=(u, 0.0, w))
    k = np.sqrt(inertia / mass + ahead**2)
    speed = np.hypot(u, k * w)  # the kinetic energy stays
    first = np.arctanh(u / speed)
    tau = ahead * speed * end / k**2 + first

    def turned(x):
        return 2.0 * np.arctan(np.tanh(0.5 * x))

    along, rate = speed * np.tanh(tau), speed / k / np.cosh(tau)
    slowing = -(ahead * speed / k**2) * rate * np.tanh(tau)
    wanted = {
        "plane.angle": np.array(k / ahead * (turned(tau) - turned(first))),
        "plane.angle_rate": np.array(rate),
        "plane.angle_acceleration": np.array(slowing),
        "edge.force": np.array(mass * (along * rate + ahead * slowing)),
        "energy.kinetic": np.array(0.5 * mass * speed**2),
    }
    return Motion(model, end, wanted)


def cart(end=2.0, torque=0.7):
    """A cart on two wheels, one of them driven; its equations in speed and rate of turning by Boltzmann and Hamel."""
    mass, inertia, ahead, half, radius = 4.0, 0.5, 0.3, 0.4, 0.25
    wheel, axial, across = 0.8, 0.03, 0.02
    model = rtmbs.Model("cart")
    body = model.add_body("cart", mass=mass, center_of_mass=(ahead, 0, 0), inertia=(1.0, 1.0, inertia))
    model.add_joint("plane", rtmbs.Planar(normal=(0, 0, 1)), "ground", body)
    floor = model.add_marker("floor", "ground", point=(0, 0, -radius))
    for name, side in (("left", half), ("right", -half)):
        one = model.add_body(name, mass=wheel, inertia=(across, axial, across), position=(0, side, 0))
        model.add_joint(f"{name} axle", rtmbs.Revolute(axis=(0, 1, 0)), body, one, point=(0, side, 0))
        model.add_rolling(
            f"{name} tyre", model.add_marker(f"{name} hub", one, (0, side, 0), axes=ACROSS), floor, radius
        )
    model.add_force("motor", rtmbs.Motor(torque), joint="right axle")
    u, w = 0.4, 0.3
    model.set_initial("plane", rate=(u, 0.0, w))
    M = mass + 2.0 * wheel + 2.0 * axial / radius**2
    J = inertia + mass * ahead**2 + 2.0 * (wheel * half**2 + across + axial * half**2 / radius**2)

    def rates(t, y):
        _, u, w, *_ = y
        return [w, (mass * ahead * w * w + torque / radius) / M, (torque * half / radius - mass * ahead * u * w) / J,
                u * np.cos(y[0]), u * np.sin(y[0])]  # fmt: skip

    y = solve_ivp(rates, (0.0, end), [0.0, u, w, 0.0, 0.0], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    yd = rates(end, y)
    wanted = {
        "plane.angle": y[0], "plane.angle_rate": y[2], "plane.angle_acceleration": yd[2],
        "cart.position": np.array([y[3], y[4], 0.0]),
        "right axle.rate": (y[1] + half * y[2]) / radius, "left axle.rate": (y[1] - half * y[2]) / radius,
    }  # fmt: skip
    return Motion(model, end, wanted)


MOTIONS = {"disc": steady_disc, "turntable": sphere_on_turntable, "sleigh": sleigh, "cart": cart}


def errors(motion, method, h):
    """Return the largest error of every channel at the end, over its largest value or 1."""
    sim = rtmbs.Simulation(motion.model.compile(), h=h, method=method)
    result = sim.run(motion.end)
    return {
        name: float(np.abs(result[name][-1] - value).max() / max(1.0, np.abs(value).max()))
        for name, value in motion.wanted.items()
    }
