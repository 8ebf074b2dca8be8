"""The closed response of the violation against numerical integration, and the picture of it."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from rtmbs.errors import InputError
from rtmbs.formulations import Disturbance, error_response, plot_error_response, transfer_function
from rtmbs.formulations.stabilisation import (
    SEED_GAINS,
    damping_case,
    measured_response,
    measured_systems,
    unit_rate_state,
)

CASES = [*SEED_GAINS, (20.0, 20.0 * (1 + 1e-9)), (20.0, 20.0 * (1 - 1e-9)), (500.0, 0.1), (0.01, 300.0)]
GAINS = pytest.mark.parametrize(("alpha", "beta"), CASES)


@GAINS
@pytest.mark.parametrize(
    "disturbance", [Disturbance(rate=1.0), Disturbance(1.0), Disturbance(constant=3.0), Disturbance(0.3, -2.0, 5.0)]
)
def test_closed_form_against_integration(alpha, beta, disturbance):
    t = np.linspace(0.0, 0.7, 71)

    def rates(_, e):
        return e[1], disturbance.constant - 2.0 * alpha * e[1] - beta**2 * e[0]

    wanted = solve_ivp(rates, (0.0, t[-1]), disturbance[:2], "DOP853", t, rtol=1e-12, atol=1e-14).y[0]
    np.testing.assert_allclose(error_response(alpha, beta, t, disturbance), wanted, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize(("alpha", "beta"), CASES[:5])  # the others decay too slowly for the integral
def test_the_transfer_function_is_the_transform_of_the_impulse_response(alpha, beta):
    for s in (3.0, 30.0):
        found = quad(lambda t, s=s: np.exp(-s * t) * error_response(alpha, beta, t), 0.0, 8.0, limit=400)[0]
        np.testing.assert_allclose(found, transfer_function(alpha, beta, s), rtol=1e-7)


def test_a_constant_disturbance_is_never_zero():
    np.testing.assert_allclose(error_response(20.0, 10.0, 50.0, Disturbance(constant=4.0)), 4.0 / 10.0**2, rtol=1e-12)


def test_shapes_and_cases():
    assert error_response(1.0, 2.0, 0.5).shape == ()
    assert error_response(1.0, 2.0, np.zeros((3, 2))).shape == (3, 2)
    assert [damping_case(*gains) for gains in SEED_GAINS] == ["oscillating", "critical", "creeping"]


@pytest.mark.parametrize(("alpha", "beta"), SEED_GAINS)
def test_measured_systems_follow_the_closed_form(alpha, beta):
    t = np.linspace(0.0, 0.6, 31)
    for _, system, q, _ in measured_systems():
        found = measured_response(system, alpha, beta, *unit_rate_state(system, q), t)
        np.testing.assert_allclose(found, error_response(alpha, beta, t), atol=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: error_response(-1.0, 2.0, 0.1), "^alpha is -1.0; a finite number above 0 1/s is wanted"),
        (lambda: error_response(1.0, 0.0, 0.1), "^beta is 0.0"),
        (lambda: error_response(1.0, np.nan, 0.1), "^beta is nan"),
        (lambda: error_response(1.0, 2.0, -0.1), "^t of error_response holds a time"),
        (lambda: error_response(1.0, 2.0, [0.0, np.nan]), "^t of error_response holds a time"),
        (lambda: error_response(1.0, 2.0, 0.1, Disturbance(np.inf)), "^disturbance is"),
        (lambda: transfer_function(1.0, -2.0, 1j), "^beta is -2.0"),
        (lambda: plot_error_response(20.0), "^plot_error_response got one gain of two"),
        (lambda: plot_error_response(20.0, -20.0), "^beta is -20.0"),
        (lambda: plot_error_response(t_end=0.0), "^t_end is 0.0"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_the_picture_has_a_panel_for_each_pair(tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot_error_response(t_end=0.2)
    assert len(figure.axes) == 3
    assert all(len(panel.lines) == 4 for panel in figure.axes)
    figure.savefig(tmp_path / "response.png")
    assert len(plot_error_response(5.0, 9.0, t_end=0.1).axes) == 1
    assert "drifting" in plot_error_response(0.0, 0.0, t_end=0.1).axes[0].get_title()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'rtmbs\[plot\]'"):
        plot_error_response(20.0, 20.0)


def test_without_feedback_an_impulse_grows_with_time():
    """1 / s^2, which Baumgarte's method begins with."""
    t = np.linspace(0.0, 3.0, 7)
    np.testing.assert_allclose(error_response(0.0, 0.0, t), t)
    found = error_response(0.0, 0.0, t, Disturbance(position=0.5, constant=2.0))
    np.testing.assert_allclose(found, 0.5 + t**2)
    assert (transfer_function(0.0, 0.0, 2j), damping_case(0.0, 0.0)) == (-0.25, "drifting")
    for _, system, q, _ in measured_systems():
        drift = measured_response(system, 0.0, 0.0, *unit_rate_state(system, q), t[:2])
        np.testing.assert_allclose(drift, t[:2], atol=1e-9)
    with pytest.raises(InputError, match=r"^alpha is 0.0"):
        error_response(0.0, 2.0, t)
