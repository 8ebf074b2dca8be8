"""Arguments of a function that builds a model: what has no derivative is named, and never answered by zero."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError

SKEW = rtmbs.Revolute((0.3, 1.0, -0.2))


def arm(joint=SKEW):
    """A body on one joint."""
    model = rtmbs.Model("arm")
    model.add_body("arm", mass=2.0, center_of_mass=(0.5, 0.0, 0.1), inertia=(0.1, 0.2, 0.3))
    model.add_joint("pin", joint, model.ground, "arm", point=(0, 0, 0))
    return model


def with_called_law(a):
    model = arm()

    def law(t, kinematics, parameters):
        if kinematics.z > 0.0:
            return -a * kinematics.z
        return -2.0 * a * kinematics.z

    model.add_force("law", law, joint="pin")
    return model


def with_listed_law(a):
    """The number stands in a list, which the identity of a function does not know."""
    model, numbers = arm(), [a]

    def law(t, kinematics, parameters):
        return -numbers[0] * kinematics.z if kinematics.z > 0.0 else 0.0

    model.add_force("law", law, joint="pin")
    return model


def with_orientation(a):
    model = arm(rtmbs.Spherical())
    model.set_initial("pin", position=(np.cos(a), np.sin(a), 0.0, 0.0))
    return model


def with_jump(a):
    model = arm()
    model.add_force("motor", rtmbs.Motor(lambda t: 0.0 if t < a else 3.0), joint="pin")
    return model


def with_motor(a):
    model = arm()
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(a)), joint="pin")
    return model


def with_wave(a):
    model = arm()
    model.add_driver("wave", rtmbs.Sine(0.1, a), joint="pin")
    return model


SHARED = [0.0]


def with_a_shared_number(a):
    """All models that the function built read the number of the last one."""
    model, SHARED[0] = arm(), a
    model.add_force("motor", rtmbs.Motor(lambda t: SHARED[0] * t), joint="pin")
    return model


REFUSED = {
    "shared number": (with_a_shared_number, 2.0, r"^'motor.torque' changes when model= builds another model"),
    "called law": (with_called_law, 20.0, r"^a changes numbers inside of a force law; make them parameters of it"),
    "list of a law": (with_listed_law, 20.0, r"^a changes numbers inside of a force law"),
    "orientation": (with_orientation, 0.3, r"^a changes the first orientation of a ball or floating joint"),
    "jump between samples": (
        with_jump,
        0.205,
        r"^'motor.torque' jumps at t = 0.205 s, and sensitivities of such a run",
    ),
    "jump at a sample": (with_jump, 0.2, r"^'motor.torque' jumps at t = 0.2 s"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_named(case):
    build, a, words = REFUSED[case]
    sim = rtmbs.Simulation(build(a).compile(), h=1e-2)
    with pytest.raises(InputError, match=words):
        rtmbs.sensitivity(sim, 0.3, "arm.mass_center", ["a"], model=build, at={"a": a})


def test_a_default_that_was_set_since():
    sim = rtmbs.Simulation(with_motor(3.0).compile(), h=1e-2)
    sim.inputs["motor.torque"] = 5.0
    with pytest.raises(InputError, match=r"^a changes the default of 'motor.torque', which was set since"):
        rtmbs.sensitivity(sim, 0.3, "pin.angle", ["a"], model=with_motor, at={"a": 3.0})


@pytest.mark.parametrize(
    ("build", "words"), [(with_motor, "the default of 'motor.torque'"), (with_wave, "'wave', a function of time,")]
)
def test_values_that_were_not_compiled(build, words):
    sim = rtmbs.Simulation(build(3.0).compile(), h=1e-2)
    with pytest.raises(
        InputError, match=f"^model= with at= is another mechanism than the Simulation has: {words} differs"
    ):
        rtmbs.sensitivity(sim, 0.3, "arm.mass_center", ["gravity"], model=build, at={"a": 4.0})


def test_two_functions_that_build_the_same_mechanism():
    """The recorded step of the first one is not taken for the second, whose argument counts twice."""

    def twice(a):
        return with_motor(2.0 * a)

    sim = rtmbs.Simulation(with_motor(3.0).compile(), h=1e-2)
    once = rtmbs.sensitivity(sim, 0.1, "pin.angle", ["a"], model=with_motor, at={"a": 3.0})
    found = rtmbs.sensitivity(sim, 0.1, "pin.angle", ["a"], model=twice, at={"a": 1.5})
    assert once.gradient[0] != 0.0
    assert found.gradient[0] == pytest.approx(2.0 * once.gradient[0], rel=1e-9)
