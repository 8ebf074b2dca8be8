"""Partitions: which coordinates depend, when they are chosen anew, dependent positions and rates."""

import numpy as np
import pytest

from rtmbs.formulations import FormulationError, FunctionSystem, Partitioning
from rtmbs.formulations.function_system import pendulum, rheonomic_double_pendulum
from rtmbs.formulations.partitioning import ratio_of
from tests.formulations.systems import T, states, system_of


def hanging(angle, rate):
    q = np.array([np.sin(angle), -np.cos(angle)])
    return q, rate * np.array([-q[1], q[0]])


def test_the_pendulum_is_divided_anew_where_the_ratio_exceeds_ten():
    """y depends at the bottom; |x / y| is 10 at 84.3 degrees, and x depends from there on."""
    method, system = Partitioning(), pendulum()
    memory = method.memory()
    for angle, dependent, count in ((0.1, 1, 1), (np.arctan(9.9), 1, 1), (np.arctan(10.1), 0, 2), (1.6, 0, 2)):
        method.accelerations(system, *hanging(angle, 1.0), 0.0, memory)
        assert (memory.dependent.tolist(), memory.count) == ([dependent], count)
        assert np.abs(ratio_of(system.constraint_jacobian(hanging(angle, 0)[0], 0.0), memory)).max() <= 10.0


def test_pivots_are_the_largest_entries():
    for q, _ in states("slider-crank in bodies", 50):
        system, memory = system_of("slider-crank in bodies"), Partitioning().memory()
        P = system.constraint_jacobian(q, T)
        Partitioning().divide(system, P, memory)
        assert np.linalg.matrix_rank(P[:, memory.dependent]) == system.m
        assert np.abs(ratio_of(P, memory)).max() < 5.0
        assert sorted([*memory.dependent, *memory.independent]) == list(range(system.n))


def test_dependent_positions_and_rates():
    method, system = Partitioning(), rheonomic_double_pendulum()
    for q, v in states("rheonomic double pendulum", 50):
        memory = method.memory()
        found = method.positions(system, q, T + 0.01, memory)
        np.testing.assert_array_equal(found[memory.independent], q[memory.independent])
        np.testing.assert_allclose(system.constraints(found, T + 0.01), 0.0, atol=1e-13)
        rates = method.rates(system, found, v, T + 0.01, memory)
        Phi_t, _ = system.constraint_rate_terms(found, rates, T + 0.01)
        np.testing.assert_allclose(system.constraint_jacobian(found, T + 0.01) @ rates, -Phi_t, atol=1e-12)


def test_positions_out_of_reach_name_the_row():
    method, system = Partitioning(), pendulum()
    memory = method.memory()
    method.accelerations(system, *hanging(0.1, 0.0), 0.0, memory)
    with pytest.raises(FormulationError, match=r"^row 0 \(length\) of Phi stays open by .* after 20 iterations"):
        method.positions(system, np.array([1.3, -0.4]), 0.0, memory)


def test_dependent_rows_are_named():
    system = FunctionSystem(
        3, 2, lambda q, t: np.eye(3), lambda q, v, t: q, lambda q, t: [q[0], 2 * q[0]], row_names=["one", "other"]
    )
    with pytest.raises(FormulationError, match=r"^row 0 \(one\) of Phi_q depends on the other rows, and Partitioning"):
        Partitioning().accelerations(system, np.zeros(3), np.zeros(3), 0.0)


def test_accelerations_do_not_depend_on_the_partition():
    """Even off Phi = 0, as in the stages of a step: a kept partition and a new one answer alike."""
    rng = np.random.default_rng(7)
    for where in ("slider-crank in bodies", "skew loop in joints"):
        system = system_of(where)
        for q, v in states(where, 20):
            memory = Partitioning(largest=1e3).memory()
            Partitioning(largest=1e3).accelerations(system, q, v, T, memory)
            q, v = q + 1e-2 * rng.normal(size=system.n), v + 1e-2 * rng.normal(size=system.n)
            kept = Partitioning(largest=1e3).accelerations(system, q, v, T, memory)[0]
            alone = Partitioning().accelerations(system, q, v, T)[0]
            np.testing.assert_allclose(kept, alone, atol=1e-9 * max(1.0, np.abs(alone).max()))
