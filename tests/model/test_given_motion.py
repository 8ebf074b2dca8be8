"""Drivers that the user sets while running, and floating joints that are driven."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, ModelError


def rail(profile, axis=(1, 0, 0)):
    m = rtmbs.Model("rail")
    m.add_body("block", mass=2.0, inertia=(1, 1, 1))
    m.add_body("bob", mass=0.5, center_of_mass=(0, 0, -0.4), inertia=(0.01, 0.01, 0.01))
    m.add_joint("slide", rtmbs.Prismatic(axis), m.ground, "block")
    m.add_joint("pivot", rtmbs.Revolute((0, 1, 0)), "block", "bob")
    m.add_driver("lift", profile, joint="slide")
    return m


def motion(t):
    return 0.3 * math.sin(4 * t), 1.2 * math.cos(4 * t), -4.8 * math.sin(4 * t)


def test_an_input_drives_a_joint_as_a_function_of_time_does():
    h = 2e-3
    sim = rtmbs.Simulation(rail(rtmbs.Input(motion(0.0))).compile(), h=h)
    timed = rtmbs.Simulation(rail(rtmbs.Sine(0.3, 4.0)).compile(), h=h)
    for _ in range(100):
        sim.inputs["lift"] = motion(sim.t + h)
        assert sim.step().outcome.accepted
        timed.step()
    np.testing.assert_allclose(sim.state.z, timed.state.z, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sim.state.zd, timed.state.zd, rtol=0, atol=1e-9)
    assert sim["lift.force"] == pytest.approx(timed["lift.force"], abs=1e-6)


def test_an_input_drives_a_distance():
    def pulled(profile):
        m = rail(rtmbs.ConstantRate(0.0))
        del m.drivers["lift"]
        m.add_marker("wall", m.ground, (-1, 0, 0))
        m.add_marker("pad", "block", (0, 0, 0))
        m.add_driver("rope", profile, between=("wall", "pad"))
        return rtmbs.Simulation(m.compile(), h=2e-3)

    sim, timed = pulled(rtmbs.Input((1.0, 1.2, 0.0))), pulled(rtmbs.Sine(0.3, 4.0, offset=1.0))
    for _ in range(50):
        f, fd, fdd = motion(sim.t + 2e-3)
        sim.inputs["rope"] = (1.0 + f, fd, fdd)
        assert sim.step().outcome.accepted
        timed.step()
    np.testing.assert_allclose(sim.state.z, timed.state.z, rtol=0, atol=1e-9)


def test_a_value_alone_is_at_rest():
    sim = rtmbs.Simulation(rail(rtmbs.Input(0.2)).compile(), h=1e-3)
    assert sim.inputs["lift"].tolist() == [0.2, 0.0, 0.0]
    sim.run(0.05)
    assert sim["slide.displacement"] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("value", [(0.3, 0.0, 0.0), (0.2, 5.0, 0.0), (-0.2, -1.0, 0.0)])
def test_a_motion_that_jumps_is_refused_by_name(value):
    sim = rtmbs.Simulation(rail(rtmbs.Input(0.2)).compile(), h=1e-3)
    with pytest.raises(InputError, match=r"input 'lift' goes from \(0.2, 0, 0\).*smooth motion"):
        sim.inputs["lift"] = value
    with pytest.raises(InputError, match="3 numbers"):
        sim.inputs["lift"] = 0.2
    with pytest.raises(InputError, match="'lift' is a driver"):
        sim.inputs.hold("lift")


@pytest.mark.parametrize("default", ["far", (1.0, 2.0), (1.0, math.nan, 0.0), None])
def test_what_is_no_motion_is_refused(default):
    with pytest.raises(ModelError, match="driver 'lift': default"):
        rail(rtmbs.Input(default))


def floating(point=(0.5, 0.0, 1.0), **joint):
    m = rtmbs.Model("free", gravity=(0, 0, -9.81))
    m.add_body("plate", mass=3.0, inertia=(0.2, 0.3, 0.4), position=point)
    m.add_joint("free", rtmbs.Floating(), m.ground, "plate", point=joint.get("at", point))
    return m


def test_a_floating_joint_is_driven():
    """The plate is lifted along z and falls freely otherwise; the driver carries its weight and its inertia."""
    m = floating()
    m.set_initial("free", rate=(0.1, 0, 1.2, 0.5, 0.2, 0.1), pin=False)
    m.add_driver("lift", rtmbs.Sine(0.3, 4.0, offset=1.0), body=("plate", "z"))
    sim = rtmbs.Simulation(m.compile(), h=1e-3)
    result = sim.run(0.5)
    np.testing.assert_allclose(result["plate.position"][:, 2], 1.0 + 0.3 * np.sin(4 * result.t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(result["plate.position"][:, 0], 0.5 + 0.1 * result.t, rtol=0, atol=1e-9)
    force = 3.0 * (9.81 - 4.8 * np.sin(4 * result.t))
    np.testing.assert_allclose(result["lift.force"][1:], force[1:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("coordinate", ["yaw", "z"])
def test_what_a_floating_joint_cannot_be_driven_by_is_told(coordinate):
    m = floating(at=(0.5, 0.0, 1.0) if coordinate == "yaw" else (0.0, 0.0, 0.0))
    m.add_driver("lift", rtmbs.Sine(0.3, 4.0, offset=1.0), body=("plate", coordinate))
    with pytest.raises(ModelError, match=rf"'lift' prescribes plate\.{coordinate}.*floating joint at the body"):
        m.compile()


def test_a_pinned_place_that_contradicts_the_driver_is_named():
    m = floating()
    m.set_initial("free", (0.5, 0, 0.2, 1, 0, 0, 0))
    m.add_driver("lift", rtmbs.ConstantRate(0.0, start=1.0), body=("plate", "z"))
    with pytest.raises(ModelError, match=r"driver 'lift' starts free\.z"):
        m.compile()
