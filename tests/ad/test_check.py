"""Sources vouch for each other, and a wrong one is named."""

import numpy as np
import pytest

from rtmbs.ad import operations as o
from rtmbs.ad import rules
from rtmbs.ad.errors import DerivativeMismatchError
from rtmbs.ad.sources import SOURCES, check_derivatives, derivatives
from rtmbs.errors import UnknownNameError

X = np.array([0.3, 0.8, 0.4])


def analytic(x, xp=np):
    return xp.stack((x[0] * xp.sin(x[1]), xp.exp(x[2]) / x[0]))


def test_all_sources_agree():
    everyone = ("trace", "forward", "reverse", "complex-step", "autograd-forward", "autograd-reverse", "differences")
    assert check_derivatives(analytic, X) == everyone
    batched = lambda x, xp: xp.stack((x[:, 0] * xp.sin(x[:, 1]), x[:, 2]), axis=1)  # noqa: E731
    assert check_derivatives(batched, X, batched=True) == everyone


def test_sources_that_do_not_apply_stay_away():
    assert check_derivatives(lambda x: np.abs(x) * np.maximum(x, 0.5), X) == (
        "trace",
        "forward",
        "reverse",
        "differences",
    )
    left = check_derivatives(lambda x, p: p * x**3, X, np.array([2.0]), leave_out=("complex-step",))
    assert left == ("trace", "forward", "reverse", "differences")


def test_inputs_of_very_different_sizes():
    def tyre(x):
        slip, load = x
        return load * np.sin(1.9 * np.arctan(10.0 * slip))

    assert "differences" in check_derivatives(tyre, np.array([0.1, 4000.0]))


def test_a_wrong_rule_is_found_and_named(monkeypatch):
    monkeypatch.setitem(rules.FACTORS, o.SIN, lambda a, r: (1.0001 * np.cos(a),))
    with pytest.raises(
        DerivativeMismatchError, match=r"analytic: .* disagrees about output 0 by input 1: trace "
    ) as error:
        check_derivatives(analytic, X)
    for name in ("forward", "reverse", "complex-step", "autograd-forward", "differences"):
        assert f"{name} 0.2" in str(error.value)


def test_a_function_that_is_not_what_was_recorded_is_found():
    """A function with hidden state: the tape is of the first call."""
    calls = []

    def drifting(x):
        calls.append(1)
        return x * (1.0 + len(calls))

    with pytest.raises(DerivativeMismatchError, match="drifting"):
        check_derivatives(drifting, X)


def test_not_a_number_is_no_agreement():
    def root(x):
        return np.sqrt(x - 0.3)

    with np.errstate(all="ignore"), pytest.raises(DerivativeMismatchError, match="output 0 by input 0"):
        check_derivatives(root, X)


@pytest.mark.parametrize("name", SOURCES)
def test_sources_by_name(name):
    made = derivatives(analytic, 3, source=name)
    np.testing.assert_allclose(made.jacobian(X), derivatives(analytic, 3).jacobian(X), rtol=1e-6)


def test_unknown_sources_list_the_nearest():
    with pytest.raises(UnknownNameError, match="complex-step"):
        derivatives(analytic, 3, source="complexstep")
