"""Rigid contacts against closed forms: heights and rest of a ball, Housner's block, lift-off, impacts with friction."""

import numpy as np
import pytest

import rtmbs
from rtmbs import contact
from rtmbs.errors import InputError, ModelError

G = 9.81
FLOOR = ("ground", contact.Plane())


def ball(height, restitution, *, friction=0.0, radius=0.1, inertia=4e-3, rate=None, h=1e-2):
    model = rtmbs.Model("ball", gravity=(0, 0, -G))
    body = model.add_body("ball", mass=1.0, inertia=(inertia,) * 3, position=(0, 0, radius + height))
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=(0, 0, radius + height))
    model.add_rigid_contact("floor", FLOOR, (body, rtmbs.Sphere(radius)), restitution=restitution, friction=friction)
    if rate is not None:
        model.set_initial("free", rate=rate)
    return rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2() if friction else None)


def test_a_ball_bounces_to_its_heights_and_comes_to_rest_in_its_time():
    drop, e = 0.5, 0.8
    sim = ball(drop, e)
    result = sim.run(4.0)
    speed, t = np.sqrt(2.0 * G * drop), np.sqrt(2.0 * drop / G)
    for k, one in enumerate(result.impacts[:11]):
        approach = speed * e**k
        assert one.t == pytest.approx(t, abs=1e-9)
        assert one.impulses[0] == pytest.approx((1.0 + e) * approach, abs=1e-9)
        assert one.loss == pytest.approx(0.5 * (1.0 - e * e) * approach**2, abs=1e-9)
        t += 2.0 * e * approach / G
        before, after = result.t > one.t, result.t < t
        if k < 10:
            height = (e * approach) ** 2 / (2.0 * G)
            assert result["ball.position"][before & after, 2].max() < 0.1 + height + 1e-9
    ends = np.sqrt(2.0 * drop / G) + 2.0 * e * speed / (G * (1.0 - e))
    assert result.impacts[-1].t == pytest.approx(ends, rel=0.01)
    assert sim["ball.position"][2] == pytest.approx(0.1, abs=1e-9)
    assert sim["floor.reaction"][2] == pytest.approx(G, abs=1e-9)
    assert sum(one.loss for one in result.impacts) == pytest.approx(G * drop, rel=1e-6)


@pytest.mark.parametrize("spin", [30.0, pytest.param(3000.0, marks=pytest.mark.slow)])
def test_an_impact_with_friction_sticks_or_slides(spin):
    """The impulse stops the slip where mu (1 + e) v allows it: 2/7 of it for a full ball."""
    r, e, mu, v = 0.1, 0.5, 0.3, 2.0
    fall = v * v / (2.0 * G)
    sim = ball(fall, e, friction=mu, inertia=0.4 * r * r, rate=(0, 0, 0, 0, spin, 0), h=1e-3)
    result = sim.run(round(np.sqrt(2.0 * fall / G), 3) + 0.02)
    (one,) = result.impacts
    slip = -r * spin  # of the touching point along x
    tangential = min(mu * one.impulses[0], 2.0 / 7.0 * abs(slip))
    assert one.impulses[0] == pytest.approx((1 + e) * v, rel=1e-6)
    assert sim["ball.velocity"][0] == pytest.approx(tangential, rel=1e-6)
    assert sim["ball.angular_velocity"][1] == pytest.approx(spin - tangential * r / (0.4 * r * r), rel=1e-6)


@pytest.mark.slow
def test_a_rocking_block_loses_the_speed_of_housner():
    """Behind the impact on the other edge 1 - 3/2 sin^2 of the angle of the diagonal is left."""
    B, H, D, mass, tilt = 0.1, 0.3, 0.2, 2.0, 0.12
    inertia = mass / 3.0 * np.array([D * D / 4 + H * H, B * B + H * H, B * B + D * D / 4])
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    place = -turn @ (B, 0, -H)
    model = rtmbs.Model("block", gravity=(0, 0, -G))
    shape = rtmbs.Box((2 * B, D, 2 * H))
    body = model.add_body("block", mass=mass, inertia=inertia, position=place, orientation=turn, shape=shape)
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=place)
    model.add_rigid_contact("floor", FLOOR, body, friction=1.0)
    sim = rtmbs.Simulation(model.compile(), 2e-3, method=rtmbs.TRBDF2())
    result = sim.run(0.222)
    (one,) = result.impacts
    k = int(np.searchsorted(result.t, one.t))
    before, after = result["block.angular_velocity"][[k - 1, k], 1]
    R, alpha = np.hypot(B, H), np.arctan(B / H)
    wanted = np.sqrt(2.0 * mass * G * (R * np.cos(alpha - tilt) - H) / (inertia[1] + mass * R * R))
    assert after == pytest.approx(-wanted * (1.0 - 1.5 * np.sin(alpha) ** 2), rel=2e-3)
    assert -before == pytest.approx(wanted, rel=1e-2)  # a part of a step earlier


def test_a_block_on_four_corners_sticks_below_the_angle_of_friction_and_slides_above_it():
    """Four corners bear it, where three would do: the loads are those of the least multipliers."""
    slope = 0.4
    model = rtmbs.Model("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    shape = rtmbs.Box((0.3, 0.2, 0.1))
    body = model.add_body("block", mass=2.0, inertia=(0.02, 0.03, 0.03), position=(0, 0, 0.05), shape=shape)
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=(0, 0, 0.05))
    model.add_rigid_contact("floor", FLOOR, body, friction=0.5)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())
    sim.run(0.2)
    place = sim["block.position"].copy()
    result = sim.run(1.0)
    assert result.impacts == ()
    assert np.max(np.abs(sim["block.position"] - place)) < 1e-7  # what is left of a swing on the bristle
    forces = [sim.state.lam[k] for k in range(len(sim.state.lam)) if sim.system.row_names[k].startswith("floor")]
    assert -sum(forces) == pytest.approx(2.0 * G * np.cos(slope), rel=1e-6)
    for name in sim.system.rigid:
        sim.inputs[f"{name} friction.coefficient"] = 0.3
    sim.run(1.1)
    v = sim["block.velocity"][0]
    sim.run(1.4)
    assert (sim["block.velocity"][0] - v) / 0.3 == pytest.approx(G * (np.sin(slope) - 0.3 * np.cos(slope)), rel=1e-6)


@pytest.mark.parametrize("method", [None, rtmbs.TRBDF2()])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_box_that_falls_flat_lands_on_all_corners_at_one_time(method, friction):
    """The first event closes four corners; those of the other three are of that time, and part nothing."""
    model = rtmbs.Model("flat", gravity=(0, 0, -G))
    model.add_body("box", mass=1.0, inertia=(2e-3,) * 3, position=(0, 0, 0.06))
    model.add_joint("free", rtmbs.Floating(), "ground", "box", point=(0, 0, 0.06))
    model.add_rigid_contact("floor", FLOOR, ("box", rtmbs.Box((0.1, 0.1, 0.1))), friction=friction)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=method)
    result = sim.run(0.2)
    assert [len(one.contacts) for one in result.impacts] == [4]
    assert result.impacts[0].t == pytest.approx(np.sqrt(2.0 * 0.01 / G), rel=1e-9)
    assert sim["box.position"] == pytest.approx([0.0, 0.0, 0.05], abs=1e-10)
    assert np.max(np.abs(sim.state.zd)) < 1e-10


def test_a_mass_lifts_off_a_shaking_table_where_its_force_ends():
    """x = a sin w t: the table pulls away where a w^2 sin w t = g; the mass then flies."""
    a, w = 0.02, 30.0
    model = rtmbs.Model("table", gravity=(0, 0, -G))
    model.add_body("table", mass=5.0, inertia=(1, 1, 1))
    model.add_body("load", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("shake", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "table", point=(0, 0, 0))
    model.add_joint("rise", rtmbs.Prismatic(axis=(0, 0, 1)), "table", "load", point=(0, 0, 0))
    motion = rtmbs.Function(
        lambda t: a * np.sin(w * t), lambda t: a * w * np.cos(w * t), lambda t: -a * w * w * np.sin(w * t)
    )
    model.add_driver("drive", motion, joint="shake")
    model.add_rigid_stop("rest", "rise", lower=0.0, restitution=0.0)
    sim = rtmbs.Simulation(model.compile(), 5e-4)
    result = sim.run(0.05)
    t = np.arcsin(G / (a * w * w)) / w
    assert [one.event.name for one in result.events] == ["rest"]
    assert result.events[0].t == pytest.approx(t, abs=1e-5)
    z, v, flight = a * np.sin(w * t), a * w * np.cos(w * t), 0.05 - t
    assert sim["load.position"][2] == pytest.approx(z + v * flight - 0.5 * G * flight**2, abs=1e-6)


def test_a_stop_of_an_elbow_keeps_the_momentum_about_the_shoulder():
    model = rtmbs.Model("arm", gravity=(0, 0, 0))
    for name, x in (("upper", 0.0), ("lower", 0.5)):
        model.add_body(name, mass=1.0, center_of_mass=(0.25, 0, 0), inertia=(1e-3, 0.02, 0.02), position=(x, 0, 0))
        model.add_marker(f"{name} middle", name, (0.25 + x, 0, 0))
    hinge = rtmbs.Revolute(axis=(0, -1, 0))
    model.add_joint("s", hinge, "ground", "upper", point=(0, 0, 0))
    model.add_joint("e", hinge, "upper", "lower", point=(0.5, 0, 0))
    model.add_rigid_stop("limit", "e", lower=-0.1, upper=1.0, restitution=0.4)
    model.set_initial("e", position=0.0, rate=4.0)
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    result = sim.run(1.0)
    assert [one.contacts[0] for one in result.impacts][:2] == ["limit_upper", "limit_lower"]
    momentum = 0.0
    for name in ("upper", "lower"):
        x, v = result[f"{name} middle.position"], result[f"{name} middle.velocity"]
        momentum = momentum + x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2] + 0.02 * result[f"{name}.angular_velocity"][:, 1]
    np.testing.assert_allclose(momentum, momentum[0], atol=2e-6)
    for one in result.impacts:
        k = int(np.searchsorted(result.t, one.t))
        assert momentum[k] == pytest.approx(momentum[k - 1], abs=1e-8)
    k = int(np.searchsorted(result.t, result.impacts[0].t))
    assert result["e.rate"][k] == pytest.approx(-0.4 * result["e.rate"][k - 1], rel=1e-2)
    assert np.diff(result["energy.kinetic"]).max() < 1e-6
    assert result["e.angle"].min() > -0.1 - 1e-9
    assert result["e.angle"].max() < 1.0 + 1e-9


def test_rigid_contacts_refuse_what_they_cannot():
    sim = ball(0.1, 0.5)
    with pytest.raises(InputError, match=r"sim\.run"):
        sim.step()
    with pytest.raises(InputError, match="need steps of h"):
        sim.run(0.1, tolerance=1e-6)
    for study in (rtmbs.linearise, rtmbs.equilibrium):
        with pytest.raises(InputError, match="locates no impacts"):
            study(sim)
    low = ball(-0.05, 0.5)
    with pytest.raises(InputError, match=r"overlaps by 0\.05"):
        low.run(0.1)
    model = rtmbs.Model("bad")
    model.add_body("b", mass=1.0, inertia=(1, 1, 1), shape=rtmbs.Sphere(0.1))
    model.add_joint("slide", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "b")
    for change, word in (
        ({"restitution": 1.5}, "restitution is 1.5"),
        ({"friction": -1.0}, "friction is -1"),
        ({"rest_speed": 0.0}, "rest_speed is 0"),
        ({"a": ("ground", rtmbs.Sphere(1.0))}, "one side must be"),
    ):
        with pytest.raises(ModelError, match=word):
            model.add_rigid_contact("c", change.pop("a", FLOOR), "b", **change)
    with pytest.raises(ModelError, match="has no end"):
        model.add_rigid_stop("s", "slide")
    with pytest.raises(ModelError, match="lower must be below"):
        model.add_rigid_stop("s", "slide", lower=1.0, upper=0.0)
