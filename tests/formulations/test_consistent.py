"""A consistent state near a given one."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.formulations import FormulationError, FunctionSystem, consistent_state
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_positions_and_rates_satisfy_the_constraints(where, count):
    system = system_of(where)
    for q, v in states(where, count):
        np.testing.assert_allclose(system.constraints(q, T), 0.0, atol=1e-11)
        Phi_t, _ = system.constraint_rate_terms(q, v, T)
        np.testing.assert_allclose(system.constraint_jacobian(q, T) @ v + Phi_t, 0.0, atol=1e-11)


def test_a_consistent_state_stays():
    q, v = states("rheonomic double pendulum", 1)[0]
    for found, given in zip(consistent_state(system_of("rheonomic double pendulum"), q, v, T), (q, v), strict=True):
        np.testing.assert_allclose(found, given, atol=1e-13)


def test_contradictions_name_the_row():
    def system(phi):
        return FunctionSystem(
            2, 2, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2), phi, row_names=["left", "right"]
        )

    with pytest.raises(FormulationError, match=r"^row \d \((left|right)\) of Phi is left at .* contradict each other"):
        consistent_state(system(lambda q, t: [q[0], q[0] - 1.0]), np.zeros(2), np.zeros(2), 0.0)
    with pytest.raises(FormulationError, match=r"^row \d \((left|right)\) of Phi_q v \+ Phi_t is left at"):
        consistent_state(system(lambda q, t: [q[0], q[0] - t]), np.zeros(2), np.zeros(2), 0.0)
    with pytest.raises(InputError, match=r"^q is an array \(2,\), not \(1,\)"):
        consistent_state(system(lambda q, t: [q[0], q[1]]), np.zeros(1), np.zeros(2), 0.0)


@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_the_state_found_is_the_nearest_one_by_the_weights(where):
    system, rng = system_of(where), np.random.default_rng(11)
    for q0, v0 in states(where, 6):
        weights, rate_weights = 10.0 ** rng.uniform(-1.0, 1.0, (2, system.n))
        near, fast = q0 + 0.02 * rng.normal(size=system.n), v0 + rng.normal(size=system.n)
        q, v = consistent_state(system, near, fast, T, weights, rate_weights)
        P = system.constraint_jacobian(q, T)
        for change, weight in ((q - near, weights), (v - fast, rate_weights)):
            lam = np.linalg.lstsq(P.T, weight * change, rcond=None)[0]  # stationary: W change is Phi_q^T lam
            np.testing.assert_allclose(P.T @ lam, weight * change, atol=1e-8 * np.abs(weight * change).max())


def test_the_nearest_point_of_a_circle_far_away():
    """Least changes one after the other end elsewhere: the weighted nearest point is not along the gradient."""
    system = FunctionSystem(2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2), lambda q, t: [q @ q - 1.0])
    weights, start = np.array([1.0, 9.0]), np.array([1.4, 0.9])
    q, _ = consistent_state(system, start, np.zeros(2), 0.0, weights)
    angles = np.linspace(0.0, 2.0 * np.pi, 200001)
    costs = weights @ (np.array([np.cos(angles), np.sin(angles)]) - start[:, None]) ** 2
    assert weights @ (q - start) ** 2 <= costs.min() * (1.0 + 1e-9)


def test_infinite_weights_keep_values():
    system = system_of("rheonomic double pendulum")
    q0, v0 = states("rheonomic double pendulum", 1)[0]
    weights = np.ones(system.n)
    weights[0] = np.inf
    moved = q0 + 1e-3
    q, v = consistent_state(system, moved, v0 + 0.1, T, weights, weights)
    assert q[0] == moved[0]
    assert v[0] == v0[0] + 0.1
    np.testing.assert_allclose(system.constraints(q, T), 0.0, atol=1e-11)
    with pytest.raises(FormulationError, match=r"of Phi is left at .*, values that are kept \(0, 1, 2, 3\) contradict"):
        consistent_state(system, moved, v0, T, np.full(system.n, np.inf))


@pytest.mark.parametrize("weights", [np.ones(3), np.zeros(4), -np.ones(4), np.full(4, np.nan), "heavy", None])
def test_bad_weights(weights):
    system = system_of("rheonomic double pendulum")
    q0, v0 = states("rheonomic double pendulum", 1)[0]
    given = [1.0, 2.0] if weights is None else weights
    with pytest.raises(InputError, match=r"^rate_weights are .*; 4 positive numbers are wanted, inf for a value that"):
        consistent_state(system, q0, v0, T, None, given)
