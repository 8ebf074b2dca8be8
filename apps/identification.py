"""A spring and a damper in a linkage, found from a noisy record of one angle: least squares with exact derivatives.

    python apps/identification.py

The answer comes with its standard deviation, from the same derivatives. It ends with an error when the truth lies more
than four deviations away.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import rtmbs
from rtmbs.library import build

H, T_END = 2e-3, 1.0  # [s]
TRUE = {"spring.stiffness": 180.0, "spring.damping": 2.5}  # [N/m], [N s/m]
FIRST = {"spring.stiffness": 100.0, "spring.damping": 0.5}
NOISE, EVERY = 2e-3, 10  # [rad], steps between samples

Array = np.ndarray[Any, np.dtype[np.float64]]


class Identified(NamedTuple):
    """What the record tells."""

    values: Array  # (2,) stiffness and damping
    deviations: Array  # (2,) of one standard deviation
    curves: int  # runs


def linkage() -> Any:
    """Return a crank-rocker with a spring-damper between coupler and ground."""
    model = build("crank_rocker")
    model.add_marker("tip", "coupler", (0.0, 0.3, 0.5))
    model.add_marker("post", "ground", (0.0, 0.6, 1.1))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=1.0, damping=0.0, length=0.4), between=("post", "tip"))
    return model.compile()


def angles(result: Any) -> Any:
    """Return the angle of the rocker at the samples."""
    return result["rocker_pivot.angle"][EVERY::EVERY]


def record(system: Any, values: dict[str, float]) -> tuple[Array, Array]:
    """Return the angles (k,) with given parameters, and their derivatives (k, 2)."""
    sim = rtmbs.Simulation(system, h=H)
    for name, value in values.items():
        sim.inputs[name] = value
    found = rtmbs.sensitivity(sim, T_END, angles, list(values), method="direct")
    return found.value, found.jacobian


def identify(system: Any, measured: Array, first: dict[str, float]) -> Identified:
    """Return stiffness and damping with which the angles are nearest to those measured."""
    known: dict[bytes, tuple[Array, Array]] = {}
    scale = np.array(list(first.values()))

    def both(x: Array) -> tuple[Array, Array]:
        if x.tobytes() not in known:
            values, slopes = record(system, dict(zip(first, (scale * x).tolist(), strict=True)))
            known[x.tobytes()] = values - measured, slopes * scale
        return known[x.tobytes()]

    found = least_squares(lambda x: both(x)[0], np.ones(2), jac=lambda x: both(x)[1])
    variance = float(found.fun @ found.fun) / (len(measured) - 2)
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)) * variance)
    return Identified(scale * found.x, scale * spread, found.nfev)


def main() -> int:
    """Identify from one noisy record; return 0 when the truth is where it must be."""
    system = linkage()
    exact, _ = record(system, TRUE)
    found = identify(system, exact + NOISE * np.random.default_rng(1).normal(size=exact.shape), FIRST)
    off = (found.values - np.array(list(TRUE.values()))) / found.deviations
    for name, value, deviation, true in zip(TRUE, found.values, found.deviations, TRUE.values(), strict=True):
        print(f"{name}: {value:.5g} +- {deviation:.2g}, true {true:g}")
    print(f"{found.curves} runs")
    return 0 if np.abs(off).max() < 4.0 else 1


if __name__ == "__main__":
    sys.exit(main())
