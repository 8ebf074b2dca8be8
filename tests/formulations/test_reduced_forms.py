"""What is particular to QR, SVD and the null space: frozen bases, variants, the derivative of V."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.formulations import QR, SVD, FormulationError, NullSpace
from rtmbs.formulations.contract import jacobian_rate, terms_at
from rtmbs.formulations.function_system import pendulum
from rtmbs.formulations.null_space import gram_schmidt
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of, wanted


@pytest.mark.parametrize("count", [8, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_both_variants_of_the_decomposition(where, count):
    system = system_of(where)
    for q, v in states(where, count):
        right = wanted(system, q, v, T)[0]
        for variant in ("pseudo-inverse", "stacked"):
            found = SVD(variant).accelerations(system, q, v, T)[0]
            np.testing.assert_allclose(found, right, atol=1e-10 * max(1.0, np.abs(right).max()))


def test_an_unknown_variant_lists_the_known():
    with pytest.raises(InputError, match=r"^variant of SVD is 'economy'; there are 'pseudo-inverse', 'stacked'"):
        SVD("economy")


def test_the_basis_of_qr_is_kept_until_it_is_worn_out():
    system, method = system_of("slider-crank in bodies"), QR(largest_condition=1.2)
    memory, counts = method.memory(), []
    for q, v in states("slider-crank in bodies", 40):
        np.testing.assert_allclose(
            method.accelerations(system, q, v, T, memory)[0], wanted(system, q, v, T)[0], rtol=1e-9, atol=1e-9
        )
        counts.append(memory.count)
    assert 1 < counts[-1] < 40


@pytest.mark.parametrize("method", [QR(), NullSpace()], ids=["basis across the rows", "worn out B"])
def test_what_a_quarter_turn_wears_out_is_built_anew(method):
    """Of a pendulum: Phi_q Q1 of QR is zero there, and B of the null space is the row of Phi_q at the bottom."""
    system = pendulum()
    memory = method.memory()
    for q in (np.array([0.0, -1.0]), np.array([1.0, 0.0])):
        v = np.array([-q[1], q[0]])
        found = method.accelerations(system, q, v, 0.0, memory)[0]
        np.testing.assert_allclose(found, wanted(system, q, v, 0.0)[0], atol=1e-12)
    assert memory.count == 2


@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_the_rate_of_the_jacobian_against_differences(where):
    system, h = system_of(where), 1e-5
    for q, v in states(where, 5):
        before, after = (system.constraint_jacobian(q + s * h * v, T + s * h) for s in (-1.0, 1.0))
        found = jacobian_rate(system, q, v, T)
        np.testing.assert_allclose(
            found, (after - before) / (2.0 * h), atol=1e-6 * (1.0 + np.abs(found).max(initial=0))
        )


@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_the_null_space_and_its_rate(where):
    """V is orthonormal, V_I spans the null space, and Vd is its derivative with B and the rows kept."""
    system, method, h = system_of(where), NullSpace(), 1e-5
    for q, v in states(where, 5):
        memory = method.memory()

        def basis(s, q=q, v=v, memory=memory):
            at = q + s * h * v, v, T + s * h
            return method.basis(terms_at(system, *at), *at, memory)[0]

        V, Vd, r = basis(0.0)
        np.testing.assert_allclose(V.T @ V, np.eye(system.n), atol=1e-13)
        np.testing.assert_allclose(system.constraint_jacobian(q, T) @ V[:, r:], 0.0, atol=1e-12)
        numeric = (basis(1.0).V - basis(-1.0).V) / (2.0 * h)
        assert memory.count == 1
        np.testing.assert_allclose(Vd, numeric, atol=1e-5 * (1.0 + np.abs(Vd).max()) ** 3)


def test_gram_schmidt_gives_up_on_a_column_without_a_part_of_its_own():
    P = np.array([[1.0, 1.0], [0.0, 1e-9]])
    assert gram_schmidt(P, np.zeros((2, 2)), 1e-6) is None
    V, _ = gram_schmidt(P, np.zeros((2, 2)), 0.0)
    np.testing.assert_allclose(V, np.eye(2), atol=1e-15)


def test_a_looser_rank_tolerance_counts_more_rows_as_dependent():
    system = system_of("slider-crank in bodies")
    q, v = states("slider-crank in bodies", 1)[0]
    with pytest.raises(FormulationError, match="contradicts"):
        SVD(rank_tolerance=0.999).accelerations(system, q, v, T)
