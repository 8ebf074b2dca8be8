"""Tables for force laws: values against NumPy and scipy, derivatives of the recorded table, behaviour at knots."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import rtmbs
from rtmbs.ad import Evaluator, sparse_jacobian
from rtmbs.ad.trace import record as record_function
from rtmbs.errors import ModelError
from rtmbs.library.force_laws import distance_table, interpolated, joint_table
from rtmbs.library.tables import Curve, Surface

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
