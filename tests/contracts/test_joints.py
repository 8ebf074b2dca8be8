"""Every registered joint moves the same in a Simulation and in a kinematic Analysis, in the tree and cut.

The reference is the pose by the product of the joint's turns and slides, in SciPy's rotations, and its differences.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import kinematics
from rtmbs.model import JOINT_TYPES
from rtmbs.model.joints import Dof, parallel, perpendicular, same_line, same_plane
from tests.mechanisms import random_rotation


@dataclass(frozen=True)
class PlungingUniversal(rtmbs.Universal):
    """A joint of the user, which slides along an axis of body a and then turns as a universal joint does."""

    slide: tuple[float, float, float]
    coordinates = ("displacement", "angle_a", "angle_b")

    def dofs(self):
        return (Dof("prismatic", np.array(self.slide)), *super().dofs())

    def equations(self):
        return same_line(np.array(self.slide)) + perpendicular(np.array(self.axis_a), np.array(self.axis_b))


@dataclass(frozen=True)
class Feed(rtmbs.model.JointType):
    """A joint of the user, which slides across the axis of its screw: a nut in a slot of its carriage."""

    across: tuple[float, float, float]
    axis: tuple[float, float, float]
    pitch: float
    coordinates = ("displacement", "angle")

    def dofs(self):
        return (
            Dof("prismatic", np.array(self.across)),
            Dof("revolute", np.array(self.axis), pitch=self.pitch),
        )

    def equations(self):
        return same_plane(np.cross(self.across, self.axis)) + parallel(np.array(self.axis))

    def aligned(self):
        return (np.array(self.axis),)


class Walked(rtmbs.model.JointType):
    """A joint of the user that says nothing but its dofs: they cannot be read off the two bodies."""


@dataclass(frozen=True)
class TurnedScrew(Walked):
    """A screw on a fork that turns, then another turn: no body carries the axis of the screw alone."""

    fork: tuple[float, float, float]
    axis: tuple[float, float, float]
    pitch: float
    coordinates = ("fork", "angle")

    def dofs(self):
        return (Dof("revolute", np.array(self.fork)), Dof("revolute", np.array(self.axis), pitch=self.pitch))


@dataclass(frozen=True)
class PolarSlide(Walked):
    """Turns, then slides along an axis that is neither parallel nor perpendicular to it."""

    turn: tuple[float, float, float]
    other: tuple[float, float, float]
    coordinates = ("angle", "displacement")

    def dofs(self):
        oblique = np.array(self.turn) + 2.0 * np.array(self.other)
        return (Dof("revolute", np.array(self.turn)), Dof("prismatic", oblique / np.linalg.norm(oblique)))


@dataclass(frozen=True)
class Wrist(Walked):
    """Three turns, the second of them a screw, about oblique axes."""

    first: tuple[float, float, float]
    second: tuple[float, float, float]
    pitch: float
    coordinates = ("yaw", "pitch_angle", "roll")

    def dofs(self):
        oblique = 0.6 * np.array(self.first) + 0.8 * np.array(self.second)
        axes = np.array(self.first), oblique, np.cross(self.first, self.second)
        return tuple(Dof("revolute", axis, pitch=self.pitch * (k == 1)) for k, axis in enumerate(axes))


@dataclass(frozen=True)
class ObliqueSlides(Walked):
    """Slides along two axes that are not perpendicular, then turns."""

    first: tuple[float, float, float]
    second: tuple[float, float, float]
    coordinates = ("u", "v", "angle")

    def dofs(self):
        axes = np.array(self.first), 0.6 * np.array(self.first) + 0.8 * np.array(self.second)
        return (*(Dof("prismatic", axis) for axis in axes), Dof("revolute", np.array(self.second)))


OWN = (PlungingUniversal, Feed, TurnedScrew, PolarSlide, Wrist, ObliqueSlides)
JOINT_TYPES = JOINT_TYPES | {kind.__name__: kind for kind in OWN}
DRIVEN = [name for name, kind in JOINT_TYPES.items() if kind.coordinates]
BY_DISTANCES = [name for name, kind in JOINT_TYPES.items() if not kind.coordinates and kind.__name__ != "Fixed"]
BOTH = pytest.mark.parametrize("cut", [False, True], ids=["tree", "cut"])
T, STEP, APART = 0.6, 0.05, 1e-3  # [s]
CHANNELS = ("position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")
KINEMATIC, DYNAMIC = 2e-8, 2e-7  # of the size of a channel: differences of the reference, and the dynamics' loops


class Reference:
    """A body on one joint to ground, its pose by the coordinates of the joint."""

    def __init__(self, joint, point):
        self.dofs, self.point = joint.dofs(), point

    def pose(self, q):
        """Return rotation (3, 3) and origin (3,) of the body, which stands at the world's origin for q = 0."""
        R, x, values = np.eye(3), self.point.copy(), list(q)
        if any(dof.kind == "rotation" for dof in self.dofs):
            turn = Rotation.from_rotvec(values[-3:]).as_matrix()
            slides = [dof for dof in self.dofs if dof.kind == "prismatic"]
            x += sum((value * dof.axis for value, dof in zip(values, slides, strict=False)), np.zeros(3))
            return turn, x - turn @ self.point
        for value, dof in zip(values, self.dofs, strict=True):
            if dof.kind == "prismatic":
                x += value * R @ dof.axis
            else:
                x += value * dof.pitch * R @ dof.axis
                R = R @ Rotation.from_rotvec(value * dof.axis).as_matrix()
        return R, x - R @ self.point

    def inverse(self, q):
        """Return rotation and origin of a body that carries the joint's other end, as ``pose`` does."""
        R, x = self.pose(q)
        return R.T, -R.T @ x

    def channels(self, coordinates, t):
        """Return what the channels of the body are at time t, for coordinates (n,) as a function of time."""
        times = t + APART * np.arange(-4, 5)
        poses = [self.pose(coordinates(one)) for one in times]
        R, x = (np.array(part) for part in zip(*poses, strict=True))
        Rd, xd = slope(R), slope(x)
        omega = np.array([vee(a @ b.T) for a, b in zip(Rd, R[2:-2], strict=True)])
        return {
            "matrix": R[4], "position": x[4], "velocity": xd[2], "acceleration": slope(xd)[0],
            "angular_velocity": omega[2], "angular_acceleration": slope(omega)[0],
        }  # fmt: skip


class Chain(Reference):
    """Bodies on one joint after the other, of which the last moves as the product of all."""

    def __init__(self, links):
        self.links = links  # reference of each joint, number of its coordinates, whether it is walked from b to a

    def pose(self, q):
        R, x, first = np.eye(3), np.zeros(3), 0
        for reference, count, backwards in self.links:
            turn, way = (reference.inverse if backwards else reference.pose)(q[first : first + count])
            R, x, first = R @ turn, x + R @ way, first + count
        return R, x


def slope(values):
    """Return derivatives of fourth order at all but the first and last two of equidistant values."""
    return (8.0 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / (12.0 * APART)


def vee(W):
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def one_joint(kind, cut, seed):
    """Return a model of a skew joint, all of it moving but not yet driven, and its reference."""
    rng = np.random.default_rng((seed, len(kind)))
    joint, point = JOINT_TYPES[kind].example(random_rotation(rng)), rng.normal(size=3)
    model = rtmbs.Model(kind)
    body = model.add_body("out", mass=1.3, inertia=(0.2, 0.25, 0.3), center_of_mass=rng.normal(size=3))
    if cut:
        model.add_joint("float", rtmbs.Floating(), "ground", body)
    model.add_joint("joint", joint, "ground", body, point=point, cut=cut)
    return model, Reference(joint.checked("joint"), point), rng


def check(model, reference, coordinates):
    """Hold a Simulation and an Analysis against the reference at the end of a motion."""
    wanted = reference.channels(coordinates, T)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    for result, rounding in (
        (kinematics.Analysis(model).run(0.0, T, STEP), KINEMATIC),
        (sim.run(T), DYNAMIC),
    ):
        quaternion = result["out.orientation"][-1]
        found = {name: result[f"out.{name}"][-1] for name in CHANNELS}
        found["matrix"] = Rotation.from_quat(quaternion[[1, 2, 3, 0]]).as_matrix()
        for name, value in wanted.items():
            limit = rounding * max(1.0, np.abs(value).max())
            np.testing.assert_allclose(found[name], value, rtol=0, atol=limit, err_msg=f"{type(result)} {name}")


def wave(rng, size, k):
    """Return a smooth motion, zero at t = 0, with its rate and acceleration."""
    w, b = rng.uniform(1.0, 3.0), size * rng.uniform(0.5, 1.0) * (-1.0) ** k
    return lambda t: (b * np.sin(w * t), b * w * np.cos(w * t), -b * w * w * np.sin(w * t))


@pytest.mark.parametrize("seed", range(2))
@BOTH
@pytest.mark.parametrize("kind", DRIVEN)
def test_driven_coordinates(kind, cut, seed):
    model, reference, rng = one_joint(kind, cut, seed)
    waves = [wave(rng, 0.8, k) for k in range(len(JOINT_TYPES[kind].coordinates))]
    for name, motion in zip(JOINT_TYPES[kind].coordinates, waves, strict=True):
        model.add_driver(f"drive {name}", motion, joint=("joint", name))
    check(model, reference, lambda t: np.array([motion(t)[0] for motion in waves]))


@pytest.mark.parametrize("seed", range(2))
def test_every_joint_moves_behind_all_others(seed):
    """A chain of all joints with coordinates in a random order, some from their second body to the first."""
    rng = np.random.default_rng(seed)
    model, links, waves, last = rtmbs.Model("chain"), [], [], "ground"
    for k, kind in enumerate(rng.permutation(DRIVEN)):
        name, backwards = f"b{k}" if k + 1 < len(DRIVEN) else "out", bool(rng.random() < 0.5)
        model.add_body(name, mass=1.0, inertia=(0.2, 0.25, 0.3))
        joint, point = JOINT_TYPES[kind].example(random_rotation(rng)), rng.normal(size=3)
        ends = (name, last) if backwards else (last, name)
        model.add_joint(f"j{k}", joint, *ends, point=point)
        own = [wave(rng, 0.3, i) for i in range(len(joint.coordinates))]
        for coordinate, motion in zip(joint.coordinates, own, strict=True):
            model.add_driver(f"drive {k} {coordinate}", motion, joint=(f"j{k}", coordinate))
        links.append((Reference(joint.checked("joint"), point), len(own), backwards))
        waves, last = waves + own, name
    check(model, Chain(links), lambda t: np.array([motion(t)[0] for motion in waves]))


@pytest.mark.parametrize("kind", ["PolarSlide", "TurnedScrew"])
def test_reactions_of_two_equal_joints_carry_the_body(kind):
    """The load of joints that slide behind a turn, one in the tree and one cut, is shared and sums to m (a - g)."""
    model, reference, rng = one_joint(kind, False, 0)
    known = model.joints["joint"]
    model.add_joint("second", known.type, "ground", "out", point=reference.point, cut=True)
    for name in known.type.coordinates:
        model.add_driver(f"drive {name}", wave(rng, 0.5, 0), joint=("joint", name))
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.2)
    carried = result["joint.reaction"][-1, :3] + result["second.reaction"][-1, :3]
    wanted = 1.3 * (result["mass_center.acceleration"][-1] - model.gravity)
    assert np.abs(result["second.reaction"][-1, :3]).max() > 0.1
    np.testing.assert_allclose(carried, wanted, rtol=0, atol=1e-6)


@BOTH
@pytest.mark.parametrize("kind", BY_DISTANCES)
def test_driven_distances(kind, cut):
    """A joint without coordinates follows as many distances as it has freedoms; SciPy finds the pose of each time."""
    model, reference, rng = one_joint(kind, cut, 0)
    count = len(reference.dofs)
    drawn = [(1.5 * rng.normal(size=(count, 3)), 3.0 * rng.normal(size=(count, 3))) for _ in range(50)]
    ends = []
    for k, (here, there) in enumerate(zip(*max(drawn, key=lambda pair: independence(reference, *pair)), strict=True)):
        motion, length = wave(rng, 0.2, k), float(np.linalg.norm(there - here))
        ends.append((here, there, motion, length))
        a, b = model.add_marker(f"a{k}", "ground", there), model.add_marker(f"b{k}", "out", here)
        model.add_driver(f"reel{k}", offset(motion, length), between=(a, b))

    def gaps(q, t):
        R, x = reference.pose(q)
        return [np.linalg.norm(x + R @ here - there) - motion(t)[0] - length for here, there, motion, length in ends]

    def coordinates(t):
        q = np.zeros(len(ends))
        for share in np.linspace(0.0, t, 13)[1:]:
            q = fsolve(gaps, q, args=(share,), xtol=1e-13)
        assert np.abs(gaps(q, t)).max() < 1e-12
        return q

    check(model, reference, coordinates)


def independence(reference, here, there):
    """Return the smallest singular value of the derivative of the distances by the coordinates, at the start."""

    def lengths(q):
        R, x = reference.pose(q)
        return np.linalg.norm(x + here @ R.T - there, axis=1)

    steps = 1e-5 * np.eye(len(here))
    jacobian = np.array([lengths(step) - lengths(-step) for step in steps]) / 2e-5
    return np.linalg.svd(jacobian, compute_uv=False)[-1]


def offset(motion, length):
    """Return a motion about a length."""
    return lambda t: (length + motion(t)[0], *motion(t)[1:])
