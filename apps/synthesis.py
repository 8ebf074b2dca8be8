"""A four-bar whose coupler point goes through twenty given points: scipy's least squares with exact derivatives.

    python apps/synthesis.py          # prints the lengths iteration after iteration

The points are those of another four-bar, so that a perfect answer exists; the search begins far from it. It ends with
an error when the points are missed by more than a hundredth of a millimetre.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

import rtmbs

POINTS, STEPS = 20, 6  # points of a turn, and steps between them
TURN = 1.0  # [s]
TRUE = {"crank": 0.30, "coupler": 0.80, "rocker": 0.70, "ground": 0.90, "along": 0.45, "across": 0.35}  # [m]
FIRST = {"crank": 0.34, "coupler": 0.90, "rocker": 0.75, "ground": 0.95, "along": 0.35, "across": 0.25}
MISSED = 1e-5  # [m]

Array = np.ndarray[Any, np.dtype[np.float64]]


def four_bar(crank: float, coupler: float, rocker: float, ground: float, along: float, across: float) -> rtmbs.Model:
    """Return the four-bar, its crank driven once round in a second; the point stands ``along`` and ``across`` the
    coupler."""
    A, D, B = np.zeros(3), np.array([0.0, ground, 0.0]), np.array([0.0, 0.0, crank])
    way = D - B
    reach = float(np.linalg.norm(way))
    foot = (coupler**2 - rocker**2 + reach**2) / (2.0 * reach)
    e, f = way / reach, np.array([0.0, -way[2], way[1]]) / reach
    C = B + foot * e + np.sqrt(coupler**2 - foot**2) * f
    g = (C - B) / coupler
    model = rtmbs.Model("four-bar", gravity=(0.0, 0.0, 0.0))
    for name in ("crank", "coupler", "rocker"):
        model.add_body(name, mass=1.0, inertia=(0.01, 0.01, 0.01))
    pin = rtmbs.Revolute(axis=(1.0, 0.0, 0.0))
    for name, a, b, point in (("A", "ground", "crank", A), ("B", "crank", "coupler", B), ("C", "coupler", "rocker", C)):
        model.add_joint(name, pin, a, b, point=point)
    model.add_joint("D", pin, "ground", "rocker", point=D, cut=True)
    model.add_marker("tip", "coupler", B + along * g + across * np.array([0.0, -g[2], g[1]]))
    model.add_driver("turn", rtmbs.ConstantRate(2.0 * np.pi / TURN), joint="A")
    return model


def path(result: Any) -> Any:
    """Return the points of the coupler, y and z of each (2 POINTS,)."""
    return np.reshape(result["tip.position"][STEPS::STEPS, 1:], (-1,))


def curve(lengths: dict[str, float]) -> tuple[Array, Array]:
    """Return the points (2 POINTS,) of a four-bar, and their derivatives by its lengths (2 POINTS, 6)."""
    sim = rtmbs.Simulation(four_bar(**lengths).compile(), h=TURN / (POINTS * STEPS))
    found = rtmbs.sensitivity(sim, TURN, path, list(lengths), model=four_bar, at=lengths, method="direct")
    return found.value, found.jacobian


def synthesise(wanted: Array, first: dict[str, float], told: Callable[[str], None] = print) -> OptimizeResult:
    """Return the answer of least squares for the lengths in the order of ``first``."""
    known: dict[bytes, tuple[Array, Array]] = {}

    def both(x: Array) -> tuple[Array, Array]:
        if x.tobytes() not in known:
            points, slopes = curve(dict(zip(first, x.tolist(), strict=True)))
            known[x.tobytes()] = points - wanted, slopes
            told(f"{1e3 * np.sqrt(np.mean((points - wanted) ** 2)):10.5f} mm off, {np.round(x, 5).tolist()} m")
        return known[x.tobytes()]

    return least_squares(lambda x: both(x)[0], list(first.values()), jac=lambda x: both(x)[1], xtol=1e-12, ftol=1e-14)


def main() -> int:
    """Search; return 0 when the points are met."""
    wanted, _ = curve(TRUE)
    found = synthesise(wanted, FIRST)
    missed = float(np.abs(found.fun).max())
    print(f"{found.nfev} curves, {found.njev} of them with derivatives; at most {1e3 * missed:.2g} mm off")
    return 0 if missed < MISSED else 1


if __name__ == "__main__":
    sys.exit(main())
