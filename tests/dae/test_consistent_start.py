"""A start off its constraints is refused in terms of the size of the mechanism, not of the unit of length."""

from types import SimpleNamespace

import numpy as np
import pytest

from rtmbs.dae import RungeKutta, integrate
from rtmbs.dae.driver import demand_start
from rtmbs.formulations import FunctionSystem, consistent_state
from rtmbs.formulations.contract import FormulationError

LENGTHS = 1e-9, 1e-6, 1e-3, 1.0, 1e4  # [m]


def pendulum(length):
    return FunctionSystem(
        2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.array([0.0, -9.81 * length]),
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - length**2], row_names=["length"],
    )  # fmt: skip


def started(system, q, v):
    return integrate(system, RungeKutta(), np.array(q), np.array(v), 1e-4, 1e-4)


@pytest.mark.parametrize("off", [1e-7, 1e-2, -0.5])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_pendulum_of_any_size_is_refused_off_its_length_and_off_its_rates(length, off):
    """Closed form: q = L (0.6, -0.8) has the length L, and v along (0.8, 0.6) keeps it."""
    q, v = length * np.array([0.6, -0.8]), length * np.array([0.8, 0.6])
    system = pendulum(length)
    started(system, q, v)
    started(system, (1.0 + 1e-11) * q, v + 1e-11 * q)
    with pytest.raises(FormulationError, match=r"row 0 \(length\) of Phi is violated"):
        started(system, (1.0 + off) * q, (1.0 + off) * v)
    if abs(off) * length > 3e-14:  # m/s: less is rounding of a rate
        with pytest.raises(FormulationError, match=r"row 0 \(length\) of Phid is violated"):
            started(system, q, v + off * q)


@pytest.mark.parametrize("length", LENGTHS)
def test_what_consistent_state_returns_is_accepted(length):
    rng = np.random.default_rng(3)
    for _ in range(20):
        system = pendulum(length)
        q, v = consistent_state(system, length * (1.0 + rng.random(2)), length * rng.normal(size=2), 0.0)
        started(system, q, v)
        started(system, q, consistent_state(system, q, length * q / np.linalg.norm(q), 0.0)[1])  # rest, to rounding


def test_rounding_beside_a_singular_pose_is_no_violation():
    """Two rods in one line: the gradient of the second row is zero but for rounding, and so is what it misses."""
    rods = FunctionSystem(
        2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2),
        lambda q, t: [np.cos(q[0]) + np.cos(q[1]) - 2.0 + 1e-17],
    )  # fmt: skip
    demand_start(rods, SimpleNamespace(redundant=True), np.full(2, 1e-9), np.zeros(2), 0.0)
