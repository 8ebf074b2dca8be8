"""The scene: everything a description names is drawn where a frame says, and rays find it."""

import numpy as np
import pytest

import rtmbs
from rtmbs.model import Box, Surface
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import grid_lines, round_spacing
from rtmbs.viewer.scene.scene import LENGTH, Scene, Trails
from rtmbs.viewer.scene.shapes import SWELL
from rtmbs.viewer.scene.theme import DARK, WHITE, families, rgba
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.worker import ManualConnection


def scene_of(sim: Simulation, theme=WHITE, **options) -> tuple[Scene, ManualConnection]:
    connection = ManualConnection(sim, **options)
    connection.should_step()
    frame = connection.latest()
    assert frame is not None
    return Scene(connection.describe(), theme, frame), connection


def test_every_body_and_joint_is_drawn_once(sim):
    scene, _ = scene_of(sim)
    description = scene.description
    bodies = np.concatenate([batch.body for batch in scene._bodies])
    assert sorted(bodies) == list(range(1, len(description.bodies)))
    ground = sum(joint.a == 0 or joint.b == 0 for joint in description.joints)
    cut = sum(joint.cut for joint in description.joints)
    symbols = len(description.joints) + cut + 2 * ground
    assert sum(len(batch) for batch in scene._joints) == symbols, "a collar of a cut joint, a stand and its floor"
    cut = [batch for batch in scene._joints if np.allclose(batch.color[0], rgba(WHITE.cut))]
    assert sum(len(batch) for batch in cut) == 8, "2 x 2 four-bars, one cut pin with a collar each"


def test_bars_end_where_their_joints_are(sim):
    """A rod of 30 degrees: from its pin to 1 m along (0, sin, -cos)."""
    scene, _ = scene_of(sim)
    batch = next(batch for batch in scene._bodies if batch.mesh is drawing.cylinder())
    number = [body.name for body in scene.description.bodies].index("rod_1_0")
    place = batch.placement[list(batch.body).index(number)]
    ends = sorted([place[:, 3], place[:, 3] + place[:, 2]], key=lambda end: end[2])
    assert ends[1] == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert ends[0] == pytest.approx((0.0, 0.5, -np.sqrt(3.0) / 2.0), abs=1e-9)


def test_everything_moves_with_the_frame(sim):
    scene, connection = scene_of(sim)
    before = [batch.placement.copy() for batch in scene._bodies]
    for _ in range(20):
        connection.should_step()
        connection.sync(sim, sim.step())
    scene.show(connection.latest())
    assert all(np.abs(batch.placement - old).max() > 1e-3 for batch, old in zip(scene._bodies, before, strict=True))
    lengths = [np.linalg.norm(batch.placement[:, :, 2], axis=1) for batch in scene._bodies]
    assert all(np.allclose(length, 1.0) for length in lengths), "bars stay 1 m long"


@pytest.mark.parametrize("name", rtmbs.library.names())
def test_every_mechanism_of_the_library_is_drawn_and_every_body_can_be_picked(name):
    """From some side a ray at a body's own shape meets that body, or one before it."""
    scene, _ = scene_of(Simulation(rtmbs.library.build(name).compile()))
    camera = Camera()
    camera.fit(scene.points())
    points = scene.points()
    assert np.all(np.isfinite(points))
    for batch in scene._bodies:
        middle = batch.placement[:, :, :3] @ (batch.mesh.vertices.min(0) + batch.mesh.vertices.max(0)) / 2.0
        for body, center in zip(batch.body, middle + batch.placement[:, :, 3], strict=True):
            start, way = camera.eye(), center - camera.eye()
            pick = scene.pick(start, way / np.linalg.norm(way))
            assert pick is not None, scene.description.bodies[body].name
            assert np.linalg.norm(pick.point - start) <= np.linalg.norm(way) + 1e-6
            assert scene.frame.r[pick.body] + scene.frame.A[pick.body] @ pick.local == pytest.approx(pick.point)


def test_nothing_is_picked_beside_the_bodies_or_when_they_are_hidden(sim):
    scene, _ = scene_of(sim)
    camera = Camera()
    camera.fit(scene.points())
    assert scene.pick(*camera.ray(3.0, 3.0)) is None
    middle = camera.project(scene.center_of(1))[0]
    assert scene.pick(*camera.ray(*middle[:2])) is not None
    scene.shown["bodies"] = False
    assert scene.pick(*camera.ray(*middle[:2])) is None


def test_shapes_that_a_person_gives(sim):
    tetrahedron = Surface(np.vstack([np.zeros(3), np.eye(3)]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    box = Box(size=(0.1, 0.2, 0.3))
    scene, _ = scene_of(sim, shapes={"rod_1_0": tetrahedron, "rod_1_1": (box, box)})
    counts = {len(batch.mesh.vertices) // 3: len(batch) for batch in scene._bodies}
    assert counts[4] == 1
    assert counts[12] == 2
    center = scene.frame.r[1] + scene.frame.A[1] @ np.full(3, 0.2)
    pick = scene.pick(center + np.array([0.0, 0.0, 9.0]), np.array([0.0, 0.0, -1.0]))
    assert pick is not None


def test_bodies_of_one_kind_share_a_color_and_the_chosen_one_stands_out(sim):
    scene, _ = scene_of(sim, DARK)
    names = [body.name for body in scene.description.bodies]
    kinds = dict(zip(names, families(scene.description), strict=True))
    assert kinds["rod_1_0"] == kinds["rod_2_2"] != kinds["coupler_1_0"]
    scene.select(names.index("rod_1_1"))
    drawn = [pair for batch in scene._bodies for pair in zip(batch.body, batch.color, strict=True)]
    colors = {names[body]: tuple(color) for body, color in drawn}
    assert colors["rod_1_1"] == pytest.approx(rgba(DARK.selected))
    assert colors["rod_1_0"] == pytest.approx(rgba(DARK.bodies[kinds["rod_1_0"]]))


def test_springs_and_forces_are_drawn_between_their_ends():
    model = rtmbs.Model("weight on a spring")
    weight = model.add_body("weight", mass=2.0, position=(0.0, 0.0, -1.0))
    model.add_joint("guide", rtmbs.Prismatic(axis=(0.0, 0.0, 1.0)), model.ground, weight, point=(0.0, 0.0, -1.0))
    top = model.add_marker("top", model.ground, (0.0, 0.0, 0.0))
    hook = model.add_marker("hook", weight, (0.0, 0.0, -1.0))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=100.0, damping=1.0), between=(top, hook))
    model.add_force("push", rtmbs.Wrench(force=(0.0, 9.81, 0.0)), body=weight)
    sim = Simulation(model.compile())
    scene, _ = scene_of(sim)
    coil = next(batch for batch in scene._connectors.batches if batch.mesh.kind == "coil").placement
    assert coil[0, :, 3] == pytest.approx((0.0, 0.0, 0.0))
    assert coil[0, :, 2] == pytest.approx((0.0, 0.0, -1.0), abs=1e-9)
    shaft, head = scene._forces.batches[:2]
    assert head.placement[0, :, 3] + head.placement[0, :, 2] == pytest.approx((0.0, 0.0, -1.0), abs=1e-9)
    along = shaft.placement[0, :, 2] + head.placement[0, :, 2]
    assert along / np.linalg.norm(along) == pytest.approx((0.0, 1.0, 0.0))


@pytest.mark.parametrize(("length", "spacing"), [(1.0, 1.0), (0.99, 0.5), (4.9, 2.0), (73.0, 50.0), (0.0123, 0.01)])
def test_grid_spacings_are_round(length, spacing):
    assert round_spacing(length) == pytest.approx(spacing)


@pytest.mark.parametrize("up", range(3))
def test_the_grid_lies_under_the_mechanism(up):
    gravity, points = np.zeros(3), np.random.default_rng(up).uniform(-2.0, 5.0, (30, 3))
    gravity[up] = -9.81
    lines, _, _ = grid_lines(points, gravity)
    assert np.ptp(lines[:, :, up]) == 0.0
    assert lines[0, 0, up] < points[:, up].min()
    across = [axis for axis in range(3) if axis != up]
    flat = lines.reshape(-1, 3)[:, across]
    assert np.all(flat.min(axis=0) <= points[:, across].min(axis=0))
    assert np.all(flat.max(axis=0) >= points[:, across].max(axis=0))


def test_trails_are_bounded_and_forget_what_time_takes_back(sim):
    trails, connection = Trails(), ManualConnection(sim)
    connection.should_step()
    assert trails.toggle(1, np.zeros(3))
    for _ in range(LENGTH + 30):
        connection.sync(sim, None)
        frame = connection.latest()
        trails.add(frame)
        sim.step()
    points, colors = trails.segments(lambda body, name: (1.0, 0.0, 0.0, 1.0))
    assert len(points) == len(colors) == LENGTH - 1
    assert np.all(np.diff(colors[:, 3]) > 0.0), "the older, the fainter"
    sim.restore(Simulation(sim.system).state)
    connection.sync(sim, None)
    trails.add(connection.latest())
    assert len(trails.segments(lambda body, name: (1.0, 0.0, 0.0, 1.0))[0]) == 0
    assert not trails.toggle(1, np.zeros(3))
    assert 1 not in trails


def test_a_large_mechanism_has_thicker_bars():
    tall = scene_of(Simulation(rtmbs.library.build("fourbar", ny=1, nz=40).compile()))[0]
    low = scene_of(Simulation(rtmbs.library.build("fourbar", ny=1, nz=1).compile()))[0]
    radius = [np.linalg.norm(scene._bodies[0].placement[0, :, 0]) for scene in (tall, low)]
    assert radius[0] / radius[1] == pytest.approx(SWELL), "as thick as it may be"
    assert describe(Simulation(rtmbs.library.build("fourbar").compile())).length == pytest.approx(1.0, rel=0.5)
