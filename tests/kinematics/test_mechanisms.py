"""Driven mechanisms against closed forms and independent solutions."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from bench.measures import driven as m
from rtmbs import Cylindrical, Model, Prismatic, Revolute, library
from rtmbs.kinematics import Analysis, Gear, JointCoordinate, RackAndPinion, Screw
from rtmbs.model import ConstantRate, Sine
from rtmbs.numerics.rotations.quaternions import rotations

EXACT = {"rtol": 0.0, "atol": 1e-9}


def check_derivatives(motion, *names):
    """Hold velocities and accelerations of points against differences of fourth order of what they derive from."""
    h = motion.t[1] - motion.t[0]
    for name in names:
        for what, rate in (("position", "velocity"), ("velocity", "acceleration")):
            x = motion[f"{name}.{what}"]
            slope = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12.0 * h)
            np.testing.assert_allclose(
                motion[f"{name}.{rate}"][2:-2], slope, rtol=0, atol=1e-6 * (1 + np.abs(slope).max())
            )


def test_four_bar():
    motion = Analysis(m.four_bar(rate=2.0)).run(0.0, 7.0, 0.01)
    corners = np.array([m.four_bar_corners(math.pi / 3 + 2.0 * t)[2] for t in motion.t])
    np.testing.assert_allclose(motion["pin.position"], corners, **EXACT)
    np.testing.assert_allclose(motion["A.angle"], 2.0 * motion.t, **EXACT)  # twice round, without a jump
    np.testing.assert_allclose(motion["A.rate"], 2.0, **EXACT)
    assert len(motion.mobility.redundant) == 3
    assert motion.mobility.degrees_of_freedom == 0
    assert motion.singular == ()
    check_derivatives(Analysis(m.four_bar(rate=2.0)).run(0.0, 3.2, 0.004), "pin", "coupler", "rocker")


def test_chain_of_hooke_joints():
    bends, rate = (0.4, -0.5, 0.7), 3.0
    motion = Analysis(m.hooke_chain(bends, rate)).run(0.0, 4.0, 0.01)
    angle = rate * motion.t
    for k, bend in enumerate(bends):
        angle = hooke(angle, bend)
        np.testing.assert_allclose(motion[f"bearing{k + 1}.angle"], angle, **EXACT)
    check_derivatives(motion, "s1", "s3")


def hooke(angle, bend):
    """Return the turn of the driven shaft: the fork of the driving one stands across the plane of the bend at zero."""
    turned = np.arctan2(np.sin(angle) * math.cos(bend), np.cos(angle))
    return turned + 2.0 * np.pi * np.round((angle - turned) / (2.0 * np.pi))


def test_bennett():
    model, alpha, beta, first, second = m.bennett(rate=1.0)
    motion = Analysis(model).run(0.0, 2.0, 0.01)
    theta = first + motion.t
    wanted = 2.0 * np.arctan(m.bennett_ratio(alpha, beta) / np.tan(0.5 * theta)) - second
    np.testing.assert_allclose(motion["r1.angle"], wanted, **EXACT)
    np.testing.assert_allclose(motion["r2.angle"], -motion.t, **EXACT)
    np.testing.assert_allclose(motion["r3.angle"], -wanted, **EXACT)
    assert len(motion.mobility.redundant) == 3
    check_derivatives(motion, "link1", "link2", "link3")


def test_bricard():
    model = library.bricard()
    model.add_driver("motor", Sine(0.8, 2.0, phase=-math.pi / 2, offset=0.8), joint="joint_1")
    motion = Analysis(model).run(0.0, 3.0, 0.05)
    assert len(motion.mobility.redundant) == 1
    angles, guess = np.stack([motion[f"joint_{k}.angle"] for k in range(1, 7)], axis=1), np.zeros(5)
    for t, row in zip(motion.t, angles, strict=True):
        found = least_squares(
            lambda x, t=t: bricard_gap(0.8 - 0.8 * math.cos(2.0 * t), x), guess, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        assert found.cost < 1e-22
        guess = found.x
        np.testing.assert_allclose(row[1:], guess, **EXACT)


def bricard_gap(first, others):
    """Return how far the chain of six turns is from closing: products of exponentials, nothing of this package."""
    from rtmbs.library.benchmarks import AXES, CORNERS

    frame = np.eye(4)
    for angle, axis, corner in zip((first, *others), AXES, CORNERS, strict=True):
        k, p = np.array(axis), np.array(corner)
        K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        R = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
        one = np.eye(4)
        one[:3, :3], one[:3, 3] = R, p - R @ p
        frame = frame @ one
    return (frame - np.eye(4))[:3].ravel()


def test_stewart_platform():
    model, axis = m.stewart()
    motion = Analysis(model).run(0.0, 5.0, 0.02)
    assert motion.mobility.degrees_of_freedom == 0
    R = rotations(motion["platform.orientation"])
    for k, t in enumerate(motion.t):
        p, v, a, angle, rate, gain = m.platform_motion(t)
        np.testing.assert_allclose(motion["platform.position"][k], p, **EXACT)
        np.testing.assert_allclose(motion["platform.velocity"][k], v, rtol=0, atol=1e-8)
        np.testing.assert_allclose(motion["platform.acceleration"][k], a, rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion["platform.angular_velocity"][k], rate * axis, rtol=0, atol=1e-8)
        np.testing.assert_allclose(motion["platform.angular_acceleration"][k], gain * axis, rtol=0, atol=1e-7)
        assert np.trace(R[k]) == pytest.approx(1.0 + 2.0 * math.cos(angle), abs=1e-9)


def test_walking_leg_of_eleven_bars():
    motion = Analysis(m.walking_leg(0.3, 2.0)).run(0.0, 3.5, 0.02)
    foot = np.array([m.leg_points(0.3 + 2.0 * t)["F"] for t in motion.t])
    np.testing.assert_allclose(motion["foot.position"], foot, rtol=0, atol=1e-9)
    assert len(motion.mobility.redundant) == 3 * 5  # three a loop, five loops
    check_derivatives(Analysis(m.walking_leg(0.3, 2.0)).run(0.0, 1.0, 0.004), "foot")


def test_cam_with_follower():
    model, contact = m.cam(2.0)
    motion = Analysis(model, [contact]).run(0.0, 4.0, 0.01)
    s = math.pi / 2 - 2.0 * motion.t
    np.testing.assert_allclose(motion["follower.position"][:, 1], m.cam_radius(s), **EXACT)
    np.testing.assert_allclose(motion["contact.s"], s, **EXACT)
    slope = 2.0 * (0.2 * np.sin(s) - 0.2 * np.cos(2.0 * s))
    np.testing.assert_allclose(motion["follower.velocity"][:, 1], slope, rtol=0, atol=1e-8)
    bend = -2.0 * 2.0 * (0.2 * np.cos(s) + 0.4 * np.sin(2.0 * s))
    np.testing.assert_allclose(motion["follower.acceleration"][:, 1], bend, rtol=0, atol=1e-7)


def wheels(kind):
    """Return two bodies on the joints that a coupling takes."""
    model = Model("coupled")
    model.add_body("one", mass=0.0)
    model.add_joint("first", Revolute(axis=m.Z), "ground", "one", point=(0, 0, 0))
    if kind == "screw":
        model.add_body("nut", mass=0.0, position=(0.0, 0.0, 0.4))
        model.add_joint("thread", Cylindrical(axis=m.Z), "ground", "nut", point=(0, 0, 0.4))
        model.add_driver("motor", ConstantRate(5.0), joint=("thread", "angle"))
    else:
        model.add_body("two", mass=0.0, position=(1.0, 0.0, 0.0))
        joint = Revolute(axis=m.Z) if kind == "gear" else Prismatic(axis=m.X)
        model.add_joint("second", joint, "ground", "two", point=(1.0, 0.0, 0.0))
        model.add_driver("motor", ConstantRate(5.0), joint="first")
    return model


def test_joint_coordinates_that_are_unknowns_count_turns():
    model = m.four_bar()
    unknowns = [JointCoordinate(f"turn of {name}", name, "angle") for name in "AD"]
    motion = Analysis(model, unknowns).run(0.0, 8.0, 0.02)
    np.testing.assert_allclose(motion["turn of A"], 2.0 * motion.t, **EXACT)
    np.testing.assert_allclose(motion["turn of D"], motion["D.angle"], **EXACT)
    slide = Analysis(wheels("screw"), [Screw("pair", "thread", 0.2), JointCoordinate("x", "thread", "displacement")])
    found = slide.run(0.0, 6.0, 0.1)
    np.testing.assert_allclose(found["x"], found["thread.displacement"], **EXACT)


def test_gear_rack_and_screw_count_turns():
    gear = Analysis(wheels("gear"), [Gear("pair", "first", "second", 2.5)]).run(0.0, 6.0, 0.1)
    np.testing.assert_allclose(gear["second.angle"], -5.0 * gear.t / 2.5, **EXACT)
    rack = Analysis(wheels("rack"), [RackAndPinion("pair", "second", "first", 0.3)]).run(0.0, 6.0, 0.1)
    np.testing.assert_allclose(rack["second.displacement"], 0.3 * 5.0 * rack.t, **EXACT)
    screw = Analysis(wheels("screw"), [Screw("pair", "thread", 0.02)]).run(0.0, 6.0, 0.1)
    np.testing.assert_allclose(screw["thread.displacement"], 0.02 / (2.0 * np.pi) * 5.0 * screw.t, **EXACT)
    np.testing.assert_allclose(screw["nut.velocity"][:, 2], 0.1 / (2.0 * np.pi), **EXACT)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_chain_of_loops(count):
    motion = Analysis(m.loops(count)).run(0.0, 1.0, 0.05)
    for k in (0, count):
        np.testing.assert_allclose(motion[f"pivot{k}.angle"], 0.5 * motion.t, **EXACT)
    assert len(motion.mobility.redundant) == 3 * count
