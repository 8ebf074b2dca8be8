"""Cylinders, ellipsoids and planar profiles against sampled surfaces, closed forms and the lift-off of a cam."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import contact
from rtmbs.contact.profile import nearest
from rtmbs.errors import ModelError

G = 9.81
TRBDF2 = rtmbs.TRBDF2()
RNG = np.random.default_rng(7)


def on_plane(shape, **more):
    model = rtmbs.Model("shape", gravity=more.pop("gravity", (0, 0, -G)))
    body = model.add_body("body", **({"mass": 2.0, "inertia": (0.02, 0.02, 0.03)} | more))
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=more.get("position"))
    return model, (body, shape)


def test_ellipsoids_and_rims_touch_at_their_lowest_points():
    """Of 60 random poses: the penetration against the lowest of many sampled points."""
    a, b = (RNG.normal(size=(2, 200_000)), RNG.uniform(0, 2 * np.pi, 100_000))
    ball = np.vstack((a, RNG.normal(size=200_000)))
    ball /= np.linalg.norm(ball, axis=0)
    circle = np.stack((np.cos(b), np.sin(b), 0 * b))
    ellipsoid = contact.Ellipsoid(
        (0.3, 0.2, 0.1), center=(0.02, 0.01, -0.03), axes=Rotation.random(1, random_state=1)[0].as_matrix()
    )
    cylinder = rtmbs.Cylinder(0.2, 0.5, center=(0.1, 0.0, 0.05), axis=(1.0, 2.0, -0.5))
    for shape, forces in ((ellipsoid, ("touch",)), (cylinder, ("touch_1", "touch_2"))):
        model, side = on_plane(shape, gravity=(0, 0, 0))
        model.add_contact("touch", ("ground", contact.Plane((0, 0, 0.1))), side, stiffness=1e3, exponent=1.0)
        sim = rtmbs.Simulation(model.compile(), 1e-4)
        for turn in Rotation.random(30, random_state=3):
            state, R = sim.state.copy(), turn.as_matrix()
            state.R0[:] = R
            sim.restore(state)
            R = Rotation.from_quat(sim["body.orientation"], scalar_first=True).as_matrix()
            if shape is ellipsoid:
                heights = [(R @ (shape.center[:, None] + shape.axes @ (shape.half_axes[:, None] * ball)))[2].min()]
            else:
                x = np.cross(shape.axis, (0.0, 0, 1.0))
                x /= np.linalg.norm(x)
                ring = shape.radius * np.stack((x, np.cross(shape.axis, x), shape.axis), axis=1) @ circle
                ends = [shape.center + half * shape.length * shape.axis for half in (-0.5, 0.5)]
                heights = [(R @ (end[:, None] + ring))[2].min() for end in ends]
            for name, height in zip(forces, heights, strict=True):
                depth = max(0.1 - height, 0.0)
                assert sim[f"{name}.force"][2] == pytest.approx(1e3 * depth, abs=0.2)


def test_a_cylinder_rolls_down_a_slope():
    slope, r = 0.3, 0.1
    model, side = on_plane(
        rtmbs.Cylinder(r, 0.4, axis=(0, 1, 0)), gravity=(G * np.sin(slope), 0, -G * np.cos(slope)),
        inertia=(0.04, 2.0 * r * r / 2, 0.04), position=(0, 0, r),
    )  # fmt: skip
    model.add_contact("floor", ("ground", contact.Plane()), side, stiffness=1e6, dissipation=1.0, friction=0.5)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    sim.run(0.3)
    v0 = sim["body.velocity"][0]
    sim.run(0.8)
    assert (sim["body.velocity"][0] - v0) / 0.5 == pytest.approx(2.0 / 3.0 * G * np.sin(slope), rel=1e-3)


def test_a_standing_cylinder_and_an_ellipsoid_bear_their_weight():
    for shape, height in ((rtmbs.Cylinder(0.1, 0.3), 0.15), (contact.Ellipsoid((0.3, 0.2, 0.1)), 0.1)):
        model, side = on_plane(shape, position=(0, 0, height))
        model.add_contact("floor", ("ground", contact.Plane()), side, stiffness=1e5, dissipation=5.0, friction=0.5)
        sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
        sim.run(2.0)
        names = list(sim.system.forces)
        assert sum(sim[f"{name}.force"][2] for name in names) == pytest.approx(2.0 * G, rel=1e-5)
        assert sim["body.position"][2] == pytest.approx(height - 2.0 * G / 1e5, rel=1e-4)


def sampled(profile):
    """Return points of an outline, arcs by turning about their centres."""
    points, count = [], 16000 // len(profile.points)
    for start, end, bulge in zip(profile.points, np.roll(profile.points, -1, 0), profile.bulges, strict=True):
        share = np.linspace(0, 1, count)[:, None]
        if bulge == 0.0:
            points.append(start + share * (end - start))
            continue
        half = 2.0 * np.arctan(bulge)
        left = np.array((-(end - start)[1], (end - start)[0]))
        middle = 0.5 * (start + end) + 0.5 * left / np.tan(half)
        c, s = np.cos(2 * half * share[:, 0]), np.sin(2 * half * share[:, 0])
        arm = start - middle
        points.append(middle + np.stack((c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]), axis=1))
        np.testing.assert_allclose(points[-1][-1], end, atol=1e-12)
    return np.vstack(points)


SLOTTED = [(1, -1), (1, 1), (0.3, 1), (0.3, 0), (-0.3, 0), (-0.3, 1), (-1, 1), (-1, -1)]
ANGLES = np.linspace(0, 2 * np.pi, 16, endpoint=False)
RADII = 1 + 0.2 * np.cos(ANGLES) + 0.1 * np.sin(2 * ANGLES)
CAM = np.stack((RADII * np.cos(ANGLES), RADII * np.sin(ANGLES)), axis=1)


@pytest.mark.parametrize(
    "profile",
    [
        contact.Profile([(1, 0), (0, 1), (-1, 0), (0, -1)]),
        contact.Profile(SLOTTED),
        contact.Profile(SLOTTED, bulges=[0, 0.3, 0, -1, 0, 0.2, 0, -0.4]),
        contact.Profile.spline(CAM),
    ],
)
def test_the_distance_from_an_outline_is_that_of_its_points(profile):
    dense, rng = sampled(profile), np.random.default_rng(2)
    for x in rng.uniform(-1.5, 1.5, (60, 2)):
        distance, *normal = nearest(profile.pieces, *x)
        closest = dense[np.argmin(np.linalg.norm(dense - x, axis=1))]
        assert abs(distance) == pytest.approx(np.linalg.norm(closest - x), abs=2e-4)
        if abs(distance) > 0.05:
            np.testing.assert_allclose(normal, (x - closest) / distance, atol=2e-2)


def test_a_spline_goes_through_its_points():
    pieces = contact.Profile.spline(CAM).pieces
    for x in CAM:
        assert abs(nearest(pieces, *x)[0]) < 1e-12


@pytest.mark.parametrize(("share", "lifts"), [(0.97, False), (1.03, True)])
def test_a_follower_lifts_off_above_the_speed_of_the_closed_form(share, lifts):
    """An eccentric of radius R under a roller of radius r: at the top y'' = -w^2 (e + e^2 / (R + r))."""
    e, R, r = 0.02, 0.05, 0.02
    speed = share * np.sqrt(G / (e + e * e / (R + r)))
    model = rtmbs.Model("cam", gravity=(0, -G, 0))
    model.add_body("cam", mass=1.0, inertia=(0.01, 0.01, 0.01))
    model.add_body("follower", mass=0.5, inertia=(1e-3, 1e-3, 1e-3), position=(0, np.sqrt((R + r) ** 2 - e * e), 0))
    model.add_joint("shaft", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "cam", point=(0, 0, 0))
    model.add_joint("guide", rtmbs.Prismatic(axis=(0, 1, 0)), "ground", "follower")
    model.add_driver("turn", rtmbs.ConstantRate(speed), joint="shaft")
    model.set_initial("guide", rate=e * speed)
    outline = contact.Profile([(e + R, 0.0), (e - R, 0.0)], bulges=[1.0, 1.0])
    model.add_contact(
        "touch", ("cam", outline), ("follower", rtmbs.Sphere(r)), stiffness=1e8, exponent=1.0, dissipation=5.0
    )
    sim = rtmbs.Simulation(model.compile(), 1e-4, method=TRBDF2)
    turn = 2.0 * np.pi / speed
    result = sim.run(round(0.45 * turn / sim.h) * sim.h)
    force = np.linalg.norm(result["touch.force"], axis=1)[result.t > 0.1 * turn]
    assert (force.min() == 0.0) == lifts
    if not lifts:
        top = np.argmin(np.abs(result["shaft.angle"] - 0.5 * np.pi))
        y = result["follower.position"][top, 1]
        assert y == pytest.approx(e + R + r, abs=1e-5)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: contact.Profile([(0, 0), (0, 1), (1, 0)]), "clockwise"),
        (lambda: contact.Profile([(0, 0), (0, 0), (1, 0)]), "coincide"),
        (
            lambda: contact.Profile([(0, 0), (1, 1), (1, 0), (0, 1.5)]),
            "behind points 0 and 2",
        ),
        (lambda: contact.Profile([(0, 0), (1, 0), (1, 1), (1, 0), (0, 1)]), "back on itself behind point 1"),
        (lambda: contact.Profile([(0, 0), (1, 1), (1, 0), (0, 1)]), "no area"),
        (lambda: contact.Profile([(0, 0), (1, 0)]), "no area"),
        (lambda: rtmbs.Bar((0, 0, 0), (0, 0, 1e-200), 0.1), "two points"),
        (lambda: contact.Profile([(0, 0)]), "points has the shape"),
        (lambda: contact.Profile([(1, 0), (0, 1), (-1, 0)], bulges=[0, 2.0, 0]), "bulges must be"),
        (lambda: contact.Profile.spline([(0, 0), (1, 1)]), "k from 3"),
        (lambda: contact.Ellipsoid((0.1, 0.0, 0.1)), "half_axes has 0"),
    ],
)
def test_impossible_shapes_are_refused(make, word):
    with pytest.raises(ModelError, match=word):
        make()
