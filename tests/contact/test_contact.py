"""Contact, stops and dry friction against closed forms and independent solutions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import contact
from rtmbs.errors import ModelError

G = 9.81


def free_body(name, shape, *, mass=2.0, inertia=(0.02, 0.03, 0.03), position=(0, 0, 0), gravity=(0, 0, -G), **more):
    model = rtmbs.Model(name, gravity=gravity)
    body = model.add_body(name, mass=mass, inertia=inertia, position=position, shape=shape, **more)
    model.add_joint("free", rtmbs.Floating(), "ground", body)
    return model, body


def block(slope, friction, **more):
    """A box on a plane; gravity is turned by ``slope`` [rad], which is the plane turned under it."""
    model, body = free_body(
        "block",
        rtmbs.Box((0.3, 0.2, 0.1)),
        position=(0, 0, 0.05),
        gravity=(G * np.sin(slope), 0, -G * np.cos(slope)),
    )
    model.add_contact(
        "floor", ("ground", contact.Plane()), body, stiffness=1e6, dissipation=0.5, friction=friction, **more
    )
    return rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())


def test_a_block_below_the_friction_angle_stays():
    sim = block(np.arctan(0.5) * 0.98, 0.5)
    sim.run(1.0)
    held = sim.run(11.0, record=rtmbs.Every(0.5))
    assert np.abs(held["block.position"][-1] - held["block.position"][0]).max() < 1e-9
    assert np.abs(held["block.velocity"]).max() < 1e-7
    total = sum(held[f"floor_{k}.force"] for k in range(1, 9))
    weight = 2.0 * G * np.array([-np.sin(np.arctan(0.5) * 0.98), 0.0, np.cos(np.arctan(0.5) * 0.98)])
    np.testing.assert_allclose(total[-1], weight, rtol=1e-6, atol=1e-4)


def test_a_block_above_the_friction_angle_slides_by_coulombs_law():
    slope = np.arctan(0.5) * 1.02
    sim = block(slope, 0.5)
    sim.run(0.5)
    slid = sim.run(1.0)
    v = slid["block.velocity"][:, 0]
    wanted = G * (np.sin(slope) - 0.5 * np.cos(slope))
    assert (v[-1] - v[0]) / 0.5 == pytest.approx(wanted, rel=2e-3)


def test_static_friction_holds_more_than_sliding():
    slope = np.arctan(0.55)
    holds, slides = block(0.0, 0.5, static_ratio=1.2, stribeck_speed=0.1), block(0.0, 0.5)
    for sim in (holds, slides):
        sim.run(0.5)
        sim.inputs["gravity"] = (G * np.sin(slope), 0.0, -G * np.cos(slope))
        sim.run(1.5)
    assert np.abs(holds["block.velocity"]).max() < 1e-6
    assert slides["block.velocity"][0] > 0.3


@pytest.mark.parametrize("restitution", [0.9, 0.5])
def test_a_ball_bounces_with_the_restitution_asked_for(restitution):
    drop, radius = 0.2, 0.1
    model, ball = free_body(
        "ball", rtmbs.Sphere(radius), mass=1.0, inertia=(4e-3,) * 3, position=(0, 0, radius + drop), gravity=(0, 0, -G)
    )
    c = contact.dissipation_for(restitution, np.sqrt(2.0 * G * drop))
    model.add_contact("floor", ("ground", contact.Plane()), ball, stiffness=1e7, dissipation=c)
    sim = rtmbs.Simulation(model.compile(), 2e-5, method=rtmbs.TRBDF2())
    falls = np.sqrt(2.0 * drop / G)
    result = sim.run(round((falls + 0.02) / sim.h) * sim.h)
    v = result["ball.velocity"][:, 2].max()
    y0, span = [0.0, np.sqrt(2.0 * G * drop)], (0.0, 0.02)
    run = solve_ivp(
        lambda _, y: [y[1], G - 1e7 * max(y[0], 0.0) ** 1.5 * max(1.0 + c * y[1], 0.0)], span, y0,
        rtol=1e-10, atol=1e-12, max_step=1e-5,
    )  # fmt: skip
    assert v == pytest.approx(-run.y[1].min(), rel=1e-4)
    assert v == pytest.approx(restitution * y0[1], rel=2e-2)  # gravity works over the penetration


@pytest.mark.parametrize("restitution", [0.999999, 0.9, 0.5, 0.1])
def test_dissipation_gives_the_restitution_of_the_equation_of_motion(restitution):
    c = contact.dissipation_for(restitution, 2.0)

    def rates(_, y):
        return [y[1], -1e6 * max(y[0], 0.0) ** 1.5 * max(1.0 + c * y[1], 0.0)]

    def parts(_, y):
        return y[0] - 1e-12

    parts.terminal, parts.direction = True, -1
    run = solve_ivp(rates, (0, 1), [0.0, 2.0], rtol=1e-11, atol=1e-14, events=parts, method="Radau")
    assert -run.y[1, -1] / 2.0 == pytest.approx(restitution, abs=2e-8)


def test_a_sliding_ball_rolls_at_five_sevenths():
    radius, v0 = 0.1, 2.0
    model, ball = free_body(
        "ball", rtmbs.Sphere(radius), mass=1.0, inertia=(0.4 * radius**2,) * 3, position=(0, 0, radius - 1e-5)
    )
    model.add_contact("floor", ("ground", contact.Plane()), ball, stiffness=1e7, dissipation=1.0, friction=0.3)
    model.set_initial("free", rate=(v0, 0, 0, 0, 0, 0))
    sim = rtmbs.Simulation(model.compile(), 5e-4, method=rtmbs.TRBDF2())
    slips = 2.0 * v0 / (7.0 * 0.3 * G)  # until then it slides
    before = sim.run(round(0.9 * slips / sim.h) * sim.h)
    assert before["ball.velocity"][-1, 0] == pytest.approx(v0 - 0.3 * G * before.t[-1], rel=2e-3)
    after = sim.run(round(2.0 * slips / sim.h) * sim.h)
    assert after["ball.velocity"][-1, 0] == pytest.approx(5.0 / 7.0 * v0, rel=1e-3)
    assert after["ball.angular_velocity"][-1, 1] * radius == pytest.approx(after["ball.velocity"][-1, 0], rel=1e-3)


def test_two_balls_exchange_momentum():
    model = rtmbs.Model("balls", gravity=(0, 0, 0))
    for name, x, mass in (("a", 0.0, 1.0), ("b", 0.25, 3.0)):
        model.add_body(name, mass=mass, inertia=(4e-3,) * 3, position=(x, 0.02 * x, 0), shape=rtmbs.Sphere(0.1))
        model.add_joint(f"free_{name}", rtmbs.Floating(), "ground", name)
    model.add_contact("impact", "a", "b", stiffness=1e7, friction=0.2)
    model.set_initial("free_a", rate=(2.0, 0, 0, 0, 0, 0))
    sim = rtmbs.Simulation(model.compile(), 2e-5, method=rtmbs.TRBDF2())
    first, result = sim["energy.kinetic"], sim.run(0.1, record=rtmbs.Every(1e-3))
    np.testing.assert_allclose(result["momentum.linear"], np.tile((2.0, 0, 0), (len(result.t), 1)), atol=1e-8)
    np.testing.assert_allclose(
        result["momentum.angular"], np.tile(result["momentum.angular"][0], (len(result.t), 1)), atol=1e-8
    )
    assert result["b.velocity"][-1, 0] == pytest.approx(1.0, rel=3e-3)  # 2 m v / (m + M), nearly central
    assert result["energy.kinetic"][-1] <= first * (1 + 1e-9)


def nearest_of_segments(a0, a1, b0, b1):
    """Return the least distance of two segments, by sampling and refining: no formula of the package."""
    best, lo, hi = np.inf, np.zeros(2), np.ones(2)
    for _ in range(12):
        s, t = (np.linspace(lo[k], hi[k], 41) for k in (0, 1))
        pa, pb = a0 + s[:, None] * (a1 - a0), b0 + t[:, None] * (b1 - b0)
        d = np.linalg.norm(pa[:, None] - pb[None], axis=2)
        i, j = np.unravel_index(np.argmin(d), d.shape)
        best, width = d[i, j], (hi - lo) / 20
        lo = np.clip(np.array([s[i], t[j]]) - width, 0, 1)
        hi = np.clip(np.array([s[i], t[j]]) + width, 0, 1)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_bars_and_balls_touch_at_the_distance_of_their_axes(seed):
    """The force of two random capsules is k d^1.5 of their penetration, along the line of their nearest points."""
    rng = np.random.default_rng(seed)
    shapes = []
    for _ in range(2):
        start, end = rng.normal(size=(2, 3)) * 0.3
        shapes.append(rtmbs.Sphere(0.4, start) if rng.random() < 0.3 else rtmbs.Bar(start, end, 0.4))
    model = rtmbs.Model("two", gravity=(0, 0, 0))
    places = rng.normal(size=(2, 3)) * 0.2
    turns = Rotation.random(2, random_state=seed).as_matrix()
    for name, place, turn, shape in zip("ab", places, turns, shapes, strict=True):
        model.add_body(name, mass=1.0, inertia=(1, 1, 1), position=place, orientation=turn, shape=shape)
        model.add_joint(f"free_{name}", rtmbs.Floating(), "ground", name)
    model.add_contact("touch", "a", "b", stiffness=1e3)
    sim = rtmbs.Simulation(model.compile(), 1e-4)
    ends = []
    for shape, place, turn in zip(shapes, places, turns, strict=True):
        both = (shape.center, shape.center) if isinstance(shape, rtmbs.Sphere) else (shape.start, shape.end)
        ends += [place + turn @ one for one in both]
    depth = 0.8 - nearest_of_segments(*ends)
    wanted = 1e3 * max(depth, 0.0) ** 1.5
    assert np.linalg.norm(sim["touch.force"]) == pytest.approx(wanted, rel=2e-5, abs=1e-9)


@pytest.mark.parametrize(
    ("place", "depth", "normal"),
    [
        ((0.0, 0.0, 0.55), 0.05, (0, 0, 1)),
        ((0.0, -1.07, 0.1), 0.03, (0, -1, 0)),
        ((0.56, 0.0, 0.56), 0.1 - np.hypot(0.06, 0.06), (np.sqrt(0.5), 0, np.sqrt(0.5))),
        ((0.3, 0.0, -0.45), 0.1 + 0.05, (0, 0, -1)),  # the centre within the box
        ((2.0, 0.0, 0.0), 0.0, (1, 0, 0)),
    ],
)
def test_a_ball_touches_faces_edges_and_the_inside_of_a_box(place, depth, normal):
    model, ball = free_body("ball", rtmbs.Sphere(0.1), position=place, gravity=(0, 0, 0))
    model.add_contact("touch", ball, ("ground", rtmbs.Box((1.0, 2.0, 1.0))), stiffness=1e4, exponent=1.0)
    sim = rtmbs.Simulation(model.compile(), 1e-4)
    np.testing.assert_allclose(sim["touch.force"], 1e4 * depth * np.array(normal), atol=1e-6)


def test_a_capsule_and_a_convex_surface_rest_on_their_points():
    tetrahedron = rtmbs.Surface(
        np.array([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)], float),
        [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)],
    )
    for shape, mass in ((rtmbs.Bar((-0.1, 0, 0.05), (0.2, 0, 0.05), 0.05), 2.0), (tetrahedron, 1.0)):
        model, body = free_body("body", shape, mass=mass, center_of_mass=(0.05, 0.05, 0.05))
        model.add_contact("floor", ("ground", contact.Plane()), body, stiffness=1e5, dissipation=5.0, friction=0.5)
        sim = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())
        if isinstance(shape, rtmbs.Surface):
            sim.run(2.0)
            total = sum(sim[f"floor_{k}.force"] for k in range(1, 5))
            np.testing.assert_allclose(total, (0, 0, mass * G), rtol=1e-5, atol=1e-4)


def test_a_stop_holds_a_pendulum_and_gives_its_restitution():
    model = rtmbs.Model("knee", gravity=(0, 0, 0))
    leg = model.add_body("leg", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    model.add_joint("knee", rtmbs.Revolute(axis=(1, 0, 0)), "ground", leg)
    c = contact.dissipation_for(0.6, 3.0)
    model.add_stop("limit", "knee", lower=-0.2, upper=0.5, stiffness=1e6, dissipation=c)
    model.set_initial("knee", position=0.0, rate=3.0)
    sim = rtmbs.Simulation(model.compile(), 1e-5, method=rtmbs.TRBDF2())
    result = sim.run(0.2667)
    assert result["knee.rate"][-1] == pytest.approx(-1.8, rel=2e-3)
    assert result["knee.angle"].max() < 0.5 + 3e-3


def test_dry_friction_of_a_joint_sticks_and_slides():
    model = rtmbs.Model("brake", gravity=(0, 0, -G))
    arm = model.add_body("arm", mass=1.0, center_of_mass=(0, 0.5, 0), inertia=(0.1, 0.1, 0.1))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", arm)
    model.add_friction("brake", "hinge", limit=6.0, damping_time=5e-3)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=rtmbs.TRBDF2())
    sim.run(4.0)
    held = sim.run(14.0, record=rtmbs.Every(0.5))
    assert np.ptp(held["hinge.angle"]) < 1e-9
    sim.inputs["brake.limit"] = 1.0
    slid = sim.run(14.1)
    rate = solve_ivp(
        lambda _, y: [y[1], (-0.5 * G * np.cos(y[0]) + 1.0) / 0.35], (0, 0.1), [slid["hinge.angle"][0], 0.0], rtol=1e-10
    ).y[1, -1]
    assert slid["hinge.rate"][-1] == pytest.approx(rate, rel=1e-2)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"friction": -0.1}, "friction is -0.1"),
        ({"stiffness": 0.0}, "stiffness is 0"),
        ({"exponent": 0.5}, "exponent is 0.5"),
        ({"dissipation": -1.0}, "dissipation is -1"),
        ({"friction": 0.5, "tangential_stiffness": 0.0}, "tangential_stiffness is 0"),
        ({"friction": 0.5, "static_ratio": 0.5}, "static_ratio is 0.5"),
        ({"friction": 0.5, "damping_time": -1.0}, "damping_time is -1"),
        ({"a": "ball"}, "needs two bodies"),
        ({"a": ("ground", "floor")}, "does not touch"),
        ({"a": "ground"}, "has no shape"),
        ({"a": ("ground",)}, "give a body, or"),
    ],
)
def test_impossible_contacts_are_refused(change, word):
    model, ball = free_body("ball", rtmbs.Sphere(0.1))
    given = {"a": ("ground", contact.Plane()), "stiffness": 1e6} | change
    with pytest.raises(ModelError, match=word):
        model.add_contact("floor", given.pop("a"), ball, **given)


def test_impossible_stops_and_frictions_are_refused():
    model = rtmbs.Model("knee")
    model.add_body("leg", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("knee", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "leg")
    for ends, word in (({}, "has no end"), ({"lower": 1.0, "upper": 0.5}, "lower must be below")):
        with pytest.raises(ModelError, match=word):
            model.add_stop("limit", "knee", stiffness=1.0, **ends)
    for given, word in (
        ({"limit": -1.0}, "limit is -1"),
        ({"limit": 1.0, "viscous": -1.0}, "viscous is -1"),
        ({"limit": 0.0}, "give stiffness"),
        ({"limit": 1.0, "stiffness": -2.0}, ": stiffness is -2"),
    ):
        with pytest.raises(ModelError, match=word):
            model.add_friction("brake", "knee", **given)
    with pytest.raises(ModelError, match="above 0"):
        contact.dissipation_for(0.0, 1.0)
    with pytest.raises(ModelError, match="speed"):
        contact.dissipation_for(0.5, 0.0)


@pytest.mark.parametrize(("a", "b"), [("sphere", "cylinder"), ("box", "bar"), ("sphere", "ellipsoid")])
def test_the_exponent_is_that_of_spheres_and_bars_on_either_side(a, b):
    """Convex pairs press alike in either order of the sides."""
    pytest.importorskip("coal")
    shapes = {
        "sphere": rtmbs.Sphere(0.1), "bar": rtmbs.Bar((-0.1, 0, 0), (0.1, 0, 0), 0.05),
        "box": rtmbs.Box((0.2, 0.2, 0.2)), "cylinder": rtmbs.Cylinder(0.1, 0.2),
        "ellipsoid": contact.Ellipsoid((0.1, 0.12, 0.1)),
    }  # fmt: skip
    ends = []
    for order in ((0, 1), (1, 0)):
        model = rtmbs.Model("pair", gravity=(0, 0, 0))
        bodies = [model.add_body(name, mass=1.0, inertia=(0.01,) * 3) for name in "xy"]
        sides = [(bodies[0], shapes[a]), (bodies[1], shapes[b])]
        model.add_contact("touch", sides[order[0]], sides[order[1]], stiffness=1e5)
        ends.append([force.law.function.normal.exponent for force in model.forces.values()])
    assert ends[0] == ends[1]
    assert set(ends[0]) == {1.5}


def test_a_preload_that_moves_nothing_is_not_told(recwarn):
    """A light ball between two walls, pressed by 204 times its weight."""
    model = rtmbs.Model("clamped")
    ball = model.add_body("ball", mass=0.05, inertia=(1e-4,) * 3)
    model.add_joint("slide", rtmbs.Prismatic((1, 0, 0)), "ground", ball)
    for side in (-1.0, 1.0):
        wall = contact.Plane(point=(0.0999 * side, 0, 0), normal=(-side, 0, 0))
        model.add_contact(f"wall{side}", ("ground", wall), (ball, rtmbs.Sphere(0.1)), stiffness=1e6, exponent=1.0)
    result = rtmbs.Simulation(model.compile(), 1e-4).run(0.05)
    assert np.abs(result["ball.mass_center"]).max() < 1e-12
    assert not [one for one in recwarn if "begins" in str(one.message)]
