"""Methods that choose their own steps: errors against closed forms, rejected steps, refusals, and a Simulation."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import (
    HHT,
    ODAE,
    GeneralisedAlpha,
    HalfExplicit,
    Index3Lagrangian,
    MotionError,
    RadauGGL,
    SolveIVP,
    TangentSpace,
    integrate,
)
from rtmbs.dae.contract import Motion
from rtmbs.dae.multistep import backward_difference, uneven_adams, uneven_backward_difference
from rtmbs.dae.newmark import AlphaFamily
from rtmbs.dae.newton import StepControl, Tolerances
from rtmbs.errors import InputError
from rtmbs.formulations import FunctionSystem
from rtmbs.methods import Capability, capabilities_of
from tests.cases import spread
from tests.dae.motions import start_of
from tests.dae.test_adaptive_solvers import exact, pendulum
from tests.dae.test_force_states import closed_form, maxwell

OWN = {  # a method, and what its error may be in tolerances after SPAN of a pendulum that turns over
    "radau-ggl": (RadauGGL(), (1e-5, 1e-8), 2e3),
    "half-explicit": (HalfExplicit(), (1e-5, 1e-8), 1e4),
    "odae": (ODAE(4), (1e-4, 1e-7), 2e4),
    "bdf": (TangentSpace("bdf", 3), (1e-3, 1e-5), 2e4),
    "adams": (TangentSpace("adams", 4), (1e-4, 1e-6), 2e4),
    "generalised-alpha": (GeneralisedAlpha(), (1e-3, 1e-5), 1e4),
    "generalised-alpha 2": (GeneralisedAlpha(index=2), (1e-3, 1e-5), 2e4),
    "hht": (HHT(), (1e-3, 1e-5), 2e4),
    "hht 2": (HHT(index=2), (1e-3, 1e-5), 2e4),
    "index-3-lagrangian": (Index3Lagrangian(), (1e-3, 1e-5), 2e4),
}
ALL = pytest.mark.parametrize("name", OWN)
FEW = pytest.mark.parametrize("name", spread(OWN, 3))
SPAN = 2.0  # [s]


def over(name, tolerance):
    return replace(OWN[name][0], rtol=tolerance, atol=tolerance)


def swung(method, samples=6, span=SPAN, rows=1):
    return integrate(pendulum(rows), method, np.array([0.0, -1.0]), np.array([9.0, 0.0]), span, span / samples)


def swing_errors(found):
    return float(np.abs(found.q - [exact(t) for t in found.t]).max())


@FEW
def test_errors_follow_the_tolerance_against_the_equation_of_the_angle(name):
    _, tolerances, allowed = OWN[name]
    found = [swung(over(name, tolerance)) for tolerance in tolerances]
    errors = [swing_errors(one) for one in found]
    for tolerance, error, one in zip(tolerances, errors, found, strict=True):
        assert error < allowed * tolerance, (name, tolerance, errors)
        assert one.violations[:, 0].max() < 1e-10
    assert errors[1] < errors[0] * (tolerances[1] / tolerances[0]) ** 0.5, errors
    assert found[1].counts.steps > 1.5 * found[0].counts.steps


@FEW
def test_samples_change_nothing_of_the_steps(name):
    few, many = (swung(over(name, 1e-4), samples, 1.0) for samples in (2, 50))
    assert few.counts.steps == many.counts.steps
    np.testing.assert_array_equal(few.q[-1], many.q[-1])
    np.testing.assert_array_equal(few.q[1], many.q[25])


@FEW
def test_a_row_that_is_there_twice(name):
    one, two = (swung(over(name, 1e-4), 4, 1.0, rows) for rows in (1, 2))
    assert two.lam.shape == (5, 2)
    np.testing.assert_allclose(one.q, two.q, atol=2e-4)
    np.testing.assert_allclose(one.lam[:, 0], two.lam.sum(axis=1), atol=1e-1)


@pytest.mark.parametrize("name", spread(OWN, 1))
def test_force_states_against_the_closed_form(name):
    model, A, b, y = maxwell()
    system = rtmbs.formulations.JointCoordinates(model.compile())
    found = integrate(system, over(name, 1e-6), np.array(y[:1]), np.array(y[1:2]), 0.8, 0.1)
    expected = np.array([closed_form(A, b, y, t) for t in found.t])
    assert np.abs(np.column_stack((found.q, found.v, found.s)) - expected).max() < 3e-3
    finer = integrate(system, over(name, 1e-8), np.array(y[:1]), np.array(y[1:2]), 0.8, 0.1)
    left = [np.abs(np.column_stack((one.q, one.v, one.s)) - expected).max() for one in (found, finer)]
    assert left[1] < 0.5 * left[0], left


@ALL
def test_a_rejected_step_leaves_no_trace(name):
    """The accepted steps alone, taken one by one, give the same numbers."""
    method = over(name, 1e-5)
    system, q, v = start_of("slider-crank in bodies")
    times = np.array([0.0, 0.4])
    run = method.run(Motion(system, q, v), times)
    run.h = 1.0
    tried, trial = [], run.own.trial
    run.own.trial = lambda past, t, h: (tried.append(t), trial(past, t, h))[1]
    points = [run.start]
    for _ in range(10000):
        points.append(run.advance(0.4).end)
        if points[-1].t >= 0.4:
            break
    accepted = [point.t for point in points[1:]]
    again = method.run(Motion(system, q, v), times)
    for right, t in zip(points[1:], accepted, strict=True):
        point, _ = again.own.trial(again.past, t, t - again.past[0].t)
        again.take(point)
        np.testing.assert_array_equal(point.q, right.q)
        np.testing.assert_array_equal(point.v, right.v)
    assert len(tried) > len(accepted)  # some were rejected


@pytest.mark.parametrize("name", ["radau-ggl", "half-explicit", "generalised-alpha"])
def test_a_tolerance_out_of_reach_is_told(name):
    system = pendulum()
    system.force = lambda q, v, t: np.array([np.nan if t > 0.5 else 0.0, -9.81])
    with pytest.raises(MotionError, match=r"does not reach rtol = .*at t = 0\.[45].*take larger tolerances") as caught:
        integrate(system, over(name, 1e-4), np.array([0.0, -1.0]), np.array([1.0, 0.0]), 1.0, 0.1)
    assert caught.value.result.t[-1] <= 0.5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rtol": 0.0}, "rtol is 0.0; a finite number above 0"),
        ({"rtol": 1e-16}, "rtol is 1e-16, below rounding"),
        ({"rtol": 1e-6, "atol": -1.0}, "atol is -1.0"),
        ({"atol": 1e-6}, "atol of .* is 1e-06 without rtol"),
        ({"rtol": "small"}, "rtol is 'small'"),
    ],
)
@ALL
def test_bad_tolerances_are_refused(name, options, says):
    with pytest.raises(InputError, match=says):
        replace(OWN[name][0], **options)


@ALL
def test_a_method_by_tolerance_has_no_order(name):
    fixed, own = OWN[name][0], over(name, 1e-6)
    assert fixed.orders is not None
    assert own.orders is None
    assert Capability.REFINED in capabilities_of(fixed)
    assert Capability.REFINED not in capabilities_of(own)
    with pytest.raises(InputError, match=r"has order None; refined needs a method whose order"):
        rtmbs.refined(rtmbs.library.build("slider_crank").compile(), 1e-3, 0.01, method=own)


@pytest.mark.parametrize("index", [1, 4, True, 2.0])
def test_other_indices_are_refused(index):
    with pytest.raises(InputError, match=r"index of HHT is .*; a whole number from 2 to 3 is wanted"):
        HHT(index=index)


def test_index_two_holds_the_rates_too():
    for kind in (HHT, GeneralisedAlpha):
        three, two = (swung(kind(index=index, rtol=1e-4), 4, 1.0).violations.max(axis=0) for index in (3, 2))
        assert three[1] > 1e-6
        assert two[0] < 1e-12
        assert two[1] < 1e-11


def stepped(method, h, forgetful=False):
    sim = rtmbs.Simulation(rtmbs.library.build("slider_crank").compile(), h, method)
    evaluations = 0
    for _ in range(round(0.1 / h)):
        report = sim.step()
        assert report.outcome.accepted, report.reason
        evaluations += report.evaluations
        if forgetful:
            sim.state.memory["known"][:] = 0.0
    return sim, evaluations


@pytest.mark.parametrize("name", ["radau-ggl", "odae", "adams", "generalised-alpha", "half-explicit"])
def test_a_simulation_keeps_step_and_history(name):
    """Where each step of the Simulation began anew, the work was far more."""
    method = over(name, 1e-8 if name in ("radau-ggl", "half-explicit") else 1e-5)
    right = stepped(SolveIVP("DOP853", rtol=1e-11, atol=1e-12), 0.05)[0].state
    (kept, few), (_, many) = (stepped(method, 0.01, forgetful) for forgetful in (False, True))
    np.testing.assert_allclose(kept.state.z, right.z, atol=3e-4)
    if name in ("radau-ggl", "half-explicit", "generalised-alpha"):  # others begin by explicit steps of order five
        assert few < many, (few, many)
    assert kept.state.memory["known"][0] == max(method.depth, 1)
    assert 0.0 < kept.state.memory["control"][0] < 1.0


@pytest.mark.parametrize("solver", ["DOP853", "RK45"])
def test_solvers_of_one_step_keep_their_step(solver):
    (kept, few), (_, many) = (stepped(SolveIVP(solver), 0.02, forgetful) for forgetful in (False, True))
    assert few < many
    assert kept.state.memory["control"][0] > 0.0


def test_uneven_formulas_equal_those_of_equal_steps():
    times = 1.0 - 0.1 * np.arange(5)
    for k in range(1, 5):
        formula, (a, b) = uneven_backward_difference(k, times, 1.1), backward_difference(k)
        np.testing.assert_allclose(formula.a, a, rtol=1e-12)
        np.testing.assert_allclose(formula.last, 0.1 * b, rtol=1e-12)


@pytest.mark.parametrize("make", [uneven_backward_difference, uneven_adams])
def test_uneven_formulas_and_their_estimates_are_exact_for_polynomials(make):
    """Degree k without an error, and degree k + 1 with the estimated one."""
    times, t = np.array([1.0, 0.93, 0.8, 0.71, 0.5, 0.42]), 1.17
    for k in range(1, 6):
        formula = make(k, times[: k + 1] if make is uneven_backward_difference else times[:k], t)
        for degree in range(k + 2):
            places, slopes = times[:, None] ** degree, degree * times[:, None] ** max(degree - 1, 0)
            new = formula.known(places, slopes) + formula.last * degree * t ** max(degree - 1, 0)
            error = t**degree - new
            if degree <= k:
                assert abs(error[0]) < 1e-12
            np.testing.assert_allclose(formula.estimate(new, places, slopes), error, atol=1e-11)


def test_constants_of_newmarks_local_errors():
    """One step of q'' = j t: by Newmark's formulas with A at delta h, against t^3 / 6."""
    for family in (AlphaFamily(0.0, 0.1, 0.3025), AlphaFamily(1 / 3, 4 / 9, 0.3)):
        of_q, of_v = family.error_constants
        h, delta, gamma = 0.1, family.alpha_m - family.alpha_f, family.gamma
        A, new = delta * h, (1.0 + delta) * h
        assert abs(h * h * ((0.5 - family.beta) * A + family.beta * new) - h**3 / 6.0 - of_q * h**3) < 1e-15
        A, new = (delta * h) ** 2 / 2.0, ((1.0 + delta) * h) ** 2 / 2.0
        assert abs(h * ((1.0 - gamma) * A + gamma * new) - h**3 / 6.0 - of_v * h**3) < 1e-15


def test_the_controller():
    control = StepControl(4)
    assert control.accepted(0.1, 1.0) == pytest.approx(0.09)
    assert control.accepted(0.1, 1e-30) <= 0.5
    shorter = control.rejected(0.1, 16.0)
    assert shorter == pytest.approx(0.1 * 0.9 / 2.0)
    assert control.rejected(0.1, np.inf) == pytest.approx(0.025)
    assert control.accepted(0.1, 1e-6) == 0.1  # no growth behind a rejection
    steady = StepControl(4, steady=True)
    assert steady.accepted(0.1, 0.4) == 0.1


def test_the_norm_of_an_estimate():
    system, q, v = start_of("pendulum in x, y")
    point = RadauGGL().run(Motion(system, q, v), np.array([0.0, 1.0])).start
    tolerances = Tolerances(1e-3, 1e-4)
    assert tolerances.norm(np.zeros(4), point, point) == 0.0
    assert tolerances.norm(np.full(4, np.nan), point, point) == np.inf
    size = np.abs(np.concatenate((q, v)))
    assert tolerances.norm(1e-4 + 1e-3 * size, point, point) == pytest.approx(1.0)


def test_a_stiff_spring_lets_steps_grow():
    """y'' = -k (y - cos t) with k = 1e8: the embedded formula, filtered, sees the slow motion alone."""
    system = FunctionSystem(
        2,
        1,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([-1e8 * (q[0] - np.cos(t)) - 2e4 * (v[0] + np.sin(t)) - np.cos(t), 0.0]),
        lambda q, t: [q[1] - 2.0 * q[0]],
    )
    found = integrate(system, RadauGGL(rtol=1e-6), np.array([1.0, 2.0]), np.zeros(2), 2.0, 0.5)
    assert found.counts.steps < 150  # explicit ones would need 5000
    # the row makes a mass of five out of one: the spring wins, and what is left is 4 cos t / k
    assert np.abs(found.q[:, 0] - np.cos(found.t)).max() < 1e-6
