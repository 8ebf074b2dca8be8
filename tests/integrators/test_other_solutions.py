"""Steps that end in another solution of their equations are not accepted."""

import numpy as np
import pytest

from bench.campaigns.variational_orders import case_of
from rtmbs import Simulation, VariationalMidpoint
from rtmbs.integrators.newton import leads_away, leaps

T_END = 11.329520656470105  # [s]


@pytest.mark.filterwarnings("ignore")
def test_a_part_of_a_step_does_not_gain_energy_from_another_solution():
    """A conservative chain has at most the rates that its energy allows; a part ended at 2e4 rad/s, CONVERGED."""
    system = case_of(260, 3303).model.compile()
    rates = [f"j{k}.rate" for k in range(3)]
    coarse, fine = (Simulation(system, T_END / n, VariationalMidpoint()).run(T_END) for n in (32, 512))
    fastest, allowed = (max(float(np.abs(one[name]).max()) for name in rates) for one in (coarse, fine))
    assert fastest < 5.0 * allowed


class Tolerances:
    """Those of one coordinate that turns and one that slides 2 m."""

    absolute, typical, relative = np.array([1e-10, 2e-10]), np.array([1.0, 2.0]), 0.0


@pytest.mark.parametrize(("size", "second", "leapt"), [(0.9, 0.5, False), (15.0, 0.49, True), (15.0, 1e-3, False)])
def test_a_large_first_correction_leaps_unless_equations_are_linear(size, second, leapt):
    """A move of less than a size is none, and linear equations have no second correction."""
    known = False
    for iteration, one in ((1, size), (2, second), (3, 1e-12)):
        dz = one * Tolerances.typical
        norm = float(np.sqrt(np.mean((dz / Tolerances.absolute) ** 2)))
        known = bool(leaps.py_func(Tolerances, iteration, known, norm, dz, 1.0))
    assert known is leapt


def test_a_brake_and_a_clutch_lead_nowhere_else():
    """What stops, and what follows the fastest, moves no further than rates lead; a slide has its size."""
    ahead, typical = np.array([10.0, 0.0]), Tolerances.typical
    assert not leads_away.py_func(np.array([0.0, 0.0]), ahead, 1.0, typical)
    assert not leads_away.py_func(np.array([10.0, 20.0]), ahead, 1.0, typical)
    assert leads_away.py_func(np.array([11.5, 0.0]), ahead, 1.0, typical)
    assert leads_away.py_func(np.array([0.0, 2.5]), 0.0 * ahead, 1.0, typical)
