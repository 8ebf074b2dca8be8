"""Inputs by name: what the user may change between steps, and what belongs to functions of time."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rtmbs
from rtmbs import Outcome, Simulation
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.simulation.options import by_name
from tests.contracts.machines import accepted_steps, closed_simulation, contents, everything


def machine(**options):
    """A pendulum on a cart with an input of every size, a timed motor and a timed wrench."""
    model = rtmbs.Model("machine")
    model.add_body("cart", mass=1.0)
    model.add_body("bob", mass=1.0, center_of_mass=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 1, 0)), "ground", "cart")
    model.add_joint("pivot", rtmbs.Revolute(axis=(1, 0, 0)), "cart", "bob")
    model.add_force("pull", rtmbs.Motor(rtmbs.Input(2.0)), joint="rail")
    model.add_force("wave", rtmbs.Motor(math.sin), joint="pivot")
    model.add_force("wind", rtmbs.Wrench(force=rtmbs.Input((1, 2, 3)), torque=lambda t: (t, 0, 0)), body="bob")
    model.add_force("coil", rtmbs.TorsionSpring(5.0, 0.1), joint="pivot")
    return Simulation(model.compile(), **by_name(**{"h": 1e-2, **options}))


def test_a_mapping_by_name():
    inputs = machine().inputs
    assert isinstance(inputs, Mapping)
    assert len(inputs) == len(list(inputs)) == len(dict(inputs))
    assert "pull.force" in inputs
    assert "pull.torque" not in inputs
    assert inputs["pull.force"] == 2.0
    assert isinstance(inputs["pull.force"], float)
    np.testing.assert_array_equal(inputs["wind.force"], (1, 2, 3))
    np.testing.assert_array_equal(inputs["gravity"], (0, 0, -9.81))
    assert {"coil.stiffness", "coil.damping", "coil.angle", "coil.load", "wave.torque", "wind.torque"} <= set(inputs)


def test_an_array_handed_out_is_a_copy():
    sim = machine()
    given = sim.inputs["wind.force"]
    given[:] = 99.0
    np.testing.assert_array_equal(sim.inputs["wind.force"], (1, 2, 3))
    mine = np.array([4.0, 5.0, 6.0])
    sim.inputs["wind.force"] = mine
    mine[:] = 0.0
    np.testing.assert_array_equal(sim.inputs["wind.force"], (4, 5, 6))


@pytest.mark.parametrize("value", [7, 7.0, np.float32(7), np.array(7.0), [7.0]])
def test_what_is_a_number(value):
    sim = machine()
    sim.inputs["pull.force"] = value
    assert sim.inputs["pull.force"] == 7.0


def test_values_stay_until_they_are_changed_again():
    sim = machine()
    sim.inputs["pull.force"] = -3.0
    for _ in range(9):
        accepted_steps(sim, 1)
        assert sim.inputs["pull.force"] == -3.0
    sim.inputs["pull.force"] = 1.0
    accepted_steps(sim, 1)
    assert sim.inputs["pull.force"] == 1.0


def test_a_value_set_late_is_a_default_set_early():
    """Setting an input at the start is writing it in the model."""
    one, model = machine(), machine().system
    one.inputs["gravity"] = (0.0, 1.0, -2.0)
    other = Simulation(model, h=1e-2)
    other.inputs["gravity"] = (0.0, 0.5, 0.0)
    other.inputs["gravity"] = (0.0, 1.0, -2.0)
    accepted_steps(one, 20)
    accepted_steps(other, 20)
    assert everything(one) == everything(other)


def test_the_same_value_changes_nothing():
    one, other = machine(), machine()
    for _ in range(5):
        accepted_steps(one, 1)
        accepted_steps(other, 1)
        for name in ("pull.force", "wind.force", "gravity", "coil.stiffness"):
            one.inputs[name] = one.inputs[name]
    assert everything(one) == everything(other)


def test_accelerations_follow_at_once():
    """F = m a at the moment an input is set: positions, rates and time stay."""
    sim = machine()
    accepted_steps(sim, 3)
    before = contents(sim.state)
    rail = sim.system.joints["rail"].dofs[0]
    sim.inputs["pull.force"], sim.inputs["wind.force"], sim.inputs["gravity"] = 0.0, (0, 0, 0), (0, 0, 0)
    moved = {name for name, value in contents(sim.state).items() if value != before.get(name)}
    assert {name for name in moved if not name.startswith("before.")} == {"u", "zdd"}
    force = sim.inputs["wave.torque"]
    assert force != 0.0
    assert abs(sim.state.zdd[rail]) < 10.0


def test_inputs_belong_to_the_state(tmp_path):
    sim, other = machine(), machine()
    sim.inputs["pull.force"] = 11.0
    sim.state.save(tmp_path / "state")
    sim.inputs["pull.force"] = 12.0
    other.restore(tmp_path / "state")
    assert other.inputs["pull.force"] == 11.0
    sim.restore(other.state)
    assert sim.inputs["pull.force"] == 11.0
    other.inputs["pull.force"] = 13.0
    assert sim.inputs["pull.force"] == 11.0


def test_two_simulations_of_one_system_have_inputs_of_their_own():
    sim = machine()
    other = Simulation(sim.system, h=1e-2)
    sim.inputs["pull.force"] = 5.0
    assert other.inputs["pull.force"] == 2.0
    assert Simulation(sim.system, h=1e-2).inputs["pull.force"] == 2.0


def test_functions_of_time_are_read_and_never_set():
    sim = machine()
    for name in ("wave.torque", "wind.torque"):
        for value in (1.0, (1.0, 2.0, 3.0)):
            with pytest.raises(InputError, match="function of time") as refusal:
                sim.inputs[name] = value
            assert repr(name) in str(refusal.value)
            assert "rtmbs.Input" in str(refusal.value)
    accepted_steps(sim, 4)
    assert sim.inputs["wave.torque"] == math.sin(sim.t)
    np.testing.assert_array_equal(sim.inputs["wind.torque"], (sim.t, 0, 0))


def test_functions_of_time_are_asked_once_a_step_at_its_end():
    asked = []
    model = rtmbs.library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(lambda t: asked.append(t) or 0.0), joint="pivot")
    sim = Simulation(model.compile(), h=0.25)
    asked.clear()
    accepted_steps(sim, 3)
    assert asked == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("pull.force", math.nan, ["finite", "nan"]),
        ("pull.force", math.inf, ["finite", "inf"]),
        ("pull.force", (1.0, 2.0), ["1 number,", "got 2"]),
        ("pull.force", "strong", ["1 number,", "'strong'"]),
        ("pull.force", None, ["1 number,", "None"]),
        ("pull.force", "7", ["1 number,", "'7'"]),
        ("pull.force", True, ["1 number,", "True"]),
        ("pull.force", 10**400, ["1 number,"]),
        ("pull.force", 1j, ["1 number,", "1j"]),
        ("pull.force", [], ["1 number,", "got 0"]),
        ("wind.force", 1.0, ["3 numbers", "got 1"]),
        ("wind.force", (1.0, math.nan, 2.0), ["finite", "nan"]),
        ("wind.force", (1.0, (2.0,), 3.0), ["3 numbers"]),
        ("wind.force", np.zeros((3, 3)), ["3 numbers", "got 9"]),
        ("gravity", {"z": -9.81}, ["3 numbers"]),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(name, value, words):
    sim = machine()
    before = everything(sim)
    with pytest.raises(InputError) as refusal:
        sim.inputs[name] = value
    for word in (f"input {name!r}", *words):
        assert word in str(refusal.value), str(refusal.value)
    assert everything(sim) == before


@pytest.mark.parametrize("name", ["pul.force", "pull", "", "gravity ", 3, None])
def test_an_unknown_name_lists_the_nearest(name):
    sim = machine()
    with pytest.raises(UnknownNameError, match="no input named") as refusal:
        sim.inputs[name] = 1.0
    assert repr(name) in str(refusal.value)
    with pytest.raises(UnknownNameError):
        _ = sim.inputs[name]
    if name == "pul.force":
        assert "did you mean 'pull.force'" in str(refusal.value)


def test_inputs_beyond_all_bounds_end_in_an_outcome_and_can_be_taken_back():
    """The state stays finite and the next sensible value goes on as if nothing had been."""
    sim, reference = machine(), machine()
    accepted_steps(sim, 2)
    accepted_steps(reference, 2)
    for value in (1e308, -1e308):
        sim.inputs["pull.force"] = value
        report = sim.step()
        assert report.outcome is Outcome.NOT_FINITE
        assert all(np.all(np.isfinite(values)) for values in (sim.state.z, sim.state.zd, sim.state.zdd))
    for each in (sim, reference):
        each.inputs["pull.force"] = 3.0
    accepted_steps(sim, 2)
    accepted_steps(reference, 2)
    assert everything(sim) == everything(reference)


@given(value=st.floats(-1e3, 1e3), steps=st.integers(0, 5))
def test_whatever_is_set_is_read_back(value, steps):
    sim = machine()
    accepted_steps(sim, steps)
    sim.inputs["pull.force"] = value
    accepted_steps(sim, 1)
    assert sim.inputs["pull.force"] == value


def test_every_input_of_a_large_model_can_be_set():
    sim = closed_simulation(0)
    timed = {signal.name for signal in sim.system.signals}
    for name, value in dict(sim.inputs).items():
        if name in timed:
            continue
        sim.inputs[name] = np.asarray(value) + 0.125
        np.testing.assert_array_equal(sim.inputs[name], np.asarray(value) + 0.125)
    assert sim.step().outcome.accepted


def test_another_method_begins_alike_behind_an_input_that_was_set_back():
    """Accelerations stay those of the last step, whether an input was set and set back or not."""
    model = rtmbs.library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.3)), joint="crank_pivot")
    system, found = model.compile(), []
    for touched in (False, True):
        sim = rtmbs.Simulation(system, h=1e-3, method=rtmbs.PenaltyTrapezoidal())
        sim.run(0.02)
        if touched:
            sim.inputs["motor.torque"] = 1.0
            sim.inputs["motor.torque"] = 0.3
        sim.change(method=rtmbs.VariationalMidpoint())
        found.append((sim.state.z.tobytes(), sim.state.zdd.tobytes(), sim.state.lam.tobytes()))
    assert found[0] == found[1]
