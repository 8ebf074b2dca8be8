"""Derivatives of the user's functions against the complex step, and what is refused."""

import numpy as np
import pytest

from rtmbs.ad import DerivativeError
from rtmbs.errors import InputError
from rtmbs.formulations import FunctionSystem
from rtmbs.formulations.function_system import rheonomic_double_pendulum

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
