"""A body moved by one of its points, loops kept: against closed forms of a four-bar, a slider-crank and a ball."""

import numpy as np
import pytest

import rtmbs
from rtmbs import RtmbsError
from rtmbs.errors import InputError
from rtmbs.kinematics.design import FourBar
from rtmbs.simulation.simulation import drag

BAR = FourBar(5.0, 2.0, 4.5, 4.0, point=(2.0, 1.5))


@pytest.fixture(scope="module")
def bar():
    """Return a Simulation of the four-bar, free of its driver, with unit masses."""
    model = BAR.model()
    model.drivers.clear()
    text = rtmbs.language.write(model).replace("mass = 0.0", "mass = 1.0, inertia = (1.0, 1.0, 1.0)")
    return rtmbs.Simulation(rtmbs.language.build(text).model.compile(), h=1e-3)


def test_a_point_follows_its_coupler_curve(bar):
    """Targets on the curve are met, and the crank has the angle of the closed form."""
    local = (*BAR.point, 0.0)
    angles = np.linspace(0.0, 2.0 * np.pi, 33)[1:]
    for angle, place in zip(angles, BAR.motion(angles).point, strict=True):
        left = drag(bar, "coupler", local, (*place, 0.0))
        assert left < 1e-8
        assert np.angle(np.exp(1j * (bar["A.angle"] - angle))) == pytest.approx(0.0, abs=1e-7)
        assert np.abs(bar.equations.close(bar.state.z, bar.state.R0)).max() < 1e-10
        assert not bar.state.zd.any()
        assert bar.t == 0.0


def test_beyond_reach_the_distance_is_the_least(bar):
    """A target off the curve: the place is the nearest of the closed curve about there."""
    local, angle = (*BAR.point, 0.0), 1.0
    place = BAR.motion(angle).point[0]
    drag(bar, "coupler", local, (*place, 0.0))
    target = place + np.array([0.05, 0.11])
    left = drag(bar, "coupler", local, (*target, 0.0))
    near = BAR.motion(np.linspace(angle - 0.3, angle + 0.3, 200001)).point
    assert left == pytest.approx(np.min(np.linalg.norm(near - target, axis=1)), abs=1e-6)


def test_a_slider_stops_at_its_dead_centres():
    """Dragged far out it stops where crank and rod add up; far in, where they lie on each other."""
    sim = rtmbs.Simulation(rtmbs.library.build("planar_slider_crank", crank=0.3, rod=1.0).compile(), h=1e-3)
    for target, end in ((100.0, 1.3), (-100.0, 0.7), (50.0, 1.3)):
        left = drag(sim, "slider", (0, 0, 0), (0.0, target, 0.0))
        assert sim["slider.position"][1] == pytest.approx(end, abs=1e-6)
        assert left == pytest.approx(abs(target - end), abs=1e-6)


def test_a_ball_turns_to_the_target():
    sim = rtmbs.Simulation(rtmbs.library.build("top").compile(), h=1e-3)
    body = list(sim.system.bodies)[-1]
    point = np.array([0.0, 0.0, 0.7])
    for target in np.random.default_rng(0).normal(size=(8, 3)):
        target *= 0.7 / np.linalg.norm(target)
        assert drag(sim, body, point, target) < 1e-7


def test_refusals(bar):
    with pytest.raises(RtmbsError, match="did you mean 'coupler'"):
        drag(bar, "couple", (0, 0, 0), (0, 0, 0))
    with pytest.raises(InputError, match="stands still; drag another one"):
        drag(bar, "ground", (0, 0, 0), (0, 0, 0))
    with pytest.raises(InputError, match="three numbers"):
        drag(bar, "coupler", (0, 0), (0, 0, 0))
