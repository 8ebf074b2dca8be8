"""Slips of the pen that were accepted once: degrees, a derivative that is none, a law that writes its parameters."""

import copy
import functools
import math
import types

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, ModelError
from rtmbs.model.captured import captured, values_captured

STIFFNESS = 2.0


class Tuned:
    """Something with a number that a law reads."""

    stiffness = 1.0

    def __init__(self):
        self.damping = 0.5


TUNED, TABLE, OFFSETS = Tuned(), {"k": 3.0}, np.array([1.0, 2.0])


def crank():
    m = rtmbs.Model("crank")
    m.add_body("crank", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-4))
    m.add_joint("a", rtmbs.Revolute((1, 0, 0)), m.ground, "crank")
    return m


@pytest.mark.parametrize("position", [90, -45.0, 180.0])
def test_degrees_are_refused(position):
    with pytest.raises(ModelError, match=rf"joint 'a': position: angle is {position:g} rad.*math.radians"):
        crank().set_initial("a", position=position)
    crank().set_initial("a", position=math.radians(position), rate=position)


@pytest.mark.parametrize(
    ("functions", "name"),
    [
        ((lambda t: t * t, lambda t: t, lambda t: 1.0), r"fd is not the derivative of f: fd\(0.11\) is 0.11"),
        ((math.sin, math.cos, math.sin), "fdd is not the derivative of fd"),
        ((lambda t: 5.0, lambda t: 1e-3, lambda t: 0.0), "fd is not"),
    ],
)
def test_derivatives_that_are_none_are_refused(functions, name):
    with pytest.raises(ModelError, match=f"driver 'd': {name}"):
        crank().add_driver("d", rtmbs.Function(*functions), joint="a")


@pytest.mark.parametrize(
    "functions",
    [
        (math.sin, math.cos, lambda t: -math.sin(t)),
        (lambda t: 1e6 + 1e-3 * t**3, lambda t: 3e-3 * t * t, lambda t: 6e-3 * t),
        (lambda t: max(t - 0.37, 0.0) ** 2, lambda t: 2 * max(t - 0.37, 0.0), lambda t: 2.0 * (t > 0.37)),
        (math.log, lambda t: 1 / t, lambda t: -1 / t**2),
    ],
)
def test_true_derivatives_are_accepted(functions):
    crank().add_driver("d", rtmbs.Function(*functions), joint="a")


def test_a_number_in_quotes_is_no_torque():
    with pytest.raises(ModelError, match="force 'm': value is '5'"):
        crank().add_force("m", rtmbs.Motor("5"), joint="a")


def writes_a_name(t, kinematics, parameters):
    parameters["c"] = 2.0 * parameters["c"]
    return -parameters["c"] * kinematics.z


def writes_an_entry(t, kinematics, parameters):
    parameters["v"][0] = 7.0
    return -parameters["v"][0] * kinematics.z


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize(("law", "given"), [(writes_a_name, {"c": 1.0}), (writes_an_entry, {"v": (1.0, 2.0)})])
def test_a_law_that_writes_its_parameters_is_refused(law, given, trace):
    m = crank()
    m.add_force("f", law, joint="a", parameters=given, trace=trace)
    with pytest.raises(ModelError, match=r"^force 'f': its law writes its parameters, .*; write the new"):
        m.compile()


def reads_a_global(t, kinematics, parameters):
    return -STIFFNESS * kinematics.z


def calls_a_reader(t, kinematics, parameters):
    return 2.0 * reads_a_global(t, kinematics, parameters)


def reads_an_attribute(t, kinematics, parameters):
    return -TUNED.damping * kinematics.zd


def reads_a_dictionary(t, kinematics, parameters):
    return -TABLE["k"] * kinematics.z


def reads_an_array(t, kinematics, parameters):
    return -OFFSETS[1] * kinematics.z


@pytest.mark.parametrize(
    ("law", "name", "change"),
    [
        (reads_a_global, "STIFFNESS", lambda patch: patch.setitem(globals(), "STIFFNESS", 4.0)),
        (calls_a_reader, "STIFFNESS", lambda patch: patch.setitem(globals(), "STIFFNESS", 4.0)),
        (reads_an_attribute, "TUNED.damping", lambda patch: patch.setattr(TUNED, "damping", 4.0)),
        (reads_a_dictionary, "TABLE", lambda patch: patch.setitem(TABLE, "k", 4.0)),
        (reads_an_array, "OFFSETS", lambda patch: patch.setitem(globals(), "OFFSETS", OFFSETS + 1.0)),
    ],
)
def test_a_recorded_law_whose_surroundings_change_is_told(law, name, change, monkeypatch):
    m = check_change_is_told(
        law, change, monkeypatch, rf"force 'f': its law reads {name}, which was .*4.0|3.0.*parameters="
    )
    rtmbs.Simulation(m.compile(), h=1e-2).run(0.05)


def check_change_is_told(law, change, monkeypatch, says):
    """A run under a law goes on when nothing changed, and tells what did; returns the model."""
    m = crank()
    m.add_force("f", law, joint="a")
    sim = rtmbs.Simulation(m.compile(), h=1e-2)
    sim.run(0.05)
    change(monkeypatch)
    with pytest.raises(InputError, match=says):
        sim.run(0.1)
    monkeypatch.undo()
    sim.run(0.1)
    return m


def test_a_variable_of_a_function_around_is_told():
    stiffness = 3.0

    def law(t, kinematics, parameters):
        return -stiffness * kinematics.z

    m = crank()
    m.add_force("f", law, joint="a")
    sim = rtmbs.Simulation(m.compile(), h=1e-2)
    stiffness = 5.0
    with pytest.raises(InputError, match=r"reads stiffness, which was 3.0 when .* is 5.0 now"):
        sim.run(0.1)


class Held:
    """A law whose number is the class's, read by a method that another one calls."""

    gain = 2.0
    __slots__ = ("offset",)

    def pull(self, z):
        return -self.gain * z

    def law(self, t, kinematics, parameters):
        return self.pull(kinematics.z) + self.offset


HELD, TABLES, MODE = Held(), types.ModuleType("tables"), {"name": ["soft"]}
HELD.offset, TABLES.gain = 0.5, 3.0


def reads_a_class(t, kinematics, parameters):
    return -Tuned.stiffness * kinematics.z


def reads_a_module(t, kinematics, parameters):
    force = np.zeros(1)
    force[0] = 1.0  # an array of its own, which a law may write to
    return -TABLES.gain * kinematics.z


def reads_a_default(t, kinematics, parameters, table=TABLE, *, factor=2.0):
    return -factor * table["k"] * kinematics.z


def reads_a_word(t, kinematics, parameters):
    return -(1.0 if MODE["name"][0] == "soft" else 50.0) * kinematics.z


def reads_an_argument(factors, t, kinematics, parameters):
    return -factors["k"][0] * kinematics.z


GIVEN = {"k": [2.0, (3.0, 1)]}
CHANGED = {
    "class": (reads_a_class, "Tuned.stiffness", lambda patch: patch.setattr(Tuned, "stiffness", 4.0)),
    "module": (reads_a_module, "TABLES.gain", lambda patch: patch.setattr(TABLES, "gain", 4.0)),
    "default": (reads_a_default, "table", lambda patch: patch.setitem(TABLE, "k", 4.0)),
    "word": (reads_a_word, "MODE", lambda patch: patch.setitem(MODE, "name", ["hard"])),
    "partial": (functools.partial(reads_an_argument, GIVEN), "factors", lambda patch: patch.setitem(GIVEN, "k", [4.0])),
    "method": (HELD.law, "self.gain", lambda patch: patch.setattr(Held, "gain", 4.0)),
    "slot": (HELD.law, "self.offset", lambda patch: patch.setattr(HELD, "offset", 4.0)),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_else_a_law_reads_is_told(case, monkeypatch):
    law, name, change = CHANGED[case]
    says = rf"force 'f': its law reads {name}, which was .* and is .*(4\.0|hard).* now"
    check_change_is_told(law, change, monkeypatch, says)


ASKED = {
    "step": lambda sim: [sim.step() for _ in range(10_000)],
    "modes": rtmbs.modes,
    "linearise": rtmbs.linearise,
    "equilibrium": rtmbs.equilibrium,
    "of the System": lambda sim: rtmbs.equilibrium(sim.system),
    "workload": lambda sim: rtmbs.workload(sim, sim.t + 0.1),
    "inverse dynamics": lambda sim: rtmbs.inverse_dynamics(sim.system, {"a": rtmbs.ConstantRate(1.0)}, [0.0, 0.1]),
    "sensitivity": lambda sim: rtmbs.sensitivity(sim, sim.t + 0.1, of="a.angle", by=["gravity"]),
    "a copy": lambda sim: copy.deepcopy(sim).run(sim.t + 0.1),
}


@pytest.mark.parametrize("case", ASKED)
def test_whoever_asks_is_told_that_a_law_has_changed(case, monkeypatch):
    m = crank()
    m.add_force("f", reads_a_default, joint="a")
    sim = rtmbs.Simulation(m.compile(), h=1e-2)
    sim.run(0.05)
    monkeypatch.setitem(TABLE, "k", 4.0)
    with pytest.raises(InputError, match="force 'f': its law reads table, which was"):
        ASKED[case](sim)


def test_what_is_no_number_and_what_stays_is_not_captured():
    from rtmbs.library.force_laws import stribeck_friction

    assert values_captured(captured(stribeck_friction)) == {}
    assert values_captured(captured(reads_a_global)) == {"STIFFNESS": "2.0"}
    assert values_captured(captured(3.0)) == {}
    assert values_captured(captured(lambda t, k, p: np.pi * math.tau * HELD.law.__name__.count("a"))) == {}
