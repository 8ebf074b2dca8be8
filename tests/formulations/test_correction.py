"""The hook after a step: back on Phi = 0 and Phid = 0, each formulation along its own basis."""

import numpy as np
import pytest

from rtmbs.formulations import FORMULATIONS, Correcting, FormulationError, corrected
from rtmbs.formulations.function_system import pendulum
from rtmbs.formulations.null_space import QR
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of

CORRECTING = [name for name, kind in FORMULATIONS.items() if isinstance(kind(), Correcting)]


def test_reductions_correct_and_feedback_does_not():
    assert CORRECTING == [
        "partitioning",
        "qr",
        "svd",
        "null-space",
        "zero-eigenvalues",
        "householder",
        "ider-amirouche",
        "hemami-weimer",
        "wampler",
    ]
    q, v = np.array([0.7, -0.8]), np.array([0.8, 0.7])
    for name in FORMULATIONS.keys() - CORRECTING:
        assert corrected(FORMULATIONS[name](), pendulum(), q, v, 0.0) == (q, v)


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
@pytest.mark.parametrize("name", CORRECTING)
def test_disturbed_states_come_back(name, where, count):
    method, system, rng = FORMULATIONS[name](), system_of(where), np.random.default_rng(1)
    if where in REDUNDANT and not method.redundant:
        return
    for q, v in states(where, count):
        start = q + 1e-4 * rng.normal(size=system.n), v + 1e-4 * rng.normal(size=system.n)
        before = [part.copy() for part in start]
        memory = method.memory()
        method.accelerations(
            system, q, v, T, memory
        )  # where rows depend on each other, a state away from Phi = 0 hides
        found_q, found_v = corrected(method, system, *start, T, memory)
        np.testing.assert_array_equal(start, before)
        P, Phi_t = system.constraint_jacobian(found_q, T), system.constraint_rate_terms(found_q, found_v, T)[0]
        size = max(1.0, np.abs(P).max(initial=0.0))
        assert np.abs(system.constraints(found_q, T)).max(initial=0.0) < 1e-12 * size * max(1.0, np.abs(q).max())
        assert np.abs(P @ found_v + Phi_t).max(initial=0.0) < 1e-12 * size * max(1.0, np.abs(v).max())


def test_each_moves_along_its_own_basis():
    """The pendulum: a coordinate stays, the frozen tangent coordinate stays, or the change is along the rod."""
    q, v, system = np.array([0.6, -0.81]), np.array([0.8, 0.61]), pendulum()
    found, _ = FORMULATIONS["partitioning"]().correct(system, q, v, 0.0)
    assert found[0] == 0.6
    memory = QR().memory()
    QR().accelerations(system, np.array([0.0, -1.0]), v, 0.0, memory)  # freezes x as the tangent
    found, _ = QR().correct(system, q, v, 0.0, memory)
    assert abs(found[0] - 0.6) < 1e-15
    assert memory.count == 1
    for name in ("svd", "null-space"):
        found, _ = FORMULATIONS[name]().correct(system, q, v, 0.0)
        assert abs(found[0] * q[1] - found[1] * q[0]) < 1e-4  # along the rod, but for the square of the change


def test_a_place_out_of_reach_is_named():
    for name in CORRECTING:
        with pytest.raises(FormulationError, match=r"^row 0 \(length\) of Phi"):
            FORMULATIONS[name]().correct(system_of("pendulum in x, y"), np.zeros(2), np.ones(2), 0.0)
