"""Steps that end in another solution of their equations are not accepted."""

import numpy as np
import pytest

from bench.campaigns.variational_orders import case_of
from rtmbs import Simulation, VariationalMidpoint
from rtmbs.integrators.newton import leads_away, leaps

T_END = 11.329520656470105  # [s]
Z, ZD = (1.59687025, -2.50089838, 2.22469986), (-1.13894227, 2.66110263, -1.23127349)  # [rad], [rad/s] of the chain


def off_by(sim, exact):
    """Return the largest error of a body's velocity [m/s] at the end, beside own equations."""
    velocities = [name for name in exact if name.endswith("velocity")]
    return max(float(np.abs(np.asarray(sim[name]) - exact[name][-1]).max()) for name in velocities)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fused", [True, False])
def test_a_step_that_own_equations_contradict_is_not_accepted(fused):
    """Corrections of 52, 1.7 and 0.15 rad led a chain 44 rad away in half a step, and to 5e3 m/s."""
    case, h = case_of(260, 3303), T_END / 64
    sims = [Simulation(case.model.compile(), h / n, VariationalMidpoint(fused=fused)) for n in (1, 2, 4)]
    for sim in sims:
        sim.state.z[:], sim.state.zd[:] = Z, ZD
    exact = case.exact(sims[0], np.array([0.5 * h, h]), 1e-12)
    assert not sims[0].step().outcome.accepted
    errors = []
    for sim, steps in zip(sims[1:], (2, 4), strict=True):
        assert all(sim.step().outcome.accepted for _ in range(steps))
        errors.append(off_by(sim, exact))
    assert errors[1] < 0.5 * errors[0] < 0.05


@pytest.mark.filterwarnings("ignore")
def test_a_part_of_a_step_does_not_gain_energy_from_another_solution():
    """A conservative chain is no faster than its own equations say; a part ended at 2e4 rad/s, CONVERGED."""
    case = case_of(260, 3303)
    coarse = Simulation(case.model.compile(), T_END / 32, VariationalMidpoint())
    exact = case.exact(coarse, np.linspace(0.0, T_END, 257)[1:], 1e-9)
    velocities = [name for name in exact if name.endswith("velocity")]
    result = coarse.run(T_END)
    fastest, allowed = (max(float(np.abs(one[name]).max()) for name in velocities) for one in (result, exact))
    assert fastest < 2.0 * allowed


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
