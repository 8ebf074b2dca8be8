"""What is particular to penalties, the augmented Lagrangian and Baumgarte's feedback."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtmbs.errors import InputError
from rtmbs.formulations import FORMULATIONS, QR, AugmentedLagrangian, Baumgarte, Direct, FormulationError, Penalty
from rtmbs.formulations.function_system import pendulum, rheonomic_double_pendulum
from tests.formulations.systems import REDUNDANT, T, Twice, states, system_of, wanted


def test_the_error_of_a_penalty_falls_with_its_size():
    for where in ("rheonomic double pendulum", "crank-rocker closed in space"):
        system = system_of(where)
        q, v = states(where, 4)[3]
        right = wanted(system, q, v, T)[0]
        errors = [np.abs(Penalty(c).accelerations(system, q, v, T)[0] - right).max() for c in (1e4, 1e6, 1e8)]
        np.testing.assert_allclose(errors[:-1], 100.0 * np.array(errors[1:]), rtol=0.05)


def test_the_augmented_lagrangian_does_not_ask_for_a_size():
    system = system_of("rheonomic double pendulum")
    q, v = states("rheonomic double pendulum", 4)[3]
    right, lam = wanted(system, q, v, T)
    for c in (1e1, 1e2, 1e4, 1e6):
        found = AugmentedLagrangian(c).accelerations(system, q, v, T)
        np.testing.assert_allclose(found[0], right, atol=1e-10 * np.abs(right).max())
        np.testing.assert_allclose(found[1], lam, atol=1e-15 * max(c, 1e4) * np.abs(lam).max())


def test_iterations_that_do_not_suffice_are_told():
    system = system_of("rheonomic double pendulum")
    q, v = states("rheonomic double pendulum", 4)[3]
    with pytest.raises(FormulationError, match=r"^no multipliers after 2 iterations; row \d \(.* rod\)"):
        AugmentedLagrangian(1.0, iterations=2).accelerations(system, q, v, T)
    with pytest.raises(InputError, match=r"^iterations of AugmentedLagrangian is 2.5"):
        AugmentedLagrangian(iterations=2.5)


@pytest.mark.parametrize("kind", [Penalty, AugmentedLagrangian])
def test_dependent_rows_share_their_force(kind):
    """Two times the same row, and three times: each takes its part, and the motion is the same."""
    system = Twice(rheonomic_double_pendulum())
    q, v = states("rheonomic double pendulum", 4)[3]
    a, lam = kind().accelerations(system, q, v, T)
    right, single = wanted(rheonomic_double_pendulum(), q, v, T)
    np.testing.assert_allclose(a, right, atol=1e-9 * np.abs(right).max())
    np.testing.assert_allclose(lam[:2] - 3.0 * lam[2:], single, rtol=1e-8)


def test_feedback_where_constraints_are_open():
    """Baumgarte, Penalty and the augmented Lagrangian answer Phidd = -2 alpha Phid - beta^2 Phi, phi_t included."""
    system, rng = rheonomic_double_pendulum(), np.random.default_rng(4)
    for _ in range(20):
        q, v = rng.normal(size=4), rng.normal(size=4)
        P, (Phi_t, gamma) = system.constraint_jacobian(q, T), system.constraint_rate_terms(q, v, T)
        want = -2.0 * 7.0 * (P @ v + Phi_t) - 9.0**2 * system.constraints(q, T)
        for method in (
            Baumgarte(7.0, 9.0),
            Baumgarte(7.0, 9.0, QR()),
            Penalty(1e13, 9.0, 7.0 / 9.0),
            AugmentedLagrangian(1e4, 9.0, 7.0 / 9.0),
        ):
            a, _ = method.accelerations(system, q, v, T)
            np.testing.assert_allclose(P @ a - gamma, want, atol=1e-8 * max(1.0, np.abs(want).max()))


@pytest.mark.parametrize("inner", FORMULATIONS)
def test_baumgarte_within_every_formulation(inner):
    system, method = rheonomic_double_pendulum(), Baumgarte(20.0, 20.0, FORMULATIONS[inner]())
    memory = method.memory()
    for q, v in states("rheonomic double pendulum", 20):
        np.testing.assert_allclose(
            method.accelerations(system, q, v, T, memory)[0], wanted(system, q, v, T)[0], rtol=1e-9, atol=1e-9
        )


def test_baumgarte_accepts_dependent_rows_as_the_formulation_within_does():
    assert Baumgarte(within=QR()).redundant
    assert not Baumgarte(within=Direct()).redundant
    for where in REDUNDANT:
        q, v = states(where, 1)[0]
        Baumgarte(within=QR()).accelerations(system_of(where), q, v, T)


def violation(method, t_end):
    """Largest |Phi| of the pendulum in the last second, RK45 at its own steps."""
    system, memory = pendulum(), method.memory()

    def rates(t, y):
        return np.concatenate((y[2:], method.accelerations(system, y[:2], y[2:], t, memory)[0]))

    found = solve_ivp(rates, (0.0, t_end), [1.0, 0.0, 0.0, 0.0], rtol=1e-5, atol=1e-7)
    return np.abs([system.constraints(y[:2], 0.0) for y in found.y.T[found.t > t_end - 1.0]]).max()


@pytest.mark.slow
def test_direct_integration_drifts_and_baumgarte_does_not():
    drift = [violation(Direct(), t) for t in (5.0, 20.0)]
    assert drift[1] > 5.0 * drift[0] > 1e-5
    assert violation(Baumgarte(), 20.0) < 0.02 * drift[1]
