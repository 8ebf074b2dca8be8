"""What analyses may be given in the place of a Simulation, and what to write for all else."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.analysis.equilibrium import NoEquilibrium
from tests.studies.analysis.cases import chain


@pytest.fixture(scope="module")
def model():
    model = chain(2)
    model.set_initial("hinge_link0", position=0.4)
    return model


@pytest.fixture(scope="module")
def rest(model):
    return rtmbs.equilibrium(model.compile())


def test_an_equilibrium_and_its_state_stand_for_the_simulation(rest):
    wanted = rtmbs.modes(rest.simulation).frequencies
    for of in (rest, rest.state, rest.state.copy(), rtmbs.linearise(rest), rtmbs.linearise(rest.state)):
        np.testing.assert_allclose(rtmbs.modes(of).frequencies, wanted, rtol=1e-12)
    assert rtmbs.workload(rest, 0.01).missed < 1e-9


def test_a_state_of_nobody_is_refused_without_its_numbers(rest):
    state = rest.state.copy()
    state.fingerprint = "f" * 64
    with pytest.raises(
        InputError, match=r"^modes was given a State at t = 0 s of a mechanism that no Simulation here has"
    ):
        rtmbs.modes(state)


WRONG = {
    "a Model": (
        lambda model: rtmbs.modes(model),
        r"modes takes .*, not a Model; write rtmbs\.modes\(rtmbs\.Simulation\(mo",
    ),
    "a System": (
        lambda model: rtmbs.linearise(model.compile()),
        r"linearise takes .*, not a System; write rtmbs\.linearise",
    ),
    "of equilibrium": (lambda model: rtmbs.equilibrium(model), r"equilibrium takes .*, not a Model; write"),
    "of sensitivity": (
        lambda model: rtmbs.sensitivity(model, 0.1, "t", ["gravity"]),
        "sensitivity takes .*, not a Model; write",
    ),
    "of campbell": (lambda model: rtmbs.campbell(model, [1.0]), "campbell takes .*, not a Model; write"),
    "a number": (lambda model: rtmbs.modes(3), "modes takes a Simulation or a Linearisation, not 3"),
    "no input": (
        lambda model: rtmbs.campbell(rtmbs.Simulation(model.compile()), [1.0]),
        "campbell of a Simulation needs over=, the name of an input; there are 'gravity'",
    ),
    "three numbers": (
        lambda model: rtmbs.campbell(rtmbs.Simulation(model.compile()), [1.0], "gravity"),
        "input 'gravity' has 3 numbers, and a diagram goes over one",
    ),
    "near": (lambda model: rtmbs.equilibrium(model.compile(), near=3), "near is 3; it must map coordinates to values"),
    "near another": (
        lambda model: rtmbs.equilibrium(model.compile(), near=rtmbs.Simulation(chain(3).compile())),
        "near is a pose of another mechanism than 'chain'; map coordinates",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_simulation_is_answered_with_what_to_write(model, case):
    call, words = WRONG[case]
    with pytest.raises(InputError, match=f"^{words}"):
        call(model)


def test_the_search_begins_near_a_pose(model):
    system, upright = model.compile(), {"hinge_link0.angle": 3.0, "hinge_link1.angle": 0.1}
    up = rtmbs.equilibrium(system, near=upright, stable=False)
    np.testing.assert_allclose(up.state.z, [np.pi, 0.0], atol=1e-9)
    for near in (up, up.state, up.simulation):
        again = rtmbs.equilibrium(system, near=near, stable=False)
        np.testing.assert_allclose(again.state.z, up.state.z, atol=1e-9)


def test_what_keeps_moving_is_said_with_its_unit_and_a_channel():
    model = rtmbs.Model("free")
    model.add_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, 1))
    model.add_joint("air", rtmbs.Floating(), "ground", "ball", point=(0, 0, 1))
    with pytest.raises(
        NoEquilibrium, match=r"air\.position \(z\) keeps moving: nothing balances .* of 9\.81 m/s\^2; hold"
    ):
        rtmbs.equilibrium(model.compile())
