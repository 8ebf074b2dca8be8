"""Assembly: every loop closed, pins kept exactly, and of all such poses the nearest, in the weights given."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rtmbs import Simulation
from rtmbs.errors import StartError
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.semirecursive.start.assembly import CLOSED, REFUSED, worst_of
from tests.cases import quick
from tests.mechanisms import turns
from tests.semirecursive.start.cases import INDEPENDENT, MODELS, assembly_of, closed_pose, fourbar, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def perturbed(name, seed, size=0.05):
    """Return an assembly, and a wish (n,) and weights some way off a closed pose."""
    system = system_of(name)
    assembly, closed = closed_pose(system)
    rng = np.random.default_rng(seed)
    wanted = closed + size * system.typical * rng.normal(size=system.n)
    return assembly, wanted, rng.uniform(0.2, 5.0, system.n)


def stationary(assembly, z, wanted, weights, free):
    """Return how far W (z - wanted) is from the rows of the Jacobian by z: zero at the nearest pose."""
    J = jacobian(assembly, z)[:, free] * assembly.typical[free]
    pull = weights[free] * ((z - wanted) / assembly.typical)[free]
    _, values, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[values > 1e-9 * values.max(initial=0.0)]
    return np.abs(pull - rows.T @ (rows @ pull)).max(initial=0.0)


def jacobian(assembly, z):
    """Return the derivative of Phi by z: Phi_z, and by turns of rotation dofs."""
    assembly.gap(z)
    return assembly.equations.closure_jacobian() @ turns(assembly.equations.tables, z)


@ALL
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_nearest_closed_pose(name, seed):
    """First-order conditions of min (z - z0)^T W (z - z0) subject to Phi = 0, whatever the rank of Phi_z.

    The Bricard loop is closed, but not always at the nearest pose: its redundant equation is redundant only where it
    is closed, so that the loop has no tangent to go back along before.
    """
    assembly, wanted, weights = perturbed(name, seed)
    pinned = np.zeros(len(wanted), bool)
    z = assembly.solve(wanted, pinned, weights)
    assert worst_of(assembly.gap(z)) <= 10 * CLOSED
    assert stationary(assembly, z, wanted, weights, ~pinned) < (1.0 if name == "bricard" else 1e-8)


@pytest.mark.parametrize("name", INDEPENDENT)
@pytest.mark.parametrize("seed", [1, 2])
def test_against_a_general_optimiser(name, seed):
    """scipy's SLSQP knows neither Gauss-Newton nor our multipliers."""
    assembly, wanted, weights = perturbed(name, seed)
    found = assembly.solve(wanted, np.zeros(len(wanted), bool), weights)

    best, far = optimised(assembly, wanted, weights)
    np.testing.assert_allclose(found, best, atol=2e-6)
    assert far(found) <= far(best) + 1e-9


def optimised(assembly, wanted, weights):
    """Return the nearest pose by SLSQP, and the function it made small."""

    def far(z):
        return np.sum(weights * ((z - wanted) / assembly.typical) ** 2)

    def slope(z):
        return 2.0 * weights * (z - wanted) / assembly.typical**2

    def opening(z):
        return jacobian(assembly, z) / assembly.scale[:, None]

    answer = minimize(
        far, wanted, jac=slope, method="SLSQP", options={"ftol": 1e-14, "maxiter": 200},
        constraints={"type": "eq", "fun": assembly.gap, "jac": opening},
    )  # fmt: skip
    assert worst_of(assembly.gap(answer.x)) < 1e-8
    return answer.x, far


@ALL
def test_pins_are_kept_to_the_last_bit(name):
    """Coordinates pinned on their own, one after the other, whether the loops can follow or not."""
    assembly, wanted, weights = perturbed(name, 4, size=0.02)
    for place in range(0, len(wanted), 1 + len(wanted) // 6):
        pinned = np.zeros(len(wanted), bool)
        pinned[place] = True
        z = assembly.solve(wanted, pinned, weights)
        assert z[place] == wanted[place]
        if worst_of(assembly.gap(z)) < REFUSED:
            assert stationary(assembly, z, wanted, weights, ~pinned) < 1e-8


def test_weights_are_respected():
    """A coordinate moves the less the more it weighs, up to the fold of the loop that it cannot pass; always closed."""
    assembly, wanted, _ = perturbed("slider_crank", 5)
    for place in range(len(wanted)):
        moves = []
        for weight in (1e-2, 1.0, 1e2, 1e4):
            weights = np.ones(len(wanted))
            weights[place] = weight
            z = assembly.solve(wanted, np.zeros(len(wanted), bool), weights)
            assert worst_of(assembly.gap(z)) <= 10 * CLOSED
            best, far = optimised(assembly, wanted, weights)
            assert far(z) <= far(best) * (1.0 + 1e-5)
            moves.append(abs(z[place] - wanted[place]))
        assert moves == sorted(moves, reverse=True)


@ALL
def test_a_closed_pose_stays_where_it_is(name):
    system = system_of(name)
    assembly, closed = closed_pose(system)
    z = assembly.solve(closed, np.zeros(system.n, bool), system.weights)
    np.testing.assert_allclose(z, closed, atol=1e-11)


@given(seed=st.integers(0, 10**6), size=st.floats(1e-6, 0.3))
def test_from_anywhere_near(seed, size):
    """The spatial slider-crank from starts up to 0.3 rad off: closed, and no farther than a closed pose known."""
    assembly, wanted, weights = perturbed("slider_crank", seed, size)
    z = assembly.solve(wanted, np.zeros(len(wanted), bool), weights)
    assert worst_of(assembly.gap(z)) <= 10 * CLOSED
    closed = closed_pose(system_of("slider_crank"))[1]
    distance = [np.sum(weights * ((pose - wanted) / assembly.typical) ** 2) for pose in (z, closed)]
    assert distance[0] <= distance[1] * (1.0 + 1e-9) + 1e-20


@pytest.mark.parametrize("crank", np.linspace(-3.0, 3.0, 13))
def test_far_pins_are_reached_on_a_way(crank):
    """A four-bar whose crank turns all round closes at every angle, however far from the reference pose."""
    model = fourbar()
    model.set_initial("A", position=float(crank))
    sim = Simulation(model.compile())
    angle = dict(zip(sim.system.coordinate_names, sim.state.z, strict=True))["A.angle"]
    assert angle == crank
    assert sim.start_report.gap < 1e-9


# ---------------------------------------------------------------------------------------------- what cannot be closed


CANNOT_CLOSE = list(product([5.0, 6.0, 10.0], [None, "line", "point"]))


@pytest.mark.parametrize(("width", "closure"), quick(CANNOT_CLOSE, (5.0, None), (10.0, "line"), (6.0, "point")))
def test_a_loop_that_cannot_close(width, closure):
    """Three bars of 4.5 m together over a ground link of more: the gap told is about what geometry says."""
    with pytest.raises(StartError, match="the loop at 'C' cannot close") as refusal:
        Simulation(fourbar(width, closure).compile())
    gap = float(str(refusal.value).split("a gap of ")[1].split()[0])
    reach = np.hypot(width, 0.5) - 4.5
    assert reach - 1e-6 <= gap < reach + 0.6
    assert "check the points and lengths" in str(refusal.value)


def test_pins_that_cannot_hold_together():
    model = fourbar()
    for name, angle in (("A", 0.3), ("B", -1.0), ("D", 0.9)):
        model.set_initial(name, position=angle)
    with pytest.raises(StartError, match="'C' cannot close") as refusal:
        Simulation(model.compile())
    assert "pinned initial values: A.angle, B.angle, D.angle" in str(refusal.value)
    free = fourbar()
    for name, angle in (("A", 0.3), ("B", -1.0), ("D", 0.9)):
        free.set_initial(name, position=angle, pin=False)
    report = Simulation(free.compile()).start_report
    assert report.gap < 1e-9
    assert report.moved_position > 0.1
    assert report.moved_coordinate in ("A.angle", "B.angle", "D.angle")


# -------------------------------------------------------------------------------------------------------------- loops


@ALL
def test_the_sparse_jacobian_is_the_dense_one(name):
    assembly, z = closed_pose(system_of(name))
    assembly.gap(z)
    found = assembly.jacobian.matrix(assembly.equations).toarray()
    np.testing.assert_array_equal(found, assembly.equations.closure_jacobian())


@ALL
def test_groups_share_nothing(name):
    """Every row in one group, with every coordinate that it touches."""
    assembly, _ = closed_pose(system_of(name))
    J = assembly.jacobian.matrix(assembly.equations).toarray()
    rows = np.concatenate([group.rows for group in assembly.groups])
    columns = np.concatenate([group.columns for group in assembly.groups])
    assert sorted(rows) == list(range(len(J)))
    assert len(set(columns)) == len(columns)
    for group in assembly.groups:
        others = np.setdiff1d(np.arange(J.shape[1]), group.columns)
        assert not J[np.ix_(group.rows, others)].any()


def test_frames_side_by_side_are_groups_of_their_own():
    from rtmbs import library

    for nz in (1, 3, 5):
        system = library.build("fourbar", ny=2, nz=nz, layout="parallel").compile()
        assert len(assembly_of(system).groups) == nz
    assert len(assembly_of(library.build("fourbar", ny=2, nz=3).compile()).groups) == 1


def test_no_loops_no_groups():
    from rtmbs import library

    system = library.build("governor").compile()
    assert loop_jacobian(system).groups == ()
    assert assembly_of(system).solve(system.z0, system.pinned_z, system.weights).tolist() == system.z0.tolist()


@pytest.mark.parametrize("values", [[0.0, np.nan], [np.inf, 1.0], [-np.inf]])
def test_the_worst_of_what_is_not_finite(values):
    assert worst_of(np.array(values)) == np.inf


def test_the_worst_of_nothing_is_nothing():
    assert worst_of(np.zeros(0)) == 0.0
    assert worst_of(np.array([1.0, -3.0])) == 3.0


@pytest.mark.parametrize("value", [0.3, 0.5, 0.7])
def test_an_infinite_weight_keeps_a_value_as_a_pin_does(value):
    """A large weight is not enough: the value would move a little."""
    kept = []
    for options in ({"pin": True}, {"pin": False, "weight": float("inf")}, {"pin": False, "weight": 1e6}):
        model = fourbar()
        model.set_initial("A", position=value, **options)
        kept.append(Simulation(model.compile(), 1e-3))
    places = [sim.system.joints["A"].dofs[0] for sim in kept]
    values = [float(sim.state.z[place]) for sim, place in zip(kept, places, strict=True)]
    assert abs(values[0]) == abs(values[1]) == value
    assert kept[0].state.z.tobytes() == kept[1].state.z.tobytes()
    assert abs(values[2]) == pytest.approx(value, abs=1e-3)
