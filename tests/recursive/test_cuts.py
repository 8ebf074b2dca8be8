"""Cut joints that are missing, given twice, or too many: the same motion, or a sentence that says why not."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import TopologyError
from rtmbs.formulations import JointCoordinates, Recursive

X = (1.0, 0.0, 0.0)
POINTS = {"j1": (0.0, 0.0, 0.0), "j2": (0.0, 0.1, 1.0), "j3": (0.0, 1.2, 0.9), "j4": (0.0, 1.0, 0.0)}


def four_bar(*cuts, twice=False):
    """Return a four-bar whose joints of these names are marked as cut; ``twice``: its knee is given twice."""
    model = rtmbs.Model("four-bar")
    for k, name in enumerate("abc"):
        model.add_body(name, mass=1.0 + k, inertia=(0.2, 0.3, 0.35 + 0.05 * k), position=(0.1 * k, 0.5 * k, 0.5))
    bodies = [model.ground, "a", "b", "c", model.ground]
    for k, (name, point) in enumerate(POINTS.items()):
        model.add_joint(name, rtmbs.Revolute(axis=X), bodies[k], bodies[k + 1], point=point, cut=name in cuts)
    if twice:
        model.add_joint("j3 again", rtmbs.Revolute(axis=X), "b", "c", point=POINTS["j3"], cut=True)
    model.set_initial("j1", position=0.0, rate=2.0)
    return model


def crank_acceleration(model):
    """Return the acceleration of ``j1`` and the names of the redundant rows."""
    system = JointCoordinates(model.compile())
    state = rtmbs.Simulation(system.equations.compiled, h=1e-3).state
    found, _ = Recursive().accelerations(system, state.z, state.zd, 0.0)
    place = system.equations.compiled.coordinate_names.index("j1.angle")
    return found[place], Recursive().dependent_rows(system, state.z, state.zd, 0.0)


def test_a_loop_without_a_cut_joint_is_cut_where_the_tree_ends():
    marked = crank_acceleration(four_bar("j4"))[0]
    assert abs(marked) > 0.1
    assert crank_acceleration(four_bar())[0] == pytest.approx(marked, rel=1e-11)
    assert crank_acceleration(four_bar("j2"))[0] == pytest.approx(marked, rel=1e-11)


def test_a_cut_joint_given_twice_shares_its_load_and_is_named():
    once, rows = crank_acceleration(four_bar("j3"))
    twice, more = crank_acceleration(four_bar("j3", twice=True))
    assert twice == pytest.approx(once, rel=1e-10)
    assert len(more) == len(rows) + 5
    assert {name.split(".")[0] for name in more} == {"j3", "j3 again"}


def test_two_cut_joints_in_one_loop_are_refused_by_name():
    with pytest.raises(TopologyError, match=r"body 'c' is connected to ground only by what is cut \('j3', 'j4'\)"):
        four_bar("j3", "j4").compile()
    assert np.isfinite(crank_acceleration(four_bar("j3"))[0])
