"""General equations F(t, y, y') = 0: closed forms, a chemical reaction, consistent starts, refusals."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtmbs.dae import ImplicitEquations, MotionError, solve_implicit
from rtmbs.errors import InputError
from rtmbs.formulations import FormulationError
from tests.dae.motions import skip_without


def robertson(t, y, yp):
    return [
        yp[0] + 0.04 * y[0] - 1e4 * y[1] * y[2],
        yp[1] - 0.04 * y[0] + 1e4 * y[1] * y[2] + 3e7 * y[1] ** 2,
        y[0] + y[1] + y[2] - 1.0,
    ]


@pytest.mark.parametrize("jacobian", ["trace", "differences"])
def test_robertsons_reaction_against_scipy(jacobian):
    skip_without("ida")
    equations = ImplicitEquations(robertson, 3, jacobian=jacobian, names=["A", "B", "C"])
    assert (equations.recorded is not None) == (jacobian == "trace")
    found = solve_implicit(equations, [1.0, 0.0, 0.7], t_end=40.0, h=10.0, atol=1e-12)
    right = solve_ivp(
        lambda t, y: [-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                      3e7 * y[1] ** 2],
        (0.0, 40.0), [1.0, 0.0, 0.0], "Radau", rtol=1e-11, atol=1e-14,
    ).y[:, -1]  # fmt: skip
    np.testing.assert_allclose(found["y"][-1], right, rtol=1e-6)
    np.testing.assert_allclose(found["A"][0], 1.0)
    np.testing.assert_allclose(found["C"][0], 0.0, atol=1e-12)  # 0.7 was a guess
    np.testing.assert_allclose(found["A.rate"][-1], -0.04 * right[0] + 1e4 * right[1] * right[2], rtol=1e-4)
    assert found.counts.evaluations > 0


@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
def test_a_circuit_against_its_closed_form(rtol):
    """C u' = i, R i + u = sin w t: index one, with an implicit row that mixes both."""
    skip_without("ida")
    R, C, w = 2.0, 0.3, 5.0
    found = solve_implicit(
        lambda t, y, yp: [C * yp[0] - y[1], R * y[1] + y[0] - np.sin(w * t)], [0.5, 0.0], t_end=2.0, h=0.5, rtol=rtol,
        atol=rtol,
    )  # fmt: skip
    tau, t = R * C, found["t"]
    a = 1.0 / (1.0 + (w * tau) ** 2)
    u = (0.5 + a * w * tau) * np.exp(-t / tau) + a * (np.sin(w * t) - w * tau * np.cos(w * t))
    np.testing.assert_allclose(found["y"][:, 0], u, atol=100 * rtol)
    np.testing.assert_allclose(found["y"][:, 1], (np.sin(w * t) - u) / R, atol=100 * rtol)


def test_the_stabilised_pendulum_of_index_two():
    skip_without("ida")

    def gear(t, y, yp):
        x, z, vx, vz, lam, mu = y
        return [
            yp[0] - vx + 2 * x * mu,
            yp[1] - vz + 2 * z * mu,
            yp[2] + 2 * x * lam,
            yp[3] + 2 * z * lam + 9.81,
            x**2 + z**2 - 1.0,
            2 * (x * vx + z * vz),
        ]

    equations = ImplicitEquations(gear, 6)
    lam = 9.0**2 / 2 + 9.81 / 2
    y, yp = equations.consistent([0.0, -1.0, 9.0, 0.0, lam, 0.0], [9.0, 0.0, 0.0, 81.0, 0.0, 0.0])
    np.testing.assert_allclose(y[:4], [0.0, -1.0, 9.0, 0.0])
    atol = np.array([1e-10] * 4 + [1e6] * 2)  # of errors of multipliers, which index two makes larger by 1/h
    found = solve_implicit(equations, y, yp, t_end=1.0, h=0.5, rtol=1e-9, atol=atol)
    angle = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 1), [0.0, 9.0], "DOP853", rtol=1e-12, atol=1e-13
    ).y[0, -1]
    np.testing.assert_allclose(found["y"][-1, :2], [np.sin(angle), -np.cos(angle)], atol=1e-6)


def test_consistent_values_of_a_nonlinear_row():
    equations = ImplicitEquations(lambda t, y, yp: [yp[0] * y[1] - 1.0, y[1] ** 3 + y[1] - y[0]], 2)
    y, yp = equations.consistent([10.0, 1.0])
    np.testing.assert_allclose(y, [10.0, 2.0], atol=1e-10)
    np.testing.assert_allclose(yp, [0.5, 0.0], atol=1e-10)
    y, _ = equations.consistent([9.0, 2.0], keep=[1])
    np.testing.assert_allclose(y, [10.0, 2.0], atol=1e-10)


def test_dependent_equations_are_named():
    equations = ImplicitEquations(lambda t, y, yp: [yp[0] + y[1], 2 * yp[0] + 2 * y[1], y[2] - y[0]], 3)
    with pytest.raises(FormulationError, match=r"equations \[[01]\] of F depend on the other rows at t = 0"):
        equations.consistent(np.ones(3))


def test_values_that_no_solution_has_are_told():
    equations = ImplicitEquations(lambda t, y, yp: [yp[0] - 1.0, y[1] ** 2 + 1.0], 2)
    with pytest.raises(FormulationError, match="equation 1 of F stays open"):
        equations.consistent([0.0, 1.0])


def test_a_jacobian_of_the_user_is_asked():
    asked = []

    def jacobian(t, y, yp):
        asked.append(t)
        return np.array([[1.0]]), np.array([[1.0]])

    skip_without("ida")
    found = solve_implicit(
        ImplicitEquations(lambda t, y, yp: [yp[0] + y[0]], 1, jacobian=jacobian), [1.0], t_end=1.0, h=1.0
    )
    np.testing.assert_allclose(found["y"][-1], np.exp(-1.0), atol=1e-6)
    assert len(asked) > 2


def test_a_failure_on_the_way_has_the_result_before():
    skip_without("ida")
    with pytest.raises(MotionError, match="IDA stopped after t = ") as caught:
        solve_implicit(
            lambda t, y, yp: [yp[0] - (np.nan if t > 0.5 else 1.0)], [0.0], t_end=1.0, h=0.1,
        )  # fmt: skip
    times = caught.value.result["t"]
    assert 0.3 < times[-1] <= 0.5
    np.testing.assert_allclose(caught.value.result["y"][:, 0], times, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n": 0}, "n is 0; a whole number of unknowns"),
        ({"n": 2, "jacobian": "magic"}, "jacobian is 'magic'; trace, differences or a function"),
        ({"n": 2, "differential": [2]}, r"differential is \[2\]; numbers from 0 to 1"),
        ({"n": 2, "names": ["a", "a"]}, "names are .*; 2 different ones"),
    ],
)
def test_bad_equations_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        ImplicitEquations(lambda t, y, yp: yp - y, **options)


def test_a_wrong_shape_is_refused():
    equations = ImplicitEquations(lambda t, y, yp: [yp[0]], 2, jacobian="differences")
    with pytest.raises(InputError, match=r"residual\(t, y, yp\) returned an array \(1,\); \(2,\) is wanted"):
        equations.consistent(np.zeros(2))


def test_a_failure_of_the_solver_is_told_by_the_error_alone(capsys):
    """y0 = t^2 with y0' = y1 is of index two; what the function itself prints stays."""
    pytest.importorskip("sksundae")

    def hidden(t, y, yp):
        print("asked")
        return [yp[0] - y[1], y[0] - t**2]

    with pytest.raises(MotionError, match=r"IDA failed before t = 0.5: .* Differentiate constraints of an index above"):
        solve_implicit(hidden, [0.0, 0.0], t_end=1.0, h=0.5)
    printed = capsys.readouterr().out
    assert "asked" in printed
    assert "Error" not in printed
    assert not printed.replace("asked\n", "")
