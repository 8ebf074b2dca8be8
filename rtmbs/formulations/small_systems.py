"""Three small systems of functions, for pictures, examples and tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.function_system import FunctionSystem

Array = NDArray[np.float64]

GRAVITY = 9.81  # [m/s^2] along -y
CRANK, ROD = 0.2, 0.6  # [m]


def pendulum() -> FunctionSystem:
    """Return the pendulum of 1 m and 1 kg in x, y [m], with Phi = (x^2 + y^2 - 1) / 2 [m^2]."""
    return FunctionSystem(
        2,
        1,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([0.0, -GRAVITY]),
        lambda q, t: [0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0)],
        coordinate_names=["x", "y"],
        row_names=["length"],
    )


def rheonomic_double_pendulum() -> FunctionSystem:
    """Return two point masses of 1 and 2 kg in x1, y1, x2, y2 [m] on rods; time moves the pivot and a length.

    The pivot is at 0.3 sin(2 t) along x, and the second rod has 0.8 + 0.1 cos(3 t). A damper of 0.4 N s/m acts between
    the masses.
    """

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        x1, y1, x2, y2 = q[0], q[1], q[2], q[3]
        pivot, length = 0.3 * xp.sin(2.0 * t), 0.8 + 0.1 * xp.cos(3.0 * t)
        return [(x1 - pivot) ** 2 + y1**2 - 1.0, (x2 - x1) ** 2 + (y2 - y1) ** 2 - length**2]

    def force(q: Array, v: Array, t: float) -> Array:
        damper = 0.4 * (v[2:] - v[:2])
        return np.concatenate((damper, -damper)) - np.array([0.0, GRAVITY, 0.0, 2.0 * GRAVITY])

    names = {"coordinate_names": ["x1", "y1", "x2", "y2"], "row_names": ["first rod", "second rod"]}
    return FunctionSystem(4, 2, lambda q, t: np.diag([1.0, 1.0, 2.0, 2.0]), force, phi, **names)


def slider_crank() -> FunctionSystem:
    """Return a planar slider-crank: crank angle [rad], rod x, y [m] and angle [rad], slider place [m] along x."""

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        crank, x, y, rod, slider = q[0], q[1], q[2], q[3], q[4]
        half = xp.cos(rod) * (ROD / 2), xp.sin(rod) * (ROD / 2)
        return [
            x - half[0] - CRANK * xp.cos(crank),
            y - half[1] - CRANK * xp.sin(crank),
            x + half[0] - slider,
            y + half[1],
        ]

    inertia = np.diag([0.01, 0.5, 0.5, 0.015, 1.0])
    weight = np.array([0.0, 0.0, -0.5 * GRAVITY, 0.0, 0.0])
    return FunctionSystem(
        5,
        4,
        lambda q, t: inertia,
        lambda q, v, t: weight,
        phi,
        coordinate_names=["crank", "rod x", "rod y", "rod angle", "slider"],
        row_names=["crank pin x", "crank pin y", "slider pin x", "slider pin y"],
    )
