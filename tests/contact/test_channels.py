"""Channels of contacts against geometry from the poses and velocities of the bodies."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import contact

RADIUS, K, C = 0.1, 1e5, 0.3
PLANE = contact.Plane(point=(0.1, -0.2, 0.05), normal=(0.2, -0.1, 1.0))
SIDES = {
    "ball on a plane": (PLANE, rtmbs.Sphere(RADIUS, center=(0.02, 0.01, -0.03))),
    "ball on a ball": (rtmbs.Sphere(0.3, center=(0.0, 0.0, -0.25)), rtmbs.Sphere(RADIUS, center=(0.02, 0.01, -0.03))),
    "ellipsoid on a plane": (PLANE, contact.Ellipsoid((RADIUS,) * 3, center=(0.02, 0.01, -0.03))),
    "ball on a box": (rtmbs.Box((0.8, 0.9, 0.1)), rtmbs.Sphere(RADIUS, center=(0.02, 0.01, -0.03))),
}


def thrown(under, above):
    """Return a run of a turning ball that falls on a turning table, both afloat."""
    model = rtmbs.Model("afloat", gravity=(0.5, -0.3, -9.81))
    turned = Rotation.from_euler("xyz", (0.1, -0.15, 0.4)).as_matrix()
    table = model.add_body("table", mass=30.0, inertia=(3.0, 4.0, 5.0), position=(3.0, 1.0, 2.0), orientation=turned)
    ball = model.add_body("ball", mass=2.0, inertia=(8e-3, 9e-3, 8e-3), position=(3.05, 0.95, 2.22))
    for body in (table, ball):
        model.add_joint(f"{body.name} free", rtmbs.Floating(), "ground", body)
    model.set_initial("table free", rate=(0.3, -0.2, 0.5, 0.0, 0.1, 0.0))
    model.set_initial("ball free", rate=(2.0, 5.0, -3.0, 0.4, -0.3, -1.0))
    model.add_contact("touch", (table, under), (ball, above), stiffness=K, exponent=1.0, dissipation=C, friction=0.4)
    return rtmbs.Simulation(model.compile(), 1e-4, method=rtmbs.TRBDF2()).run(0.12)


def orientation(result, name):
    return Rotation.from_quat(result[f"{name}.orientation"], scalar_first=True)


def velocity(result, name, x):
    """Return the velocity of the point of a body that is at x (S, 3)."""
    arm = x - result[f"{name}.position"]
    return result[f"{name}.velocity"] + np.cross(result[f"{name}.angular_velocity"], arm)


def expected(result, under, above):
    """Return gap, normal and touching point of a ball above a plane, ball or box, world axes."""
    center = orientation(result, "ball").apply(np.array(above.center)) + result["ball.position"]
    table, origin = orientation(result, "table"), result["table.position"]
    if isinstance(under, contact.Plane):
        normal = table.apply(np.array(under.normal))
        gap = np.sum((center - origin - table.apply(np.array(under.point))) * normal, axis=1)
    elif isinstance(under, rtmbs.Sphere):
        away = center - origin - table.apply(np.array(under.center))
        gap = np.linalg.norm(away, axis=1)
        normal = away / gap[:, None]
        gap = gap - under.radius
    else:  # above the top face
        normal = table.apply((0.0, 0.0, 1.0))
        gap = np.sum((center - origin) * normal, axis=1) - 0.05
    gap = gap - RADIUS
    middle = 0.5 * gap[:, None] if isinstance(under, rtmbs.Sphere) else 0.0  # between balls, the force acts midway
    return gap, normal, center - (RADIUS + middle) * normal


@pytest.mark.parametrize("name", SIDES)
def test_penetration_slip_point_and_normal_force(name):
    under, above = SIDES[name]
    result = thrown(under, above)
    gap, normal, point = expected(result, under, above)
    assert gap.min() < -1e-3, "they touch"
    assert gap.max() > 1e-3, "they part"
    np.testing.assert_allclose(result["touch.penetration"], np.maximum(-gap, 0.0), atol=1e-12)
    np.testing.assert_allclose(result["touch.point"], point, atol=1e-12)
    slip = velocity(result, "ball", point) - velocity(result, "table", point)
    leaving = np.sum(slip * normal, axis=1)
    np.testing.assert_allclose(result["touch.slip"], slip - leaving[:, None] * normal, atol=1e-11)
    assert np.abs(result["touch.slip"]).max() > 0.1
    force = K * np.maximum(-gap, 0.0) * np.maximum(1.0 - C * leaving, 0.0)
    np.testing.assert_allclose(result["touch.normal_force"], force, atol=1e-8 * force.max())


def test_a_block_has_them_at_each_corner():
    model = rtmbs.Model("block")
    block = model.add_body("block", mass=2.0, inertia=(0.02, 0.03, 0.03), position=(0, 0, 0.05))
    model.add_joint("free", rtmbs.Floating(), "ground", block)
    model.add_contact(
        "floor", ("ground", contact.Plane()), (block, rtmbs.Box((0.3, 0.2, 0.1))), stiffness=1e6, friction=0.5
    )
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())
    result = sim.run(1.0)
    total = sum(result[f"floor_{k}.normal_force"][-1] for k in range(1, 9))
    assert total == pytest.approx(2.0 * 9.81, rel=1e-4)
    deep = [sim[f"floor_{k}.penetration"] for k in range(1, 9)]
    assert sorted(deep)[4:] == pytest.approx([2.0 * 9.81 / 4e6] * 4, rel=1e-3)
    assert sorted(deep)[:4] == [0.0] * 4
