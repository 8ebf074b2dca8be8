"""Cuts of loops and shares of ranks: balance, refusals, branches that forces couple."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, TopologyError
from rtmbs.formulations import JointCoordinates, Recursive
from rtmbs.recursive.partition import balanced_cuts, split
from tests.recursive.machines import branched

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


def test_branches_are_shared_out_and_the_trunk_is_everybodys():
    system = branched(0, branches=4, length=3, free=True)[0].compile()
    found = split(system, 2)
    assert len(found.trunk) == 6
    whole = np.concatenate((found.trunk, *found.shares))
    assert sorted(whole.tolist()) == list(range(len(system.z0)))
    assert [len(share) for share in found.shares] == [12, 12]


def test_no_trunk_where_several_bodies_hang_on_ground():
    found = split(rtmbs.library.build("loop", k=9).compile(), 2)
    assert len(found.trunk) == 0
    assert [len(share) for share in found.shares] == [4, 4]


def test_a_spring_keeps_two_branches_on_one_rank():
    model, unit = branched(1, branches=3)
    model.add_force("tie", rtmbs.SpringDamper(1.0, 0.0, unit.length), between=("eye 0", "eye 1"))
    found = split(model.compile(), 2)
    assert sorted(len(share) for share in found.shares) == [6, 12]


def test_threads_keep_branches_that_a_spring_couples():
    model, unit = branched(1, branches=2)
    model.add_force("tie", rtmbs.SpringDamper(1.0, 0.0, unit.length), between=("eye 0", "eye 1"))
    with pytest.raises(InputError, match=r"one branch for 2 ranks: 'tie' acts between two branches"):
        split(model.compile(), 2, whole=True)
    assert [len(share) for share in split(model.compile(), 2).shares] == [6, 6]  # ranks part it


def test_more_ranks_than_branches_divide_these_at_bodies():
    found = split(rtmbs.library.build("loop", k=251).compile(), 4)
    assert sorted(len(share) for share in found.shares) == [62, 62, 63, 63]
    assert len(found.segments) == 2
    for segment in found.segments:
        assert segment.dofs[0] == segment.attach + 1
    nested = split(rtmbs.library.build("loop", k=51).compile(), 6)
    assert max(len(share) for share in nested.shares) <= 11
    assert sorted(np.concatenate(nested.shares).tolist()) == list(range(50))


def test_more_ranks_than_parts():
    loop = rtmbs.library.build("loop", k=9).compile()
    with pytest.raises(InputError, match=r"loop of 9 has 2 branches for 9 ranks, and falls into 8 parts at most"):
        split(loop, 9)
    with pytest.raises(InputError, match=r"loop of 9 has 2 branches for 3 ranks; take as many threads as branches"):
        split(loop, 3, whole=True)
    with pytest.raises(InputError, match=r"has one branch for 2 ranks, and falls into 1 parts"):
        split(rtmbs.library.build("top").compile(), 2)


@pytest.mark.parametrize(
    ("add", "says"),
    [
        (lambda m: m.add_coupler("gear", {"joint 0 2": 1.0, "joint 1 2": -2.0}), "gear.* relates joint coordinates"),
        (lambda m: m.add_force("blind", unrecorded, joint="joint 0 2"), "the law of blind runs in Python"),
    ],
)
def test_what_is_evaluated_as_a_whole_is_not_shared(add, says):
    model = branched(2)[0]
    add(model)
    with pytest.raises(InputError, match=says):
        split(model.compile(), 2)


def unrecorded(t, kinematics, parameters):
    """A law that looks at a number."""
    return -1.0 if float(kinematics.z) > 0.0 else 1.0


def test_the_cut_is_in_the_middle():
    assert balanced_cuts(rtmbs.library.build("loop", k=9), 2) == ["pair_5"]
    uneven = rtmbs.Model("uneven")
    chain = ["ground", *(f"link {k}" for k in range(8)), "ground"]
    for k in range(8):
        uneven.add_body(chain[k + 1], mass=1.0, inertia=(1.0, 1.0, 1.0))
    for k in range(9):
        uneven.add_joint(f"pair {k}", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), *chain[k : k + 2], cut=k == 8)
    assert balanced_cuts(uneven, 2) == ["pair 4"]
    with pytest.raises(InputError, match="ranks is 0"):
        balanced_cuts(uneven, 0)
