"""Every source of derivatives against closed forms and against the theory of its own error.

Sources vouch for each other, and a wrong one is named.
"""

import numpy as np
import pytest

from rtmbs.ad import derivative_graph
from rtmbs.ad import operations as o
from rtmbs.ad.function_sources import Autograd, ComplexStep, FiniteDifference
from rtmbs.ad.sources import SOURCES, check_derivatives, derivatives
from rtmbs.errors import DerivativeError, DerivativeMismatchError, UnknownNameError


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


AT = np.array([0.3, 0.8, 0.4])


def analytic(x, xp=np):
    return xp.stack((x[0] * xp.sin(x[1]), xp.exp(x[2]) / x[0]))


def test_all_sources_agree():
    everyone = ("trace", "forward", "reverse", "complex-step", "autograd-forward", "autograd-reverse", "differences")
    assert check_derivatives(analytic, AT) == everyone
    batched = lambda x, xp: xp.stack((x[:, 0] * xp.sin(x[:, 1]), x[:, 2]), axis=1)  # noqa: E731
    assert check_derivatives(batched, AT, batched=True) == everyone


def test_sources_that_do_not_apply_stay_away():
    assert check_derivatives(lambda x: np.abs(x) * np.maximum(x, 0.5), AT) == (
        "trace",
        "forward",
        "reverse",
        "differences",
    )
    left = check_derivatives(lambda x, p: p * x**3, AT, np.array([2.0]), leave_out=("complex-step",))
    assert left == ("trace", "forward", "reverse", "differences")


def test_inputs_of_very_different_sizes():
    def tyre(x):
        slip, load = x
        return load * np.sin(1.9 * np.arctan(10.0 * slip))

    assert "differences" in check_derivatives(tyre, np.array([0.1, 4000.0]))


def test_a_wrong_rule_is_found_and_named(monkeypatch):
    monkeypatch.setitem(derivative_graph.FACTORS, o.SIN, lambda a, r: (1.0001 * np.cos(a),))
    with pytest.raises(
        DerivativeMismatchError, match=r"analytic: .* disagrees about output 0 by input 1: trace "
    ) as error:
        check_derivatives(analytic, AT)
    for name in ("forward", "reverse", "complex-step", "autograd-forward", "differences"):
        assert f"{name} 0.2" in str(error.value)


def test_a_function_that_is_not_what_was_recorded_is_found():
    """A function with hidden state: the tape is of the first call."""
    calls = []

    def drifting(x):
        calls.append(1)
        return x * (1.0 + len(calls))

    with pytest.raises(DerivativeMismatchError, match="drifting"):
        check_derivatives(drifting, AT)


def test_not_a_number_is_no_agreement():
    def root(x):
        return np.sqrt(x - 0.3)

    with np.errstate(all="ignore"), pytest.raises(DerivativeMismatchError, match="output 0 by input 0"):
        check_derivatives(root, AT)


@pytest.mark.parametrize("name", SOURCES)
def test_sources_by_name(name):
    made = derivatives(analytic, 3, source=name)
    np.testing.assert_allclose(made.jacobian(AT), derivatives(analytic, 3).jacobian(AT), rtol=1e-6)


def test_unknown_sources_list_the_nearest():
    with pytest.raises(UnknownNameError, match="complex-step"):
        derivatives(analytic, 3, source="complexstep")
