"""What a window is told about a mechanism: every mechanism of the library, every shape, every unit."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import ModelError, UnknownNameError
from rtmbs.model import Bar, Box, Cylinder, Sphere, Surface
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.viewer.scene.frame import Frame, FrameLayout
from rtmbs.viewer.session.describe import describe, outline, solid_of_inertia
from rtmbs.viewer.session.worker import ManualConnection
from tests.contracts.machines import LIBRARY, library_simulation
from tests.viewer.mechanisms import motored


@pytest.mark.parametrize("name", LIBRARY)
def test_every_mechanism_of_the_library(name):
    """It can be sent, every moving body can be seen, and points of a joint meet at the start."""
    sim = library_simulation(name)
    scene = pickle.loads(pickle.dumps(describe(sim)))
    assert [body.name for body in scene.bodies] == list(sim.system.bodies)
    assert all(body.shapes for body in scene.bodies[1:])
    assert scene.bodies[0].shapes == ()
    assert (scene.layout.nb, scene.layout.n) == (len(scene.bodies), sim.system.n)
    result = sim.run(sim.t)
    for joint in scene.joints:
        if joint.type in ("Revolute", "Spherical", "Universal", "Fixed"):
            places = []
            for body, point in ((joint.a, joint.point_a), (joint.b, joint.point_b)):
                name = scene.bodies[body].name
                r = np.zeros(3) if body == 0 else result[f"{name}.position"][0]
                A = np.eye(3) if body == 0 else rotations(result[f"{name}.orientation"])[0]
                places.append(r + A @ point)
            np.testing.assert_allclose(places[0], places[1], atol=1e-6 * scene.length)


def test_connectors_and_wrenches_stand_in_body_axes():
    """Bodies that are turned at the reference pose: points come back as they were given."""
    model = rtmbs.Model("turned")
    turned = {"position": (1.0, 2.0, 3.0), "orientation": (np.cos(0.4), 0.0, np.sin(0.4), 0.0)}
    body = model.add_body("body", mass=2.0, inertia=(0.1, 0.2, 0.25), **turned)
    welded = model.add_body("welded", mass=1.0, inertia=(0.1, 0.2, 0.25), position=(1.5, 2.0, 3.0))
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=(1.0, 2.0, 3.0))
    model.add_joint("weld", rtmbs.Fixed(), body, welded, point=(1.0, 2.0, 3.0))
    ends = model.add_marker("hook", "ground", (0.0, 0.0, 5.0)), model.add_marker("eye", welded, (0.1, 0.2, 0.3), welded)
    model.add_force("spring", rtmbs.SpringDamper(10.0), between=ends)
    model.add_force("push", rtmbs.Wrench(force=rtmbs.Input((1, 0, 0)), axes="body"), body=welded, point=(0.3, 0.0, 0.1))
    scene = describe(Simulation(model.compile()))
    spring, push = scene.connectors[0], scene.wrenches[0]
    np.testing.assert_allclose(spring.point_b, (0.1, 0.2, 0.3), atol=1e-14)
    np.testing.assert_allclose(push.point, (0.3, 0.0, 0.1), atol=1e-14)
    np.testing.assert_allclose(push.axes, np.eye(3), atol=1e-14)
    assert (push.follows, scene.bodies[push.body].name) == (True, "welded")
    place = next(one.place for one in scene.inputs if one.name == "push.force")
    assert place == slice(push.slot, push.slot + 3)
    assert [marker.name for marker in scene.markers] == ["hook", "eye"]


def test_units_and_what_can_be_set():
    model = motored()
    model.add_force("wind", rtmbs.Wrench(force=lambda t: (0.0, t, 0.0)), body="rocker")
    model.add_force("brake", rtmbs.TorsionSpring(stiffness=1.0), joint="foot")
    inputs = {one.name: one for one in describe(Simulation(model.compile())).inputs}
    units = {name: one.unit for name, one in inputs.items()}
    assert units["brake.stiffness"] == "N m/rad"
    assert units["brake.angle"] == "rad"
    assert units["spring.length"] == "m"
    assert units["wind.force"] == "N"
    assert (inputs["wind.force"].settable, inputs["wind.torque"].settable) == (False, True)
    assert inputs["spring.stiffness"].default == 50.0


def test_force_laws_between_two_points_are_connectors():
    """One on a single body is not: it has no other end."""
    model = motored()
    model.add_force("cord", lambda t, k, p: p["pull"] + 0.0 * k.r[0], between=("hook", "eye"), parameters={"pull": 2.0})
    model.add_force("drag", lambda t, k, p: np.concatenate((-k.v, np.zeros(3))), body="rocker", point=(0.0, 1.0, -0.2))
    scene = describe(Simulation(model.compile()))
    assert [(one.name, one.kind) for one in scene.connectors] == [("spring", "spring"), ("cord", "law")]
    np.testing.assert_allclose(scene.connectors[1].point_a, (0.0, 0.5, -1.0), atol=1e-14)
    assert "cord.pull" in [one.name for one in scene.inputs]


def info(mass, inertia):
    model = rtmbs.Model("one")
    model.add_body("one", mass=mass, inertia=inertia, center_of_mass=(0.1, 0.2, 0.3))
    model.add_joint("free", rtmbs.Floating(), "ground", "one")
    return model.compile().bodies["one"]


@pytest.mark.parametrize(
    ("inertia", "kind", "size"),
    [
        # a cube of 2 kg with an edge of 0.6 m: m a^2 / 6
        ((0.12, 0.12, 0.12), Box, (0.6, 0.6, 0.6)),
        # a box of 2 kg, edges 0.2, 0.4, 0.8 m: m (b^2 + c^2) / 12
        ((0.8 / 6, 0.68 / 6, 0.2 / 6), Box, (0.2, 0.4, 0.8)),
        # a disk of 2 kg, radius 0.5, length 0.1 m: m r^2 / 2 about z
        ((0.25 / 2 + 0.01 / 6, 0.25 / 2 + 0.01 / 6, 0.25), Cylinder, (0.5, 0.1)),
        # a slender bar of 2 kg along x, 1.2 m long, radius 0.03 m
        ((0.0009, 0.24 + 0.00045, 0.24 + 0.00045), Bar, (0.03, 1.2)),
        ((0.0, 0.0, 0.0), Sphere, None),
    ],
)
def test_a_solid_has_the_inertia_of_its_body(inertia, kind, size):
    solid = solid_of_inertia(info(2.0, inertia), 0.01)
    assert isinstance(solid, kind)
    if kind is Box:
        world = np.abs(solid.axes) @ solid.size  # the axes of a box are those of its principal inertia
        np.testing.assert_allclose(world, size, rtol=1e-9)
    if kind is Cylinder:
        np.testing.assert_allclose((solid.radius, solid.length), size, rtol=1e-9)
        np.testing.assert_allclose(np.abs(solid.axis), (0.0, 0.0, 1.0), atol=1e-12)
    if kind is Bar:
        np.testing.assert_allclose((solid.radius, np.linalg.norm(solid.end - solid.start)), size, rtol=1e-9)
        np.testing.assert_allclose((solid.start + solid.end) / 2, (0.1, 0.2, 0.3), atol=1e-12)


@pytest.mark.parametrize(
    ("points", "bars"),
    [
        ([(0, 0, 0), (1, 0, 0)], 1),
        ([(0, 0, 0), (1, 0, 0), (0.4, 0, 0), (0, 0, 0)], 1),  # on one line, one point twice
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], 3),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], 4),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0.5, 0.5, 0)], 4),  # the last one is the middle of the star
    ],
)
def test_bars_between_the_points_that_hold_a_body(points, bars):
    shapes = outline(info(1.0, (0.1, 0.1, 0.1)), np.array(points, float), 1.0)
    assert len(shapes) == bars
    assert all(isinstance(shape, Bar) for shape in shapes)
    ends = np.array([end for bar in shapes for end in (bar.start, bar.end)])
    for corner in ((0, 0, 0), (1, 0, 0)):
        assert np.min(np.linalg.norm(ends - corner, axis=1)) < 1e-12


def test_a_point_mass_hangs_on_a_bar():
    bar, ball = outline(info(1.0, (0.0, 0.0, 0.0)), np.zeros((1, 3)), 1.0)
    np.testing.assert_allclose((bar.start, bar.end), ((0, 0, 0), (0.1, 0.2, 0.3)))
    assert isinstance(ball, Sphere)


@pytest.mark.parametrize(
    "inertia", [(1e-4, 0.1, 0.1), (0.1, 0.1, 1e-4), (0.1, 0.1, 0.2), (0.1, 0.2, 0.25), (0.1, 0.1, 0.1)]
)
def test_a_body_that_is_held_at_its_mass_centre_alone(inertia):
    """A propeller: the point that holds it is no end of its bar."""
    body = info(1.0, inertia)
    (solid,) = outline(body, np.array([body.center_of_mass]), 1.0)
    assert isinstance(solid, Bar | Box | Cylinder | Sphere)


def test_shapes_given_by_the_person():
    sim = Simulation(motored().compile())
    mesh = Surface(np.eye(3), np.array([[0, 1, 2]]))
    scene = describe(sim, shapes={"crank": mesh, "rocker": [Sphere(0.1), mesh]})
    assert scene.bodies[1].shapes == (mesh,)
    assert len(scene.bodies[3].shapes) == 2
    assert isinstance(scene.bodies[2].shapes[0], Bar)
    with pytest.raises(UnknownNameError, match="did you mean 'crank'"):
        describe(sim, shapes={"crnk": mesh})
    with pytest.raises(ModelError, match="body 'crank': shape is 'box'"):
        describe(sim, shapes={"crank": "box"})


def test_a_frame_goes_through_its_layout():
    """Every entry comes back as it was, of its own type."""
    sim = Simulation(motored().compile())
    connection = ManualConnection(sim)
    connection.sync(sim, sim.step())
    frame, layout = connection.latest(), pickle.loads(pickle.dumps(connection.describe().layout))
    assert isinstance(layout, FrameLayout)
    buffer = np.zeros((), layout.dtype)
    layout.write(frame, buffer)
    back = layout.read(buffer)
    for one in fields(Frame):
        mine, other = getattr(frame, one.name), getattr(back, one.name)
        assert type(mine) is type(other), one.name
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other), one.name)
    buffer["r"] = 0.0
    assert np.any(back.r), "a frame has arrays of its own"
