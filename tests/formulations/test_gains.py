"""Gains and their bounds, against steps of the methods themselves."""

import numpy as np
import pytest
from scipy.integrate import RK45

from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import (
    STABILITY,
    Disturbance,
    critical_gains,
    error_response,
    gain_bound,
    gains_for_method,
    gains_for_step,
)
from tests.cases import spread

TABLEAUX = {  # A, b
    "euler": ([[0.0]], [1.0]),
    "heun": ([[0, 0], [1, 0]], [0.5, 0.5]),
    "runge-kutta-3": ([[0, 0, 0], [0.5, 0, 0], [-1, 2, 0]], [1 / 6, 4 / 6, 1 / 6]),
    "runge-kutta-4": ([[0] * 4, [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    "dormand-prince-5": (RK45.A, RK45.B),
}


def violation(method, alpha, beta, steps):
    """Largest |e| of the last tenth of ``steps`` steps of h = 1 from e = 1, e' = 0.3."""
    A = np.array([[0.0, 1.0], [-(beta**2), -2.0 * alpha]])
    if method in TABLEAUX:
        a, b = (np.array(part, float) for part in TABLEAUX[method])
        a = np.pad(a, ((0, 0), (0, len(b) - a.shape[1])))
        y, found = np.array([1.0, 0.3]), []
        for _ in range(steps):
            k = np.zeros((len(b), 2))
            for i in range(len(b)):
                k[i] = A @ (y + a[i] @ k)
            y = y + b @ k
            found.append(abs(y[0]))
        return max(found[-steps // 10 :])
    weights = {"2": (3 / 2, -1 / 2), "3": (23 / 12, -16 / 12, 5 / 12), "4": (55 / 24, -59 / 24, 37 / 24, -9 / 24)}
    b, y, found = weights[method[-1]], np.array([1.0, 0.3]), []
    past = [A @ y] * len(b[1:])
    for _ in range(steps):
        past = [A @ y, *past][: len(b)]
        y = y + np.array(b) @ np.array(past)
        found.append(abs(y[0]))
    return max(found[-steps // 10 :])


@pytest.mark.parametrize("ratio", spread([0.5, 1.0, 1.5, 2.0], 2))
@pytest.mark.parametrize("method", STABILITY)
def test_bounds_are_where_steps_begin_to_grow(method, ratio):
    bound = gain_bound(method, ratio)
    assert bound > 0.0
    assert violation(method, 0.98 * bound, 0.98 * bound * ratio, 3000) < 1e-6
    assert not violation(method, 1.02 * bound, 1.02 * bound * ratio, 3000) < 1e3


@pytest.mark.parametrize(("method", "known"), [("runge-kutta-4", 2.7853), ("heun", 2.0), ("euler", 2.0)])
def test_published_bounds(method, known):
    """METHODS 1.22."""
    np.testing.assert_allclose(gain_bound(method), known, atol=1e-4)


def test_critical_gains_settle_in_time():
    for settling, left in ((0.5, 1e-2), (3.0, 1e-6), (1.0, 0.9)):
        alpha, beta = critical_gains(settling, left)
        assert alpha == beta
        np.testing.assert_allclose(error_response(alpha, beta, settling, Disturbance(1.0)), left, rtol=1e-9)


def test_gains_by_the_step():
    assert gains_for_step(1e-3) == (20.0, 20.0)
    assert gains_for_step(0.1) == (2.5, 2.5)
    np.testing.assert_allclose(gains_for_step(0.01, taylor=True), (100.0, 141.4213562), rtol=1e-8)


def test_gains_by_the_method():
    np.testing.assert_allclose(gains_for_method(0.01, share=1.0), (278.53, 278.53), rtol=1e-4)
    alpha, beta = gains_for_method(0.01, "heun", ratio=2.0)
    np.testing.assert_allclose(beta, 2.0 * alpha)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: critical_gains(0.0), "^settling is 0.0"),
        (lambda: critical_gains(1.0, 1.0), "^left is 1; a share"),
        (lambda: gains_for_step(-1.0), "^h is -1.0"),
        (lambda: gains_for_method(np.nan), "^h is nan"),
        (lambda: gains_for_method(0.1, share=2.0), "^share is 2; gains beyond the bound"),
        (lambda: gain_bound("heun", -1.0), "^ratio is -1.0"),
        (lambda: gain_bound("heun", "one"), "^ratio is 'one'"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_an_unknown_method_lists_the_known():
    with pytest.raises(UnknownNameError, match="did you mean 'runge-kutta-4'"):
        gain_bound("runge-kutta4")
