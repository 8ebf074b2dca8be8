"""Values by name: an unknown name is answered with the nearest ones."""

import copy
import pickle

import pytest

import rtmbs
from rtmbs.analysis.report import NamedValues
from rtmbs.errors import UnknownNameError


def test_brackets_name_the_nearest():
    values = NamedValues("joint", {"crank": 1, "rocker": 2})
    assert values["crank"] == 1
    assert "cranc" not in values
    assert values.get("cranc", 0) == 0
    with pytest.raises(UnknownNameError, match=r"there is no joint named 'cranc'; did you mean 'crank'\?"):
        values["cranc"]
    for other in (pickle.loads(pickle.dumps(values)), copy.deepcopy(values), copy.copy(values)):
        assert other == values
        assert other.kind == "joint"


def test_second_names_answer_too():
    values = NamedValues("drive", {"crank.angle": 1}, {"crank": "crank.angle"})
    assert values["crank"] == values.get("crank") == 1
    assert "crank" in values
    assert list(values) == ["crank.angle"]
    assert pickle.loads(pickle.dumps(values))["crank"] == 1
    with pytest.raises(UnknownNameError, match="did you mean 'crank'"):
        values["cranc"]


def test_every_verb_answers_so():
    """Workload, modes, inverse dynamics and equilibrium."""
    model = rtmbs.library.build("crank_rocker")
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    load, modes = rtmbs.workload(sim, 0.01), rtmbs.modes(sim)
    need = rtmbs.inverse_dynamics(sim.system, {"crank_pivot": rtmbs.ConstantRate(1.0)}, [0.0, 0.1])
    rest = rtmbs.equilibrium(sim.system)
    answers = {
        "crank_pivot": [load.joints, rest.loads, need.forces, need.power],
        "crank": [modes.bodies, modes.shares],
        "gravity": [load.power, modes.element_shares],
        "fx": [load.statistics("pin")],
    }
    for name, all_values in answers.items():
        for values in all_values:
            assert values[name] is not None
            with pytest.raises(UnknownNameError, match=f"did you mean '{name}'" if len(name) > 2 else "there are"):
                values[name + "x" if len(name) > 2 else "q"]


def test_modes_of_a_mechanism_that_nothing_is_free_in_say_so():
    sim = rtmbs.Simulation(rtmbs.library.build("driven_fourbar").compile(), h=1e-3)
    table = rtmbs.modes(sim).table()
    assert table.startswith("no modes: nothing is free to move")
