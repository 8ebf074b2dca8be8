"""Inverse dynamics of ball and floating joints: records, quaternions, loops, and refusals that say what helps."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.campaign import Tally
from bench.campaigns.inverse_dynamics import judged
from rtmbs.errors import InputError
from rtmbs.studies.analysis.prescribed_motion import differentiated

T = np.linspace(0.0, 0.5, 6)
SKEW = (0.3, 0.25, 0.2, 0.02, -0.03, 0.01)


def robot(root=None):
    model = rtmbs.Model("robot", gravity=(0, 0, -9.81))
    model.add_body("torso", mass=10, inertia=SKEW, center_of_mass=(0.1, 0.0, 0.05))
    model.add_body("leg", mass=3, inertia=(0.05, 0.05, 0.01), center_of_mass=(0, 0, -0.2))
    model.add_joint("root", root or rtmbs.Floating(), "ground", "torso", point=(0, 0, 0))
    model.add_joint("hip", rtmbs.Revolute(axis=(0, 1, 0)), "torso", "leg", point=(0, 0, 0))
    model.set_initial("hip", rate=2.0)
    return model


@pytest.mark.parametrize("seed", range(3))
def test_random_mechanisms_against_maximal_coordinates(seed):
    assert not judged(seed, Tally())


def test_a_recorded_free_motion_needs_no_wrench():
    system = robot().compile()
    run = rtmbs.Simulation(system, h=1e-2).run(0.1)
    found = rtmbs.inverse_dynamics(system, run)
    assert set(found.forces) == {"hip.angle", *(f"root.{part}" for part in ("fx", "fy", "fz", "nx", "ny", "nz"))}
    for force in found.forces.values():
        assert np.abs(force).max() < 1e-9
    for named in (["root", "hip"], ["root", "hip.angle"]):
        some = rtmbs.inverse_dynamics(system, run, named, inputs={"gravity": (0.0, 0.0, 0.0)})
        np.testing.assert_allclose(some.forces["root.fz"], -13 * 9.81, rtol=1e-9)
        np.testing.assert_array_equal(some.forces["root.ny"], some.result["root.reaction"][:, 4])


def test_a_record_without_rates_is_differentiated():
    system = robot().compile()
    run = rtmbs.Simulation(system, h=1e-2).run(0.1)
    given = {name: run[name] for name in ("root.orientation", "root.position", "hip.angle")}
    exact = rtmbs.inverse_dynamics(system, run, inputs={"gravity": (0.0, 0.0, 0.0)})
    found = rtmbs.inverse_dynamics(system, given, run.t, inputs={"gravity": (0.0, 0.0, 0.0)})
    for name, force in exact.forces.items():
        assert np.abs(found.forces[name] - force)[3:-3].max() < 2e-2 * 13 * 9.81, name


def test_quaternions_with_derivatives_against_a_driven_pose():
    model = rtmbs.Model("held", gravity=(0, 0, -9.81))
    model.add_body("plate", mass=2.0, inertia=SKEW, position=(0, 0, 1))
    rtmbs.library.drive_pose(model, "plate", angles=(rtmbs.Sine(0.4, 3.0), 0.0, rtmbs.Sine(0.3, 2.0)))
    driven = rtmbs.inverse_dynamics(model.compile(), None, T)
    free = rtmbs.Model("held", gravity=(0, 0, -9.81))
    free.add_body("plate", mass=2.0, inertia=SKEW, position=(0, 0, 1))
    free.add_joint("joint", rtmbs.Floating(), "ground", "plate", point=(0, 0, 1))
    motion = {"joint.position": np.zeros((6, 3, 3)), "joint.orientation": of_poses(driven.result)}
    found = rtmbs.inverse_dynamics(free.compile(), motion, T)
    wanted = driven.result["plate roll.reaction"]
    for k, part in enumerate(("fx", "fy", "fz", "nx", "ny", "nz")):
        np.testing.assert_allclose(found.forces[f"joint.{part}"], wanted[:, k], atol=1e-10)


def of_poses(result):
    """Return quaternions with two derivatives (S, 3, 4) of the plate: q' = w q / 2, w in world axes."""
    q, w, wd = (result[f"plate.{what}"] for what in ("orientation", "angular_velocity", "angular_acceleration"))

    def times(v, p):
        return np.column_stack((-np.sum(v * p[:, 1:], 1), v * p[:, :1] + np.cross(v, p[:, 1:])))

    qd = 0.5 * times(w, q)
    return np.stack((q, qd, 0.5 * (times(wd, q) + times(w, qd))), axis=1)


def test_samples_of_a_turn_are_differentiated_to_their_order():
    errors = []
    for count in (33, 65):
        t = np.linspace(0.0, 1.0, count)
        half = 0.5 * (t + np.sin(2.0 * t))
        axis = np.array([2.0, -1.0, 2.0]) / 3.0
        found = differentiated("ball", np.column_stack((np.cos(half), np.outer(np.sin(half), axis))), t)
        w, wd = np.outer(1.0 + 2.0 * np.cos(2.0 * t), axis), np.outer(-4.0 * np.sin(2.0 * t), axis)
        errors.append((np.abs(found.w - w).max(), np.abs(found.wd - wd).max()))
    assert errors[0][0] > 2.0**4.5 * errors[1][0]
    assert errors[0][1] > 2.0**3.5 * errors[1][1]
    assert errors[1][1] < 1e-5


def test_a_line_turns_and_slides():
    model = robot(rtmbs.Line(axis=(1, 2, 2)))
    model.add_force("push", rtmbs.TorsionSpring(1.0, 0.1), joint="hip")
    system = model.compile()
    run = rtmbs.Simulation(system, h=5e-3).run(0.05)
    found = rtmbs.inverse_dynamics(system, run)
    assert set(found.forces) == {"hip.angle", "root.slide_1", "root.nx", "root.ny", "root.nz"}
    assert max(np.abs(force).max() for force in found.forces.values()) < 1e-8


HELD = {"hip": rtmbs.ConstantRate(0.0)}
Q = np.tile([1.0, 0.0, 0.0, 0.0], (6, 1))
BAD = {
    "the joint": ({"root": rtmbs.ConstantRate(0.0)}, "turns freely, .* give 'root.orientation' .* and 'root.position'"),
    "open": ({**HELD, "root.orientation": Q}, "3 degrees of freedom open at t = 0 s: 'root.position' may move"),
    "length": ({**HELD, "root.orientation": 2.0 * Q}, "quaternion .* of length one"),
    "shape": ({**HELD, "root.orientation": Q[:3]}, "6 quaternions"),
    "place": ({**HELD, "root.orientation": Q, "root.position": np.zeros(3)}, "three profiles, 6 positions"),
    "far": ({**HELD, "root.orientation": np.eye(4)[[0, 1, 0, 1, 0, 1]]}, "turns by 3.14 rad .* give more samples"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named(case):
    motion, words = BAD[case]
    with pytest.raises(InputError, match=words):
        rtmbs.inverse_dynamics(robot().compile(), motion, T)


def test_remedies_help():
    system = robot().compile()
    given = {**HELD, "root.orientation": Q, "root.position": (rtmbs.Sine(0.1, 3.0), 0.0, 0.0)}
    found = rtmbs.inverse_dynamics(system, given, T)
    np.testing.assert_allclose(found.forces["root.fx"], [13 * rtmbs.Sine(0.1, 3.0)(t)[2] for t in T], atol=1e-9)
    with pytest.raises(InputError, match=r"cannot have a drive: joint 'root' turns freely, .* name the joint, 'root'"):
        rtmbs.inverse_dynamics(system, given, T, drives=["root.orientation"])
    also = rtmbs.inverse_dynamics(system, given, T, drives=["root", "hip"])
    np.testing.assert_allclose(also.forces["root.fx"], found.forces["root.fx"], atol=1e-9)
