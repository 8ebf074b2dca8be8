"""Rank of loop equations against NumPy, by singular values and by the estimate for large groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from rtmbs import Simulation, library
from rtmbs.start import rank as room
from rtmbs.start.loops import Group
from rtmbs.start.penalty import effective_masses
from rtmbs.start.rank import estimated_rank, group_rank, inconsistent_part, redundant_rows, scaled
from tests.start.cases import MODELS, closed_pose, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def weighed(name):
    """Return the groups of a mechanism and its scaled Phi_z, sparse and dense."""
    assembly, z = closed_pose(system_of(name))
    masses, _ = effective_masses(assembly.equations, assembly.jacobian.matrix(assembly.equations))
    assembly.gap(z)
    P = scaled(assembly.jacobian.matrix(assembly.equations), masses)
    return assembly.groups, P, P.toarray()


@ALL
def test_rank_of_a_mechanism(name):
    groups, P, dense = weighed(name)
    expected = np.linalg.matrix_rank(dense, tol=1e-10 * np.linalg.norm(dense, 2))
    answers = [group_rank(P, group) for group in groups]
    assert sum(count for count, _ in answers) == expected
    assert not any(guess for _, guess in answers)
    assert Simulation(system_of(name)).start_report.rank == expected


@ALL
def test_the_estimate_for_large_groups(name, monkeypatch):
    """The sparse path, reached by lowering the limit, counts the same and says that it is an estimate."""
    groups, P, dense = weighed(name)
    monkeypatch.setattr(room, "DENSE_LIMIT", 0)
    answers = [group_rank(P, group) for group in groups]
    assert all(guess for _, guess in answers)
    assert sum(count for count, _ in answers) == np.linalg.matrix_rank(dense, tol=1e-10 * np.linalg.norm(dense, 2))
    report = Simulation(system_of(name)).start_report
    assert report.estimated_rank
    assert report.redundant == ()


def test_the_estimate_on_a_tall_stack(monkeypatch):
    """Singular values spread with the height; every storey still has its freedom."""
    monkeypatch.setattr(room, "DENSE_LIMIT", 0)
    report = Simulation(library.build("fourbar", ny=2, nz=20).compile()).start_report
    assert report.estimated_rank
    assert report.degrees_of_freedom == report.degrees_of_freedom_nearby == 20


@ALL
def test_redundant_rows_may_be_left_out(name):
    """What is left has the same rank, and as many rows as that."""
    groups, P, dense = weighed(name)
    for group in groups:
        count, _ = group_rank(P, group)
        spare = redundant_rows(P, group, count)
        assert len(spare) == len(group.rows) - count
        kept = np.setdiff1d(group.rows, spare)
        assert np.linalg.matrix_rank(dense[kept], tol=1e-9) == count == len(kept)


def random_rank(seed, rows, columns, rank):
    """Return a random matrix of a given rank."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.data())
def test_random_matrices(seed, rows, columns, data):
    rank = data.draw(st.integers(0, min(rows, columns)))
    P = csc_array(random_rank(seed, rows, columns, rank))
    group = Group(np.arange(rows), np.arange(columns))
    assert group_rank(P, group)[0] == rank
    if rank:
        values = np.linalg.svd(P.toarray(), compute_uv=False)
        if values[rank - 1] > 1e-3 * values[0]:  # the estimate squares the condition
            assert estimated_rank(P) == rank


@given(st.integers(0, 10**6), st.integers(1, 10), st.integers(1, 10), st.data())
def test_what_no_motion_removes(seed, rows, columns, data):
    """The part of Phi outside the range of P: orthogonal to it, and all of Phi when P is zero."""
    rank = data.draw(st.integers(0, min(rows, columns)))
    dense = random_rank(seed, rows, columns, rank)
    Phi = np.random.default_rng(seed + 1).normal(size=rows)
    part = inconsistent_part(csc_array(dense), Group(np.arange(rows), np.arange(columns)), Phi)
    assert np.abs(dense.T @ part).max() < 1e-9 * max(np.abs(dense).max(), 1.0)
    left = Phi - part
    solved = dense @ np.linalg.lstsq(dense, left, rcond=1e-10)[0]
    np.testing.assert_allclose(solved, left, atol=1e-8)
