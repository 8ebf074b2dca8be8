"""Two masses with springs and dampers, and the exact motion under a sampled controller by matrix exponentials."""

from collections.abc import Callable

import numpy as np
import scipy.linalg

import rtmbs

M = np.array([[2.0, 0.7], [0.7, 0.7]])  # joint coordinates: the second mass slides on the first
K, C = np.diag([30.0, 55.0]), np.diag([0.8, 0.3])
A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
B = np.concatenate([np.zeros(2), np.linalg.solve(M, [0.0, 1.0])])
START = np.array([0.3, -0.1, -0.2, 0.5])
CHANNELS = ("x.displacement", "y.displacement", "x.rate", "y.rate")


def two_masses() -> rtmbs.Model:
    """Return the Model, with the input mot.force on the second coordinate."""
    model = rtmbs.Model("two masses", gravity=(0, 0, 0))
    model.add_body("a", mass=1.3, inertia=(0.1,) * 3)
    model.add_body("b", mass=0.7, inertia=(0.1,) * 3)
    model.add_joint("x", rtmbs.Prismatic((1, 0, 0)), "ground", "a")
    model.add_joint("y", rtmbs.Prismatic((1, 0, 0)), "a", "b")
    model.add_force("spring_x", rtmbs.TorsionSpring(30.0, 0.8, 0.0), joint="x")
    model.add_force("spring_y", rtmbs.TorsionSpring(55.0, 0.3, 0.0), joint="y")
    model.add_force("mot", rtmbs.Motor(rtmbs.Input()), joint="y")
    model.set_initial("x", START[0], START[2])
    model.set_initial("y", START[1], START[3])
    return model


def flow(x, u, dt):
    """Return the state (4,) after ``dt`` [s] with a held input."""
    E = scipy.linalg.expm(np.block([[A, B[:, None]], [np.zeros((1, 5))]]) * dt)
    return (E @ np.append(x, u))[:4]


def exact(law: Callable, period: float, delay: float, t_end: float, memory=None):
    """Return the state (4,) at ``t_end`` [s]; ``law(x, memory)`` returns the input and the next memory."""
    x, u, t, held = START, 0.0, 0.0, 0
    values: list[float] = []
    while True:
        sample = len(values) * period
        effect = held * period + delay if held < len(values) else np.inf
        if min(sample, effect) >= t_end - 1e-12:
            return flow(x, u, t_end - t)
        x, t = flow(x, u, min(sample, effect) - t), min(sample, effect)
        if sample <= t + 1e-12:
            value, memory = law(x, memory)
            values.append(value)
        while held < len(values) and held * period + delay <= t + 1e-12:
            u, held = values[held], held + 1
