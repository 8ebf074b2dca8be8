"""A consistent state near a given one."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.formulations import FormulationError, FunctionSystem, consistent_state
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of


@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
def test_positions_and_rates_satisfy_the_constraints(where):
    system = system_of(where)
    for q, v in states(where, 50):
        np.testing.assert_allclose(system.constraints(q, T), 0.0, atol=1e-11)
        Phi_t, _ = system.constraint_rate_terms(q, v, T)
        np.testing.assert_allclose(system.constraint_jacobian(q, T) @ v + Phi_t, 0.0, atol=1e-11)


def test_a_consistent_state_stays():
    q, v = states("rheonomic double pendulum", 50)[0]
    for found, given in zip(consistent_state(system_of("rheonomic double pendulum"), q, v, T), (q, v), strict=True):
        np.testing.assert_allclose(found, given, atol=1e-13)


def test_contradictions_name_the_row():
    def system(phi):
        return FunctionSystem(
            2, 2, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2), phi, row_names=["left", "right"]
        )

    with pytest.raises(FormulationError, match=r"^row \d \((left|right)\) of Phi is left at .* contradict each other"):
        consistent_state(system(lambda q, t: [q[0], q[0] - 1.0]), np.zeros(2), np.zeros(2), 0.0)
    with pytest.raises(FormulationError, match=r"^row \d \((left|right)\) of Phi_q v \+ Phi_t is left at"):
        consistent_state(system(lambda q, t: [q[0], q[0] - t]), np.zeros(2), np.zeros(2), 0.0)
    with pytest.raises(InputError, match=r"^q is an array \(2,\), not \(1,\)"):
        consistent_state(system(lambda q, t: [q[0], q[1]]), np.zeros(1), np.zeros(2), 0.0)
