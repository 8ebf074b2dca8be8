"""One joint in three places: in the tree, cut, and as an auxiliary body. Its channels and its reaction are the same.

A floating joint restrains nothing, so a mechanism with one may be walked either way: with the joint under test in the
tree, or with the joint cut and the floating one in the tree. The states of the second are made from the channels of the
first.
"""

import numpy as np
import pytest

import rtmbs
from rtmbs.model import JOINT_TYPES
from rtmbs.results.samples import Samples
from tests.mechanisms import add_random_body, random_rotation
from tests.results.motions import result_of, rotations, smooth_motion, solved

KINDS = ("Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Spherical", "Line", "Fixed")
PUBLIC = ("Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Screw")
NAMES = (*KINDS, "Screw")  # a cut screw is always an auxiliary body
T = np.linspace(0.0, 4.0, 81)
GROWTH = 6.0  # rad/s: 24 rad over the motion


def build(kind, forward, cut=False, spring=False, closure=None, seed=0):
    """Return ground - (base) - arm - [J] - tip, with a floating joint F from ground to the tip."""
    rng = np.random.default_rng((seed, NAMES.index(kind), forward))
    model = rtmbs.Model(f"{kind} {forward}", gravity=(1.0, 2.0, -9.0))
    for name in ("arm", "tip"):
        add_random_body(rng, model, name)
    axes = random_rotation(rng)
    model.add_joint("base", rtmbs.Cylindrical(axis=axes[0]), "ground", "arm", point=rng.normal(size=3))
    ends = ("arm", "tip") if forward else ("tip", "arm")
    places = {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3), "frame": "arm"}
    model.add_joint("J", JOINT_TYPES[kind].example(axes), *ends, cut=cut, closure=closure, **places)
    model.add_joint("F", rtmbs.Floating(), "ground", "tip", point_a=rng.normal(size=3), point_b=rng.normal(size=3))
    for body in ("arm", "tip"):
        model.add_force(f"push {body}", rtmbs.Wrench(rng.normal(size=3), rng.normal(size=3)), body=body)
    if spring:
        for coordinate in model.joints["J"].type.coordinates:
            law = rtmbs.TorsionSpring(*rng.uniform(0.5, 2.0, 3))
            model.add_force(f"spring {coordinate}", law, joint=("J", coordinate))
    return model.compile()


def carried_over(system, other, samples, result):
    """Return the same motion as samples of ``system``; of F from the channels of ``other``, the rest by name."""
    made = {}
    for values, key in ((samples.z, "z"), (samples.zd, "zd"), (samples.zdd, "zdd")):
        made[key] = np.zeros((len(samples.t), system.n))
        for i, name in enumerate(system.coordinate_names):
            if not name.startswith("F."):
                made[key][:, i] = values[:, other.coordinate_names.index(name)]
    joint = system.joints["F"]
    slides, rotation = list(joint.dofs[:3]), list(joint.dofs[3:])
    along = system.tables.dofs.axis[rotation].T
    made["z"][:, slides], made["zd"][:, slides] = result["F.position"], result["F.velocity"]
    made["zdd"][:, slides] = result["F.linear_acceleration"]
    made["zd"][:, rotation], made["zdd"][:, rotation] = result["F.rate"] @ along, result["F.acceleration"] @ along
    reference = joint.frame_a @ joint.frame_b.T
    R0 = reference.T @ rotations(result["F.orientation"])
    lam = np.zeros((len(samples.t), system.m))
    return Samples(samples.t, made["z"], made["zd"], made["zdd"], lam, R0[:, None], samples.u)


def same(one, other, names, tolerance):
    for name in names:
        scale = np.abs(one[name]).max() + 1.0
        assert np.abs(one[name] - other[name]).max() < tolerance * scale, name


@pytest.mark.parametrize("forward", [True, False], ids=["a to b", "b to a"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_joint_measures_what_a_tree_joint_reads(kind, forward):
    tree, cut = build(kind, forward), build(kind, forward, cut=True)
    assert (tree.joints["J"].in_tree, cut.joints["J"].in_tree, cut.joints["F"].in_tree) == (True, False, True)
    assert tree.joints["J"].reversed is (not forward and kind != "Fixed")
    motion = smooth_motion(tree, T, growth=GROWTH)
    one = result_of(tree, motion)
    other = result_of(cut, carried_over(cut, tree, motion, one))
    names = set(one.names()) & set(other.names()) - {"energy.elastic"}
    names = [name for name in sorted(names) if not name.endswith(("reaction", "force", "torque"))]
    coordinates = tree.joints["J"].coordinates
    assert {f"J.{name}{suffix}" for name in coordinates for suffix in ("", "_rate", "_acceleration")} <= set(names)
    same(one, other, names, 1e-11)
    for what in ("violation", "violation_rate", "violation_acceleration"):
        assert np.abs(other[f"J.{what}"]).max() < 1e-10
    if kind in ("Revolute", "Cylindrical", "Planar"):
        assert np.ptp(other["J.angle"]) > 20.0  # several turns, without a jump


@pytest.mark.parametrize("forward", [True, False], ids=["a to b", "b to a"])
@pytest.mark.parametrize("kind", KINDS)
def test_reactions_do_not_depend_on_where_the_loop_is_cut(kind, forward):
    tree, cut = build(kind, forward), build(kind, forward, cut=True)
    motion = solved(tree, smooth_motion(tree, T[:4]))
    one = result_of(tree, motion)
    same_motion = carried_over(cut, tree, motion, one)
    other = result_of(cut, solved(cut, same_motion, closed=True))
    same(one, other, ("J.reaction", "base.reaction", "tip.acceleration", "arm.angular_acceleration"), 1e-9)
    assert np.abs(one["J.reaction"]).max() > 1.0


@pytest.mark.parametrize("forward", [True, False], ids=["a to b", "b to a"])
@pytest.mark.parametrize("kind", PUBLIC)
def test_an_auxiliary_body_carries_what_the_tree_joint_carries(kind, forward):
    """With springs on its coordinates, that are part of the reaction."""
    tree, auxiliary = build(kind, forward, spring=True), build(kind, forward, cut=True, spring=True)
    assert auxiliary.joints["J"].auxiliary
    motion = solved(tree, smooth_motion(tree, T[:4]))
    one = result_of(tree, motion)
    made = carried_over(auxiliary, tree, motion, one)
    made = made._replace(u=np.tile(auxiliary.u0, (len(made.t), 1)))
    other = result_of(auxiliary, solved(auxiliary, made, closed=True))
    names = [name for name in one.names() if name.startswith(("J.", "tip.", "arm.", "base.", "spring"))]
    same(one, other, names, 1e-9)


@pytest.mark.parametrize("closure", ["line", "point"])
def test_a_revolute_closed_otherwise_still_has_its_angle(closure):
    tree, cut = build("Revolute", True), build("Revolute", True, cut=True, closure=closure)
    motion = smooth_motion(tree, T, growth=GROWTH)
    one = result_of(tree, motion)
    other = result_of(cut, carried_over(cut, tree, motion, one))
    same(one, other, ("J.angle", "J.rate", "J.acceleration"), 1e-11)


def test_a_floating_joint_tells_where_its_body_is_and_holds_nothing():
    tree = build("Spherical", True)
    one = result_of(tree, smooth_motion(tree, T))
    joint = tree.joints["F"]
    np.testing.assert_allclose(rotations(one["F.orientation"]), rotations(one["tip.orientation"]), atol=1e-13)
    point = one["tip.position"] + rotations(one["tip.orientation"]) @ joint.point_b
    np.testing.assert_allclose(one["F.position"] @ joint.frame_a.T + joint.point_a, point, atol=1e-13)
    np.testing.assert_array_equal(one["F.reaction"], 0.0)
