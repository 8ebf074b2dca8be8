"""A System of a Model that has changed since is told where it is used; a second System is not."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import RtmbsWarning, kinematics


def pendulum():
    model = rtmbs.Model("pendulum", gravity=(0, -9.81, 0))
    model.add_body("rod", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.001, 0.083, 0.083))
    model.add_joint("a", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rod", point=(0, 0, 0))
    return model


def spring(t, k, p):
    return -k.z


def twice(sim):
    for k in (4, 6):
        sim.run(1e-3 * k)


CHANGES = {
    "force 'l' was added to": lambda model: model.add_force("l", spring, joint="a"),
    "marker 'm' was added to": lambda model: model.add_marker("m", "rod"),
    "body 'b' was added to": lambda model: model.add_body("b", mass=1.0),
    "initial value of joint 'a' was added to": lambda model: model.set_initial("a", 0.1),
    "driver 'd' was added to": lambda model: model.add_driver("d", rtmbs.ConstantRate(0.0, 1.0), joint="a"),
    "looks of body 'rod' was changed in": lambda model: model.set_looks("rod", color="steel"),
    "joint 'a' was taken out of": lambda model: model.joints.pop("a"),
    "gravity was changed in": lambda model: setattr(model, "gravity", np.array([0.0, -1.6, 0.0])),
}


@pytest.mark.parametrize("words", CHANGES)
def test_a_run_of_the_old_system_names_what_changed_once(words):
    model = pendulum()
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    sim.run(0.002)
    CHANGES[words](model)
    with pytest.warns(RtmbsWarning, match=f"{words} model 'pendulum' after this System was compiled") as caught:
        twice(sim)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_simulation_of_the_old_system_is_told_and_of_a_second_one_is_not():
    model = pendulum()
    old = model.compile()
    for k in range(8):
        model.add_force(f"l{k}", spring, joint="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rtmbs.Simulation(model.compile(), h=1e-3).run(0.002)
    with pytest.warns(RtmbsWarning, match="force 'l5' was added to model 'pendulum'; 2 further changes after"):
        rtmbs.Simulation(old, h=1e-3)


def test_the_other_uses_of_a_system_are_told_too():
    for use in (rtmbs.linearise, lambda sim: rtmbs.modes(sim)):
        model = pendulum()
        sim = rtmbs.Simulation(model.compile(), h=1e-3)
        model.add_force("l", spring, joint="a")
        with pytest.warns(RtmbsWarning, match="force 'l' was added"):
            use(sim)


def test_copies_and_systems_without_their_model_say_nothing():
    model = pendulum()
    system = model.compile()
    copies = copy.deepcopy(system), pickle.loads(pickle.dumps(system))
    model.add_force("l", spring, joint="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in copies:
            assert one.origin is None
            rtmbs.Simulation(one, h=1e-3)
        del model
        rtmbs.Simulation(system, h=1e-3)


def test_an_analysis_of_a_changed_model_is_told():
    model = pendulum()
    model.add_driver("d", rtmbs.ConstantRate(0.0, 1.0), joint="a")
    analysis = kinematics.Analysis(model)
    model.add_force("l", spring, joint="a")  # no part of kinematics
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis.run(0.0, 0.1, 0.1)
    model.add_marker("m", "rod")
    with pytest.warns(RtmbsWarning, match="marker 'm' was added to model 'pendulum' after this Analysis was made"):
        analysis.run(0.0, 0.1, 0.1)


def test_arrays_and_dictionaries_that_were_given_are_copied():
    center, inertia, parameters = np.array([0.5, 0, 0]), np.array([0.001, 0.083, 0.083]), {"c": np.array([1.0, 2.0])}
    gravity = np.array([0.0, -9.81, 0.0])
    model = rtmbs.Model("m", gravity=gravity)
    model.add_body("rod", mass=1.0, center_of_mass=center, inertia=inertia)
    point = np.zeros(3)
    model.add_joint("a", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rod", point=point)
    model.add_force("l", lambda t, k, p: -p["c"][1] * k.z, joint="a", parameters=parameters)
    system = model.compile()
    u0 = system.u0.copy()
    for array in (center, inertia, gravity, point, parameters["c"]):
        array += 7.0
    parameters["d"] = 1.0
    again = model.compile()
    assert again.fingerprint == system.fingerprint
    np.testing.assert_array_equal(again.u0, u0)
