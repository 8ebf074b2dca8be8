"""Contacts of shapes in pictures: where they are, and what the force and the cone of friction are drawn by."""

import numpy as np
import pytest

import rtmbs
from rtmbs import contact
from rtmbs.viewer.scene.frame import LINGERS
from rtmbs.viewer.scene.shapes import TALL, Contacts, Scale
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.session.worker import ManualConnection

MU, RADIUS = 0.4, 0.01


@pytest.fixture(scope="module")
def sliding():
    """Two eggs on a slope: one slides, the other one hangs in the air."""
    model = rtmbs.Model("eggs", gravity=(6.0, 0.0, -8.0))
    for name, z in (("low", 0.05), ("high", 0.5)):
        body = model.add_body(name, mass=2.0, inertia=(0.01,) * 3, position=(0, 0, z))
        model.add_joint(f"{name} rail", rtmbs.Floating(), "ground", body, point=(0, 0, z))
        egg = contact.Ellipsoid((0.05, 0.05, 0.05))
        model.add_contact(name, ("ground", contact.Plane()), (body, egg), stiffness=1e5, dissipation=5.0, friction=MU)
    return rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())


def test_a_run_and_its_record_show_point_normal_and_force_of_contacts(sliding):
    live = ManualConnection(sliding)
    live.should_step()
    for _ in range(60):
        live.sync(sliding, sliding.step())
    words = "point", "normal", "force"
    wanted = [np.concatenate([sliding[f"{name}.{word}"] for word in words]) for name in ("low", "high")]
    np.testing.assert_allclose(live.latest().contacts[:, :9], wanted, rtol=1e-9, atol=1e-9)
    result = sliding.run(sliding.t + 0.01)
    record = playback(result)
    np.testing.assert_array_equal(record.latest().contacts[0, 6:9], result["low.force"][0])
    assert [one.name for one in record.describe().contacts] == ["low", "high"]
    assert record.describe().contacts[0].friction == MU


def test_arrows_begin_at_points_and_cones_have_the_slope_of_friction(sliding):
    sliding.run(sliding.t + 0.2)
    connection = ManualConnection(sliding)
    connection.should_step()
    description, frame = connection.describe(), connection.latest()
    drawn, scale = Contacts(description, RADIUS, theme_named("white")), Scale(description)
    drawn.show(frame, scale)
    ball, _, cone, shaft, *_ = (batch.placement for batch in drawn.batches)
    force, tall = frame.contacts[0, 6:9], TALL * scale.length
    assert force[0] == pytest.approx(-MU * force[2], rel=1e-6)  # it slides
    np.testing.assert_allclose(ball[0, :, 3], frame.contacts[0, :3], atol=1e-12)
    np.testing.assert_allclose(np.cross(shaft[0, :, 2], force), 0.0, atol=1e-9)
    np.testing.assert_allclose(cone[0, :, 2], (0, 0, -tall), atol=1e-12)  # its tip is at the point
    assert np.linalg.norm(cone[0, :, 0]) == pytest.approx(MU * tall)
    for batch in drawn.batches:
        np.testing.assert_array_equal(batch.placement[1], 0.0)  # the one that is open


def test_a_body_without_looks_is_drawn_by_the_shape_that_touches(sliding):
    shapes = {body.name: body.shapes for body in ManualConnection(sliding).describe().bodies}
    assert np.linalg.norm(shapes["low"][0].vertices, axis=1) == pytest.approx(0.05)


@pytest.fixture(scope="module")
def bounced():
    """A ball of rigid contact that falls aslant, bounces twice and then rests on a tilted plane."""
    model = rtmbs.Model("ball", gravity=(2.0, 0.0, -9.81))
    ball = model.add_body("ball", mass=2.0, inertia=(8e-3,) * 3, position=(0, 0, 0.3))
    model.add_joint("free", rtmbs.Floating(), "ground", ball)
    floor = ("ground", contact.Plane(normal=(-0.1, 0.2, 1.0)))
    model.add_rigid_contact("floor", floor, (ball, rtmbs.Sphere(0.1)), restitution=0.4, friction=MU)
    return rtmbs.Simulation(model.compile(), 2e-3).run(1.2)


def test_rigid_contacts_have_point_normal_and_force(bounced):
    normal = np.array((-0.1, 0.2, 1.0)) / np.linalg.norm((-0.1, 0.2, 1.0))
    np.testing.assert_allclose(bounced["floor.normal"], np.tile(normal, (len(bounced.t), 1)), atol=1e-12)
    point = bounced["ball.position"] - 0.1 * normal
    np.testing.assert_allclose(bounced["floor.point"], point, atol=1e-12)
    force = 2.0 * (bounced["ball.acceleration"] - (2.0, 0.0, -9.81))
    np.testing.assert_allclose(bounced["floor.force"], force, atol=1e-8)
    np.testing.assert_allclose(bounced["floor.normal_force"], force @ normal, atol=1e-8)
    assert force[-1] @ normal > 1.0


def test_impulses_of_rigid_contacts_are_drawn_for_a_while(bounced):
    record = playback(bounced)
    shown = np.array(record.contacts())[:, 0, 9:]
    first = bounced.impacts[0]
    behind = np.searchsorted(bounced.t, first.t)
    assert not np.any(shown[:behind])
    np.testing.assert_allclose(shown[behind], first.impulses[0] * bounced["floor.normal"][behind], atol=1e-12)
    assert not np.any(shown[-1])
    description, frame = record.describe(), record.latest()
    frame.contacts[:] = record.contacts()[behind]
    drawn, scale = Contacts(description, RADIUS, theme_named("white")), Scale(description)
    drawn.show(frame, scale)
    *_, shaft, head = (batch.placement for batch in drawn.batches)
    impulse = first.impulses[0] / LINGERS / scale.newtons
    np.testing.assert_allclose(
        head[0, :, 3] + head[0, :, 2], frame.contacts[0, :3] + impulse * frame.contacts[0, 3:6], atol=1e-9
    )
    assert np.all(np.isfinite(shaft))
