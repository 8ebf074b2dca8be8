"""Derivatives by what functions of time and ratios depend on: against differences of runs, both methods, later states,
the complex step, exact solutions and their order.
"""

from itertools import pairwise

import numpy as np
import pytest

import rtmbs
from bench.measures.complex_steps import errors
from rtmbs.errors import InputError
from tests.cases import quick, spread
from tests.studies.sensitivities.cases import differences, error
from tests.studies.sensitivities.driven_cases import CASES, chain, rocker

H, END = 2e-3, 0.1
TIGHT = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)
WANTED = 1e-7  # of the largest derivative of a channel, beyond what two steps of the differences are apart


def simulation(model):
    return rtmbs.Simulation(model.compile(), h=H, method=TIGHT)


def ends(result, names):
    """Return the last values of channels, one behind the other, and where each begins."""
    values = [np.ravel(result[name][-1]) for name in names]
    return np.concatenate(values), np.cumsum([len(one) for one in values])[:-1]


@pytest.mark.usefixtures("reverse_pass")
@pytest.mark.parametrize("name", quick(CASES, "rate", "driven loop"))
def test_against_differences_of_runs(name):
    build, a, names = CASES[name]
    given = {"of": list(names), "by": ["a"], "model": build, "at": {"a": a}}
    found = rtmbs.sensitivity(simulation(build(a)), END, **given, method="direct")
    adjoint = rtmbs.sensitivity(simulation(build(a)), END, **given, method="adjoint", checkpoints=3)
    assert error(adjoint.jacobian, found.jacobian) < 1e-9

    def run(value):
        return ends(simulation(build(value)).run(END), names)[0]

    coarse, fine = (differences(run, a, size * abs(a)) for size in (2e-3, 1e-3))
    parts = zip(
        *(np.split(one, ends(found.result, names)[1]) for one in (found.jacobian[:, 0], fine, coarse)), strict=True
    )
    for channel, (ours, wanted, rough) in zip(names, parts, strict=True):
        assert np.abs(wanted).max() > 1e-6, channel
        noise = 3.0 * np.abs(rough - wanted).max() / np.abs(wanted).max()
        assert noise < 1e-5, channel
        assert error(ours, wanted) < WANTED + noise, channel


@pytest.mark.parametrize("name", spread(["frequency", "motor", "driven loop", "loop with a gear", "three wheels"], 2))
def test_steps_against_the_complex_step(name):
    build, a, _ = CASES[name]
    found = errors(build, ["a"], H, 4, at={"a": a})
    assert {"z", "zd", "zdd"} <= set(found)
    assert max(found.values()) < 1e-8


@pytest.mark.parametrize("name", ["amplitude", "driven loop"])
def test_from_a_later_state(name):
    """The driven coordinate begins where its driver is by then."""
    build, a, _ = CASES[name]
    begin = 20 * H
    sim = simulation(build(a))
    sim.run(begin)
    found = rtmbs.sensitivity(sim, begin + 2 * H, ["A.angle", "A.angle_rate"], ["a"], model=build, at={"a": a})
    wanted = differences(lambda v: build(v).drivers["drive"].profile(begin + 2 * H)[:2], a, 1e-3)
    assert found.jacobian[:, 0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("a", [0.3, 0.05])
def test_a_driven_loop_moves_by_its_ratio(a):
    """Of one degree of freedom: d angle / d a is the ratio of the rates times d driver / d a, whatever the forces."""
    build, _, _ = CASES["driven loop"]
    names = ["B.angle", "B.angle_rate", "A.angle_rate"]
    found = rtmbs.sensitivity(simulation(build(a)), END, names, ["a"], model=build, at={"a": a})
    _, rate, crank = found.value
    assert found.jacobian[0, 0] == pytest.approx(rate / crank * np.sin(5.0 * END), rel=1e-9)
    assert found.jacobian[2, 0] == pytest.approx(5.0 * np.cos(5.0 * END), rel=1e-9)


def pushed(a):
    """A free mass under a force a t + a^2 t^2 along a slide: x(T) = a T^3 / 6 + a^2 T^4 / 12."""
    model = rtmbs.Model("pushed", gravity=(0, 0, 0))
    model.add_body("cart", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("slide", rtmbs.Prismatic((0.6, 0.8, 0.0)), model.ground, "cart", point=(0, 0, 0))
    model.add_force("push", rtmbs.Motor(lambda t: a * t + a * a * t * t), joint="slide")
    return model


def test_the_exact_derivative_is_met_by_order_two():
    a, exact = 3.0, 1.0 / 6.0 + 3.0 / 6.0
    missed = []
    for h in (2e-2, 1e-2, 5e-3):
        sim = rtmbs.Simulation(pushed(a).compile(), h=h)
        found = rtmbs.sensitivity(sim, 1.0, "slide.displacement", ["a"], model=pushed, at={"a": a})
        missed.append(abs(found.gradient[0] - exact))
    orders = np.log2(np.array(missed[:-1]) / missed[1:])
    assert missed[-1] < 1e-4
    assert np.all(np.abs(orders - 2.0) < 0.05)


@pytest.mark.slow
def test_derivatives_of_a_sprung_chain_converge_by_order_two():
    build, a, _ = CASES["amplitude"]
    found = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        sim = rtmbs.Simulation(build(a).compile(), h=h, method=TIGHT)
        found.append(rtmbs.sensitivity(sim, 0.2, ["tip.position", "tip.velocity"], ["a"], model=build, at={"a": a}))
    steps = [np.abs(x.jacobian - y.jacobian).max() for x, y in pairwise(found)]
    orders = np.log2(np.array(steps[:-1]) / steps[1:])
    assert np.all(np.abs(orders - 2.0) < 0.15)


def test_a_driver_that_contradicts_what_is_pinned():
    def build(a):
        model = chain()
        model.set_initial("A", position=0.3)
        model.add_driver("drive", rtmbs.Sine(0.2, 3.0, offset=a), joint="A")
        return model

    with pytest.raises(
        InputError, match=r"no model can be built with a = .*: driver 'drive' starts .*, or leave it to"
    ):
        rtmbs.sensitivity(simulation(build(0.3)), END, "B.angle", ["a"], model=build, at={"a": 0.3})


def test_a_driver_that_a_loop_holds_is_named():
    """Two drivers of a loop with one degree of freedom agree, and a change of one of them is refused."""

    def build(a):
        model = rocker()
        model.add_driver("first", rtmbs.ConstantRate(0.0, start=0.4), joint="A")
        model.add_driver("second", rtmbs.ConstantRate(0.0, start=a), joint="D")
        return model

    alone = rocker()
    alone.set_initial("A", position=0.4)
    a = float(simulation(alone)["D.angle"])
    sim = simulation(build(a))
    with pytest.raises(InputError, match=r"^'a' opens a loop that nothing closes: loop .* would open"):
        rtmbs.sensitivity(sim, END, "B.angle", ["a"], model=build, at={"a": a})


def test_inputs_of_a_driver_begin_as_a_design_says():
    """Value, rate and acceleration of an Input stay; the driven coordinate begins at the value."""

    def build(a):
        model = chain()
        model.add_driver("drive", rtmbs.Input((a, 0.0, 0.0)), joint="A")
        return model

    names = ("tip.position", "tip.velocity")
    found = rtmbs.sensitivity(simulation(build(0.3)), END, list(names), ["a"], model=build, at={"a": 0.3})
    wanted = differences(lambda a: ends(simulation(build(a)).run(END), names)[0], 0.3, 1e-3)
    assert error(found.jacobian[:, 0], wanted) < 1e-7
