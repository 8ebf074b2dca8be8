"""Joints by the symbols of the field: on the right bodies, along the right axes; rails, supports, names."""

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.shapes import BEYOND, SLIDER, STAND_HEIGHT, SYMBOLS, Rails, joint_symbol, supports
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.worker import ManualConnection

RADIUS = 0.02
X, Y, Z = np.eye(3)
JOINTS = {
    "pin": rtmbs.Revolute(axis=X),
    "rail": rtmbs.Prismatic(axis=X),
    "sleeve": rtmbs.Cylindrical(axis=X),
    "cross": rtmbs.Universal(axis_a=X, axis_b=Y),
    "plate": rtmbs.Planar(normal=X),
    "ball": rtmbs.Spherical(),
    "weld": rtmbs.Fixed(),
}


def one_joint(kind, gravity=(0, 0, -9.81), **start) -> Simulation:
    """A body on ground by one joint at (1, 2, 3), its mass centre below."""
    model = rtmbs.Model("one", gravity=gravity)
    model.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0, 0, -0.5), position=(1, 2, 3))
    model.add_body("other", mass=1.0, inertia=(0.1, 0.1, 0.1))  # a mechanism must have something that moves
    model.add_joint("free", rtmbs.Floating(), "ground", "other")
    joint = model.add_joint("joint", kind, "ground", "body", point=(1, 2, 3))
    if start:
        model.set_initial(joint, **start)
    return Simulation(model.compile())


def frame_of(sim):
    connection = ManualConnection(sim)
    connection.should_step()
    return connection.describe(), connection.latest()


def named(description):
    """The joint under test."""
    return next(joint for joint in description.joints if joint.name == "joint")


def test_every_word_has_a_symbol():
    assert set(JOINTS) == set(SYMBOLS)


@pytest.mark.parametrize("word", JOINTS)
def test_a_symbol_stands_at_the_joint_on_its_two_bodies(word):
    joint = named(describe(one_joint(JOINTS[word])))
    parts = joint_symbol(joint, RADIUS)
    assert joint.drawn_as == word
    assert {part.body for part in parts} <= {0, 1}
    for part in parts:
        low, high = part.mesh.vertices.min(axis=0), part.mesh.vertices.max(axis=0)
        middle = part.local[:, :3] @ (low + high) / 2.0 + part.local[:, 3]
        assert middle == pytest.approx((1, 2, 3) if part.body == 0 else (0, 0, 0), abs=1e-6)
        assert part.name == f"joint ({type(JOINTS[word]).__name__})"


def test_the_pins_of_a_cross_lie_along_its_two_axes():
    parts = joint_symbol(named(describe(one_joint(JOINTS["cross"]))), RADIUS)
    first, second = (part.local[:, 2] / np.linalg.norm(part.local[:, 2]) for part in parts[:2])
    assert np.abs(first) == pytest.approx(X)
    assert np.abs(second) == pytest.approx(Y)
    assert [part.body for part in parts[:2]] == [0, 1]


def test_a_plate_lies_across_its_normal():
    plate = joint_symbol(named(describe(one_joint(JOINTS["plate"]))), RADIUS)[0]
    thin = np.argmin(np.linalg.norm(plate.local[:, :3], axis=0))
    assert np.abs(plate.local[:, thin] / np.linalg.norm(plate.local[:, thin])) == pytest.approx(X)


def test_a_floating_joint_holds_nothing_and_is_not_drawn():
    description, _ = frame_of(one_joint(rtmbs.Floating()))
    assert joint_symbol(named(description), RADIUS) == []
    assert supports(description, RADIUS, Z) == []


@pytest.mark.parametrize("way", [-0.7, 0.0, 0.7])
def test_a_rail_leads_from_the_joint_to_beyond_its_slider(way):
    description, frame = frame_of(one_joint(JOINTS["rail"], position=way))
    rails = Rails(description, RADIUS, (0, 0, 0, 1))
    rails.show(frame)
    start = rails.batch.placement[0, :, 3]
    end = start + rails.batch.placement[0, :, 2]
    assert start[0] == pytest.approx(1 + min(way, 0) - BEYOND * RADIUS)
    assert end[0] == pytest.approx(1 + max(way, 0) + BEYOND * RADIUS)
    slider = joint_symbol(named(description), RADIUS)[0]
    assert slider.body == 1
    assert np.linalg.norm(slider.local[:, 2]) == pytest.approx(SLIDER[2] * RADIUS)


@pytest.mark.parametrize(("gravity", "side"), [((0, 0, -9.81), 1.0), ((0, 0, 9.81), 1.0)])
def test_a_support_stands_where_its_body_is_not(gravity, side):
    """The body hangs below its pin in the world: its support is above, whatever is up."""
    sim = one_joint(JOINTS["pin"], gravity)
    description, _ = frame_of(sim)
    stand, floor = supports(description, RADIUS, -np.array(gravity) / 9.81)
    assert floor.local[:, 3] == pytest.approx((1, 2, 3 + side * STAND_HEIGHT * RADIUS))
    assert stand.local[:, 3] == pytest.approx((1, 2, 3))


def test_a_picture_holds_the_supports():
    description, frame = frame_of(one_joint(JOINTS["pin"]))
    scene = Scene(description, WHITE, frame)
    assert scene.points()[:, 2].max() > 3.0


def test_names_under_the_mouse():
    """From far along y the pin lies before its body; beside them is nothing."""
    description, frame = frame_of(one_joint(JOINTS["pin"]))
    scene = Scene(description, WHITE, frame)
    look = np.array([0.0, -1.0, 0.0])
    assert scene.name_at(np.array([1.0, 9.0, 3.0]), look) == "joint (Revolute)"
    assert scene.name_at(np.array([1.0, 9.0, 2.75]), look) == "body"
    assert scene.name_at(np.array([5.0, 9.0, 3.0]), look) == ""
    scene.shown["joints"] = scene.shown["bodies"] = False
    assert scene.name_at(np.array([1.0, 9.0, 3.0]), look) == ""
