"""The first sight: mechanisms of the library open with a step they run with, in a picture that holds their motion."""

import numpy as np
import pytest

from rtmbs import Fixed, Model, Simulation, library
from rtmbs.errors import ModelError
from rtmbs.results.samples import one_sample
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, Camera, ground_axes, reached
from rtmbs.viewer.scene.drawing import grid_lines
from rtmbs.viewer.scene.frame import WAY
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.session.origin import FromFactory, FromModel
from rtmbs.viewer.session.snapshot import Poses
from tests.contracts.machines import closed_model
from tests.viewer.mechanisms import motored
from tests.viewer.session.test_connections import wait
from tests.viewer.windows import Watched

PICTURES = 40  # of the first ten seconds


@pytest.mark.parametrize("name", library.names())
def test_the_first_ten_seconds_stay_in_the_picture(name):
    """Steps of the default h through what ten seconds of watching show: none fails, and the window holds every body."""
    function = library.MECHANISMS[name]
    sim = FromFactory(f"{function.__module__}:{function.__name__}").make({}, {})
    connection, camera = Watched(sim), Camera(width=1000, height=600)
    scene = Scene(connection.describe(), WHITE, connection.latest())
    camera.ground = ground_axes(scene.description.gravity)
    camera.fit(scene.whole())
    steps = round(10.0 * library.WATCHED_AT.get(name, 1.0) / sim.h)
    held, chunk = 0, max(steps // PICTURES, 1)
    for _ in range(PICTURES):
        for _ in range(chunk):
            report = sim.step()
            assert report.outcome.accepted, f"{name} at t = {sim.t:g} s with h = {sim.h:g} s"
        connection.sync(sim)
        connection.should_step()
        scene.show(connection.latest())
        if not camera.holds(scene.points()):
            if scene.remember():
                camera.fit(scene.whole())
            else:
                camera.go_with(scene.points())
        held += camera.holds(scene.points())
    assert held == PICTURES


def test_a_session_tells_where_its_mechanism_will_be():
    """The points that ten seconds reach farthest, before anybody plays, and the state is that of the start."""
    connection = connect("pendulum", "thread")
    connection.describe()
    frame = wait(connection, lambda f: np.all(np.isfinite(f.way)), "the way")
    fresh = Simulation(library.build("pendulum").compile())
    result = fresh.run(10.0)
    assert frame.t == 0.0
    tips = np.concatenate([result[name] for name in result.names() if name.endswith(".mass_center")])
    heights = tips @ DIRECTIONS.T
    assert np.all(heights.max(axis=0) <= np.sum(frame.way * DIRECTIONS, axis=1) + 0.02)
    connection.close()


@pytest.mark.parametrize("seed", range(4))
def test_poses_of_samples_are_those_of_the_states(seed):
    """Of random mechanisms, with bodies that are welded to ground, and parts with origins of their own."""
    model = closed_model(seed, driven=False)
    model.add_body("post", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 2.0, 3.0))
    model.add_joint("weld", Fixed(), model.ground, "post")
    sim = Simulation(model.compile(), h=1e-3)
    poses = Poses(sim)
    for _ in range(3):
        sim.step()
        r, A, _ = poses.read(sim.state)
        many = poses.read_all(one_sample(sim.state))
        np.testing.assert_allclose(many[0][0], r, rtol=0, atol=1e-12 * np.abs(r).max())
        np.testing.assert_allclose(many[1][0], A, rtol=0, atol=1e-12)


def test_a_mechanism_states_its_own_step():
    model = motored()
    assert model.h is None
    assert FromModel(model).make({}, {}).h == 5e-3
    model.h = 2e-4
    assert FromModel(model).make({}, {}).h == 2e-4
    with pytest.raises(ModelError, match="h is -1"):
        Model("own", h=-1.0)
    with pytest.raises(ModelError, match="one number"):
        Model("own", h="fast")
    andrews = FromModel(library.build("andrews"))
    assert andrews.make({}, {}).h == library.build("andrews").h == 5e-5
    assert andrews.make({}, {"h": 1e-4}).h == 1e-4


def test_the_farthest_points_are_those_of_all():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(500, 3))
    found = np.full((WAY, 3), np.nan)
    for part in np.array_split(points, 7):
        found = reached(found, part, DIRECTIONS)
    np.testing.assert_allclose(np.sum(found * DIRECTIONS, axis=1), (points @ DIRECTIONS.T).max(axis=0), rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(DIRECTIONS, axis=1), 1.0)
    assert MOTION_LIMIT > 1.0


GRAVITIES = [(0, 0, -9.81), (0, -9.81, 0), (-1.6, 0, 0), (0, 0, 9.81), (0, 0, 0), (1.0, -3.0, -2.0), (4.0, 5.0, 1.0)]


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_the_ground_lies_across_gravity_and_below_in_the_picture(gravity):
    g = np.array(gravity, float)
    points = np.random.default_rng(2).uniform(-1.0, 2.0, (40, 3))
    ground = ground_axes(g)
    np.testing.assert_allclose(ground @ ground.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(ground) == pytest.approx(1.0)
    segments, _, _ = grid_lines(points, g)
    down = -ground[2]
    assert np.ptp(segments.reshape(-1, 3) @ down) < 1e-12, "a plane across gravity"
    assert (segments[0, 0] @ down) > (points @ down).max(), "under the lowest point"
    camera = Camera(width=1000, height=600, ground=ground)
    for preset in ("isometric", "front", "side", "top"):
        camera.look(preset)
        camera.fit(points)
        axes = camera.axes()
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
        if preset != "isometric":
            eye = {"front": (1, 0, 0), "side": (0, -1, 0), "top": (0, 0, 1)}[preset]
            np.testing.assert_allclose(axes[2], eye, atol=1e-12)
        if np.any(g):
            assert axes[1] @ g <= 1e-12, "what falls, falls down in the picture"
    if not np.any(g) or (g[2] < 0.0 and not np.any(g[:2])):
        np.testing.assert_array_equal(ground, np.eye(3))
