"""Solvers that choose their own steps: no hidden drift over any formulation, and trials without an answer."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtmbs.dae import CVODE, MotionError, SolveIVP, integrate, sundials
from rtmbs.formulations import QR, SVD, FunctionSystem, NullSpace, Partitioning, Penalty
from tests.cases import spread
from tests.dae.motions import skip_without

GRAVITY = 9.81
SPEED = 9.0  # [m/s]: the pendulum turns over
SPAN = 10.0  # [s]
TOLERANCE = 1e-8


def pendulum(rows=1):
    return FunctionSystem(
        2,
        rows,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([0.0, -GRAVITY]),
        lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0] * rows,
    )


@cache
def exact(t=SPAN):
    """Return q at ``t`` by the equation of the angle."""
    if t == 0.0:
        return np.array([0.0, -1.0])
    found = solve_ivp(
        lambda t, y: [y[1], -GRAVITY * np.sin(y[0])], (0.0, t), [0.0, SPEED], "DOP853", rtol=1e-13, atol=1e-14
    ).y[0, -1]
    return np.array([np.sin(found), -np.cos(found)])


def moved(method, rows=1, samples=10):
    return integrate(pendulum(rows), method, np.array([0.0, -1.0]), np.array([SPEED, 0.0]), SPAN, SPAN / samples)


CASES = [  # over every formulation that corrects states, and a row that is there twice
    (lambda: SolveIVP("DOP853", SVD(), TOLERANCE, TOLERANCE), 1),
    (lambda: SolveIVP("DOP853", Penalty(), TOLERANCE, TOLERANCE), 2),
    (lambda: SolveIVP("RK45", NullSpace(), TOLERANCE, TOLERANCE), 1),
    (lambda: SolveIVP("LSODA", QR(), TOLERANCE, TOLERANCE), 2),
    (lambda: CVODE("adams", SVD(), rtol=TOLERANCE, atol=TOLERANCE), 1),
    (lambda: CVODE("adams", Partitioning(), rtol=TOLERANCE, atol=TOLERANCE), 1),
]


@pytest.mark.parametrize(("made", "rows"), spread(CASES, 2))
def test_a_solver_does_not_drift_and_shows_what_it_left(made, rows):
    """The errors were 1e-4 to 1e-3 and grew with the square of time; violations read 1e-16."""
    method = made()
    if isinstance(method, CVODE):
        skip_without("cvode")
    found = moved(method, rows)
    assert np.abs(found.q[-1] - exact()).max() < 5e-5
    assert 1e-13 < found.violations[:, 0].max() < 1e-6  # of the solver's own state
    assert np.abs(np.linalg.norm(found.q, axis=1) - 1.0).max() < 1e-12  # samples are corrected


@pytest.mark.parametrize(
    ("solver", "form", "tolerance"),
    [("DOP853", Partitioning, 1e-3), ("DOP853", QR, 1e-4), ("RK45", SVD, 1e-3), ("LSODA", NullSpace, 1e-4)],
)
def test_a_trial_without_an_answer_shortens_the_step(solver, form, tolerance):
    """These ended in "q[0] is nan", or in steps below rounding."""
    found = moved(SolveIVP(solver, form(), tolerance, tolerance), samples=2)
    energy = 0.5 * np.sum(found.v**2, axis=1) + GRAVITY * found.q[:, 1]
    assert np.ptp(energy) < 2e4 * tolerance


def test_a_refusal_that_stays_is_told():
    system = pendulum()
    system.force = lambda q, v, t: np.array([np.nan if t > 0.5 else 0.0, -GRAVITY])
    with pytest.raises(MotionError, match=r"force\(q, v, t\) returned nan at \(0,\)") as caught:
        integrate(system, SolveIVP(), np.array([0.0, -1.0]), np.array([1.0, 0.0]), 1.0, 0.1)
    assert caught.value.result.t[-1] <= 0.5


def test_steps_of_rounding_are_told(monkeypatch):
    """Some hundreds of them had been passed over without a word, and the end was less accurate than asked."""
    skip_without("cvode")
    taken = []

    def stalling(solver, t, **options):
        taken.append(t)
        after = 0.5 + len(taken) * np.spacing(0.5) if len(taken) < 200 else t
        return SimpleNamespace(success=True, t=after, y=np.array([0.0, -1.0, 1.0, 0.0]))

    monkeypatch.setattr(sundials, "step_of", stalling)
    with pytest.raises(MotionError, match=r"steps of rounding only at t = 0\.5; take larger tolerances"):
        integrate(pendulum(), CVODE(), np.array([0.0, -1.0]), np.array([1.0, 0.0]), 1.0, 1.0)
    assert len(taken) < 100
