"""Bounds of what stands between a user and the kernel: Python calls of a step and of a start, and public names."""

import sys
from itertools import pairwise
from pathlib import Path

import rtmbs

PACKAGE = str(Path(rtmbs.__file__).parent)
STEP_CALLS, STEP_CHANGES = 20, 10  # of a step: Python calls in the package, and changes from file to file
START_CALLS = 800
NAMES = 20


def pendulum():
    model = rtmbs.Model("pendulum")
    bob = model.add_body("bob", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-4))
    model.add_joint("a", rtmbs.Revolute(axis=(1, 0, 0)), model.ground, bob, point=(0, 0, 0))
    model.set_initial("a", position=0.5)
    return model.compile()


def files_called(act):
    """Return the file of every Python call in the package, in order."""
    found = []

    def count(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.append(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(before)
    return found


def test_a_step_is_few_calls():
    sim = rtmbs.Simulation(pendulum(), h=5e-3)
    sim.step()
    called = files_called(sim.step)
    assert 0 < len(called) <= STEP_CALLS
    assert sum(a != b for a, b in pairwise(called)) <= STEP_CHANGES


def test_a_simulation_is_made_in_few_calls():
    rtmbs.Simulation(pendulum(), h=5e-3)  # loads the kernels
    system = pendulum()
    assert 0 < len(files_called(lambda: rtmbs.Simulation(system, h=5e-3))) <= START_CALLS


def test_public_names_are_those_of_users():
    sim = rtmbs.Simulation(pendulum(), h=5e-3)
    shown = [name for name in dir(sim) if not name.startswith("_")]
    assert len(shown) <= NAMES, shown
    for one in (sim, rtmbs.Model("m"), sim.run(0.01), sim.inputs):
        assert not {"own_names", "refusal", "remedy"} & set(dir(one))
