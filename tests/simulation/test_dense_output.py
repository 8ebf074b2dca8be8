"""Dense output reproduces polynomials, and free rotations to the order of its own."""

from types import SimpleNamespace

import numpy as np
import pytest

from rtmbs.numerics.rotations.quaternions import body_rates, turn_between, turned
from rtmbs.simulation.dense_output import Moment, Stretch, coefficients, cubic, quintic

NONE = np.zeros(0)


def test_a_quintic_is_met():
    rng = np.random.default_rng(1)
    values = [np.polynomial.Polynomial(rng.normal(size=6)) for _ in range(4)]
    h = 0.7

    def at(t):
        return np.array([[p.deriv(k)(t) if k else p(t) for p in values] for k in range(3)])

    for x in (0.0, 0.3, 0.5, 1.0):
        assert np.abs(np.array(quintic(x, h, coefficients(h, at(0.0), at(h)))) - at(x * h)).max() < 1e-12


def test_a_cubic_is_met():
    p = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    ends = [(np.array([p(t)]), np.array([p.deriv()(t)])) for t in (0.0, 0.4)]
    value, rate = cubic(0.25, 0.4, *ends)
    assert value[0] == pytest.approx(p(0.1), abs=1e-14)
    assert rate[0] == pytest.approx(p.deriv()(0.1), abs=1e-13)


def spinning(axes):
    """Return moments of a body whose turn d(t) in body components is a known curve, and the dofs."""
    a, b = np.array([0.3, -0.8, 0.5]), np.array([0.6, 0.2, -0.4])

    def curve(t):
        return a * np.sin(t) + b * t * t, a * np.cos(t) + 2.0 * b * t, -a * np.sin(t) + 2.0 * b

    R_start = turned(np.eye(3)[None], np.array([[0.4, 0.1, -0.9]]))

    def moment(t):
        d, rate, second = (x[None] for x in curve(t))
        w, wd = body_rates(d, rate, second)
        R = turned(R_start, d)
        return Moment(t, np.zeros(3), axes @ w[0], axes @ wd[0], NONE, R, NONE, NONE, NONE)

    return SimpleNamespace(reference=np.array([0, -1, -1]), axis=axes), moment


@pytest.mark.parametrize("seed", range(5))
def test_rotations_have_order_six(seed):
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    axes *= np.sign(np.linalg.det(axes))
    dofs, moment = spinning(axes)
    errors = []
    for h in (0.4, 0.2, 0.1):
        stretch = Stretch(dofs, moment(0.5), moment(0.5 + h))
        found, true = stretch.at(0.5 + 0.4 * h), moment(0.5 + 0.4 * h)
        assert np.all(found.z == 0.0)
        errors.append(
            (
                np.abs(turn_between(found.R0, true.R0)).max(),
                np.abs(found.zd - true.zd).max(),
                np.abs(found.zdd - true.zdd).max(),
            )
        )
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:])).mean(axis=0)
    assert slopes == pytest.approx([6.0, 5.0, 4.0], abs=0.8)
    assert stretch.at(stretch.after.t) is stretch.after
