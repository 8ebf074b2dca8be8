"""What analyses found, as a line, as text and in a notebook.

Values by name: an unknown name is answered with the nearest ones.

What analyses may be given in the place of a Simulation, and what to write for all else.
"""

import copy
import pickle

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.studies.analysis.equilibrium import NoEquilibrium
from rtmbs.studies.analysis.report import NamedValues
from tests.studies.analysis.cases import chain


@pytest.fixture(scope="module")
def found():
    model = chain(2)
    model.add_force("motor", rtmbs.Motor(), joint="hinge_link0")
    system = model.compile()
    rest = rtmbs.equilibrium(system)
    turn = {f"hinge_link{k}": rtmbs.Sine(0.3, 3.0) for k in range(2)}
    return {
        "Equilibrium": rest,
        "Linearisation": rtmbs.linearise(rest, ["motor.torque"], ["link1.position"]),
        "Modes": rtmbs.modes(rest),
        "Campbell": rtmbs.campbell(rest.simulation, [0.0, 0.1], "motor.torque"),
        "InverseDynamics": rtmbs.inverse_dynamics(system, turn, np.linspace(0.0, 1.0, 5)),
        "Sensitivity": rtmbs.sensitivity(rest.simulation, 0.01, "hinge_link0.angle", ["motor.torque", "gravity"]),
    }


LINES = {
    "Equilibrium": ("'chain' at t = 0 s, least stiffness 19", "hinge_link1.angle"),
    "Linearisation": ("'chain' at t = 0 s: 2 degrees of freedom, 4 states, 1 input, 3 outputs", "inputs: motor.torque"),
    "Modes": ("'chain' at t = 0 s: 2 modes, stable", "moves most"),
    "Campbell": ("2 branches over motor.torque = 0 to 0.1", "mode 1 [Hz]"),
    "InverseDynamics": ("'chain': 2 drives, 5 times, 0 s to 1 s", "hinge_link1"),
    "Sensitivity": ("'chain': 1 value by 4 parameters, adjoint method", "gravity[2]"),
}


@pytest.mark.parametrize("name", LINES)
def test_answers_are_text_and_not_arrays(found, name):
    line, inside = LINES[name]
    answer = found[name]
    assert repr(answer).startswith(f"{name}({line}")
    assert len(repr(answer).splitlines()) == 1
    assert inside in str(answer)
    assert "array(" not in repr(answer) + str(answer)
    assert len(str(answer)) < 2000
    assert answer._repr_html_().startswith("<pre>")


def test_modes_of_a_state_that_moves_or_is_off_balance_say_so(found):
    assert "depend on the choice" not in str(found["Modes"])
    sim = copy.copy(found["Equilibrium"].simulation)
    sim.set("hinge_link0.angle", 0.5)
    assert "Forces do not balance at this pose" in str(rtmbs.modes(sim))
    sim.set("hinge_link0.rate", 0.5)
    assert "The state moves, and not steadily" in str(rtmbs.modes(sim))


def test_a_diagram_is_kept_in_a_file(found, tmp_path):
    pytest.importorskip("matplotlib")
    found["Campbell"].plot(file=tmp_path / "campbell.png", orders=[1.0])
    assert (tmp_path / "campbell.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(rtmbs.errors.InputError, match=r"nowhere.*c\.png' cannot be written: there is no folder"):
        found["Campbell"].plot(file=tmp_path / "nowhere" / "c.png")


def test_long_tables_end_with_what_is_left_out():
    assert str(rtmbs.linearise(rtmbs.Simulation(chain(20).compile()))).splitlines()[-1] == "and 8 more"


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
