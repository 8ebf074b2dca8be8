"""States of a force law as the user gives them: what is taken, and what is refused by name."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import ModelError, RtmbsError


def lag(t, kinematics, parameters, states):
    return -states["x"], (kinematics.z - states["x"]) / 0.1


def pendulum(law=lag, states=None, **options):
    model = rtmbs.Model("pendulum")
    body = model.add_body("bob", mass=1.0, inertia=(1.0, 1.0, 1.0), center_of_mass=(0.5, 0.0, 0.0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", body)
    model.add_force("lag", law, joint="pin", states={"x": 0.0} if states is None else states, **options)
    return model


def test_states_are_kept_in_order_with_units():
    law = lambda t, k, p, s: (s["a"] - s["b"], (-s["a"], k.z))  # noqa: E731
    system = pendulum(law, {"a": 2.0, "b": -1}, units={"b": "rad s"}).compile()
    assert [tuple(state)[:4] for state in system.states] == [("lag", "a", 2.0, "1"), ("lag", "b", -1.0, "rad s")]
    np.testing.assert_array_equal(system.s0, [2.0, -1.0])
    sim = Simulation(system, 1e-3)
    np.testing.assert_array_equal(sim.state.s, [2.0, -1.0])
    np.testing.assert_allclose(sim.state.sd, [-2.0, 0.0], atol=1e-15)


def test_channels_in_a_result_and_in_its_file(tmp_path):
    result = Simulation(pendulum().compile(), 1e-3).run(0.05)
    assert result["lag.x"].shape == (51,)
    assert result.read("lag.x").unit == "1"
    result.save(tmp_path / "result.npz")
    loaded = rtmbs.load_result(tmp_path / "result.npz")
    np.testing.assert_array_equal(loaded["lag.x"], result["lag.x"])


def test_a_first_value_is_no_part_of_the_fingerprint_but_a_name_is():
    one = pendulum().compile().fingerprint
    assert pendulum(states={"x": 3.0}).compile().fingerprint == one
    assert pendulum(lambda t, k, p, s: lag(t, k, p, {"x": s["y"]}), {"y": 0.0}).compile().fingerprint != one


def test_a_state_of_another_shape_is_refused():
    sim = Simulation(pendulum().compile(), 1e-3)
    state = sim.state.copy()
    state.s = np.zeros(2)
    with pytest.raises(RtmbsError, match="s has shape"):
        sim.restore(state)
    state.s = np.array([1e200])
    with pytest.raises(RtmbsError, match="s holds a number beyond"):
        sim.restore(state)


def calling_python(t, kinematics, parameters, states):
    return math.copysign(1.0, kinematics.z), 0.0


REFUSED = {
    "a rate too many": ({"law": lambda t, k, p, s: (k.z, (1.0, 2.0))}, "'lag'.* rates of shape"),
    "no rates": ({"law": lambda t, k, p, s: k.z}, "'lag'.* must return a pair"),
    "rates that are words": ({"law": lambda t, k, p, s: (k.z, "fast")}, "'lag'.* must return numbers"),
    "None for rates": ({"law": lambda t, k, p, s: (k.z, None)}, "'lag'.* None"),
    "a rate that is no number": ({"law": lambda t, k, p, s: (k.z, np.log(s["x"] - 1.0))}, "'lag'.* finite there"),
    "a law of three": ({"law": lambda t, k, p: k.z}, "parameters, states"),
    "a first value that is no number": ({"states": {"x": np.nan}}, "state 'x'.* finite"),
    "a first value that is a word": ({"states": {"x": "zero"}}, "state 'x'.* one number"),
    "several first values": ({"states": {"x": (0.0, 1.0)}}, "state 'x'.* one number"),
    "a list of states": ({"states": ["x"]}, "states is .* dictionary"),
    "a name that is none": ({"states": {"": 0.0}}, "state name"),
    "the name of a channel": ({"states": {"force": 0.0}}, "another name"),
    "the name of a parameter": ({"parameters": {"x": 1.0}}, "a state and a parameter"),
    "a unit of no state": ({"units": {"y": "m"}}, "no state of it"),
    "a unit that is no word": ({"units": {"x": 3}}, "must be a word"),
    "a law called in Python": ({"trace": False}, "leave trace=False out"),
    "a law that cannot be recorded": ({"law": calling_python}, "cannot be recorded"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_states_are_refused_by_name(case):
    options, words = REFUSED[case]
    with pytest.raises(ModelError, match=words):
        pendulum(**options).compile()


def test_states_belong_to_a_law_written_as_a_function():
    model = pendulum()
    with pytest.raises(ModelError, match="written as a function"):
        model.add_force("motor", rtmbs.Motor(1.0), joint="pin", states={"x": 0.0})
