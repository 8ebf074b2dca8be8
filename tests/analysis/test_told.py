"""What analyses found, as a line, as text and in a notebook."""

import numpy as np
import pytest

import rtmbs
from tests.analysis.cases import chain


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
    sim = found["Equilibrium"].simulation.independent()
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
