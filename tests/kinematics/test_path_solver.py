"""The under-constrained solver of MKSim against its page, and what frozen unknowns cost (METHODS 4)."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.kinematics import Analysis, eliminate, least_norm
from rtmbs.model import Model, Revolute, Sine


def page(A, b, previous, tolerance=1e-10):
    """METHODS 4, line by line."""
    U, y, perm, scale = A.astype(float).copy(), b.copy(), list(range(A.shape[1])), np.abs(A).max()
    kept, dropped = [], []
    for i in range(len(A)):
        k = len(kept)
        j = max(range(k, len(perm)), key=lambda j, i=i: abs(U[i, perm[j]]))
        if abs(U[i, perm[j]]) <= tolerance * scale:
            dropped.append(i)
            continue
        perm[k], perm[j] = perm[j], perm[k]
        y[i] /= U[i, perm[k]]
        U[i] /= U[i, perm[k]]
        for later in range(i + 1, len(A)):
            y[later] -= U[later, perm[k]] * y[i]
            U[later] -= U[later, perm[k]] * U[i]
        kept.append(i)
    x = previous.copy()
    for r in range(len(kept) - 1, -1, -1):
        x[perm[r]] = y[kept[r]] - sum(U[kept[r], perm[j]] * x[perm[j]] for j in range(r + 1, len(perm)))
    return x, perm[: len(kept)], dropped, y[dropped]


def systems(count):
    """Yield A, b, previous values and whether the equations contradict each other; some rows depend on others."""
    rng = np.random.default_rng(4)
    for k in range(count):
        m, n = int(rng.integers(1, 9)), int(rng.integers(9, 14))
        A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1, 1, size=(m, 1))
        if m > 2 and k % 2:
            A[int(rng.integers(2, m))] = 2.0 * A[0] - A[1]
        b = A @ rng.normal(size=n)
        yield A, b, rng.normal(size=n)


def test_row_pivots_are_those_of_the_page():
    for A, b, previous in systems(200):
        x, pivots, dropped, left = page(A, b, previous)
        found = eliminate(A, b, previous, pivot="row")
        np.testing.assert_allclose(found.x, x, rtol=1e-9, atol=1e-10)
        assert list(found.pivots) == pivots
        assert list(found.dependent) == dropped
        np.testing.assert_allclose(found.inconsistency, left, rtol=0, atol=1e-9)


@pytest.mark.parametrize("pivot", ["row", "full"])
def test_the_equations_hold_and_the_rest_is_frozen(pivot):
    for A, b, previous in systems(200):
        found = eliminate(A, b, previous, pivot=pivot)
        np.testing.assert_allclose(A @ found.x, b, rtol=0, atol=1e-8)
        frozen = np.setdiff1d(np.arange(A.shape[1]), found.pivots)
        np.testing.assert_array_equal(found.x[frozen], previous[frozen])
        assert len(found.pivots) == np.linalg.matrix_rank(A)


def test_full_pivots_do_not_depend_on_the_order_of_the_rows():
    for A, b, previous in systems(50):
        order = np.random.default_rng(1).permutation(len(A))
        found, other = eliminate(A, b, previous), eliminate(A[order], b[order], previous)
        assert set(found.pivots) == set(other.pivots)
        np.testing.assert_allclose(found.x, other.x, rtol=1e-8, atol=1e-9)


def test_a_contradiction_is_what_is_left_of_it():
    A, b = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), np.array([1.0, 2.5])
    found = eliminate(A, b, pivot="row")
    assert list(found.dependent) == [1]
    assert abs(found.inconsistency[0]) == pytest.approx(0.5)


def test_kept_pivots_stay_while_they_are_large_enough():
    A = np.array([[1.0, 0.9, 0.0]])
    assert eliminate(A, np.ones(1), pivot="row").pivots[0] == 0
    assert eliminate(A, np.ones(1), pivot="row", last=np.array([1])).pivots[0] == 1
    weak = np.array([[1.0, 0.09, 0.0]])
    assert eliminate(weak, np.ones(1), pivot="row", last=np.array([1])).pivots[0] == 0


def test_the_bound_of_frozen_against_least_norm_holds():
    """|x_freeze| <= sqrt(1 + |A_B^-1 A_F|^2) |x+| in all cases."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for m, n in ((4, 5), (6, 12), (27, 28)):
        for _ in range(60):
            A, b = rng.normal(size=(m, n)), rng.normal(size=m)
            found, least = eliminate(A, b), least_norm(A, b)
            free = np.setdiff1d(np.arange(n), found.pivots)
            coupling = np.linalg.norm(np.linalg.solve(A[:, found.pivots], A[:, free]), 2)
            ratio = np.linalg.norm(found.x) / np.linalg.norm(least)
            assert 1.0 - 1e-9 <= ratio <= np.sqrt(1.0 + coupling**2) * (1.0 + 1e-9)
            worst = max(worst, ratio)
    assert worst > 1.5


def test_least_norm_weighs_by_sizes():
    A, b = np.array([[1.0, 1.0]]), np.array([1.0])
    np.testing.assert_allclose(least_norm(A, b), [0.5, 0.5])
    np.testing.assert_allclose(least_norm(A, b, size=[1.0, 2.0]), [0.2, 0.8])
    np.testing.assert_allclose(least_norm(A, b, previous=[1.0, 1.0]), [0.5, 0.5])


def test_an_unknown_pivot_is_refused():
    with pytest.raises(InputError, match="pivot is 'column'; it must be 'row' or 'full'"):
        eliminate(np.eye(2), np.ones(2), pivot="column")


def arm(profile):
    """Return three links of one metre at right angles; the distance of base and tip is driven."""
    model = Model("3R arm")
    places, turns = ((0, 0, 0), (1, 0, 0), (1, 1, 0)), (0.0, 0.5 * np.pi, 0.0)
    for k, (place, turn) in enumerate(zip(places, turns, strict=True)):
        c, s = np.round(np.cos(turn)), np.round(np.sin(turn))
        model.add_body(f"link{k}", mass=0.0, position=place, orientation=[[c, -s, 0], [s, c, 0], [0, 0, 1]])
        model.add_joint(f"j{k}", Revolute(axis=(0, 0, 1)), f"link{k - 1}" if k else "ground", f"link{k}", point=place)
    model.add_marker("base", "ground", point=(0, 0, 0))
    model.add_marker("tip", "link2", point=(2, 1, 0))
    model.add_driver("d", profile, between=("base", "tip"))
    return model


def own_freeze(analysis, times):
    """The paper's rule from the pose before: pivots by ``page``, what no pivot takes keeps its value."""
    programs, equations = analysis.programs, analysis.equations
    q, _ = analysis.assemble(float(times[0]))
    found = [q]
    for t in times[1:]:
        f = equations.drivers_at(np.array([t]))[0, 0]
        for _ in range(30):
            phi = programs.phi(q, f)
            if np.abs(phi).max() < 1e-12:
                break
            q = q + page(programs.jacobian(q, f).toarray(), -phi, np.zeros(len(q)))[0]
        found.append(q)
    return np.array(found)


@pytest.mark.parametrize("offset", [np.sqrt(5.0) - 0.013, np.sqrt(5.0) - 0.2])
def test_frozen_unknowns_keep_their_place_along_a_motion(offset):
    analysis = Analysis(arm(Sine(0.3, 2.0 * np.pi, offset=offset)), method="freeze", pivot="row")
    times = np.linspace(0.0, 1.0, 101)
    samples = analysis.run_at(times).samples
    np.testing.assert_allclose(samples.q, own_freeze(analysis, times), rtol=0, atol=1e-8)
    middle = 0.5 * (samples.qd[1:] + samples.qd[:-1])
    missed = np.abs(np.diff(samples.q, axis=0) - 0.01 * middle).max(axis=1)
    assert np.mean(missed < 2e-4) > 0.9  # rates are those of the positions, but where the pivots switch
