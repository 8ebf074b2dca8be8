"""Every registered joint type: its dofs, its equations and its direction, whatever way the tree walks."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtmbs.errors import ModelError
from rtmbs.model import JOINT_TYPES, Fixed, Floating, JointType, Model, Revolute
from rtmbs.model.joints import ROTATION, Dof
from tests.system.kinematics import (
    add_random_body,
    body_poses,
    closure_jacobian,
    closure_values,
    examples,
    joint_pose,
    random_rotation,
)

SEEDS = range(4)
TYPES = sorted(JOINT_TYPES)
MOVING = sorted(set(TYPES) - {"Fixed"})


def two_bodies(seed, tree_from, cut=False, name="Revolute", initial=None):
    """A joint of this type from body 'one' to body 'other'; the body ``tree_from`` hangs on ground by a fixed joint.

    A pendulum stands by, because a model that cannot move is refused.
    """
    rng = np.random.default_rng(seed)
    model = Model("two")
    one, other = add_random_body(model, "one", rng), add_random_body(model, "other", rng)
    type = examples(rng)[name]
    model.add_joint("base", Fixed(), "ground", tree_from)
    points = {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3), "frame": "other"}
    model.add_joint("j", type, one, other, cut=cut, **points)
    if cut:
        model.add_joint("free", Floating(), "ground", other if tree_from == "one" else one)
    add_random_body(model, "pendulum", rng)
    model.add_joint("by", Revolute((0, 0, 1)), "ground", "pendulum")
    if initial:
        model.set_initial("j", **initial)
    return model.compile()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TYPES)
def test_at_zero_coordinates_the_points_meet_and_the_axes_are_those_of_the_reference_pose(name, seed):
    for root in ("one", "other"):
        system = two_bodies(seed, root, name=name)
        rng = np.random.default_rng(seed)
        model = Model("again")
        one, other = add_random_body(model, "one", rng), add_random_body(model, "other", rng)
        turn, way = joint_pose(system, "j")
        np.testing.assert_allclose(turn, one.orientation.T @ other.orientation, atol=1e-14)
        np.testing.assert_allclose(way, 0.0, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(name for name in TYPES if JOINT_TYPES[name].coordinates))
def test_a_coordinate_keeps_its_sign_whatever_way_the_tree_walks(name, seed):
    values = np.random.default_rng(100 + seed).normal(size=len(JOINT_TYPES[name].coordinates))
    poses = []
    for root in ("one", "other"):
        system = two_bodies(seed, root, name=name)
        info = system.joints["j"]
        assert info.reversed == (root == "other")
        z = np.zeros(system.n)
        z[list(info.dofs)] = values
        poses.append(joint_pose(system, "j", z))
    for forward, backward in zip(*poses, strict=True):
        np.testing.assert_allclose(forward, backward, atol=1e-13)


def rates(system, joint, size=1e-6):
    """Rates of x, y, z in joint axes of a and angular velocity in axes of b, by central differences along zd0."""
    (R1, q1), (R2, q2) = (joint_pose(system, joint, system.z0 + sign * size * system.zd0) for sign in (-1, 1))
    R, q = joint_pose(system, joint)
    omega = Rotation.from_matrix(R1.T @ R2).as_rotvec() / (2 * size)
    axes = system.joints[joint].frame_a
    return np.concatenate([axes.T @ (q2 - q1), 2 * size * omega]) / (2 * size), R, axes.T @ q


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("root", ["one", "other"])
def test_start_of_a_floating_joint_is_what_was_asked_for_from_either_side(root, seed):
    rng = np.random.default_rng(seed)
    quaternion, position, rate = rng.normal(size=4), rng.normal(size=3), rng.normal(size=6)
    system = two_bodies(seed, root, name="Floating", initial={"position": (*position, *quaternion), "rate": rate})
    found, R, q = rates(system, "j")
    np.testing.assert_allclose(R, Rotation.from_quat(quaternion, scalar_first=True).as_matrix(), atol=1e-13)
    np.testing.assert_allclose(q, position, atol=1e-13)
    np.testing.assert_allclose(found, rate, atol=1e-7)
    dofs = list(system.joints["j"].dofs)
    assert system.pinned_z[dofs].all()
    assert system.pinned_zd[dofs].all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("root", ["one", "other"])
@pytest.mark.parametrize("turned", [True, False])
def test_start_of_a_spherical_joint_is_what_was_asked_for_from_either_side(turned, root, seed):
    rng = np.random.default_rng(seed)
    quaternion, rate = rng.normal(size=4), rng.normal(size=3)
    initial = {"position": quaternion, "rate": rate} if turned else {"rate": rate}
    system = two_bodies(seed, root, name="Spherical", initial=initial)
    found, R, q = rates(system, "j")
    if turned:
        np.testing.assert_allclose(R, Rotation.from_quat(quaternion, scalar_first=True).as_matrix(), atol=1e-13)
    np.testing.assert_allclose(q, 0.0, atol=1e-13)
    np.testing.assert_allclose(found[3:], rate, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("root", ["one", "other"])
@pytest.mark.parametrize("name", TYPES)
def test_equations_of_the_cut_joint_hold_wherever_its_dofs_lead(name, root, seed):
    """Move the joint in the tree, carry the pose over to a floating body, and look at the cut joint there."""
    rng = np.random.default_rng(200 + seed)
    tree, loose = two_bodies(seed, root, name=name), two_bodies(seed, root, cut=True, name=name)
    for _ in range(3):
        given = rng.uniform(-1.5, 1.5, tree.n)
        z, R0 = floating_start(loose, body_poses(tree, given)["other" if root == "one" else "one"])
        if loose.joints["j"].auxiliary:
            z[list(loose.joints["j"].dofs)] = given[list(tree.joints["j"].dofs)]
        assert np.abs(closure_values(loose, z, R0)).max(initial=0.0) < 1e-13
        for closure in loose.closures:
            cosines = [a @ b for a, b in zip(*aligned_in_world(loose, closure, z, R0), strict=True)]
            np.testing.assert_allclose(cosines, 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TYPES)
def test_equations_of_the_cut_joint_are_independent_and_as_many_as_the_dofs_leave(name, seed):
    tree, loose = two_bodies(seed, "one", name=name), two_bodies(seed, "one", cut=True, name=name)
    z, R0 = floating_start(loose, body_poses(tree, np.zeros(tree.n))["other"])
    jacobian = closure_jacobian(loose, z, R0).reshape(-1, loose.n)
    own = len(loose.joints["j"].dofs) if loose.joints["j"].auxiliary else 0
    assert len(jacobian) - own == 6 - (tree.n - 1)
    listed = loose.joints["j"].kind
    assert len(listed.equations()) + len(listed.pitched) + len(listed.dofs()) == 6 == len(listed.held()) + tree.n - 1
    if len(jacobian):
        assert np.linalg.svd(jacobian)[1].min() > 1e-2


@pytest.mark.parametrize("name", ["Revolute", "Prismatic", "Cylindrical", "Planar", "Fixed"])
def test_opposite_assembly_satisfies_the_dot_products_and_is_seen_by_the_aligned_axes(name):
    loose = two_bodies(1, "one", cut=True, name=name)
    tree = two_bodies(1, "one", name=name)
    A, x = body_poses(tree, np.zeros(tree.n))["other"]
    info = loose.joints["j"]
    axis = info.frame_b @ (np.array([0.0, 0.0, 1.0]) if name == "Fixed" else info.frame_b.T @ info.axes_b[-1])
    across = np.cross(axis, [0.3, 0.5, 0.7])
    half = Rotation.from_rotvec(np.pi * across / np.linalg.norm(across)).as_matrix()
    point = x + A @ info.point_b
    z, R0 = floating_start(loose, (A @ half, point - A @ half @ info.point_b))
    cosines = [a @ b for a, b in zip(*aligned_in_world(loose, loose.closures[0], z, R0), strict=True)]
    assert min(cosines) < 0.0
    turning = loose.row_is_rotation
    if name in ("Revolute", "Cylindrical", "Planar"):
        np.testing.assert_allclose(closure_values(loose, z, R0)[turning], 0.0, atol=1e-13)


def floating_start(system, pose):
    """Return z and R0 that put the body of joint 'free' (from ground) to a pose (A, x)."""
    joint = system.joints["free"]
    A, x = pose
    z, R0 = np.zeros(system.n), system.R0.copy()
    reference = int(system.tables.dofs.reference[joint.dofs[3]])
    R0[reference] = (joint.frame_a @ joint.frame_b.T).T @ A
    z[list(joint.dofs[:3])] = joint.frame_a.T @ (x + A @ joint.point_b - joint.point_a)
    return z, R0


def aligned_in_world(system, closure, z, R0):
    from tests.system.kinematics import dof_frames

    A, _ = dof_frames(system, z, R0)
    l = system.closures.index(closure)
    a, b = system.tables.connectors.a[l], system.tables.connectors.b[l]
    return closure.aligned_a @ A[a].T, closure.aligned_b @ A[b].T


@pytest.mark.parametrize("name", MOVING)
def test_units_and_names_come_one_a_coordinate(name):
    kind = JOINT_TYPES[name].example(random_rotation(np.random.default_rng(0)))
    assert len(kind.units()) == len(kind.coordinates)
    assert not kind.coordinates or len(kind.coordinates) == len(kind.dofs())


@dataclass(frozen=True)
class Odd(JointType):
    """Joint types whose rotation dofs are no element."""

    start = "nothing"
    which = 0

    def dofs(self):
        slide, first = Dof("prismatic", np.array([1.0, 0.0, 0.0])), ROTATION[0]
        choices = (first,), (*ROTATION[:2], slide, ROTATION[2]), ROTATION[::-1], (*ROTATION, slide, first)
        return choices[self.which]

    def equations(self):
        return ()


@pytest.mark.parametrize("which", range(4))
def test_rotation_dofs_come_three_in_a_row(which):
    model = Model("odd")
    model.add_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("j", type(f"Odd{which}", (Odd,), {"which": which})(), model.ground, "b")
    with pytest.raises(ModelError, match=r"'j'.*rotation.*\*ROTATION, the three of them in a row"):
        model.compile()
