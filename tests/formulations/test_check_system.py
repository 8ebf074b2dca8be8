"""Mistakes in derivatives of constraints, told with the name of the row, and exact derivatives of FunctionSystem."""

import numpy as np
import pytest

from rtmbs.dae import IDA, SolveIVP, integrate
from rtmbs.dae.contract import Motion
from rtmbs.dae.first_order import FirstOrderMotion
from rtmbs.dae.linearisation import derivative, linearised
from rtmbs.formulations import QR, FormulationError, FunctionSystem, Partitioning, check_system, consistent_state
from rtmbs.formulations.contract import SystemWrapper
from rtmbs.formulations.function_system import rheonomic_double_pendulum, slider_crank
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of


class Wrong(SystemWrapper):
    """A system with one mistake."""

    def __init__(self, system, what):
        self.system, self.what, self.row_names = system, what, system.row_names

    def constraint_jacobian(self, q, t):
        found = self.system.constraint_jacobian(q, t).copy()
        if self.what == "Phi_q":
            found[1, 2] *= 1.01
        return found

    def constraint_rate_terms(self, q, v, t):
        Phi_t, gamma = self.system.constraint_rate_terms(q, v, t)
        return (1.01 * Phi_t if self.what == "Phi_t" else Phi_t), (0.9 * gamma if self.what == "gamma" else gamma)


def moving():
    system = rheonomic_double_pendulum()
    return system, *consistent_state(system, np.array([0.1, -1.0, 0.4, -1.8]), np.array([1.0, 0.3, -0.8, 0.2]), 0.3)


@pytest.mark.parametrize("name", [*MAKERS, *REDUNDANT])
def test_right_systems_pass(name):
    for q, v in states(name, 3):
        check_system(system_of(name), q, v, T)


@pytest.mark.parametrize("what", ["Phi_q", "Phi_t", "gamma"])
def test_a_mistake_is_told_with_its_row(what):
    system, q, v = moving()
    if what == "Phi_t":
        q, v = consistent_state(system, q, v, 0.0)
    with pytest.raises(
        FormulationError, match=rf"^row \d \((first|second) rod\) of {what} is off by .* correct {what}"
    ):
        check_system(Wrong(system, what), q, v, 0.0 if what == "Phi_t" else 0.3)


def test_integrate_tells_a_wrong_gamma_before_the_first_step():
    """It made an error of 2 % without a violation."""
    system, q, v = moving()
    with pytest.raises(FormulationError, match="of gamma is off by"):
        integrate(Wrong(system, "gamma"), SolveIVP(), q, v, 1.0, 0.1, t0=0.3)


def test_recorded_mass_and_force_have_the_derivatives_of_differences():
    rng = np.random.default_rng(7)
    system, q, v = moving()
    a, lam = rng.normal(size=4), rng.normal(size=2)
    exact = linearised(system, q, v, a, lam, 0.3)
    system.linearisation = None
    found = linearised(system, q, v, a, lam, 0.3)
    for name in ("K", "C"):
        np.testing.assert_allclose(getattr(exact, name), getattr(found, name), atol=1e-6)


@pytest.mark.parametrize("form", [Partitioning, QR])
@pytest.mark.parametrize("several", [False, True])
def test_the_jacobian_of_a_solver_is_that_of_differences(form, several):
    system, q, v = moving()
    motion = Motion(system, q, v, 0.3)
    equations = FirstOrderMotion(motion, form(), several)
    y = equations.start
    equations.count, equations.step = 100, 0.01
    found = derivative(lambda x: equations.rates(0.3, x), y)
    np.testing.assert_allclose(equations.jacobian(0.3, y), found, atol=2e-5 * np.abs(found).max())


def test_code_that_cannot_be_recorded_keeps_differences():
    system = slider_crank()
    system.force = lambda q, v, t: np.array([float(q[0]) ** 3, 0.0, -1.0, 0.0, 0.0])
    assert system.linearisation(np.ones(5), np.ones(5), np.ones(5), np.ones(4), 0.0) is None


def test_exact_derivatives_save_evaluations():
    """A stiff spring between two masses under IDA."""

    def system(force):
        return FunctionSystem(
            3, 1, lambda q, t: np.diag([1.0, 1.0, 0.1]), force, lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0]
        )

    def stiff(q, v, t):
        pull = 1e6 * (q[2] - q[0]) + 10.0 * (v[2] - v[0])
        return np.array([pull, -9.81, -pull])

    def hidden(q, v, t):  # the same numbers, which no record can hold
        pull = 1e6 * (float(q[2]) - float(q[0])) + 10.0 * (float(v[2]) - float(v[0]))
        return np.array([pull, -9.81, -pull])

    pytest.importorskip("sksundae")
    q, v = np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 1.0])
    exact, differences = (integrate(system(one), IDA(rtol=1e-6, atol=1e-8), q, v, 0.2, 0.1) for one in (stiff, hidden))
    np.testing.assert_allclose(exact.q[-1], differences.q[-1], atol=1e-4)
    assert exact.counts.evaluations < 0.8 * differences.counts.evaluations
