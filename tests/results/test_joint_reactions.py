"""Reactions of all joints at once are those of one joint after the other: tree and cut, welded, far from the origin."""

import numpy as np
import pytest

import rtmbs
from rtmbs.results.reactions import JointReactions, reaction_values
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.simulation import Simulation
from tests.contracts.machines import LIBRARY, MOBILE, closed_model, library_simulation


def compared(sim: Simulation) -> int:
    """Compare both ways, and return the number of joints."""
    tables = sim.equations.tables
    found = JointReactions(sim.system, tables).read(Evaluation(sim.system, tables, one_sample(sim.state)))
    one = Evaluation(sim.system, tables, one_sample(sim.state))
    expected = np.array([reaction_values(one, sim.system, name)[0] for name in sim.system.joints])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * max(1.0, float(np.max(np.abs(expected)))))
    return len(expected)


@pytest.mark.parametrize("name", LIBRARY)
def test_mechanisms_of_the_library(name):
    sim = library_simulation(name)
    sim.step()
    assert compared(sim) > 0


@pytest.mark.parametrize("seed", MOBILE[:3])
def test_random_loops_with_every_joint(seed):
    assert compared(Simulation(closed_model(seed).compile())) > 5


def test_parts_far_from_the_origin_with_ground_as_second_body():
    model = rtmbs.Model("far")
    for k, x in enumerate((0.0, 3e5)):
        body = model.add_body(
            f"bob {k}", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0, 0, -1), position=(x, 0, 0)
        )
        arm = model.add_body(f"arm {k}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(x, 0, -1))
        model.add_joint(f"pin {k}", rtmbs.Revolute(axis=(0, 1, 0)), body, "ground", point=(x, 0, 0))
        model.add_joint(f"weld {k}", rtmbs.Fixed(), body, arm, point=(x, 0, -1))
        model.set_initial(f"pin {k}", position=0.4)
    sim = Simulation(model.compile())
    sim.step()
    assert compared(sim) == 4


def test_the_first_dof_far_from_the_origin_against_statics():
    """A body at rest on a hinge, 0.3 m beside it along its axis: the hinge carries the weight and its moment."""
    model = rtmbs.Model("far", gravity=(0, 0, -9.81))
    model.add_body("bob", mass=2.0, inertia=(0.1,) * 3, center_of_mass=(0, 0.3, -1), position=(3e5, 0, 0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "bob", point=(3e5, 0, 0))
    sim = Simulation(model.compile())
    tables = sim.equations.tables
    assert sim.system.bodies["bob"].dof == 0
    assert tables.origins.row[0] < -1
    found = JointReactions(sim.system, tables).read(Evaluation(sim.system, tables, one_sample(sim.state)))
    np.testing.assert_allclose(found, [[0, 0, 2.0 * 9.81, 0.3 * 2.0 * 9.81, 0, 0]], atol=1e-8)
    assert compared(sim) == 1


def test_a_free_body_has_a_joint_that_carries_nothing():
    model = rtmbs.Model("free")
    model.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("free", rtmbs.Floating(), "ground", "body")
    assert compared(Simulation(model.compile())) == 1
