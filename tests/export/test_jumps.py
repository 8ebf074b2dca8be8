"""Functions of time that jump: native steps have the bytes of a Simulation, and refusals its sentence."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs.ad.program import evaluate, memory_of
from rtmbs.errors import InputError
from rtmbs.export.channels import recorded_signals
from rtmbs.export.signal_kernels import SPREAD, UNIT
from rtmbs.library import build
from tests.export.test_native_library import run_both

H = 1e-3


def with_motor(torque, name="slider_crank"):
    """Return the System of a mechanism with a torque in its first joint."""
    model = build(name)
    joint = next(one for one, joint in model.joints.items() if joint.type.coordinates)
    model.add_force("motor", rtmbs.Motor(torque), joint=joint)
    return model.compile()


def declared(t):
    """Two jumps, one of them between two steps."""
    return 1.0 + t if t < 0.0503 else (-2.0 * t if t < 0.1 else 0.5)


declared.jumps = (0.0503, 0.1)


def undeclared(t):
    """A jump that only values give away."""
    return 0.7 if t < 0.03337 else -0.4 * t


def rounded(t):
    """Jumps without a condition."""
    return np.floor(t / 0.0217)


STAIRS = rtmbs.Staircase([0.0, 0.01, 0.0205, 0.0205001, 0.0399], [0.3, -0.2, 0.9, 0.1, -0.7])


@pytest.mark.parametrize(
    "torque", [declared, undeclared, rounded, STAIRS], ids=["declared", "watched", "floor", "stairs"]
)
@pytest.mark.parametrize("name", ["slider_crank", "governor"])
def test_steps_across_jumps_have_the_bytes_of_a_simulation(load, torque, name):
    sim = rtmbs.Simulation(with_motor(torque, name), h=H)
    assert run_both(sim, load(sim), 150) == -1


def test_a_driver_may_jump_in_its_acceleration(load):
    def corner(t):
        late = max(t - 0.0502, 0.0)
        return 6.0 * t + 0.5 * (t * t - late * late), 6.0 + t - late, 1.0 if t < 0.0502 else 0.0

    model = rtmbs.library.build("crank_rocker")
    joint = next(iter(model.joints))
    corner.jumps = (0.0502,)
    model.add_driver("drive", corner, joint=joint)
    sim = rtmbs.Simulation(model.compile(), h=H)
    assert run_both(sim, load(sim), 80) == -1


def table_of_a_spline():
    """Return a spline of a table behind the first steps and before the last; 0 rad and 6 rad/s at 0 s."""
    times = np.array([0.013, 0.02, 0.031, 0.035, 0.05, 0.06])
    values = 6.0 * times + 1e-3 * np.array([0.0, 1.0, -1.0, 0.5, 0.2, 0.0])
    start, rate, _ = rtmbs.Spline(times, values)(0.0)
    return rtmbs.Spline(times, values - start - (rate - 6.0) * times)


def test_a_driver_may_follow_a_table(load):
    model = rtmbs.library.build("crank_rocker")
    model.add_driver("drive", table_of_a_spline(), joint=next(iter(model.joints)))
    sim = rtmbs.Simulation(model.compile(), h=H)
    assert run_both(sim, load(sim), 80) == -1


def test_a_recorded_spline_is_the_spline():
    profile = table_of_a_spline()
    model = rtmbs.library.build("crank_rocker")
    model.add_driver("drive", profile, joint=next(iter(model.joints)))
    found = recorded_signals(model.compile().signals)
    memory, values = memory_of(found.program), np.zeros(3)
    for t in (*np.linspace(0.0, 0.08, 401), *profile.t):
        evaluate(found.program, memory, np.array([t]), found.parameter, values)
        assert values.tolist() == [float(one) for one in profile(t)]


def test_many_steps_across_a_jump_are_of_the_order_of_the_method(load):
    """A free mass under a stepped force: the position at the end is that of two parabolas, whatever the step."""
    model = rtmbs.Model("mass", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=2.0, inertia=np.eye(3))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1.0, 0.0, 0.0)), "ground", body)
    model.add_force("push", rtmbs.Motor(rtmbs.Staircase([0.0, 0.0303], [0.0, 5.0])), joint="slide")
    it = load(model.compile(), outputs=["slide.displacement", "slide.rate"], h=H)
    assert it.step(100) == 0
    late = 0.1 - 0.0303
    assert it.read("slide.rate") == pytest.approx(2.5 * late, rel=1e-12)
    assert it.read("slide.displacement") == pytest.approx(1.25 * late**2, abs=2.5 * H**2)


def test_a_function_that_is_another_when_recorded_is_refused():
    seen = []

    def torque(t):
        seen.append(t)
        return 1.0 * len(seen)

    system = with_motor(torque)
    with pytest.raises(InputError, match="motor"):
        recorded_signals(system.signals)


def test_the_last_place_is_that_of_python():
    rng = np.random.default_rng(5)
    for x in (1.0, 2.0, 4.0 - 2e-16, *rng.uniform(0.0, 1e4, 300), *2.0 ** rng.integers(-30, 30, 50)):
        spread = SPREAD * x
        assert abs(spread - (1.0 - UNIT) * spread) * (2.0 * UNIT) == math.ulp(x)
