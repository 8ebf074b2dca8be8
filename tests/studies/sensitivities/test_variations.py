"""Slopes of functions of time by parameters: exact ones, late times, kinks, pulses, and what is refused."""

import functools

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.sensitivities.parameters import model_numbers, of_design
from rtmbs.system.user_functions import same_function

T = np.linspace(0.0, 2.0, 201)


def cart(add):
    """Return a function of ``a`` that builds a cart on a slide with something added."""

    def build(a):
        model = rtmbs.Model("cart")
        model.add_body("cart", mass=1.0, inertia=(1, 1, 1))
        model.add_joint("slide", rtmbs.Prismatic((1, 0, 0)), model.ground, "cart", point=(0, 0, 0))
        add(model, a)
        return model

    return build


def driven(profile):
    return cart(lambda m, a: m.add_driver("drive", profile(a), joint="slide"))


def pushed(force):
    return cart(lambda m, a: m.add_force("motor", rtmbs.Motor(lambda t: force(a, t)), joint="slide"))


def slopes(build, a, t=T):
    """Return the slopes (T, k) by ``a`` at times t."""
    base = build(a).compile()
    return of_design(base, model_numbers(build, "a", {"a": a}, 1.0)[0], t).timed(t)


def sine_by_frequency(a, t):
    return np.array([0.3 * t * np.cos(a * t), 0.3 * np.cos(a * t) - 0.3 * a * t * np.sin(a * t),
                     -0.6 * a * np.sin(a * t) - 0.3 * a * a * t * np.cos(a * t)])  # fmt: skip


def step_by_end(a, t):
    s, span = np.clip(t / a, 0.0, 1.0), a
    by_time = np.array([30 * (s * (1 - s)) ** 2, 60 * s * (1 - s) * (1 - 2 * s), 60 * (1 - 6 * s + 6 * s * s)])
    by_time[:, t >= a] = 0.0
    f, fd = 30 * (s * (1 - s)) ** 2 / span, 60 * s * (1 - s) * (1 - 2 * s) / span**2
    return np.array(
        [-by_time[0] * s / span, -by_time[1] * s / span**2 - f / span, -by_time[2] * s / span**3 - 2 * fd / span]
    )


def wave(a, t):
    return np.array([np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)])


def pulse(a, t):
    return np.exp(-(((t - a) / 5e-3) ** 2))


EXACT = {
    "amplitude": (driven(lambda a: rtmbs.Sine(a, 3.0)), 0.4, wave),
    "frequency": (driven(lambda a: rtmbs.Sine(0.3, a)), 7.0, sine_by_frequency),
    "rate": (driven(lambda a: rtmbs.ConstantRate(a)), 0.7, lambda a, t: np.array([t, 1.0 + 0 * t, 0 * t])),
    "time of a step": (driven(lambda a: rtmbs.SmoothStep(0.0, a, 0.0, 1.0)), 1.235, step_by_end),
    "force": (
        pushed(lambda a, t: a * a * np.exp(-a * t)),
        1.5,
        lambda a, t: np.array([(2 * a - a * a * t) * np.exp(-a * t)]),
    ),
    "one side": (
        pushed(lambda a, t: a * t if t > 1.0 else 0.0 * t),
        1.5,
        lambda a, t: np.array([np.where(t > 1.0, t, 0.0)]),
    ),
    "pulse": (pushed(pulse), 1.5, lambda a, t: np.array([2 * (t - a) / 25e-6 * pulse(a, t)])),
}


@pytest.mark.parametrize("case", EXACT)
def test_exact(case):
    build, a, exact = EXACT[case]
    found, wanted = slopes(build, a), exact(a, T).T
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


@pytest.mark.parametrize("t", [10.0, 100.0, 1000.0])
def test_frequencies_at_late_times(t):
    """The phase moves by t: a step that is right at the begin would be 10 percent off."""
    late = t + T
    found, wanted = slopes(EXACT["frequency"][0], 7.0, late), sine_by_frequency(7.0, late).T
    assert np.all(np.abs(found - wanted).max(axis=0) < 1e-8 * np.abs(wanted).max(axis=0))


def test_a_kink_at_a_step_has_the_mean_of_both_sides():
    """The acceleration of a SmoothStep has a kink where it ends, so its slope by that time jumps there."""
    a = 1.25
    found, t = slopes(driven(lambda a: rtmbs.SmoothStep(0.0, a, 0.0, 1.0)), a), T
    k = int(np.argmin(np.abs(t - a)))
    assert t[k] == a
    assert found[k, 2] == pytest.approx(0.5 * step_by_end(a, np.array([a * (1 - 1e-9)]))[2, 0], rel=1e-6)


def test_rounding_is_no_change():
    found = slopes(pushed(lambda a, t: (a * t) / a), 1.7)
    assert np.abs(found).max(initial=0.0) < 1e-11


def test_functions_that_do_not_change_have_no_slots():
    assert slopes(pushed(lambda a, t: t), 1.7).shape == (len(T), 0)


REFUSED = {
    "staircase": (pushed(lambda a, t: np.floor(4 * a * t)), 1.0, "'motor.force' does not change smoothly with a"),
    "not finite": (
        pushed(lambda a, t: t if a >= 1.0 or t < 1.0 else np.nan),
        1.0,
        "'motor.force' is not finite with a",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    build, a, words = REFUSED[case]
    with np.errstate(all="ignore"), pytest.raises(InputError, match=f"^{words}"):
        slopes(build, a)


def closed(value, more=None):
    def function(t, factor=2.0, *, shift=0.5):
        return value * t * factor + shift + (more(t) if more else 0.0)

    return function


def itself():
    def function(t):
        return function(t)

    return function


class Held:
    """An object of nobody knows what."""

    def __call__(self, t):
        return t


ALIKE = {
    "closures": (closed(1.0), closed(1.0), True),
    "other numbers": (closed(1.0), closed(1.1), False),
    "arrays": (closed(np.arange(3.0)), closed(np.arange(3.0)), True),
    "other arrays": (closed(np.arange(3.0)), closed(np.arange(3.0) + 1e-12), False),
    "within": (closed(1.0, closed(2.0)), closed(1.0, closed(2.0)), True),
    "other within": (closed(1.0, closed(2.0)), closed(1.0, closed(2.5)), False),
    "profiles": (rtmbs.Sine(0.1, 2.0), rtmbs.Sine(0.1, 2.0), True),
    "other profiles": (rtmbs.Sine(0.1, 2.0), rtmbs.Sine(0.1, 2.0, 0.1), False),
    "kinds": (closed(1), closed(1.0), False),
    "lists": (closed([1.0]), closed([1.0]), False),
    "objects": (Held(), Held(), False),
    "partial": (functools.partial(closed(1.0)), functools.partial(closed(1.0)), False),
    "around": (itself(), itself(), False),
}


@pytest.mark.parametrize("case", ALIKE)
def test_alike(case):
    one, other, same = ALIKE[case]
    assert same_function(one, other) is same
    assert same_function(one, one)
