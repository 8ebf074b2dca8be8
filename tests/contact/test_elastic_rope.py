"""Elastic ropes against closed forms: Atwood's machine, capstan, belts that keep energy, geodesics round shapes."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial import ConvexHull

import rtmbs
from rtmbs import contact
from rtmbs.contact.elastic_rope import Wrapped
from rtmbs.contact.normal_force import NormalForce
from rtmbs.errors import ModelError

G = 9.81
ALONG_Y = np.array([(1, 0, 0), (0, 0, -1), (0, 1, 0.0)]).T  # columns f, g and h: h is y
TRBDF2 = rtmbs.TRBDF2()


def atwood(masses, inertia, *, radius=0.1, friction=None, stiffness=1e6, dissipation=0.5):
    """Return a model of two masses on a rope over a wheel."""
    model = rtmbs.Model("atwood", gravity=(0, 0, -G))
    wheel = model.add_body("wheel", mass=1e-9, inertia=(inertia,) * 3)
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 1, 0)), "ground", wheel, point=(0, 0, 0))
    rim = model.add_marker("rim", wheel, (0, 0, 0), axes=ALONG_Y)
    hooks = []
    for name, side, mass in (("left", -1, masses[0]), ("right", 1, masses[1])):
        place = (side * radius, 0, -1.0)
        model.add_body(name, mass=mass, inertia=(0.1,) * 3, position=place)
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", name)
        hooks.append(model.add_marker(f"{name} hook", name, place))
    sheave = contact.Sheave(rim, radius, "left")
    tension = 2.0 * masses[0] * masses[1] / sum(masses) * G
    model.add_elastic_rope(
        "rope", [hooks[0], sheave, hooks[1]], stiffness=stiffness, tension=tension, dissipation=dissipation
    )
    if friction is not None:
        coefficient = contact.capstan_coefficient(friction, np.pi)
        model.add_friction("drum", "axle", coefficient=coefficient, radius=radius)
    return model


def test_atwoods_machine_with_the_inertia_of_its_wheel():
    """A = (m1 - m2) g / (m1 + m2 + J / R^2), and the wheel turns five times."""
    m1, m2, J, R = 3.0, 2.0, 0.01, 0.02
    sim = rtmbs.Simulation(atwood((m1, m2), J, radius=R).compile(), 1e-3, method=TRBDF2)
    a = (m1 - m2) * G / (m1 + m2 + J / R**2)
    result = sim.run(2.0)
    fall, t = -1.0 - result["left.position"][:, 2], result.t
    np.testing.assert_allclose(fall[200:], (0.5 * a * t**2)[200:], atol=2e-4)
    assert abs(sim["axle.angle"]) == pytest.approx(fall[-1] / R, rel=1e-3)
    tensions = [np.linalg.norm(sim[f"rope_{k}.force"]) for k in (1, 2)]
    np.testing.assert_allclose(tensions, (m1 * (G - a), m2 * (G + a)), rtol=1e-3)


@pytest.mark.parametrize("extra", [0.0, 0.1])
def test_a_winch_hoists_a_load_on_a_rope_that_becomes_stiffer(extra):
    """From 10 m to 1 m: SciPy integrates the load and the natural length of the rope that is left.

    With the speed v + extra the load swings. Without, the tension stays m g, and the rise is that of the rim.
    """
    mass, EA, R, v, length = 100.0, 1e5, 0.1, 3.0, 10.0
    model = rtmbs.Model("winch", gravity=(0, 0, -G))
    model.add_body("drum", mass=1.0, inertia=(1.0,) * 3)
    model.add_body("load", mass=mass, inertia=(1.0,) * 3, position=(-R, 0, -length))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "drum", point=(0, 0, 0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "load")
    hook = model.add_marker("hook", "load", (-R, 0, -length))
    rim = model.add_marker("rim", "drum", (0, 0, 0), axes=ALONG_Y)
    model.add_driver("motor", rtmbs.ConstantRate(v / R), joint="axle")
    model.set_initial("rail", rate=v + extra)
    model.add_elastic_rope("rope", [hook, contact.Sheave(rim, R, "left")], stiffness=EA, tension=mass * G)
    h = 1e-3
    sim = rtmbs.Simulation(model.compile(), h, method=TRBDF2)
    result = sim.run(3.0)

    given = mass * G / EA
    for wound, near, force in ((given, 1e-5, 1e-3), (None, 5e-3, np.inf)):  # None: its own strain
        if extra == 0.0:
            near, force = 1e-8, 1e-6
        y, n = hoisted(mass, EA, v, extra, length, wound, result.t)
        np.testing.assert_allclose(result["load.position"][:, 2], y, atol=near, rtol=0.0)
        pull = np.linalg.norm(result["rope.force"], axis=1) - EA * (-y - n) / n
        assert np.max(np.abs(pull)) < force * mass * G
    n = (length - 3.0 * v) / (1.0 + given)
    if extra == 0.0:
        assert -result["load.position"][-1, 2] - n == pytest.approx(given * n, rel=1e-4)  # 9.7 mm


def hoisted(mass, stiffness, v, extra, length, wound, times):
    """Return the height of a load [m] and the natural length of its rope [m]: n' = -v / (1 + strain), by SciPy."""

    def motion(t, x):
        strain = (-x[0] - x[2]) / x[2]
        return x[1], stiffness * strain / mass - G, -v / (1.0 + (strain if wound is None else wound))

    first = (-length, v + extra, length / (1.0 + mass * G / stiffness))
    own = solve_ivp(motion, (0.0, times[-1]), first, t_eval=times, rtol=1e-10, atol=1e-12)
    return own.y[0], own.y[2]


@pytest.mark.parametrize("ratio", [0.9, 1.02])
def test_a_rope_slips_on_a_drum_at_the_ratio_of_euler_and_eytelwein(ratio):
    mu, light = 0.3, 2.0
    heavy = ratio * light * np.exp(mu * np.pi)
    model = atwood((heavy, light), 1e-3, friction=mu, dissipation=20.0)
    sim = rtmbs.Simulation(model.compile(), 2e-3, method=TRBDF2)
    sim.run(1.6)
    first, second = (np.linalg.norm(sim[f"rope_{k}.force"]) for k in (1, 2))
    if ratio < 1.0:
        assert abs(sim["left.velocity"][2]) < 2e-5  # what is left of a swing on the bristle
    else:
        assert sim["left.velocity"][2] < -0.05
        assert first / second == pytest.approx(np.exp(mu * np.pi), rel=1e-3)  # the drum has 1e-3 kg m^2


def test_a_belt_turns_the_other_wheel_by_the_ratio_of_radii_and_keeps_energy():
    model, sheaves = rtmbs.Model("belt", gravity=(0, 0, 0)), []
    for name, x, radius in (("small", 0.0, 0.1), ("large", 1.0, 0.25)):
        model.add_body(name, mass=1.0, inertia=(0.02,) * 3, position=(x, 0, 0))
        model.add_joint(f"{name} axle", rtmbs.Revolute(axis=(0, 1, 0)), "ground", name, point=(x, 0, 0))
        sheaves.append(contact.Sheave(model.add_marker(f"{name} rim", name, (x, 0, 0), axes=ALONG_Y), radius, "left"))
    spans = model.add_elastic_rope("belt", [*sheaves, sheaves[0]], stiffness=5e4, tension=2000.0)
    assert [span.name for span in spans] == ["belt_1", "belt_2"]
    model.set_initial("small axle", rate=50.0)
    model.set_initial("large axle", rate=20.0)
    sim = rtmbs.Simulation(model.compile(), 5e-5, method=TRBDF2)
    result = sim.run(0.2)
    assert result["small axle.angle"][-1] / result["large axle.angle"][-1] == pytest.approx(2.5, rel=1e-6)
    np.testing.assert_allclose(result["energy.kinetic"], 0.01 * (50.0**2 + 20.0**2), rtol=1e-6)
    sim.set("small axle.rate", 400.0)  # the sides go slack in turn, and the belt swings about its mean ratio
    swing = sim.run(0.3)
    small, large = swing["small axle.rate"], swing["large axle.rate"]
    np.testing.assert_allclose(small / 0.1 + large / 0.25, 400.0 / 0.1 + 20.0 / 0.25, rtol=1e-9)  # both bear one torque
    t = swing.t - swing.t[0]
    own = solve_ivp(slack_belt, (0.0, t[-1]), (0.0, 400.0, 20.0), t_eval=t, rtol=1e-10, atol=1e-12)
    assert np.min(np.linalg.norm(swing["belt_1.force"], axis=1)) == 0.0
    np.testing.assert_allclose(small, own.y[1], atol=0.3)  # of a swing of 80 rad/s
    np.testing.assert_allclose(large, own.y[2], atol=0.3)  # of 200 rad/s


def slack_belt(t, x):
    """Return the rates of the way that one side gave to the other [m/s] and of two wheels [rad/s^2] on a belt."""
    EA, length, strain = 5e4, np.sqrt(1.0 - 0.15**2), 2000.0 / 5e4
    n = [(length + side * x[0]) / (1.0 + strain) for side in (1.0, -1.0)]
    pulls = [EA * max(length / one - 1.0, 0.0) for one in n]
    pull = pulls[0] - pulls[1]
    return 0.1 * x[1] - 0.25 * x[2], 0.1 * pull / 0.02, -0.25 * pull / 0.02


def test_a_block_and_tackle_of_three_parts_holds_a_third_of_the_load():
    """The load rises by (3 m - M) g / (9 m + M), for the free end falls three times as fast."""
    load, end = 6.0, 2.5
    model = rtmbs.Model("tackle", gravity=(0, 0, -G))
    for name, x, mass in (("block", 0.2, load), ("free", 0.6, end)):
        model.add_body(name, mass=mass, inertia=(1.0,) * 3, position=(x, 0, -2.0))
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", name)
        model.add_marker(f"{name} hook", name, (x, 0, -2.0))
    model.add_marker("becket", "block", (0.2, 0, -2.0))
    tops = [model.add_marker(f"top {k}", "ground", (0.2, 0, 1e3)) for k in (1, 2)]
    model.add_rope("rope", ["becket", tops[0], "block hook", tops[1], "free hook"])
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    sim.run(0.2)
    a = (3.0 * end - load) * G / (9.0 * end + load)  # of the load, upwards
    assert sim["block.position"][2] == pytest.approx(-2.0 + 0.5 * a * 0.04, abs=1e-6)
    assert -sim["rope.force"] == pytest.approx(end * (G - 3.0 * a), rel=1e-5)


def test_a_rope_round_a_ball_or_cylinder_is_the_shortest_path():
    """In the plane of centre and points it is the shorter side of a convex hull, on a cylinder unrolled."""
    rng = np.random.default_rng(3)
    for k in range(40):
        axial, R = k % 2 == 1, float(rng.uniform(0.3, 0.8))
        p, r = rng.normal(size=3) * 0.3 + (1.2, 0, 0), rng.normal(size=3) * 0.3 - (1.2, 0, 0)
        if min(np.linalg.norm(x[:2] if axial else x) for x in (p, r)) < 1.01 * R:
            continue
        length, gradient = Wrapped(tuple(p.tolist()), R, axial, 1.0, NormalForce(1.0)).path(r)
        x = p / np.linalg.norm(p)
        y = r - (r @ x) * x
        y /= np.linalg.norm(y)
        level = [p[:2], r[:2]] if axial else [np.array((one @ x, one @ y)) for one in (p, r)]
        rise = p[2] - r[2] if axial else 0.0
        assert length == pytest.approx(np.hypot(shorter_side(*level, R), rise), abs=1e-7)
        assert np.linalg.norm(gradient) == pytest.approx(1.0, abs=1e-12)
        moved = Wrapped(tuple(p.tolist()), R, axial, 1.0, NormalForce(1.0)).path(r + 1e-7 * np.array(gradient))[0]
        assert (moved - length) / 1e-7 == pytest.approx(1.0, abs=1e-5)


def shorter_side(p, r, R):
    """Return the length of the shorter way round the convex hull of two points and a circle."""
    turns = np.linspace(0.0, 2.0 * np.pi, 20_000, endpoint=False)
    points = np.vstack((p, r, R * np.stack((np.cos(turns), np.sin(turns)), axis=1)))
    corners = ConvexHull(points).vertices.tolist()
    if not {0, 1} <= set(corners):
        return np.linalg.norm(p - r)
    order = corners[corners.index(0) :] + corners[: corners.index(0)] + [0]
    steps = np.linalg.norm(np.diff(points[order], axis=0), axis=1)
    there = order.index(1)
    sides = steps[:there].sum(), steps[there:].sum()
    chord = np.linalg.norm(p - r)
    away = abs(p[0] * r[1] - p[1] * r[0]) / chord
    return chord if away > R else min(sides)


def test_a_muscle_bends_a_joint_with_its_moment_arm():
    """Over a cylinder about the hinge the moment is the tension times the radius."""
    model = rtmbs.Model("elbow", gravity=(0, 0, 0))
    arm = model.add_body("arm", mass=1.0, inertia=(0.1,) * 3)
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", arm, point=(0, 0, 0))
    ends = model.add_marker("origin", "ground", (0.0, 0.0, 0.3)), model.add_marker("insertion", arm, (0.02, 0.0, -0.2))
    bone = rtmbs.Cylinder(0.04, 0.1, axis=(0, 1, 0))
    model.add_elastic_rope("muscle", ends, stiffness=1e3, tension=80.0, around=("ground", bone))
    model.add_lock("held", joint="hinge", locked=True)
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    sim.run(0.002)
    assert np.linalg.norm(sim["muscle.force"]) == pytest.approx(80.0, rel=1e-6)
    assert abs(sim["held.force"]) == pytest.approx(80.0 * 0.04, rel=1e-6)


def test_ropes_that_cannot_be_are_refused():
    model = atwood((1.0, 1.0), 0.01)
    for points, more, words in (
        (["left hook"], {}, "list of two markers or Sheaves"),
        (["left hook", contact.Sheave("rim", -0.1)], {}, "radius is -0.1"),
        (["left hook", contact.Sheave("rim", 0.1, "up")], {}, "'left' or 'right'"),
        (["left hook", "left hook"], {}, "follow each other on body 'left'"),
        (["left hook", contact.Sheave("rim", 3.0)], {}, "nearer than a straight rope"),
        (["left hook", "right hook"], {"tension": -1.0}, "a rope does not push"),
        (["left hook", "right hook"], {"around": rtmbs.Sphere(0.1)}, r"must be \(body, Sphere\)"),
        (["left hook", "right hook"], {"around": ("right", rtmbs.Sphere(0.1))}, "they must be one"),
        (["left hook", "right hook"], {"around": ("left", rtmbs.Sphere(0.1))}, "lies inside the shape"),
    ):
        with pytest.raises(ModelError, match=words):
            model.add_elastic_rope("bad", points, stiffness=1e4, **more)
    for given, words in (((-1.0, 1.0), "friction is -1"), ((0.3, 0.0), "wrap is 0")):
        with pytest.raises(ModelError, match=words):
            contact.capstan_coefficient(*given)
