"""Derivatives of the user's functions against the complex step, and what is refused.

Mistakes in derivatives of constraints, told with the name of the row, and exact derivatives of FunctionSystem.
"""

import numpy as np
import pytest

from rtmbs.ad import DerivativeError
from rtmbs.dae import IDA, SolveIVP, integrate
from rtmbs.dae.contract import Motion
from rtmbs.dae.dynamics import derivative, linearised
from rtmbs.dae.runs import FirstOrderMotion
from rtmbs.errors import InputError
from rtmbs.formulations import QR, FormulationError, FunctionSystem, Partitioning, check_system, consistent_state
from rtmbs.formulations.contract import SystemWrapper
from rtmbs.formulations.function_system import rheonomic_double_pendulum, slider_crank
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of

STEP = 1e-40


def phi(q, t, xp=np):
    """Three rows of all sorts."""
    return [
        q[0] ** 2 * q[1] + xp.sin(q[2] * t),
        xp.exp(0.3 * q[0]) * xp.cos(q[1] - 2.0 * t) / (2.0 + q[2] ** 2),
        q[0] * q[1] * q[2] + t**3,
    ]


def system():
    return FunctionSystem(3, 3, lambda q, t: np.eye(3), lambda q, v, t: np.zeros(3), phi)


def along(f, x, direction):
    """Derivative of f along a direction, exact."""
    return np.array(f(x + 1j * STEP * direction)).imag / STEP


@pytest.mark.parametrize("seed", range(20))
def test_derivatives_against_the_complex_step(seed):
    rng = np.random.default_rng(seed)
    q, v, t = rng.normal(size=3), rng.normal(size=3), float(rng.normal())
    one, x, time = system(), np.append(q, t), np.eye(4)[3]

    def f(x):
        return phi(x[:3], x[3])

    np.testing.assert_allclose(one.constraints(q, t), phi(q, t), rtol=1e-14)
    columns = np.array([along(f, x, e) for e in np.eye(4)]).T
    np.testing.assert_allclose(one.constraint_jacobian(q, t), columns[:, :3], atol=1e-13)
    Phi_t, gamma = one.constraint_rate_terms(q, v, t)
    np.testing.assert_allclose(Phi_t, along(f, x, time), atol=1e-13)
    direction, h = np.append(v, 1.0), 1e-6
    second = (along(f, x + h * direction, direction) - along(f, x - h * direction, direction)) / (2.0 * h)
    np.testing.assert_allclose(gamma, -second, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_gamma_to_all_digits(seed):
    """Polynomials of degree two in q, t: the second difference along (v, 1) is exact but for rounding."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 4, 4))

    def square(q, t, xp=np):
        x = xp.concatenate((q, xp.stack([t])))
        return xp.stack([x @ a @ x for a in A])

    one = FunctionSystem(3, 2, lambda q, t: np.eye(3), lambda q, v, t: np.zeros(3), square)
    q, v, t = rng.normal(size=3), rng.normal(size=3), 0.3
    d = np.append(v, 1.0)
    wanted = -2.0 * np.array([d @ a @ d for a in A])
    np.testing.assert_allclose(one.constraint_rate_terms(q, v, t)[1], wanted, rtol=1e-12)


def test_constraints_are_called_once():
    calls = []

    def counted(q, t):
        calls.append(t)
        return [q[0] - t]

    one = FunctionSystem(2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2), counted)
    for t in (0.0, 1.0):
        np.testing.assert_allclose(one.constraints(np.array([3.0, 0.0]), t), [3.0 - t])
    assert len(calls) == 1


def test_one_number_is_one_row():
    one = FunctionSystem(1, 1, lambda q, t: np.eye(1), lambda q, v, t: np.zeros(1), lambda q, t: q[0] - t)
    np.testing.assert_allclose(one.constraints(np.array([3.0]), 1.0), [2.0])


def test_names_reach_the_sentences():
    assert rheonomic_double_pendulum().row_names == ["first rod", "second rod"]


def made(n=2, m=1, mass=lambda q, t: np.eye(2), force=lambda q, v, t: q, constraints=lambda q, t: [q[0]], **names):
    return lambda: FunctionSystem(n, m, mass, force, constraints, **names)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (made(n=0), "^n of a FunctionSystem is 0"),
        (made(n=2.5), "^n of a FunctionSystem is 2.5"),
        (made(m=-1), "^m of a FunctionSystem is -1"),
        (made(mass=np.eye(2)), "^mass of a FunctionSystem is a ndarray; a function is wanted"),
        (made(constraints=None), "^constraints of a FunctionSystem is a NoneType"),
        (made(m=2), r"^constraints\(q, t\) returned an array \(1,\); \(2,\) is wanted"),
        (made(constraints=lambda q, t: [[q[0], q[1]]]), r"^constraints\(q, t\) returned an array \(1, 2\)"),
        (made(row_names=["a", "b"]), "^row_names of a FunctionSystem has 2 names; 1 are wanted"),
        (made(coordinate_names=["a"]), "^coordinate_names of a FunctionSystem has 1 names; 2 are wanted"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_a_function_that_no_tape_can_hold():
    with pytest.raises(DerivativeError):
        made(constraints=lambda q, t: [q[0] if q[0] > 0 else q[1]])()


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
    equations.gain = equations.gain_of_steps()
    assert (equations.gain > 0.0) == several
    found = derivative(lambda x: equations.rates(0.3, x), y)
    np.testing.assert_allclose(equations.jacobian(0.3, y), found, atol=2e-5 * np.abs(found).max())


@pytest.mark.parametrize("recorded", [True, False])
def test_f_changes_with_the_matrix_only_for_a_solver_that_keeps_it(recorded):
    """The pull had followed every step: the matrix held another one, and CVODE swung down to steps of rounding."""
    system, q, v = moving()
    if not recorded:
        system.linearisation = None
    equations = FirstOrderMotion(Motion(system, q, v, 0.3), QR(), several=True, renews=True)
    y = equations.start + 1e-4
    equations.count, equations.step = 100, 0.01
    kept = equations.jacobian(0.3, y)
    before = equations.rates(0.3, y)
    unit = equations.unit
    for k in range(50):
        equations.stepped(0.3 + 1e-6 * (k + 1), y)
    assert equations.step < 1e-3
    equations.unit = unit  # the metric of the correction alone
    np.testing.assert_array_equal(equations.rates(0.3, y), before)
    found = derivative(lambda x: equations.rates(0.3, x), y)
    np.testing.assert_allclose(kept, found, atol=1e-3 * np.abs(found).max())
    new = equations.jacobian(0.3, y)
    found = derivative(lambda x: equations.rates(0.3, x), y)
    assert np.abs(found - kept).max() > 10.0
    np.testing.assert_allclose(new, found, atol=1e-3 * np.abs(found).max())


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


class Breathing:
    """A pendulum whose length goes with time, in units of length L and time S, its row times k; mistakes by keyword."""

    n, m = 2, 1

    def __init__(self, L, S, k, **mistakes):
        self.L, self.S, self.k, self.wrong = L, S, k, mistakes

    def mass(self, q, t):
        return np.eye(2)

    def force(self, q, v, t):
        return np.array([0.0, -9.81]) * self.L / self.S**2

    def constraints(self, q, t):
        return np.array([self.k * (q @ q - self.L**2 * (1.0 + 0.1 * np.sin(2.0 * t / self.S)))])

    def constraint_jacobian(self, q, t):
        return self.k * np.array([[2.0 * q[0] * (1.0 + self.wrong.get("Phi_q", 0.0)), 2.0 * q[1]]])

    def constraint_rate_terms(self, q, v, t):
        phase, pace = 2.0 * t / self.S, self.k * self.L**2
        steady, moving = self.wrong.get("Phi_tt", 0.0), self.wrong.get("gamma", 0.0)
        gamma = -2.0 * self.k * (v @ v) * (1.0 + moving) - pace * 0.4 / self.S**2 * np.sin(phase) * (1.0 + steady)
        return np.array([-pace * 0.2 / self.S * np.cos(phase) * (1.0 + self.wrong.get("Phi_t", 0.0))]), np.array(
            [gamma]
        )


@pytest.mark.parametrize("S", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("L", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_mistakes_are_found_in_any_units(L, S):
    """A gamma of zero passed for lengths of 1e5, and a missing term of Phi_t for 1e-3."""
    t, r = 0.5 * S, L * np.sqrt(1.0 + 0.1 * np.sin(1.0))
    q = r * np.array([0.6, -0.8])
    v = 0.5 * np.array([-q[1], q[0]]) / S + q / (q @ q) * L * L / S * 0.1 * np.cos(1.0)
    for k in (1e-6, 1.0, 1e6):
        for rates in (v, 0.0 * v):
            check_system(Breathing(L, S, k), q, rates, t)
            for what, shares in (
                ("Phi_q", [0.01]), ("Phi_t", [-1.0, 0.05]), ("gamma", [-1.0, 0.05, 1e-3]), ("Phi_tt", [-1.0, 0.05])
            ):  # fmt: skip
                for share in shares:
                    named = "gamma" if what == "Phi_tt" else what
                    with pytest.raises(FormulationError, match=rf"^row 0 of {named} is off by"):
                        check_system(Breathing(L, S, k, **{what: share}), q, rates, t)


@pytest.mark.parametrize("noise", [1e-12, 1e-9])
def test_right_systems_whose_numbers_are_rough_pass(noise):
    """Constraints from an iteration that stops early."""

    class Rough(Breathing):
        def constraints(self, q, t):
            return super().constraints(q, t) * (1.0 + noise * np.sin(1e9 * q[0])) + noise * np.sin(1e8 * (q[1] + t))

        def constraint_jacobian(self, q, t):
            return super().constraint_jacobian(q, t) * (1.0 + noise * np.sin(1e9 * q[1]))

    q = np.sqrt(1.0 + 0.1 * np.sin(1.0)) * np.array([0.6, -0.8])
    for v in (np.array([0.4, 0.3]), np.zeros(2)):
        check_system(Rough(1.0, 1.0, 1.0), q, v, 0.5)
        with pytest.raises(FormulationError, match="of gamma is off by"):
            check_system(Rough(1.0, 1.0, 1.0, gamma=0.05), q, v, 0.5)
