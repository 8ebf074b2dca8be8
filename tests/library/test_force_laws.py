"""The example laws against formulas written out by hand: values, local stiffness and damping, and a motion each.

Tables for force laws: values against NumPy and scipy, derivatives of the recorded table, behaviour at knots.
"""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import rtmbs
from rtmbs import Simulation
from rtmbs.ad import Evaluator, sparse_jacobian
from rtmbs.ad.trace import record as record_function
from rtmbs.errors import ModelError
from rtmbs.library import force_laws
from rtmbs.library.force_laws import Curve, Surface, distance_table, interpolated, joint_table
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from tests.mechanisms import random_rotation

RNG = np.random.default_rng(21)


def slider(law, parameters, axis=(1.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0), mass=2.0):
    """A block on a rail with a law on its displacement."""
    model = rtmbs.Model("slider", gravity=gravity)
    block = model.add_body("block", mass=mass, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=axis), model.ground, block)
    model.add_force("law", law, joint="rail", parameters=parameters)
    return model


def free_body(law, parameters, gravity=(0.0, 0.0, 0.0), axes=None, **body):
    """A free body whose origin is marker b, with a law between a marker on ground and it."""
    model = rtmbs.Model("free", gravity=gravity)
    one = model.add_body("body", **{"mass": 2.0, "inertia": (0.3, 0.4, 0.5), **body})
    model.add_joint("free", rtmbs.Floating(), model.ground, one)
    ends = model.add_marker("a", "ground", axes=axes), model.add_marker("b", one, frame=one)
    model.add_force("law", law, between=ends, parameters=parameters)
    return model


def one_coordinate(model, z, zd):
    """Return force, K and C of a law on one coordinate."""
    system = model.compile()
    equations = SemiRecursiveEquations(system)
    equations.residual(np.array([z]), np.array([zd]), np.zeros(1), system.R0)
    force = -equations.ws.tau[0]
    return force, equations.assemble(0.0, 0.0, 1.0)[0, 0], equations.assemble(0.0, 1.0, 0.0)[0, 0]


def local_derivative(model, r, R, v, w):
    """Return wrench (6,) and its derivative (6, 12) by r, a turn, v, w, in axes of a, at a state of marker b."""
    system = model.compile()
    equations = SemiRecursiveEquations(system)
    z, zd = np.zeros(6), np.concatenate((v, R.T @ w))
    z[:3] = r
    R0 = R[None]
    equations.residual(z, zd, np.zeros(6), R0)
    ws = equations.ws
    np.testing.assert_allclose(ws.law_input[:3], r, atol=1e-14)
    np.testing.assert_allclose(ws.law_input[12:], np.concatenate((v, w)), atol=1e-14)
    equations.assemble(0.0, 0.0, 1.0)  # asks for derivatives
    return ws.law_wrench[0].copy(), ws.law_local[0].copy()


# ---------------------------------------------------------------------------------------------------------- bump stop

STOP = {"clearance": 0.1, "stiffness": 5e4, "exponent": 3.0, "damping": 20.0}


def test_bump_stop_has_its_formula():
    for z, zd in ((0.05, 1.0), (0.13, 0.4), (0.2, -0.3)):
        d = max(z - 0.1, 0.0)
        force, K, C = one_coordinate(slider(force_laws.bump_stop, STOP), z, zd)
        np.testing.assert_allclose(
            (force, K, C), (-5e4 * d**3 - 20 * d * zd, 3 * 5e4 * d**2 + (20 * zd if d else 0.0), 20 * d), rtol=1e-12
        )


def test_bump_stop_does_not_pull():
    force, K, C = one_coordinate(slider(force_laws.bump_stop, STOP), 0.101, -50.0)
    assert (force, K, C) == (0.0, 0.0, 0.0)


def test_a_block_goes_as_deep_as_its_energy():
    """1/2 m v^2 = k d^4 / 4 without damping, and it comes back as fast as it came."""
    model = slider(force_laws.bump_stop, {**STOP, "damping": 0.0})
    model.set_initial("rail", position=0.0, rate=2.0)
    result = Simulation(model.compile(), h=1e-4).run(0.25)
    depth = (4 * 0.5 * 2.0 * 2.0**2 / 5e4) ** 0.25
    assert result["rail.displacement"].max() == pytest.approx(0.1 + depth, abs=2e-6)
    assert result["rail.rate"][-1] == pytest.approx(-2.0, rel=1e-5)


# ----------------------------------------------------------------------------------------------------------- Stribeck

FRICTION = {"static": 6.0, "sliding": 4.0, "stribeck_rate": 0.2, "viscous": 1.5, "smoothing": 0.05}


def test_stribeck_friction_has_its_formula():
    for zd in (-0.4, 0.01, 0.1, 3.0):
        bump, sign = 2.0 * np.exp(-((zd / 0.2) ** 2)), np.tanh(zd / 0.05)
        slope = -2 * zd / 0.04 * bump * sign + (4.0 + bump) * (1 - sign**2) / 0.05 + 1.5
        force, K, C = one_coordinate(slider(force_laws.stribeck_friction, FRICTION), 0.3, zd)
        np.testing.assert_allclose((force, K, C), (-(4.0 + bump) * sign - 1.5 * zd, 0.0, slope), rtol=1e-12)


def test_a_sliding_block_stops_as_coulomb_says():
    """Far above the Stribeck rate and without viscosity: m v / F_c seconds, m v^2 / (2 F_c) metres."""
    model = slider(force_laws.stribeck_friction, {**FRICTION, "static": 4.0, "viscous": 0.0, "smoothing": 5e-3})
    model.set_initial("rail", rate=3.0)
    result = Simulation(model.compile(), h=1e-3).run(2.0)
    stop = 2.0 * 3.0 / 4.0
    np.testing.assert_allclose(result["rail.rate"][:1400], 3.0 - 2.0 * result.t[:1400], atol=1e-9)
    assert result["rail.displacement"][-1] == pytest.approx(3.0 * stop / 2.0, abs=2e-4)


# --------------------------------------------------------------------------------------------------------------- drag


def test_drag_has_its_formula():
    parameters = {"density": 1.2, "area": 0.5, "drag": 0.8, "wind": (1.0, -2.0, 0.5)}
    model = free_body(force_laws.aerodynamic_drag, parameters)
    v = np.array([3.0, 1.0, -2.0])
    wrench, local = local_derivative(model, np.ones(3), np.eye(3), v, np.array([1.0, 2.0, 3.0]))
    u = v - np.array([1.0, -2.0, 0.5])
    speed, c = np.linalg.norm(u), 0.5 * 1.2 * 0.5 * 0.8
    expected = np.zeros((6, 12))
    expected[:3, 6:9] = -c * (speed * np.eye(3) + np.outer(u, u) / speed)
    np.testing.assert_allclose(wrench, [*(-c * speed * u), 0, 0, 0], rtol=1e-10)
    np.testing.assert_allclose(local, expected, atol=1e-10)


def test_a_falling_body_reaches_its_terminal_velocity():
    """v = v_t tanh(g t / v_t) for quadratic drag."""
    model = rtmbs.Model("fall", gravity=(0, 0, -9.81))
    body = model.add_body("body", mass=2.0, inertia=(1, 1, 1))
    model.add_joint("free", rtmbs.Floating(), model.ground, body)
    parameters = {"density": 1.2, "area": 0.5, "drag": 0.8, "wind": (0, 0, 0)}
    model.add_force("drag", force_laws.aerodynamic_drag, body=body, parameters=parameters)
    result = Simulation(model.compile(), h=2e-3).run(3.0)
    terminal = np.sqrt(2.0 * 9.81 / (0.5 * 1.2 * 0.5 * 0.8))
    exact = -terminal * np.tanh(9.81 * result.t / terminal)
    np.testing.assert_allclose(result["body.velocity"][:, 2], exact, atol=2e-6)
    np.testing.assert_allclose(result["drag.force"][-1, 2], 0.24 * exact[-1] ** 2, rtol=1e-5)


# ------------------------------------------------------------------------------------------------------------ bushing


def spd(size):
    A = RNG.normal(size=(size, size))
    return A @ A.T + size * np.eye(size)


def test_bushing_has_its_formula():
    """Stiffness and damping matrices at small turns: the derivative by place and rate is minus the matrix."""
    K, C = 100 * spd(6), spd(6)
    model = free_body(force_laws.bushing, {"stiffness": K, "damping": C})
    r, v, w = RNG.normal(size=(3, 3))
    wrench, local = local_derivative(model, r, np.eye(3), v, w)
    np.testing.assert_allclose(wrench, -K @ [*r, 0, 0, 0] - C @ [*v, *w], rtol=1e-12)
    np.testing.assert_allclose(local, -np.hstack((K, C)), rtol=1e-12)


def test_bushing_turn_is_the_sine_of_the_angle():
    K = np.diag([0, 0, 0, 10.0, 10.0, 10.0])
    model = free_body(force_laws.bushing, {"stiffness": K, "damping": np.zeros((6, 6))})
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    wrench, _ = local_derivative(model, np.zeros(3), R, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, -10.0 * s], atol=1e-13)


def test_a_body_in_a_bushing_settles_where_its_weight_is_carried():
    """In axes of the marker, turned against the world: K x = A^T [m g, 0]."""
    K, axes = 500.0 * spd(6), random_rotation(RNG)
    model = free_body(
        force_laws.bushing, {"stiffness": K, "damping": 0.03 * K}, gravity=(0, 0, -9.81), axes=axes, orientation=axes
    )
    result = Simulation(model.compile(), h=5e-3).run(4.0)
    place = np.linalg.solve(K, [*(axes.T @ (0, 0, -2.0 * 9.81)), 0, 0, 0])
    np.testing.assert_allclose(axes.T @ result["body.position"][-1], place[:3], atol=1e-3 * np.abs(place).max())
    np.testing.assert_allclose(result["law.force"][-1], (0, 0, 19.62), atol=1e-6)


# -------------------------------------------------------------------------------------------------------- Hunt-Crossley

CONTACT = {"radius": 0.1, "stiffness": 1e5, "dissipation": 0.2, "friction": 0.3, "smoothing": 1e-3}


def test_contact_has_its_formula():
    model = free_body(force_laws.hunt_crossley, CONTACT)
    r, v, w = np.array([0.5, -0.2, 0.09]), np.array([0.4, 0.1, -0.3]), np.array([1.0, 2.0, 3.0])
    wrench, local = local_derivative(model, r, random_rotation(RNG), v, w)
    d, arm = 0.01, np.array([0, 0, -0.09])
    normal = 1e5 * d**1.5 * (1 + 1.5 * 0.2 * 0.3)
    slip = (v + np.cross(w, arm))[:2]
    speed = np.sqrt(slip @ slip + 1e-6)
    force = np.array([*(-0.3 * normal / speed * slip), normal])
    np.testing.assert_allclose(wrench, np.concatenate((force, np.cross(arm, force))), rtol=1e-12)
    np.testing.assert_allclose(local[2, 2], -1e5 * 1.5 * d**0.5 * (1 + 1.5 * 0.2 * 0.3), rtol=1e-12)
    np.testing.assert_allclose(local[2, 8], -1e5 * d**1.5 * 1.5 * 0.2, rtol=1e-12)
    np.testing.assert_allclose(local[0, 6], -0.3 * normal * (1 / speed - slip[0] ** 2 / speed**3), rtol=1e-12)


def test_no_contact_no_force():
    model = free_body(force_laws.hunt_crossley, CONTACT)
    wrench, local = local_derivative(model, np.array([0, 0, 0.2]), np.eye(3), np.array([1.0, 0, -9.0]), np.ones(3))
    np.testing.assert_array_equal(wrench, 0.0)
    assert np.all(np.isfinite(local))
    np.testing.assert_array_equal(local, 0.0)


def test_a_ball_comes_to_rest_at_its_static_depth():
    model = free_body(force_laws.hunt_crossley, {**CONTACT, "dissipation": 2.0}, gravity=(0, 0, -9.81))
    model.set_initial("free", position=(0, 0, 0.11, 1, 0, 0, 0))
    result = Simulation(model.compile(), h=5e-4).run(1.5)
    assert result["body.position"][-1, 2] == pytest.approx(0.1 - (2.0 * 9.81 / 1e5) ** (2 / 3), abs=1e-6)


def test_a_slow_bounce_gives_back_what_hunt_and_crossley_say():
    """Coefficient of restitution 1 - alpha v to first order."""
    v, alpha = 0.2, 0.1
    model = free_body(force_laws.hunt_crossley, {**CONTACT, "dissipation": alpha})
    model.set_initial("free", position=(0, 0, 0.1, 1, 0, 0, 0), rate=(0, 0, -v, 0, 0, 0))
    result = Simulation(model.compile(), h=2e-5).run(0.08)
    assert result["body.velocity"][-1, 2] / v == pytest.approx(1 - alpha * v, abs=5e-4)


# ------------------------------------------------------------------------------------------------------------ Pacejka

TYRE = {
    "radius": 0.31, "stiffness": 2e5, "damping": 2e3, "friction": 1.1,
    "longitudinal": (10.0, 1.65, 0.5), "lateral": (8.0, 1.3, -1.0), "slowest": 1e-3,
}  # fmt: skip


def curve(s, B, C, E):
    return np.sin(C * np.arctan(B * s - E * (B * s - np.arctan(B * s))))


def slope(s, B, C, E):
    x = B * s
    inner = x - E * (x - np.arctan(x))
    return np.cos(C * np.arctan(inner)) * C / (1 + inner**2) * B * (1 - E * (1 - 1 / (1 + x**2)))


def test_wheel_has_the_magic_formula():
    model = free_body(force_laws.pacejka_wheel, TYRE)
    height, v, spin = 0.3, np.array([10.0, -0.6, 0.0]), 35.0
    wrench, local = local_derivative(model, np.array([1.0, 2.0, height]), np.eye(3), v, np.array([0, spin, 0.0]))
    load, slip, angle = 2e5 * 0.01, (spin * height - 10.0) / 10.0, np.arctan(-0.6 / 10.0)
    Fx, Fy = 1.1 * load * curve(slip, *TYRE["longitudinal"]), -1.1 * load * curve(angle, *TYRE["lateral"])
    np.testing.assert_allclose(wrench, [Fx, Fy, load, height * Fy, -height * Fx, 0.0], rtol=1e-7)
    by_spin = 1.1 * load * slope(slip, *TYRE["longitudinal"]) * height / 10.0
    np.testing.assert_allclose(local[0, 10], by_spin, rtol=1e-7)
    by_side = -1.1 * load * slope(angle, *TYRE["lateral"]) / 10.0 / (1 + 0.06**2)
    np.testing.assert_allclose(local[1, 7], by_side, rtol=1e-7)


def test_a_locked_wheel_brakes_with_its_sliding_force():
    """Slip -1: m a = -mu F_z sin(C atan(...)), constant while it slides."""
    model = rtmbs.Model("brake", gravity=(0, 0, -9.81))
    wheel = model.add_body("wheel", mass=20.0, inertia=(1, 1, 1), position=(0, 0, 0.31 - 20 * 9.81 / 2e5))
    model.add_joint("plane", rtmbs.Planar(normal=(0, 1, 0)), model.ground, wheel, point=(0, 0, 0.31))
    ends = model.add_marker("road", "ground"), model.add_marker("hub", wheel, frame=wheel)
    model.add_force("tyre", force_laws.pacejka_wheel, between=ends, parameters=TYRE)
    model.add_driver("brake", rtmbs.ConstantRate(0.0), joint=("plane", model.joints["plane"].type.coordinates[-1]))
    names = model.joints["plane"].type.coordinates
    model.set_initial("plane", rate=[10.0 if k == forward(model) else 0.0 for k in range(len(names))], pin=False)
    result = Simulation(model.compile(), h=1e-3).run(0.3)
    a = -1.1 * 9.81 * curve(1.0, *TYRE["longitudinal"])
    speed = result["wheel.velocity"][:, 0]
    np.testing.assert_allclose(np.abs(speed), 10.0 + a * result.t, rtol=1e-4)


def forward(model):
    """Return which coordinate of the planar joint moves along x."""
    dofs = model.joints["plane"].type.dofs()
    return next(k for k, dof in enumerate(dofs) if dof.kind == "prismatic" and abs(dof.axis[0]) > 0.5)


KNOTS = np.array([-0.3, 0.1, 0.25, 0.9, 1.7])
VALUES = np.array([-4.0, -1.0, -0.9, 3.0, 11.0])


def recorded(function, n):
    """Return values and Jacobian (1 + n,) of a recorded function of n numbers."""
    tape = record_function(lambda x, p: np.stack((function(*(x[k] for k in range(n))),)), n, 1, k=1)
    entries = sparse_jacobian(tape, values=True)
    evaluator = Evaluator(entries.tape)

    def value(*x):
        found, *slopes = evaluator.value(np.array(x, float), np.zeros(1))
        row = np.zeros(n)
        row[np.asarray(entries.column)] = slopes
        return np.array([found, *row])

    return value


def test_a_linear_curve_is_numpys_between_its_knots_and_goes_on_straight():
    curve = Curve(KNOTS, VALUES)
    for x in np.linspace(-0.3, 1.7, 201):
        assert curve(x) == pytest.approx(np.interp(x, KNOTS, VALUES), abs=1e-13)
    assert curve(2.7) == pytest.approx(11.0 + 10.0)
    assert curve(-1.3) == pytest.approx(-4.0 - 7.5)
    for x in (-9.0, -0.3, 0.1, 0.5, 1.7, 8.0):
        assert interpolated(x, KNOTS, VALUES) == pytest.approx(np.interp(x, KNOTS, VALUES), abs=1e-13)


def test_a_cubic_curve_is_monotone_and_scipys():
    curve, reference = Curve(KNOTS, VALUES, "cubic"), PchipInterpolator(KNOTS, VALUES)
    x = np.linspace(-0.3, 1.7, 401)
    found = np.array([curve(one) for one in x])
    np.testing.assert_allclose(found, reference(x), rtol=0, atol=1e-12)
    assert np.all(np.diff(found) > 0.0)
    assert curve(2.7) == pytest.approx(11.0 + float(reference.derivative()(1.7)))
    assert Curve(KNOTS, VALUES, "cubic", "hold")(2.7) == pytest.approx(11.0)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_derivatives_of_a_recorded_curve_are_exact_at_knots_too(kind):
    value = recorded(Curve(KNOTS, VALUES, kind), 1)
    slope = PchipInterpolator(KNOTS, VALUES).derivative()
    for x in (*np.linspace(-0.299, 1.699, 57), *KNOTS):
        k = min(max(int(np.searchsorted(KNOTS, x, side="right")) - 1, 0), 3)
        linear = (VALUES[k + 1] - VALUES[k]) / (KNOTS[k + 1] - KNOTS[k])
        assert value(x)[1] == pytest.approx(float(slope(x)) if kind == "cubic" else linear, abs=1e-11)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_surface_meets_its_points_and_reproduces_products(kind):
    rng = np.random.default_rng(3)
    x, y = np.cumsum(rng.uniform(0.1, 1.0, 5)), np.cumsum(rng.uniform(0.1, 1.0, 4))
    values = rng.normal(size=(5, 4))
    surface = Surface(x, y, values, kind)
    found = np.array([[surface(a, b) for b in y] for a in x])
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-13)
    product = Surface(x, y, np.outer(2.0 * x + 1.0, 3.0 - y), kind)
    for _ in range(20):
        a, b = rng.uniform(x[0], x[-1]), rng.uniform(y[0], y[-1])
        assert product(a, b) == pytest.approx((2.0 * a + 1.0) * (3.0 - b), abs=1e-12)
    rows = Surface(x, y, np.outer(np.ones(5), np.sort(values[0])), kind)
    assert np.all(np.diff([rows(x[1], b) for b in np.linspace(y[0], y[-1], 99)]) >= -1e-14)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_derivatives_of_a_recorded_surface(kind):
    rng = np.random.default_rng(8)
    x, y = np.cumsum(rng.uniform(0.1, 1.0, 4)), np.cumsum(rng.uniform(0.1, 1.0, 4))
    surface = Surface(x, y, rng.normal(size=(4, 4)), kind)
    value, step = recorded(surface, 2), 1e-6
    for _ in range(10):
        a, b = rng.uniform(x[0], x[-1]), rng.uniform(y[0], y[-1])
        differences = [
            (surface(a + step, b) - surface(a - step, b)) / (2 * step),
            (surface(a, b + step) - surface(a, b - step)) / (2 * step),
        ]
        np.testing.assert_allclose(value(a, b)[1:], differences, rtol=0, atol=1e-7)


def test_a_table_of_a_straight_line_is_a_spring():
    """The same motion as that of the spring with this stiffness, by a curve and by a surface with damping."""

    def moved(law, joint=True):
        m = rtmbs.Model("slide", gravity=(0, 0, 0))
        m.add_body("block", mass=2.0, inertia=(1, 1, 1))
        m.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), m.ground, "block")
        m.add_marker("wall", m.ground, (-1, 0, 0))
        m.add_marker("pad", "block", (0, 0, 0))
        m.set_initial("rail", 0.3)
        m.add_force("spring", law, **({"joint": "rail"} if joint else {"between": ("wall", "pad")}))
        return rtmbs.Simulation(m.compile(), h=1e-2).run(1.0)["rail.displacement"]

    grid = np.linspace(-0.5, 0.5, 5)
    spring, damped = moved(rtmbs.TorsionSpring(20.0, 0.0)), moved(rtmbs.TorsionSpring(20.0, 1.5))
    assert abs(spring - damped).max() > 0.01
    np.testing.assert_allclose(moved(joint_table(Curve(grid, -20.0 * grid))), spring, rtol=0, atol=1e-10)
    surface = Surface(grid, grid, -20.0 * grid[:, None] - 1.5 * grid, "cubic")
    np.testing.assert_allclose(moved(joint_table(surface)), damped, rtol=0, atol=1e-10)
    pull = distance_table(Curve(1.0 + grid, 20.0 * grid, "cubic"))
    np.testing.assert_allclose(moved(pull, joint=False), spring, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Curve((0.0, 1.0), (1.0, 2.0), "spline"), ["kind", "'spline'", "linear, cubic"]),
        (lambda: Curve((0.0, 1.0), (1.0, 2.0), outside="clamp"), ["outside", "'clamp'", "straight, hold"]),
        (lambda: Curve((0.0,), (1.0,)), ["curve: x", "1 values", "at least two"]),
        (lambda: Curve((0.0, 2.0, 1.0), (1.0, 2.0, 3.0)), ["curve: x[2] = 1", "2", "increase"]),
        (lambda: Curve((0.0, 1.0), (1.0, 2.0, 3.0)), ["curve: values"]),
        (lambda: Curve((0.0, 1.0), (1.0, np.nan)), ["curve: values", "nan"]),
        (lambda: Surface((0.0, 1.0), (0.0, 1.0), ((1.0, 2.0),)), ["surface: values"]),
        (lambda: Surface((0.0, 1.0), (1.0, 0.0), np.eye(2)), ["surface: y[1] = 0"]),
    ],
)
def test_what_is_no_table_is_refused(make, words):
    with pytest.raises(ModelError) as refusal:
        make()
    for word in words:
        assert word in str(refusal.value)
