"""Every source of derivatives against closed forms and against the theory of its own error."""

import numpy as np
import pytest

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.function_sources import Autograd, ComplexStep, FiniteDifference


def spiral(x, xp=np):
    """R^3 -> R^4; rows of a batch never mix."""
    a, b, c = x[..., 0], x[..., 1], x[..., 2]
    return xp.stack((a * xp.sin(b), xp.exp(c) / a, b * b * c, xp.sqrt(a * a + c * c)), axis=-1)


def spiral_jacobian(x):
    a, b, c = x
    r = np.hypot(a, c)
    return np.array(
        [
            [np.sin(b), a * np.cos(b), 0.0],
            [-np.exp(c) / a**2, 0.0, np.exp(c) / a],
            [0.0, 2 * b * c, b * b],
            [a / r, 0.0, c / r],
        ]
    )


X = np.array([1.3, 0.4, -0.7])
EXACT = [ComplexStep, Autograd, lambda f, n, **options: Autograd(f, n, mode="forward", **options)]
DIFFERENCES = {"forward": 3e-7, "scaled": 3e-7, "central": 1e-9}


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("source", EXACT)
def test_exact_sources_give_the_closed_form(source, batched):
    made = source(spiral, 3, batched=batched)
    np.testing.assert_allclose(made.jacobian(X), spiral_jacobian(X), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(made.value(X), spiral(X))
    assert (made.m, made.n) == (4, 3)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("scheme", DIFFERENCES)
def test_differences_are_as_good_as_their_theory(scheme, batched):
    made = FiniteDifference(spiral, 3, scheme=scheme, batched=batched)
    error = np.abs(made.jacobian(X) - spiral_jacobian(X)).max()
    assert error < DIFFERENCES[scheme]


def test_central_differences_are_of_second_order():
    errors = []
    for typical in (1e3, 2e3):  # increments far above rounding, so that truncation alone is seen
        J = FiniteDifference(spiral, 3, scheme="central", typical=typical).jacobian(X)
        errors.append(np.abs(J - spiral_jacobian(X)).max())
    assert errors[1] / errors[0] == pytest.approx(4.0, rel=0.05)


def test_the_increment_is_what_is_stored():
    """METHODS 1.19: without re-forming, 1e-8 added to 1e6 is wrong by 1e-3."""
    line = FiniteDifference(lambda x: 3.0 * (x - 1e6), 1)
    assert line.jacobian(np.array([1e6]))[0, 0] == pytest.approx(3.0, rel=1e-12)
    naive = 3.0 * ((1e6 + 1e-8) - 1e6) / 1e-8
    assert abs(naive - 3.0) > 1e-3


def test_an_increment_lost_in_rounding_is_an_error():
    with pytest.raises(DerivativeError, match="input 1"):
        FiniteDifference(lambda x: x, 2).jacobian(np.array([0.0, 1e12]))


@pytest.mark.parametrize("source", [FiniteDifference, ComplexStep])
def test_a_pattern_compresses_the_calls(source):
    """A tridiagonal function of 50 inputs needs three colours, so three moved points."""
    n, points = 50, []

    def chain(x):
        points.append(len(x))
        left = np.concatenate((0 * x[:, :1], x[:, :-1]), axis=1)
        right = np.concatenate((x[:, 1:], 0 * x[:, :1]), axis=1)
        return x * x - left * right

    x = np.linspace(0.5, 1.5, n)
    pattern = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    made = source(chain, n, n, pattern=pattern, batched=True)
    assert made.compression.colours == 3
    J = made.jacobian(x)
    assert sum(points) <= 4
    full = source(chain, n, n, batched=True).jacobian(x)
    np.testing.assert_allclose(J, full, atol=1e-6)
    assert not J[~pattern].any()


def test_parameters_reach_the_function():
    def f(x, p):
        return p * x * x

    p = np.array([2.0, 5.0])
    for source in (FiniteDifference, ComplexStep, Autograd):
        np.testing.assert_allclose(source(f, 2).jacobian(np.ones(2), p), np.diag(2 * p), rtol=1e-7)


def test_wrong_shapes_name_the_function():
    with pytest.raises(DerivativeError, match="spiral takes 3 inputs"):
        ComplexStep(spiral, 3).jacobian(np.zeros(2))
    with pytest.raises(DerivativeError, match=r"spiral returned 4 outputs, 5 are expected"):
        ComplexStep(spiral, 3, 5).jacobian(X)
    with pytest.raises(DerivativeError, match="shape"):
        FiniteDifference(spiral, 3, pattern=np.ones((4, 2)))


def test_a_function_that_drops_imaginary_parts_is_found():
    with pytest.raises(DerivativeError, match="real numbers"):
        ComplexStep(lambda x: np.abs(x), 2).jacobian(np.ones(2))


def test_unknown_options_list_the_known_ones():
    with pytest.raises(DerivativeError, match="forward, scaled, central"):
        FiniteDifference(spiral, 3, scheme="backward")
    with pytest.raises(DerivativeError, match="reverse, forward"):
        Autograd(spiral, 3, mode="sideways")
