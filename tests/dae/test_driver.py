"""Events, steps one by one, and runs that go on, of every method of integrate: against closed forms and SciPy."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtmbs.dae import (
    METHODS,
    AdamsBashforthMoulton,
    GeneralisedAlpha,
    HalfExplicit,
    HaugYen,
    MotionError,
    RadauGGL,
    RungeKutta,
    SolveIVP,
    TangentSpace,
    integrate,
    integration_steps,
    resume,
)
from rtmbs.dae.contract import Motion
from rtmbs.errors import InputError
from rtmbs.formulations import FunctionSystem
from tests.cases import spread
from tests.dae.motions import made, start_of

SPAN, H = 2.4, 0.02  # [s]
GRAVITY = 9.81
NAMES = [name for name in METHODS if name not in ("penalty-trapezoidal", "variational-midpoint", "trbdf2")]
ALL = pytest.mark.parametrize("name", NAMES)
FEW = pytest.mark.parametrize("name", spread(NAMES, 4))
WITHIN = {2: 6e-3, 3: 3e-4, 4: 2e-5, 5: 1e-6, None: 1e-6}  # [s] by the order of a method


@cache
def zeros():
    """Return the times at which the pendulum hangs down, and the signs of x behind them."""
    _, q, v = start_of("pendulum in x, y")

    def down(t, y):
        return y[0]

    start = [np.arctan2(q[0], -q[1]), v @ [-q[1], q[0]]]
    found = solve_ivp(
        lambda t, y: [y[1], -GRAVITY * np.sin(y[0])], (0, SPAN), start, "DOP853", rtol=1e-13, atol=1e-14, events=down
    )
    return found.t_events[0], np.sign(found.y_events[0][:, 1])


def hanging(direction=0, terminal=False):
    def x(q, v, t):
        return q[0]

    x.direction, x.terminal = direction, terminal
    return x


def run(method, events=None, t_end=SPAN):
    return integrate(*pendulum_start(method), t_end, H, events=events)


def pendulum_start(method):
    system, q, v = start_of("pendulum in x, y")
    return system, method, q, v


def within(method):
    allowed = WITHIN[min(method.orders) if method.orders is not None else None]
    return 3.0 * allowed if isinstance(method, HaugYen) else allowed  # a coordinate turns back, its polynomial is worse


@FEW
def test_events_lie_where_the_closed_form_has_them(name):
    method, (times, signs) = made(name), zeros()
    assert len(times) >= 2
    found = run(method, hanging())
    assert [event.which for event in found.events] == [0] * len(times)
    np.testing.assert_allclose([event.t for event in found.events], times, atol=within(method))
    for event, sign in zip(found.events, signs, strict=True):
        assert abs(event.point.q[0]) < 1e-9
        assert np.sign(event.point.v[0]) == sign
        assert abs(event.point.q @ event.point.q - 1.0) < 1e-6
    assert not found.terminated
    plain = run(method)
    np.testing.assert_allclose(found.q, plain.q, atol=1e-11 if method.orders is not None else 1e-7)


@FEW
def test_a_terminal_event_ends_the_motion_and_it_goes_on_from_there(name):
    method, (times, signs) = made(name), zeros()
    way = signs[0]
    right = times[signs == way]
    found = run(method, [hanging(way, True), hanging(-way)])
    assert found.terminated
    assert found.t[-1] == found.events[-1].t
    assert abs(found.t[-1] - right[0]) < within(method)
    assert abs(found.q[-1, 0]) < 1e-9
    assert np.all(np.diff(found.t) > 0.0)
    assert np.all(np.isfinite(found.a))
    whole = run(method)
    later = resume(found, SPAN)
    assert later.t[0] == found.t[-1]
    assert all(event.t > found.t[-1] + 0.1 for event in later.events)  # not the same one again
    error = {2: 1e-2, 3: 1e-3, 4: 1e-4, 5: 1e-6, None: 1e-6}[min(method.orders) if method.orders else None]
    np.testing.assert_allclose(later.q[-1], run(method, None, later.t[-1]).q[-1], atol=error)
    assert whole.q.shape[1] == 2


@FEW
def test_a_run_that_goes_on_gives_the_numbers_of_one_run(name):
    method = made(name)
    whole, first = run(method), run(method, None, 1.0)
    rest = resume(first, SPAN)
    again = resume(first, SPAN)
    np.testing.assert_array_equal(rest.q, again.q)
    np.testing.assert_array_equal(rest.q[0], first.q[-1])
    rounding = 1e-10 if method.orders is not None or name == "solve-ivp" else 3e-6
    for field in ("t", "q", "v"):
        np.testing.assert_allclose(getattr(rest, field), getattr(whole, field)[50:], atol=rounding)
    third = resume(resume(run(method, None, 0.6), 1.2), SPAN)
    np.testing.assert_allclose(third.q[-1], whole.q[-1], atol=rounding)


@pytest.mark.parametrize(
    "method",
    spread(
        [
            RadauGGL(rtol=1e-6),
            HalfExplicit(rtol=1e-6),
            GeneralisedAlpha(rtol=1e-4),
            GeneralisedAlpha(index=2, rtol=1e-4),
            TangentSpace("bdf", 3, rtol=1e-5),
            TangentSpace("adams", 4, rtol=1e-5),
            SolveIVP("DOP853"),
            SolveIVP("RK45"),
        ],
        4,
    ),
    ids=str,
)
def test_an_own_step_goes_on_with_the_same_bytes(method):
    """The step that the end cut short is taken again in full."""
    whole, first = run(method), run(method, None, 1.0)
    rest = resume(first, SPAN)
    np.testing.assert_allclose(rest.q[1:], whole.q[51:], atol=1e-13)  # the first sample ends a step that was cut short


def test_many_zeros_and_terminal_counts():
    times, _ = zeros()
    found = run(RadauGGL(), hanging(0, 2))
    assert found.terminated
    assert len(found.events) == 2
    assert abs(found.t[-1] - times[1]) < 1e-6


def test_two_events_in_one_step_come_in_their_order():
    """A free mass falls 4.9 t^2 and meets two heights within one step of half a second."""
    system = FunctionSystem(1, 0, lambda q, t: np.eye(1), lambda q, v, t: np.array([-9.8]), lambda q, t: [])

    def low(q, v, t):
        return q[0] + 0.8

    def high(q, v, t):
        return q[0] + 0.3

    found = integrate(system, RungeKutta(), np.zeros(1), np.zeros(1), 1.0, 0.5, events=[low, high])
    assert [event.which for event in found.events] == [1, 0]
    np.testing.assert_allclose([event.t for event in found.events], np.sqrt(np.array([0.3, 0.8]) / 4.9), atol=1e-12)
    high.terminal = True
    found = integrate(system, RungeKutta(), np.zeros(1), np.zeros(1), 1.0, 0.5, events=[low, high])
    assert [event.which for event in found.events] == [1]
    later = resume(found, 1.0)
    assert [event.which for event in later.events] == [0]


def test_a_zero_at_the_start_is_no_event():
    system = FunctionSystem(1, 0, lambda q, t: np.eye(1), lambda q, v, t: np.array([-9.8]), lambda q, t: [])
    found = integrate(system, RungeKutta(), np.zeros(1), np.array([4.9]), 1.2, 0.1, events=lambda q, v, t: q[0])
    np.testing.assert_allclose([event.t for event in found.events], [1.0], atol=1e-12)


@pytest.mark.parametrize(
    "method", [RungeKutta(), RadauGGL(), SolveIVP("DOP853"), HalfExplicit()], ids=lambda m: type(m).__name__
)
def test_a_zero_at_the_end_is_an_event_once(method):
    """g = t - 0.5, and g = (t - 0.5)^2 - which only touches zero - in runs that end there and go on."""

    def passing(q, v, t):
        return t - 0.5

    def downwards(q, v, t):
        return t - 0.5

    def touching(q, v, t):
        return (t - 0.5) ** 2

    downwards.direction = -1
    system, _, q, v = pendulum_start(method)
    for h in (0.1, 0.05):
        found = integrate(system, method, q, v, 0.5, h, events=[passing, downwards, touching])
        assert [(event.which, event.t) for event in found.events] == [(0, 0.5), (2, 0.5)]
        assert resume(found, 1.0).events == ()
    passing.terminal = True
    found = integrate(system, method, q, v, 0.5, 0.1, events=passing)
    assert found.terminated
    np.testing.assert_array_equal(found.t, np.linspace(0.0, 0.5, 6))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
def test_events_between_far_samples(tolerance):
    times, _ = zeros()
    for method in (RadauGGL(rtol=tolerance), SolveIVP("DOP853", rtol=tolerance)):
        found = integrate(*pendulum_start(method), SPAN, SPAN, events=hanging())
        assert found.t.shape == (2,)
        np.testing.assert_allclose([event.t for event in found.events], times, atol=300 * tolerance)


@ALL
def test_steps_one_by_one(name):
    method = made(name)
    steps = list(integration_steps(*pendulum_start(method), 0.2, H))
    assert steps[0].start.t == 0.0
    assert abs(steps[-1].end.t - 0.2) < 1e-12
    for one, other in pairwise(steps):
        assert one.end.t == other.start.t
        assert one.end.t > one.start.t
    found = integrate(*pendulum_start(method), 0.2, H)
    np.testing.assert_allclose(steps[-1].end.q, found.q[-1], atol=1e-9)
    for step in integration_steps(*pendulum_start(method), 0.2, H):
        half = step.at(0.5 * (step.start.t + step.end.t))
        assert abs(half.q @ half.q - 1.0) < 1e-9
        assert abs(half.q @ half.v) < 1e-8
        break


class Stepping:
    """A method of the user that has points only."""

    capabilities, redundant, orders = RungeKutta.capabilities, True, None

    def points(self, motion, times):
        yield from RungeKutta().points(motion, times)


def test_a_method_of_the_user_has_events_as_well():
    times, _ = zeros()
    found = integrate(*pendulum_start(Stepping()), SPAN, H, events=hanging())
    np.testing.assert_allclose([event.t for event in found.events], times, atol=2e-5)
    ended = integrate(*pendulum_start(Stepping()), SPAN, H, events=hanging(0, True))
    assert abs(ended.q[-1, 0]) < 1e-9


def nothing(q, v, t):
    return np.nan


@pytest.mark.parametrize(
    ("events", "error", "says"),
    [
        (3, InputError, "events are 3; a function"),
        ([3], InputError, r"event 0 is 3; a function g\(q, v, t\) is wanted"),
        (lambda t: t, InputError, "event 0 at t = 0: .*a function g"),
        (nothing, MotionError, "event 0 is nan at t = 0"),
        (lambda q, v, t: q, InputError, "event 0 at t = 0: "),
    ],
)
def test_bad_events_are_refused(events, error, says):
    with pytest.raises(error, match=says):
        run(RungeKutta(), events)


def test_a_bad_terminal_is_refused():
    for bad in (-1, "yes", 1.5):
        with pytest.raises(InputError, match=r"terminal of event 0 is .*; True, False or a number of zeros"):
            run(RungeKutta(), hanging(0, bad))


def test_a_result_of_something_else_does_not_go_on():
    found = run(RungeKutta(), None, 0.1)
    with pytest.raises(InputError, match="nothing to go on from"):
        resume(found.at([0.05]) if hasattr(found, "at") else replace(found.report, continuation=None), 1.0)
    with pytest.raises(InputError, match=r"t_end is 0.05; a time after t0 = 0.1"):
        resume(found, 0.05)


def test_a_step_that_ends_at_an_event_leaves_the_history_alone():
    """AdamsBashforthMoulton and BDF of equal steps take explicit or uneven steps behind an event."""
    for method in (AdamsBashforthMoulton(3), TangentSpace("bdf", 3)):
        system, q, v = start_of("pendulum in x, y")
        run_ = method.run(Motion(system, q, v), np.linspace(0.0, 0.2, 11))
        for k in range(1, 6):
            span = run_.advance(0.02 * k)
        before = [point.q.copy() for point in run_.past]
        span.ending(0.093)
        for point, right in zip(run_.past, before, strict=True):
            np.testing.assert_array_equal(point.q, right)
        end = run_.advance(0.12).end
        again = method.run(Motion(system, q, v), np.linspace(0.0, 0.2, 11))
        for k in range(1, 7):
            last = again.advance(0.02 * k).end
        np.testing.assert_array_equal(end.q, last.q)
