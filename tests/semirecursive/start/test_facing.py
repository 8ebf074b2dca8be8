"""Assembly by the angles of cut joints: several arms, each welded to ground in a pose far away."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.semirecursive.start.assembly import turn_onto


def arms_to_targets(seed: int, arms: int, hinges: int = 7):
    """Return a Model of arms with skew hinges, and by last body where its tip is welded: (point, rotation, tip)."""
    random, model, ends = np.random.default_rng(seed), rtmbs.Model("arms"), {}
    for arm in range(arms):
        axes, parts = random.standard_normal((hinges, 3)), random.uniform(0.1, 0.4, (hinges, 3))
        tip, R, base, last = np.zeros(3), np.eye(3), np.zeros(3), "ground"
        for k, (axis, part, turn) in enumerate(zip(axes, parts, random.uniform(-2.5, 2.5, hinges), strict=True)):
            R = R @ Rotation.from_rotvec(turn * axis / np.linalg.norm(axis)).as_matrix()
            tip, name = tip + R @ part, f"b{arm}{k}"
            model.add_body(name, mass=1.0, inertia=(0.1,) * 3, position=base)
            model.add_joint(f"j{arm}{k}", rtmbs.Revolute(axis), last, name, point=base)
            last, base = name, base + part
        model.add_joint(
            f"weld{arm}", rtmbs.Fixed(), "ground", last, point_a=tip, axes_a=R, point_b=parts[-1], axes_b=np.eye(3),
            cut=True,
        )  # fmt: skip
        ends[last] = tip, R, parts[-1]
    return model, ends


def test_four_arms_reach_their_welds_at_once():
    """Random poses beside the start close all four at once hardly ever; angles lead there."""
    model, ends = arms_to_targets(0, 4)
    robot = rtmbs.Robot(model)
    q, _ = robot.assembled()
    for body, (point, rotation, tip) in ends.items():
        found = robot.forward_kinematics(q, body)
        np.testing.assert_allclose(found.position + found.rotation @ tip, point, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.rotation, rotation, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axes", [1, 3])
def test_turns_and_their_derivative(axes):
    """exp(d) a = b, and central differences by turns of b; axes against each other turn by half a turn."""
    random, h = np.random.default_rng(axes), 1e-6
    a = Rotation.from_rotvec((0.3, -0.8, 0.2)).as_matrix()[:, :axes]
    b = Rotation.from_rotvec((0.9, 0.5, -1.1)).as_matrix() @ a
    d, slope = turn_onto(a, b)
    np.testing.assert_allclose(Rotation.from_rotvec(d).as_matrix() @ a, b, rtol=0, atol=1e-14)
    if axes == 1:  # a turn about a itself changes nothing that counts
        assert abs(d @ a[:, 0]) < 1e-14
        turned = turn_onto(a, -a)[0]
        assert np.linalg.norm(turned) == pytest.approx(np.pi, abs=1e-14)
        return
    way = random.standard_normal(3)
    ends = [turn_onto(a, Rotation.from_rotvec(side * h * way).as_matrix() @ b)[0] for side in (1.0, -1.0)]
    np.testing.assert_allclose(slope @ way, (ends[0] - ends[1]) / (2 * h), rtol=0, atol=1e-8)
