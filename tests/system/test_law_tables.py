"""A law that is attached elsewhere acts as one that was written there."""

import numpy as np
import pytest

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library.force_laws import point_spring
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.system.compile import arrays
from rtmbs.system.law_tables import attach_law
from rtmbs.system.pattern import uncondensed
from tests.contracts.machines import accepted_steps, contents, difference
from tests.mechanisms import random_model, random_motion

PULL = {"target": (0.5, 1.0, 2.0), "stiffness": 30.0, "damping": 2.0, "limit": 20.0}
POINT = (0.1, -0.2, 0.3)


def held(body, seed=3):
    """A random model with a hand on one body."""
    model = random_model(seed, 9)
    model.add_force("hand", point_spring, body=body, point=POINT, parameters=PULL)
    return model.compile()


@pytest.mark.parametrize("body", ["body 0", "body 4", "body 8"])
def test_tables_are_those_of_a_model_written_so(body):
    """Residual and tangent, not only tables: places in the pattern count."""
    written, moved = held(body), attach_law(held("body 5"), "hand", body, np.array(POINT))
    for one, other in zip(arrays(written.tables), arrays(moved.tables), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)
    motion, found = random_motion(1, written.tables), []
    for system in (written, moved):
        equations = SemiRecursiveEquations(system)
        residual = equations.residual(motion.z, motion.zd, motion.zdd, system.R0)
        found.append((residual, equations.assemble(1.0, 0.3, 0.2)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12 * np.abs(one).max())


def fourbar():
    model = library.build("fourbar", ny=2, nz=2)
    body = list(model.bodies)[1]
    model.add_force("hand", point_spring, body=body, parameters={**PULL, "stiffness": 0.0, "damping": 0.0})
    return model.compile()


@pytest.mark.parametrize("jacobian", ["structured", "trace"])
def test_a_hand_takes_another_body_between_steps(jacobian):
    sim = Simulation(fourbar(), h=2e-3, jacobian=jacobian)
    # A law takes its component out of the balance of energy: compare with a run that has none.
    free = Simulation(
        library.build("fourbar", ny=2, nz=2).compile(), h=2e-3, method=PenaltyTrapezoidal(hold_energy=False)
    )
    accepted_steps(sim, 5)
    accepted_steps(free, 5)
    assert difference(sim.state, free.state) < 1e-9
    last = list(sim.system.bodies)[-1]
    sim.attach("hand", last, POINT)
    sim.inputs["hand.stiffness"] = 500.0
    sim.inputs["hand.damping"] = 5.0
    reports = accepted_steps(sim, 20)
    accepted_steps(free, 20)
    assert max(report.iterations for report in reports) <= 5
    assert difference(sim.state, free.state) > 1e-3
    other = Simulation(attach_law(fourbar(), "hand", last, np.array(POINT)), h=2e-3, jacobian=jacobian)
    other.restore(sim.state)
    accepted_steps(sim, 5)
    accepted_steps(other, 5)
    assert contents(sim.state) == contents(other.state)


def test_a_deep_tree_keeps_its_interfaces_until_a_hand_moves():
    """A hand low in a tower leaves them; the tower with the hand taken elsewhere is the one written so."""

    def moving(system):
        return Simulation(system, h=2e-3, method=PenaltyTrapezoidal(hold_energy=False))

    model = library.build("fourbar", ny=2, nz=40)
    model.add_force("hand", point_spring, body="rod_1_1", point=POINT, parameters=PULL)
    sim = moving(model.compile())
    other, without = (
        moving(attach_law(sim.system, "hand", "rod_40_1", np.array(POINT))),
        moving(uncondensed(sim.system)),
    )
    assert len(sim.system.tables.interfaces.dof) > 0
    accepted_steps(sim, 5)
    accepted_steps(without, 5)
    assert difference(sim.state, without.state) < 1e-9
    sim.attach("hand", "rod_40_1", POINT)
    assert len(sim.system.tables.interfaces.dof) == 0
    other.restore(sim.state)
    accepted_steps(sim, 5)
    accepted_steps(other, 5)
    assert difference(sim.state, other.state) < 1e-9


def test_a_pull_is_limited_and_balances():
    """The reaction at the ground carries weight and hand; the hand is never stronger than its limit."""
    model = rtmbs.Model("pendulum")
    arm = model.add_body("arm", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.add_joint("a", rtmbs.Spherical(), model.ground, arm)
    more = model.add_body("more", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, -1))
    model.add_joint("b", rtmbs.Spherical(), arm, more, point=(0, 0, -1))
    model.add_force("hand", point_spring, body=arm, parameters={**PULL, "stiffness": 0.0})
    sim = Simulation(model.compile(), h=1e-3)
    sim.attach("hand", "more")
    sim.inputs["hand.stiffness"], sim.inputs["hand.target"] = 1e4, (3.0, 0.0, -1.0)
    result = sim.run(0.1)
    pull = result["hand.force"] + 2.0 * result["more.velocity"]
    np.testing.assert_allclose(np.linalg.norm(pull, axis=1), 20.0, rtol=1e-9)
    mass_times_acceleration = sum(result[f"{name}.acceleration"][0] * 1.0 for name in ("more",))
    weight = np.array([0, 0, -9.81])
    through_b = sim_reaction(result, "b")
    np.testing.assert_allclose(through_b + result["hand.force"][0] + weight, mass_times_acceleration, atol=1e-9)


def sim_reaction(result, joint):
    return result[f"{joint}.reaction"][0][:3]


def test_what_cannot_be_attached_is_refused_by_name():
    system = held("body 5")
    for force, body, kind, message in (
        ("hnad", "body 1", UnknownNameError, "did you mean 'hand'"),
        ("hand", "bdy 1", UnknownNameError, "no body named 'bdy 1'"),
        ("hand", "ground", InputError, "force 'hand': body 'ground' stands still"),
        (
            "spring 0",
            "body 1",
            InputError,
            "force 'spring 0' cannot be attached elsewhere; only a force law on one body",
        ),
        ("law 0", "body 1", InputError, "force 'law 0' cannot be attached elsewhere"),
    ):
        with pytest.raises(kind, match=message):
            attach_law(system, force, body, np.zeros(3))
    for point in ((1.0, 2.0), "here"):
        with pytest.raises(InputError, match="three numbers in body axes"):
            Simulation(fourbar()).attach("hand", "ground", point)


def test_a_recording_refuses_an_attachment_on_the_way():
    """Channels of a force know one body; a recording with two would say something wrong about the first."""
    sim, recorder = Simulation(fourbar(), h=2e-3), Recorder()
    recorder.begin(sim, None)
    recorder.observe(sim, sim.step())
    sim.attach("hand", list(sim.system.bodies)[-1])
    report = sim.step()
    with pytest.raises(InputError, match="attached elsewhere while a run is recorded"):
        recorder.observe(sim, report)
