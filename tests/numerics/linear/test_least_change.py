"""The least weighted change of few coordinates (arrays) and of many (sparse): the least squares of NumPy.

Saddle points against dense algebra: ranks, redundant and contradicting rows, singular M, sizes, a regularisation.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from rtmbs.numerics.linear import least_change as module
from rtmbs.numerics.linear.least_change import SMALL, KKTSolver, least_change
from rtmbs.numerics.linear.solver import Unsolved


@pytest.mark.parametrize("most", [0, SMALL], ids=["sparse", "arrays"])
@pytest.mark.parametrize("shape", [(3, 5), (6, 4), (1, 1), (0, 3), (8, 12)])
def test_it_is_that_of_least_squares(monkeypatch, shape, most):
    """Redundant and contradicting rows included."""
    monkeypatch.setattr(module, "SMALL", most)
    rng = np.random.default_rng(shape)
    J = rng.normal(size=shape)
    if shape[0] > 2:
        J[-1] = J[0] - 2.0 * J[1]  # redundant; r contradicts
    r, weight = rng.normal(size=shape[0]), rng.uniform(0.5, 2.0, shape[1])
    root = np.sqrt(weight)
    exact = np.linalg.lstsq(J / root, r, rcond=1e-12)[0] / root if shape[0] else np.zeros(shape[1])
    np.testing.assert_allclose(least_change(csc_array(J), r, weight), exact, rtol=0, atol=1e-6)


def test_no_coordinate_and_many():
    assert least_change(csc_array((2, 0)), np.ones(2), np.zeros(0)).shape == (0,)
    n = SMALL + 1
    np.testing.assert_allclose(least_change(csc_array(np.eye(n)), np.ones(n), np.ones(n)), np.ones(n), rtol=1e-9)


def test_a_row_over_many_coordinates():
    """Coordinates eliminated first: the least change that the product of the columns with themselves would give."""
    rng, n = np.random.default_rng(3), module.WIDE + 40
    J = np.zeros((4, n))
    J[0], J[1, : n // 2] = rng.normal(size=n) / n, rng.normal(size=n // 2) / n
    J[2] = J[0] + 2.0 * J[1]  # redundant; r contradicts
    J[3, 5] = 1.0
    r, weight = rng.normal(size=4) / n, rng.uniform(0.5, 2.0, n)
    root = np.sqrt(weight)
    exact = np.linalg.lstsq(J / root, r, rcond=1e-12)[0] / root
    found = least_change(csc_array(J), r, weight)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


def positive_matrix(rng, n):
    B = rng.normal(size=(n, n))
    return B @ B.T + np.eye(n)


def whole(M, P, E=None):
    return np.block([[M, P.T], [P, np.zeros((len(P), len(P))) if E is None else -np.diag(E)]])


@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), share=st.floats(0.0, 1.0))
def test_full_rank(seed, n, share):
    rng = np.random.default_rng(seed)
    m = round(share * n)
    M, P, b = positive_matrix(rng, n), rng.normal(size=(m, n)), rng.normal(size=n + m)
    kept = M.copy(), P.copy(), b.copy()
    solver = KKTSolver()
    assert solver.factor(M, P) == 0
    assert solver.rank == m
    assert not np.any(solver.redundant)
    x, K = solver.solve(b), whole(M, P)
    assert np.abs(K @ x - b).max() <= 1e-10 * (np.abs(K) @ np.abs(x)).max()
    np.testing.assert_array_equal(solver.solve(b), np.concatenate(solver.solve_parts(b[:n], b[n:])))
    for one, other in zip((M, P, b), kept, strict=True):
        np.testing.assert_array_equal(one, other)


@given(seed=st.integers(0, 10**6), n=st.integers(3, 15), extra=st.integers(1, 6))
def test_redundant_rows_share_the_load(seed, n, extra):
    """x is that of the independent rows; lam is the least in the norm of 1 / weight, as a pseudo-inverse finds it."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, n))
    base = rng.normal(size=(r, n))
    P = np.vstack([base, rng.normal(size=(extra, r)) @ base])[rng.permutation(r + extra)]
    M, f, g = positive_matrix(rng, n), rng.normal(size=n), P @ rng.normal(size=n)
    weight = 10.0 ** rng.uniform(-2, 2, r + extra)
    solver = KKTSolver(weight=weight)
    assert solver.factor(M, P) == 0
    assert solver.rank == r
    assert solver.redundant.sum() == extra
    x, lam = solver.solve_parts(f, g, refined=True)
    root = np.sqrt(weight)
    expected = np.linalg.lstsq(whole(M, root[:, None] * P), np.append(f, root * g), rcond=1e-12)[0]
    tolerance = 1e-6 * max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(x, expected[:n], atol=tolerance)
    np.testing.assert_allclose(lam / root, expected[n:], atol=tolerance)


def test_the_choice_of_redundant_rows_does_not_matter():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(3, 6))
    P, M, f, g = np.vstack([base, base]), positive_matrix(rng, 6), rng.normal(size=6), rng.normal(size=3)
    solver, plain = KKTSolver(), KKTSolver()
    assert solver.factor(M, P) == plain.factor(M, base) == 0
    (x, lam), (expected, single) = solver.solve_parts(f, np.append(g, g)), plain.solve_parts(f, g)
    np.testing.assert_allclose(x, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lam[:3], lam[3:], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(2.0 * lam[:3], single, rtol=1e-10, atol=1e-12)


def test_rows_that_contradict_each_other_are_refused_by_number():
    P = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    solver = KKTSolver()
    assert solver.factor(np.eye(3), P) == 0
    x, lam = solver.solve_parts(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(x, [0.5, 0.5, 3.0], atol=1e-15)
    np.testing.assert_allclose(x + P.T @ lam, 0.0, atol=1e-15)
    with pytest.raises(Unsolved, match=r"row [01] contradicts the others"):
        solver.solve_parts(np.zeros(3), np.array([1.0, 2.1, 3.0]))


def test_a_row_of_rounding_is_no_equation_when_the_sizes_say_so():
    """A closure across the plane of a mechanism: nothing but rounding, in rows whose terms are of order one."""
    P = np.array([[1.0, 2.0], [3e-17, -1e-17]])
    f, g = np.array([1.0, 2.0]), np.array([1.0, 1e-16])
    told, untold = KKTSolver(row_size=np.ones(2)), KKTSolver()
    assert told.factor(np.eye(2), P) == untold.factor(np.eye(2), P) == 0
    assert (told.rank, untold.rank) == (1, 2)
    x, lam = told.solve_parts(f, g)
    np.testing.assert_allclose(P[0] @ x, 1.0, rtol=1e-15)
    np.testing.assert_allclose(x + P.T @ lam, f, atol=1e-15)
    assert np.abs(lam).max() < 10.0
    alone = KKTSolver(row_size=np.ones(1))
    assert alone.factor(np.eye(2), P[1:]) == alone.rank == 0


def test_rows_of_zeros_are_redundant():
    P = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    solver = KKTSolver()
    assert solver.factor(np.eye(2), P) == 0
    np.testing.assert_array_equal(solver.redundant, [True, False, True])
    x, lam = solver.solve_parts(np.array([3.0, 4.0]), np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(np.concatenate((x, lam)), [1.0, 4.0, 0.0, 2.0, 0.0], atol=1e-15)
    with pytest.raises(Unsolved, match="row 2 contradicts"):
        solver.solve_parts(np.zeros(2), np.array([0.0, 1.0, 5.0]))


def test_a_matrix_that_the_equations_complete():
    """M alone is singular; what it gives nothing is held by P."""
    M, P = np.diag([1.0, 0.0, 2.0]), np.array([[1.0, 1.0, 0.0]])
    solver = KKTSolver()
    assert solver.factor(M, P) == 0
    b = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(solver.solve(b), np.linalg.solve(whole(M, P), b), rtol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_what_nothing_holds_is_named(seed):
    rng = np.random.default_rng(seed)
    n, lost = 8, int(rng.integers(8))
    M, P = positive_matrix(rng, n), rng.normal(size=(3, n))
    M[lost], M[:, lost], P[:, lost] = 0.0, 0.0, 0.0
    solver = KKTSolver()
    assert solver.factor(M, P) == lost + 1
    with pytest.raises(Unsolved, match=f"unknown {lost}"):
        solver.solve(np.ones(n + 3))


@pytest.mark.parametrize("seed", range(20))
def test_a_direction_that_nothing_holds_is_refused(seed):
    """Not along an unknown: rounding must not pass for inertia."""
    rng = np.random.default_rng(seed)
    n = 10
    lost = rng.normal(size=n)
    away = np.eye(n) - np.outer(lost, lost) / (lost @ lost)
    assert KKTSolver().factor(away @ positive_matrix(rng, n) @ away, rng.normal(size=(3, n)) @ away) > 0


@pytest.mark.parametrize("seed", range(5))
def test_a_regularisation_needs_no_rank(seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(3, 7))
    P, M, b, E = np.vstack([base, base]), positive_matrix(rng, 7), rng.normal(size=13), rng.uniform(1e-6, 1e-3, 6)
    solver = KKTSolver(regularisation=E)
    assert solver.factor(M, P) == 0
    for refined in (False, True):
        x, K = solver.solve(b, refined), whole(M, P, E)
        np.testing.assert_allclose(K @ x, b, atol=1e-12 * (np.abs(K) @ np.abs(x)).max())


def test_a_vanishing_regularisation_shares_the_load_alike():
    rng = np.random.default_rng(2)
    base = rng.normal(size=(2, 5))
    P, M, f, g = np.vstack([base, base[:1]]), positive_matrix(rng, 5), rng.normal(size=5), rng.normal(size=2)
    soft, hard = KKTSolver(regularisation=np.full(3, 1e-9)), KKTSolver()
    assert soft.factor(M, P) == hard.factor(M, P) == 0
    g = np.append(g, g[0])
    for one, other in zip(soft.solve_parts(f, g), hard.solve_parts(f, g), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"row_size": [1.0]}, "row_size has 1 numbers, need 2"),
        ({"column_size": [1.0]}, "column_size has 1 numbers, need 3"),
        ({"weight": [1.0, 2.0, 3.0]}, "weight has 3 numbers, need 2"),
        ({"regularisation": [1.0]}, "regularisation has 1 numbers, need 2"),
    ],
)
def test_sizes_that_do_not_fit(sizes, message):
    with pytest.raises(ValueError, match=message):
        KKTSolver(**sizes).factor(np.eye(3), np.ones((2, 3)))


@pytest.mark.parametrize("bad", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [[1.0, 1.0]]])
@pytest.mark.parametrize("name", ["row_size", "column_size", "weight", "regularisation"])
def test_sizes_that_are_not_positive(name, bad):
    with pytest.raises(ValueError, match="positive numbers"):
        KKTSolver(**{name: bad})


@pytest.mark.parametrize(("M", "P"), [((2, 3), (1, 3)), ((3, 3), (1, 2)), ((3, 3), (3,))])
def test_shapes_that_do_not_fit(M, P):
    with pytest.raises(ValueError, match="need M"):
        KKTSolver().factor(np.ones(M), np.ones(P))


def test_numbers_that_are_not_finite():
    P = np.array([[1.0, np.nan, 0.0]])
    assert KKTSolver().factor(np.eye(3), P) == 2
