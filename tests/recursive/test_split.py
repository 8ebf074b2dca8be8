"""Shares of ranks, and the cuts that balance them."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.recursive.cuts import balanced_cuts
from rtmbs.recursive.split import split
from tests.recursive.machines import branched


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


def test_more_ranks_than_branches():
    with pytest.raises(InputError, match=r"loop of 9 has 2 branches for 3 ranks; take as many ranks as branches"):
        split(rtmbs.library.build("loop", k=9).compile(), 3)
    with pytest.raises(InputError, match=r"has one branch for 2 ranks"):
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
