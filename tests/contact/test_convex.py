"""Contact of convex shapes with each other: patches against closed forms, slopes, stacks, momentum of collisions."""

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.contact.convex import convex_pair
from rtmbs.contact.convex_shapes import Round, convex_of, nearest, patch_points
from rtmbs.contact.normal_force import NormalForce
from rtmbs.errors import InputError, ModelError, StepError
from rtmbs.studies.analysis.modes import slowest_modes

G = 9.81
NEAREST = (np.zeros(3), np.zeros(3))
UP = np.array((0.0, 0.0, 1.0))


def test_a_box_on_a_box_touches_at_the_corners_of_the_overlap():
    """The overlap of 1 x 1 with 0.4 x 2, shifted by (0.4, 0.1): 0.2 to 0.5 by -0.5 to 0.5."""
    a, b = (convex_of("test", rtmbs.Box(size))[0] for size in ((1, 1, 1), (0.4, 2, 0.2)))
    tilt = 1e-3
    R = Rotation.from_rotvec((0.0, tilt, 0.0)).as_matrix()
    found = patch_points(a, b, np.array((0.4, 0.1, 0.6 - 1e-4)), R, UP, NEAREST, 0.1)
    wanted = sorted((x, y) for x in (0.2, 0.5) for y in (-0.5, 0.5))
    first = np.array([one.point_a for one in found])
    np.testing.assert_allclose(sorted(map(tuple, first[:, :2].round(9))), wanted, atol=1e-3)
    np.testing.assert_allclose(first[:, 2], 0.5, atol=1e-12)
    np.testing.assert_allclose([one.point_b[2] for one in found], -0.1, atol=1e-12)


def test_a_cylinder_lies_on_a_line_and_bars_that_cross_touch_at_a_point():
    box, cylinder = (convex_of("test", one)[0] for one in (rtmbs.Box((1, 1, 1)), rtmbs.Cylinder(0.1, 0.6)))
    lying = Rotation.from_rotvec((0.0, np.pi / 2, 0.0)).as_matrix()
    line = patch_points(box, cylinder, np.array((0.4, 0.0, 0.6)), lying, UP, NEAREST, 0.1)
    np.testing.assert_allclose(sorted(one.point_a[0] for one in line), (0.1, 0.5), atol=1e-12)  # cut off at the edge
    long, bar = (convex_of("test", rtmbs.Bar((-half, 0, 0), (half, 0, 0), 0.1))[0] for half in (1.0, 0.5))
    turned = Rotation.from_rotvec((1.0, 0.0, 0.0)).as_matrix()  # bars lie along z; x parts them
    close = np.array((0.1, 0.0, 0.2)), np.array((0.11, 0.0, 0.2))
    middle = np.array((0.21, 0.0, 0.2)) + 0.3 * turned[:, 2]
    (point,) = patch_points(long, bar, middle, turned, np.array((1.0, 0.0, 0.0)), close, 0.1)
    touch = nearest(long, bar, point, middle.tolist(), turned.tolist())
    assert touch.gap == pytest.approx(0.01, abs=1e-12)
    np.testing.assert_allclose(middle + touch.arm, close[1], atol=1e-12)


@pytest.mark.parametrize("depth", [1e-3, 3e-3, 4e-3, 8e-3])
def test_a_bar_with_its_end_beyond_the_rim_of_a_box_touches_the_edge(depth):
    """Its deepest part is not over the face, though the face parts the two nearly as well."""
    box, bar = (convex_of("test", one)[0] for one in (rtmbs.Box((1, 1, 1)), rtmbs.Bar((0, 0, -0.5), (0, 0, 0.5), 0.3)))
    R = Rotation.from_rotvec((0.0, -np.radians(10.0), 0.0)).as_matrix()
    low = np.array((0.51, 0.0, 0.5 + np.sqrt((0.3 - depth) ** 2 - 1e-4)))
    foot, r = np.array((0.5, 0.0, 0.5)), low + R @ (0.0, 0.0, 0.5)
    normal = (low - foot) / np.linalg.norm(low - foot)
    found = patch_points(box, bar, r, R, normal, (foot, low - 0.3 * normal), 0.1)
    gaps = [nearest(box, bar, one, r.tolist(), R.tolist()).gap for one in found]
    assert min(gaps) == pytest.approx(-depth, rel=1e-9)
    assert max(gaps) < 0.0


def test_ellipsoids_touch_along_the_normal_that_they_were_placed_by():
    rng = np.random.default_rng(1)
    for k in range(100):
        a, b = Round(rng.uniform(0.2, 1, 3)), Round(rng.uniform(0.2, 1, 3))
        R, n = Rotation.random(random_state=k).as_matrix(), rng.normal(size=3)
        n /= np.linalg.norm(n)
        gap = rng.uniform(-0.05, 0.3)
        first, second = np.array(a.curved(n)[0]), R @ b.curved(-R.T @ n)[0]
        r = first + gap * n - second
        near = n + 1e-2 * rng.normal(size=3)
        close = first, first + gap * n
        (point,) = patch_points(a, b, r, R, near / np.linalg.norm(near), close, 0.5)
        np.testing.assert_allclose(point.normal, n, atol=1e-12)


def test_new_points_go_on_with_the_energy_of_those_before_them():
    """A second point as deep doubles the energy, so the offset of both leaves that of the first alone, and back."""
    pytest.importorskip("coal")
    sim = resting(0.0, 0.0, rtmbs.Box((0.3, 0.2, 0.1)), 0.05 - 1e-4)
    pair, state = sim._store.renewed[0].pairs[0], sim._store.states[0]
    points, pose = pair.kept(state), (np.array((0.0, 0.0, 0.55 - 1e-4)), np.eye(3))  # of the body in axes of the floor
    np.testing.assert_allclose(pair.depths(points, *pose), 1e-4, atol=1e-12)
    pair.write(state, points[:1], pose, False)
    pair.write(state, points[:2], pose, True)
    offsets = state.u[pair.places["gap_offset"]][pair.used(state), 0]
    np.testing.assert_allclose(offsets, 1e-4 * (1.0 - np.sqrt(0.5)), atol=1e-15)
    pair.write(state, points[:1], pose, True)
    assert state.u[pair.places["gap_offset"]][pair.used(state), 0] == pytest.approx(0.0, abs=1e-15)


def resting(slope, friction, shape, height):
    """Return a Simulation of a body on a box of ground, in axes of a slope."""
    model = rtmbs.Model("slope", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = model.add_body("body", mass=2.0, inertia=(0.02, 0.02, 0.02), position=(0, 0, height), shape=shape)
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=(0, 0, height))
    floor = ("ground", rtmbs.Box((20.0, 20.0, 1.0), center=(0, 0, -0.5)))
    model.add_contact("floor", floor, body, stiffness=1e6, dissipation=50.0, friction=friction)
    return rtmbs.Simulation(model.compile(), 2e-3, method=rtmbs.TRBDF2())


@pytest.fixture(scope="module")
def slope():
    pytest.importorskip("coal")
    sim = resting(0.4, 0.5, rtmbs.Box((0.3, 0.2, 0.1)), 0.05)
    return sim, sim.state.copy()


def test_a_box_on_a_box_sticks_below_the_angle_of_friction_and_slides_above_it(slope):
    sim, start = slope
    sim.run(0.4)
    place = sim["body.position"].copy()
    sim.run(1.4)
    assert np.max(np.abs(sim["body.position"] - place)) < 1e-9  # tan 0.4 is below 0.5
    names = [f"floor_{k}" for k in range(1, 5)]
    assert sum(sim[f"{name}.normal_force"] for name in names) == pytest.approx(
        2.0 * G * np.cos(0.4), rel=1e-5
    )  # a tilt of 1e-5
    sim.restore(start)
    for name in names:
        sim.inputs[f"{name}.friction"] = 0.3
    sim.run(0.4)
    v = sim["body.velocity"][0]
    sim.run(0.8)
    assert (sim["body.velocity"][0] - v) / 0.4 == pytest.approx(G * (np.sin(0.4) - 0.3 * np.cos(0.4)), rel=1e-4)


def test_a_round_body_that_rolls_on_a_box_keeps_its_speed():
    """Points that are fixed in a step made it 5.8 % faster in kinetic energy within 1 s."""
    pytest.importorskip("coal")
    model, r, k = rtmbs.Model("rolling", gravity=(0, 0, -G)), 0.1, 1e6
    place = (0, 0, r - G / k)
    model.add_body("ball", mass=1.0, inertia=(4e-3,) * 3, position=place)
    model.add_joint("free", rtmbs.Floating(), "ground", "ball", point=place)
    floor, ball = ("ground", rtmbs.Box((50, 50, 1), center=(0, 0, -0.5))), ("ball", rtmbs.contact.Ellipsoid((r, r, r)))
    model.add_contact("floor", floor, ball, stiffness=k, dissipation=10.0, friction=0.5)
    model.set_initial("free", rate=(1.0, 0, 0, 0, 1.0 / r, 0))
    result = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2()).run(0.2)
    np.testing.assert_allclose(result["energy.kinetic"], 0.7, rtol=1e-9)


def test_a_run_goes_on_from_a_state_with_the_same_bytes(slope):
    sim, start = slope
    sim.restore(start)
    sim.run(0.02)
    state = sim.state.copy()
    sim.run(0.06)
    wanted = sim["body.position"].copy(), sim["floor_1.force"].copy()
    sim.restore(state)
    sim.run(0.06)
    np.testing.assert_array_equal(sim["body.position"], wanted[0])
    np.testing.assert_array_equal(sim["floor_1.force"], wanted[1])


def test_inputs_of_a_patch_cannot_be_set(slope):
    for name, value in (("gap_offset", 0.0), ("normal_on_b", 1.0), ("point_a", (0, 0, 0))):
        with pytest.raises(InputError, match="which every step renews"):
            slope[0].inputs[f"floor_1.{name}"] = value


def test_solids_that_collide_keep_their_momenta_and_gain_no_energy():
    result, turning = collided(friction=0.4)
    linear = sum(mass * result[f"{name}.velocity"] for name, mass in (("a", 1.0), ("b", 2.5)))
    np.testing.assert_allclose(linear, linear[:1] + 0.0 * linear, atol=1e-9)
    np.testing.assert_allclose(turning, turning[:1] + 0.0 * turning, atol=5e-5)
    energy = result["energy.kinetic"]
    assert energy.max() < energy[0] * (1.0 + 1e-4)
    assert energy[-1] < 0.999 * energy[0]


def test_solids_that_collide_without_friction_and_dissipation_keep_their_energy():
    """What is left is of the method, where contact begins and ends within a step."""
    result, _ = collided()
    energy = result["energy.kinetic"]
    assert energy.min() < 0.9 * energy[0]
    assert energy[-1] == pytest.approx(energy[0], rel=1e-3)  # 7e-4 here, by coarse steps that damp
    assert energy.max() < energy[0] * (1.0 + 1e-12)


def collided(**law):
    """Return the result of two solids that meet and part, and their angular momentum (k, 3) about the origin."""
    pytest.importorskip("coal")
    model = rtmbs.Model("collision", gravity=(0, 0, 0))
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)]) - 0.25
    wedge = rtmbs.Surface(corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    for name, x, rate, shape in (("a", 0.0, 1.0, wedge), ("b", 1.5, -1.0, rtmbs.Box((0.8, 0.5, 0.6)))):
        at = (x, 0.02 * x, 0.1 * x)
        model.add_body(name, mass=1.0 + x, inertia=(0.1, 0.15, 0.2), position=at, shape=shape)
        model.add_joint(f"free {name}", rtmbs.Floating(), "ground", name, point=at)
        model.set_initial(f"free {name}", rate=(rate, 0.1, 0.0, 0.3, -rate, 0.5))
    model.add_contact("hit", "a", "b", stiffness=1e4, **law)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())
    result = sim.run(1.0)
    force = sum(np.linalg.norm(result[f"hit_{k}.force"], axis=1) for k in range(1, 5))
    assert force.max() > 10.0
    assert force[-1] == 0.0
    turning = np.zeros((len(result.t), 3))
    for name, mass in (("a", 1.0), ("b", 2.5)):
        turns = Rotation.from_quat(result[f"{name}.orientation"], scalar_first=True)
        own = turns.inv().apply(result[f"{name}.angular_velocity"].copy()) * (0.1, 0.15, 0.2)
        turning += turns.apply(own) + mass * np.cross(result[f"{name}.position"], result[f"{name}.velocity"])
    return result, turning


def thrown(gap, speed, h):
    """Return a Simulation of a box that flies onto a box of ground; its four points have 1e5 N/m together."""
    model, place = rtmbs.Model("thrown", gravity=(0, 0, 0)), (0, 0, 0.05 + gap)
    model.add_body("body", mass=2.0, inertia=(0.02,) * 3, position=place, shape=rtmbs.Box((0.3, 0.2, 0.1)))
    model.add_joint("free", rtmbs.Floating(), "ground", "body", point=place)
    model.set_initial("free", rate=(0, 0, -speed, 0, 0, 0))
    floor = ("ground", rtmbs.Box((20.0, 20.0, 1.0), center=(0, 0, -0.5)))
    model.add_contact("floor", floor, "body", stiffness=2.5e4)
    return rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2())


@pytest.mark.parametrize("gap", [0.001, 0.019, 0.028, 0.046])
def test_a_box_that_flies_fast_is_met_within_its_step(gap):
    """10 m/s and steps of 5 ms: it leaves as fast as it came, with the largest force v sqrt(k m)."""
    pytest.importorskip("coal")
    sim = thrown(gap, 10.0, 5e-3)  # w h = 1.1
    with pytest.warns(rtmbs.RtmbsWarning):
        result = sim.run(0.1)
    assert sim["body.velocity"][2] == pytest.approx(10.0, rel=0.03)
    force = sum(result[f"floor_{k}.normal_force"] for k in range(1, 5))
    assert force.max() == pytest.approx(10.0 * np.sqrt(1e5 * 2.0), rel=0.15)


def test_a_contact_that_begins_deep_or_has_no_nearest_points_fails():
    pytest.importorskip("coal")
    sim = thrown(0.5, 0.0, 1e-3)
    sim.step()
    sim.state.z[2] -= 0.56
    with pytest.raises(StepError, match=r"contact 'floor' is 0\.06 m deep where it begins"):
        sim.step()
    sim = thrown(0.01, 0.0, 1e-3)
    sim._store.renewed[0].pairs[0].distance = lambda *given: 0.5 * 0.01  # not that of the points
    with pytest.raises(StepError, match="contact 'floor': coal finds no nearest points"):
        sim.run(0.1)


def pressed():
    """Return a model of a box on a rail and a spring that slides on a box: its patch changes with the place."""
    model = rtmbs.Model("pressed", gravity=(0, 0, -G))
    model.add_body("box", mass=1.0, inertia=(1e-3,) * 3, position=(0, 0, 0.049), shape=rtmbs.Box((0.1, 0.1, 0.1)))
    model.add_joint("guide", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "box")
    model.add_contact("touch", ("ground", rtmbs.Box((1, 1, 1), center=(0, 0, -0.5))), "box", stiffness=1e4)
    model.add_force("spring", lambda t, k, p: -10.0 * k.z, joint="guide")
    return model


def test_a_control_system_refuses_convex_contacts():
    pytest.importorskip("coal")
    pytest.importorskip("control")
    with pytest.raises(InputError, match="renews no patches"):
        rtmbs.control_system(rtmbs.Simulation(pressed().compile(), 1e-3), inputs=[], outputs=[])


def test_convex_contacts_refuse_what_renews_no_patches(slope, monkeypatch):
    sim, _ = slope
    with pytest.raises(InputError, match="renews no patches"):
        rtmbs.Batch(sim.system, 2, h=1e-3)
    with pytest.raises(InputError, match="renews no patches"):
        rtmbs.Simulation(sim.system, 2e-3).run(0.1, tolerance=1e-6)
    frictionless = pressed().compile()
    for study in (
        lambda: rtmbs.equilibrium(frictionless),
        lambda: rtmbs.linearise(rtmbs.Simulation(frictionless, 1e-3)),
        lambda: rtmbs.modes(rtmbs.Simulation(frictionless, 1e-3)),
        lambda: slowest_modes(rtmbs.Simulation(frictionless, 1e-3), 1),  # of many coordinates
        lambda: rtmbs.linearise_rolling(rtmbs.Simulation(frictionless, 1e-3)),
        lambda: rtmbs.inverse_dynamics(frictionless, {"guide": np.zeros(3)}, np.linspace(0.0, 0.1, 3)),
    ):
        with pytest.raises(InputError, match="renews no patches"):
            study()
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(ModelError, match=r"install rtmbs\[contact\]"):
        resting(0.4, 0.5, rtmbs.Box((0.3, 0.2, 0.1)), 0.05)


CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4)]  # all faces but the one above
SIDES = [face for a, b, c, d in QUADS for face in ((a, b, c), (a, c, d))]


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        (rtmbs.Surface(CUBE, SIDES), "surface is open, 4 of its edges"),
        (  # a cube whose upper face is drawn down to its middle: a third of a half is missing
            rtmbs.Surface(
                np.vstack((CUBE, np.zeros(3))), [*SIDES, *((a, b, 8) for a, b in ((1, 5), (5, 7), (7, 3), (3, 1)))]
            ),
            "not convex, it encloses 0.8333 of the volume",
        ),
        (rtmbs.Box((1.0, 1.0, 1e-9)), "Box is 1e-09 m thin and 1 m long"),
        (rtmbs.Cylinder(0.5, 1e-8), "Cylinder is 1e-08 m thin"),
    ],
)
def test_hollow_and_thin_shapes_are_refused(shape, word):
    pytest.importorskip("coal")
    with pytest.raises(ModelError, match=word):
        convex_pair("contact 'c'", "c", ("a", shape), ("b", rtmbs.Sphere(1.0)), NormalForce(1e4), None)


def test_forces_act_on_the_second_body_in_the_order_of_the_user():
    pytest.importorskip("coal")
    shapes = {"box": rtmbs.Box((1, 1, 1)), "other": rtmbs.Cylinder(0.5, 1.0), "ball": rtmbs.Sphere(0.2)}
    model = rtmbs.Model("order")
    for name, shape in shapes.items():
        model.add_body(name, mass=1.0, inertia=(1, 1, 1), shape=shape)
    for one, two, wanted in (("other", "box", "box"), ("box", "other", "other"), ("ball", "box", "ball")):
        first = model.add_contact(f"{one} {two}", one, two, stiffness=1e4).forces[0]
        assert first.between[1].body.name == wanted  # a box beside a ball is always the first


def test_points_that_lie_far_beside_their_shapes_fail_the_step(monkeypatch):
    pytest.importorskip("coal")
    sim = resting(0.0, 0.0, rtmbs.Box((0.3, 0.2, 0.1)), 0.05 - 1e-4)
    pair = sim._store.renewed[0].pairs[0]
    assert pair.bounded(1e-4, 0.0) == 1e-4
    monkeypatch.setattr("rtmbs.simulation.contact_pairs.MOST_OFFSET", 1e-6)
    with pytest.raises(StepError, match=r"contact 'floor': its points lie 0\.0001 m beside its shapes"):
        pair.bounded(-1e-4, 0.0)


def test_a_start_deep_in_each_other_is_told_and_inputs_below_zero_are_refused():
    pytest.importorskip("coal")
    with pytest.warns(rtmbs.errors.RtmbsWarning, match=r"begins 0\.04 m deep, with 800 J in its spring: it throws"):
        sim = resting(0.0, 0.5, rtmbs.Box((0.3, 0.2, 0.1)), 0.01)
    for value in (-0.1, np.array([-0.1])):
        with pytest.raises(InputError, match=r"input 'floor_1\.friction' is .*-0\.1.*; it must be zero or more"):
            sim.inputs["floor_1.friction"] = value
