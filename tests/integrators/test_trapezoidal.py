"""The readable trapezoidal step answers its contract, with equations that know nothing of mechanisms."""

import numpy as np
import pytest

from rtmbs.integrators.contract import NotFinite, SingularTangent
from rtmbs.integrators.newton import MOST_BY_SLOPE, MOST_EVALUATIONS
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import (
    EVALUATIONS,
    EXACT,
    FACTORISATIONS,
    FIRST_CORRECTION,
    ITERATIONS,
    LEFT,
    MOST_TRIES,
    PHASES,
    POSITION_VIOLATION,
    PROJECTIONS,
    RESIDUAL_TICKS,
    STATS_SIZE,
    TANGENT_TERMS,
    TRIES,
)
from rtmbs.integrators.trapezoidal import TrapezoidalStep
from tests.integrators.toy import QUESTIONS, Pendulum, empty, reference, settings, start


def step(equations=None, old=None, **options):
    """Take one step; return its outcome, the new state and the stats."""
    old, stats = old or start(), np.full(STATS_SIZE, np.nan)
    new = empty(old)
    outcome = TrapezoidalStep(equations or Pendulum(), settings(**options), stats).advance(old, new)
    return outcome, new, stats


def march(t, h, equations=None, **options):
    """Return the state at time ``t``."""
    equations = equations or Pendulum(alpha=1e6 * 4.0 / h**2)
    state = start(pendulum=equations)
    for _ in range(round(t / h)):
        outcome, state, _ = step(equations, state, h=h, **options)
        assert outcome is Outcome.CONVERGED
    return state


def test_it_reads_the_old_state_and_fills_the_new_one():
    old = start()
    before = [values.tobytes() for values in old]
    outcome, new, stats = step(old=old)
    assert outcome is Outcome.CONVERGED
    assert [values.tobytes() for values in old] == before
    assert all(np.all(np.isfinite(values)) for values in new)
    assert not any(np.shares_memory(one, other) for one in old for other in new if one.size)
    assert np.all(np.isfinite(stats))


def test_the_stats_say_what_was_done():
    equations = Pendulum()
    _, new, stats = step(equations)
    iterations = int(stats[ITERATIONS])
    assert equations.asked["residual"] == iterations
    assert equations.asked["factor"] == stats[FACTORISATIONS] == iterations
    assert np.all(stats[FIRST_CORRECTION : FIRST_CORRECTION + iterations] > 0.0)
    assert not stats[FIRST_CORRECTION + iterations :].any()
    assert stats[POSITION_VIOLATION] == abs(new.z @ new.z - 1.0) / 2.0
    assert np.all(stats[RESIDUAL_TICKS : RESIDUAL_TICKS + len(PHASES)] >= 0.0)
    assert equations.asked["solve"] == iterations + stats[PROJECTIONS]


@pytest.mark.parametrize("drag", [0.0, 1.5])
def test_order_two(drag):
    """Least-squares slope of the errors of angle, rate and acceleration over four halvings."""
    steps, errors = [0.02, 0.01, 0.005, 0.0025], []
    angle, rate = reference(1.0, drag=drag)
    exact = start(angle, rate, Pendulum(drag=drag))
    for h in steps:
        state = march(1.0, h, Pendulum(alpha=1e6 * 4.0 / h**2, drag=drag))
        errors.append([np.abs(mine - theirs).max() for mine, theirs in zip(state[:3], exact[:3], strict=True)])
    slopes = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert np.all((slopes > 1.9) & (slopes < 2.5)), slopes


@pytest.mark.parametrize("terms", range(len(TANGENT_TERMS)), ids=TANGENT_TERMS)
@pytest.mark.parametrize("options", [{}, {"mass_metric": True}, {"fixed_iterations": True, "max_iterations": 5}])
def test_options_change_the_way_and_not_the_end(terms, options):
    plain, changed = march(0.1, 0.01), march(0.1, 0.01, tangent_terms=terms, **options)
    away = 100.0 if terms == EXACT else 1.0  # its first corrections are large: lam of an iterate far from the loop
    np.testing.assert_allclose(changed.z, plain.z, atol=1e-8 * away)
    np.testing.assert_allclose(changed.zd, plain.zd, atol=1e-7 * away)


def test_loops_are_kept():
    state = march(0.5, 0.01)
    assert abs(state.z @ state.z - 1.0) / 2.0 <= 10.0 * abs(state.lam[0]) / (1e6 * 4.0 / 0.01**2)
    assert abs(state.z @ state.zd) < 1e-9
    assert abs(state.z @ state.zdd + state.zd @ state.zd) < 1e-7


def test_multipliers_are_the_force_in_the_bar():
    angle, rate = reference(0.5)
    state = march(0.5, 0.001)
    assert state.lam[0] == pytest.approx(2.0 * (rate**2 + 9.81 * np.cos(angle)), rel=1e-5)


# ------------------------------------------------------------------------------------------------------------- bounds


class Broken(Pendulum):
    """Answers one question wrongly from the given time on."""

    def __init__(self, name, first=1, fault=None, **options):
        super().__init__(**options)
        inner = getattr(self, name)

        def wrong(*arguments, **more):
            value = inner(*arguments, **more)
            if self.asked[name] < first:
                return value
            if isinstance(fault, BaseException):
                raise fault
            return fault(value)

        setattr(self, name, wrong)


def times_asked(**options):
    """Return how often one accepted step asks each question."""
    equations = Pendulum()
    assert step(equations, **options)[0] is Outcome.CONVERGED
    return equations.asked


# what makes a step ask every question: sizes so small that the loop counts as open
THOROUGH = {"mass_metric": True, "held": 1e12, "typical": np.full(2, 1e-5)}
CASES = [(question, first) for question, times in times_asked(**THOROUGH).items() for first in range(1, times + 1)]


# What answers no number, and the balance of energy, which may take none.
SILENT = ("factor", "factor_mass_metric", "hold_energies", "follow_states", "keep_states", "commit")


@pytest.mark.parametrize(("question", "first"), CASES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_no_answer_that_is_not_finite(question, first, bad):
    """Whatever the equations answer from whichever question on, what converged is finite."""
    equations = Broken(question, first, lambda value: None if value is None else value * bad)
    outcome, new, _ = step(equations, **THOROUGH)
    finite = all(np.all(np.isfinite(values)) for values in new)
    assert finite or outcome is not Outcome.CONVERGED
    if not np.isfinite(bad) and question not in SILENT:
        assert outcome in (Outcome.NOT_FINITE, Outcome.LOOP_OPEN), outcome


@pytest.mark.parametrize(("question", "first"), CASES)
def test_faults_pass_through_and_leave_the_old_state(question, first):
    """The user's error, an interrupt, no memory: not the integrator's to swallow."""
    for fault in (RuntimeError("force"), KeyboardInterrupt(), MemoryError(), ZeroDivisionError()):
        old = start()
        before = [values.tobytes() for values in old]
        with pytest.raises(type(fault)):
            step(Broken(question, first, fault), old, **THOROUGH)
        assert [values.tobytes() for values in old] == before


@pytest.mark.parametrize(("question", "first"), [case for case in CASES if case[0] in ("factor", "solve")])
def test_a_matrix_without_factor_is_an_outcome(question, first):
    for fault, outcome in ((SingularTangent(), Outcome.SINGULAR_TANGENT), (NotFinite(), Outcome.NOT_FINITE)):
        assert step(Broken(question, first, fault), **THOROUGH)[0] is outcome


def test_newton_is_bounded():
    """A residual that never settles is asked at most max_iterations times, and is no success."""
    rng = np.random.default_rng(3)
    for most in (1, 2, 5, 48):
        equations = Broken("residual", 1, lambda value: rng.normal(size=2) * 100.0)
        outcome, _, stats = step(equations, max_iterations=most)
        assert outcome is Outcome.NOT_CONVERGED
        assert equations.asked["residual"] == stats[ITERATIONS] <= most


def test_projections_are_bounded():
    """A violation that no iteration removes is projected at most max_projections times for rates and again for
    accelerations.
    """
    for most in (0, 1, 4):
        equations = Broken("apply_Phi_z", 1, lambda value: 0.0 * value)
        outcome, _, stats = step(equations, max_projections=most)
        assert outcome is Outcome.UNPROJECTED, "what no sweep removes is left, and that is said"
        assert stats[LEFT] == 1.0
        assert stats[PROJECTIONS] <= 2 * most


def test_further_tries_are_bounded():
    """A residual that never settles ends every try; the report tells of the plain iteration, and counts all work."""
    rng = np.random.default_rng(3)
    for tries in range(MOST_TRIES + 1):
        equations = Broken("residual", 1, lambda value: rng.normal(size=2) * 100.0)
        outcome, _, stats = step(equations, tries=tries)
        assert outcome is Outcome.NOT_CONVERGED
        assert stats[TRIES] == tries
        assert equations.asked["residual"] == stats[EVALUATIONS] <= 16 + 4 * MOST_EVALUATIONS + MOST_BY_SLOPE
        assert stats[ITERATIONS] <= 8


def test_what_converges_is_not_tried_again():
    """The same questions in the same number, with and without further tries at hand."""
    with_tries, without = Pendulum(), Pendulum()
    one, other = step(with_tries, tries=MOST_TRIES), step(without, tries=0)
    assert with_tries.asked == without.asked
    assert one[2][TRIES] == 0
    assert all(mine.tobytes() == theirs.tobytes() for mine, theirs in zip(one[1], other[1], strict=True))


def test_an_open_loop_is_no_success():
    equations = Broken("close", 1, lambda value: value + 1.1e-3)
    assert step(equations)[0] is Outcome.LOOP_OPEN
    assert step(equations, loop_tolerance=2e-3)[0] is Outcome.CONVERGED


def test_without_projections_rates_stay_dirty():
    """The canary: each projection does what it is for, and switched off it does nothing."""
    dirty = march(0.2, 0.01, project_velocities=False, project_accelerations=False)
    assert abs(dirty.z @ dirty.zd) > 1e-6
    assert abs(dirty.z @ dirty.zdd + dirty.zd @ dirty.zd) > 1e-3


def test_every_question_is_asked():
    """The list that the fault tests run over holds the whole contract."""
    from rtmbs.integrators.contract import StepEquations

    contract = {name for name, value in vars(StepEquations).items() if callable(value) and not name.startswith("_")}
    assert set(QUESTIONS) == contract
    assert {question for question, _ in CASES} == contract
