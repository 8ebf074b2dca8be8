"""One compiled call for a recorded system: against reduced equations, and what it does not take."""

import numpy as np
import pytest
from scipy.integrate import DOP853, solve_ivp

from bench.methods.reduced_problems import PROBLEMS
from rtmbs.dae import CVODE, MotionError, RadauGGL, SolveIVP, integrate
from rtmbs.dae.solve_ivp import LEFT, CompiledDOP853
from rtmbs.errors import InputError
from rtmbs.formulations import QR, Compiled, FormulationError, FunctionSystem
from tests.cases import spread
from tests.dae.motions import skip_without
from tests.dae.test_adaptive_solvers import SPEED, exact, pendulum
from tests.formulations.systems import T, system_of


@pytest.mark.parametrize("name", spread(["slider-crank", "satellite", "sleigh", "rolling disc"], 2))
def test_motions_follow_the_reduced_equations(name):
    """Loops, a singular mass matrix, rate constraints; a wrong metric left the satellite 0.9 off."""
    case = PROBLEMS[name]()
    method = SolveIVP("DOP853", Compiled(), 1e-10, 1e-10)
    found = integrate(case.system, method, case.q, case.v, case.t_end, case.t_end)
    assert np.abs(found.q[-1] - case.end).max() < 5e-9
    assert found.counts.evaluations < 700
    for plain in (QR(), None):  # the same solver state by state, and another method over it
        other = RadauGGL(rtol=1e-7, atol=1e-7) if plain is None else SolveIVP("DOP853", plain, 1e-6, 1e-6)
        again = integrate(case.system, other, case.q, case.v, case.t_end, case.t_end)
        assert np.abs(again.q[-1] - case.end).max() < 1e-3


def test_a_compiled_step_is_that_of_scipy(monkeypatch):
    """Steps, samples of the dense output and multipliers; a step that the compiled call leaves is SciPy's."""
    start, method = (np.array([0.0, -1.0]), np.array([SPEED, 0.0])), SolveIVP("DOP853", Compiled(), 1e-9, 1e-9)
    fast = integrate(pendulum(), method, *start, 2.0, 0.1)
    monkeypatch.setattr(CompiledDOP853, "_step_impl", DOP853._step_impl)
    slow = integrate(pendulum(), method, *start, 2.0, 0.1)
    assert (fast.counts.steps, fast.counts.evaluations) == (slow.counts.steps, slow.counts.evaluations)
    assert np.abs(fast.q - slow.q).max() < 1e-11
    assert max(np.abs(q - exact(t)).max() for q, t in zip(fast.q, fast.t, strict=True)) < 1e-7
    rod = 0.5 * (-9.81 * fast.q[:, 1] + (fast.v**2).sum(axis=1))
    np.testing.assert_allclose(fast["lambda"][:, 0], rod, rtol=1e-10, atol=1e-9)
    monkeypatch.undo()
    built = CompiledDOP853.__init__

    def leaving(self, *arguments, **options):
        built(self, *arguments, **options)
        self.call = lambda *_: LEFT

    monkeypatch.setattr(CompiledDOP853, "__init__", leaving)
    left = integrate(pendulum(), method, *start, 2.0, 0.1)
    assert left.counts.steps == fast.counts.steps
    assert np.abs(left.q - fast.q).max() < 1e-11


def test_a_solver_of_several_steps_is_pulled_back():
    skip_without("cvode")
    method = CVODE("adams", Compiled(), 1e-8, 1e-8)
    found = integrate(pendulum(), method, np.array([0.0, -1.0]), np.array([SPEED, 0.0]), 10.0, 1.0)
    assert np.abs(found.q[-1] - exact()).max() < 5e-5
    assert 1e-13 < found.violations[:, 0].max() < 1e-6


def test_time_in_mass_force_and_constraints():
    system = system_of("rheonomic double pendulum")
    q, v = np.array([0.0, -1.0, 0.0, -1.9]), np.array([0.6, 0.0, 0.6, 0.0])
    rates = Compiled().compiled(system, q, v, T)
    bent = q + 1e-3 * np.cos(np.arange(4.0))
    place, speed, a = rates(bent, v, T, np.ones(4))
    assert np.abs(system.constraints(place, T)).max() < 1e-13
    left = system.constraint_jacobian(place, T) @ speed + system.constraint_rate_terms(place, v, T)[0]
    assert np.abs(left).max() < 1e-13
    np.testing.assert_allclose(a, QR().accelerations(system, place, speed, T)[0], rtol=1e-12, atol=1e-12)


def test_dependent_rows_are_named_and_other_systems_refused():
    start = np.array([0.0, -1.0]), np.array([1.0, 0.0])
    with pytest.raises(FormulationError, match=r"^rows? \d.* of Phi_q depends? on the other rows"):
        integrate(pendulum(2), SolveIVP("DOP853", Compiled()), *start, 0.1, 0.1)
    assert Compiled().compiled(pendulum(2), *start, 0.0)(*start, 0.0, np.ones(2)) is None
    with pytest.raises(InputError, match=r"^Compiled takes a FunctionSystem with.*, not JointC"):
        Compiled().compiled(system_of("slider-crank in joints"), np.zeros(3), np.zeros(3), 0.0)


def test_functions_that_cannot_be_recorded_are_told():
    def branching(q, v, t):
        return np.array([1.0 if q[0] > 0.0 else -1.0, -9.81])

    system = FunctionSystem(2, 1, lambda q, t: np.eye(2), branching, lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0])
    with pytest.raises(InputError, match=r"^mass or force of this FunctionSystem cannot be recorded"):
        Compiled().compiled(system, np.array([0.0, -1.0]), np.zeros(2), 0.0)
    values = iter(np.arange(100.0))
    system = FunctionSystem(2, 0, lambda q, t: np.eye(2), lambda q, v, t: [next(values), q[0]], lambda q, t: [])
    with pytest.raises(InputError, match=r"^mass or force of this FunctionSystem is not what was recorded"):
        Compiled().compiled(system, np.array([0.0, -1.0]), np.zeros(2), 0.0)


@pytest.mark.parametrize("solver", [SolveIVP("DOP853", Compiled(), 1e-9, 1e-9), CVODE("adams", Compiled(), 1e-9, 1e-9)])
def test_a_number_that_a_force_reads_elsewhere_is_that_of_the_run(solver):
    """A damping does not show at rest, where the recorded program is compared first."""
    skip_without("cvode")
    damping = {"c": 0.0}

    def force(q, v, t):
        return np.array([-damping["c"] * v[0], -9.81 - damping["c"] * v[1]])

    system = FunctionSystem(2, 1, lambda q, t: np.eye(2), force, lambda q, t: [0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0)])
    for c in (0.0, 5.0):
        damping["c"] = c
        angle = solve_ivp(
            lambda t, y, c=c: [y[1], -9.81 * np.cos(y[0]) - c * y[1]], (0.0, 1.0), [0.0, 0.0], rtol=1e-11, atol=1e-12
        ).y[0, -1]
        found = integrate(system, solver, np.array([1.0, 0.0]), np.zeros(2), 1.0, 0.1)
        assert np.abs(found.q[-1] - [np.cos(angle), np.sin(angle)]).max() < 1e-6


def test_a_force_that_changes_while_it_is_run_is_refused():
    calls = {"many": 0}

    def force(q, v, t):
        calls["many"] += 1
        return np.array([0.0, -9.81 - (v[1] if calls["many"] > 12 else 0.0)])

    system = FunctionSystem(2, 1, lambda q, t: np.eye(2), force, lambda q, t: [0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0)])
    with pytest.raises(MotionError, match="is not what Compiled recorded at the start"):
        integrate(system, SolveIVP("DOP853", Compiled()), np.array([1.0, 0.0]), np.zeros(2), 2.0, 0.1)
