"""Many steps in one kernel call are the same steps: same bytes, same failures, and an interrupt is heard in time."""

from collections import Counter

import numpy as np
import pytest

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import NotConvergedError
from rtmbs.integrators.settings import MOST_BYTES, MOST_ROWS, chunk_for
from rtmbs.simulation.observers import AtRate, EnergyMeter, Every, IterationMeter, Observer, Recorder, ViolationMeter
from rtmbs.simulation.options import by_name
from tests.contracts.machines import LIBRARY, MOBILE, accepted_steps, closed_simulation, everything, library_simulation
from tests.simulation.interrupted import interrupted

FIELDS = ("z", "zd", "zdd", "lam", "R0", "u")


class ByHand(Observer):
    """Keeps a copy of every state, and forces a run to take its steps one by one."""

    def __init__(self):
        super().__init__()
        self.states, self.reports = [], []

    def look(self, sim, report):
        self.states.append(sim.state.copy())
        self.reports.append(report)


def hold_together(make, steps):
    """Run two simulations made alike, in rows and one by one; every sample must have the same bytes."""
    rows, single = make(), make()
    recorders, hand = (Recorder(), Recorder()), ByHand()
    assert all(recorder.takes_chunks for recorder in recorders)
    assert not hand.takes_chunks
    rows.run(rows.t + steps * rows.h, observers=[recorders[0]])
    single.run(single.t + steps * single.h, observers=[recorders[1], hand])
    assert everything(rows) == everything(single)
    for one, other in zip(recorders[0].samples, recorders[1].samples, strict=True):
        assert len(one) == steps + 1
        assert one.tobytes() == other.tobytes()
    assert recorders[0].outcomes == recorders[1].outcomes
    assert [state.t for state in hand.states] == recorders[0].samples.t[1:].tolist()
    return rows


@pytest.fixture
def calls(monkeypatch):
    """The number of steps of every kernel call that a run makes."""
    found, fill = [], PenaltyTrapezoidal.advance_many

    def counted(self, equations, work, old, rows):
        done, failed = fill(self, equations, work, old, rows)
        found.append(done)
        return done, failed

    monkeypatch.setattr(PenaltyTrapezoidal, "advance_many", counted)
    return found


@pytest.mark.parametrize("name", LIBRARY)
def test_library_mechanisms(name, calls):
    hold_together(lambda: library_simulation(name), 40)
    assert sum(calls) == 40


@pytest.mark.parametrize("seed", MOBILE)
def test_random_closed_mechanisms(seed, calls):
    hold_together(lambda: closed_simulation(seed, driven=False), 20)
    assert sum(calls) == 20


@pytest.mark.parametrize(
    "options",
    [{"fixed_iterations": True, "max_iterations": 1}, {"projection_metric": "mass"}, {"alpha": 1e9}, {"tol": 1e-4}],
)
def test_options(options):
    hold_together(lambda: library_simulation("bricard", **options), 40)


def test_a_simulation_in_the_middle_of_its_time():
    def make():
        sim = library_simulation("top", h=5e-3)
        accepted_steps(sim, 3)
        sim.h = 4e-3
        sim.inputs["gravity"] = (0.0, 1.0, -9.0)
        accepted_steps(sim, 3)
        return sim

    sim = hold_together(make, 250)
    assert not np.array_equal(sim.state.R0, sim.system.R0), "the top has turned"


def test_calls_that_end_early_take_the_same_steps(calls, monkeypatch):
    """A call that is out of time gives back what it has; the next goes on."""
    monkeypatch.setattr("rtmbs.semirecursive.compiled_steps.LONGEST_CALL", 0.0)
    hold_together(lambda: library_simulation("crank_rocker"), 10)
    assert calls == [1] * 10


def test_rows_are_bounded():
    small, large = library_simulation("pendulum").state, library_simulation("fourbar").state
    large.lam = np.zeros(100_000)
    assert len(chunk_for(small, 7).stats) == 7
    assert len(chunk_for(small, 10**9).stats) == MOST_ROWS
    chunk = chunk_for(large, 10**9)
    assert 1 <= len(chunk.stats) < MOST_ROWS
    assert sum(values.nbytes for values in chunk) <= MOST_BYTES


# ---------------------------------------------------------------------------------------------------------- observers


@pytest.mark.parametrize("name", ["crank_rocker", "governor", "driven_fourbar"])
def test_meters_read_chunks_as_they_read_steps(name, calls):
    def watch(*more):
        sim = library_simulation(name)
        meters = [EnergyMeter(), IterationMeter(), ViolationMeter(Every(0.01)), EnergyMeter(Every(0.007))]
        recorder = Recorder(Every(0.005))
        assert all(observer.takes_chunks for observer in (*meters, recorder))
        sim.run(0.1, observers=[*meters, recorder, *more])
        return [meter.summary() for meter in meters], recorder.samples

    (rows, samples), (single, kept) = watch(), watch(ByHand())
    assert sum(calls) == 50, "the second run stepped one by one"
    for one, other in zip(rows, single, strict=True):
        assert one == pytest.approx(other, rel=1e-12)
    assert all(any(meter.values()) for meter in rows) or name == "governor", "its violations are zero to the last bit"
    assert len(samples.t) == 21
    assert samples.z.tobytes() == kept.z.tobytes()


def test_who_must_see_every_step_does(calls):
    class Doubled(Recorder):
        def look(self, sim, report):
            super().look(sim, report)
            super().look(sim, report)

    observer = Doubled()
    library_simulation("pendulum").run(0.02, observers=[observer])
    assert len(observer.samples.t) == 1 + 2 * 10
    assert not Recorder(AtRate(10.0)).takes_chunks, "wall time cannot be asked about afterwards"
    assert not calls


# ----------------------------------------------------------------------------------------------------------- failures


def failing_on_the_way(**options):
    """A crank-rocker that meets a step its Newton iteration cannot do after some that it can."""
    return Simulation(
        library.build("crank_rocker", rate=40.0).compile(), h=2e-2, **by_name(max_iterations=5, **options)
    )


def test_a_step_that_fails_on_the_way_raises_as_ever():
    by_hand, recorder = failing_on_the_way(), Recorder()
    ended: Counter[str] = Counter()
    while (report := by_hand.step()).outcome.accepted:
        ended[report.outcome.name] += 1
    taken = ended.total()
    assert taken > 0
    sim = failing_on_the_way()
    with pytest.raises(NotConvergedError) as caught:
        sim.run(10.0, observers=[recorder], on_failure="raise")
    assert caught.value.step == taken + 1
    assert caught.value.residuals == report.corrections
    assert everything(sim) == everything(by_hand)
    assert recorder.count == taken + 1
    assert recorder.outcomes == ended


def test_halving_on_the_way_gives_the_same_bytes():
    rows, single = failing_on_the_way(), failing_on_the_way()
    results = [sim.run(0.4, on_failure="halve", observers=more) for sim, more in ((rows, []), (single, [ByHand()]))]
    assert everything(rows) == everything(single)
    assert len(results[0]) == 21
    assert results[0].t.tobytes() == results[1].t.tobytes()


def test_an_input_that_is_no_number_is_named():
    sim = library_simulation("crank_rocker")
    sim.state.u[:] = np.nan
    with pytest.raises(rtmbs.RtmbsError, match="gravity"):
        sim.run(0.1)


def test_an_interrupt_is_heard_between_calls():
    """Ctrl+C in a run of hours: it ends at once, at a whole step."""
    sim, reference = library_simulation("pendulum"), library_simulation("pendulum")
    accepted_steps(sim, 1)
    accepted_steps(reference, 1)
    with interrupted(0.1):
        sim.run(sim.t + 200_000 * sim.h)
    assert sim.state.k < 200_000
    reference.run(reference.t + (sim.state.k - 1) * reference.h)
    assert everything(sim) == everything(reference)


# --------------------------------------------------------------------------------------------------- fixed iterations


def test_a_step_that_fixed_iterations_do_not_finish_is_taken_and_says_so():
    sim = Simulation(
        library.build("crank_rocker").compile(),
        h=5e-3,
        method=PenaltyTrapezoidal(max_iterations=1, fixed_iterations=True),
    )
    exact = Simulation(library.build("crank_rocker").compile(), h=5e-3)
    reports = [sim.step() for _ in range(20)]
    accepted_steps(exact, 20)
    assert {report.outcome for report in reports} == {Outcome.UNFINISHED}
    assert {report.iterations_to_tolerance for report in reports} == {0}
    assert all(report.outcome.accepted and report.error_estimate > 0.1 for report in reports)
    assert sim.t == 0.1
    assert 1e-12 < np.abs(sim.state.z - exact.state.z).max() < 1e-4, "one iteration leaves something, not much"
    assert sim.run(0.2).outcomes == {"UNFINISHED": 20}


def test_fixed_iterations_say_how_many_would_have_been_enough():
    free, fixed = (
        Simulation(library.build("crank_rocker").compile(), h=5e-3, **by_name(**options))
        for options in ({"refactor": "every-iteration"}, {"fixed_iterations": True, "max_iterations": 4})
    )
    for _ in range(30):
        one, other = free.step(), fixed.step()
        assert other.iterations == 4
        assert other.outcome is Outcome.CONVERGED
        assert one.iterations_to_tolerance == one.iterations
        assert abs(other.iterations_to_tolerance - one.iterations_to_tolerance) <= 1
        assert other.error_estimate <= 0.1


# ------------------------------------------------------------------------------------------ when to make a new matrix


def steps_of(refactor, h=5e-3, rate=3.0, steps=60):
    """Return the reports and the last coordinates of a crank-rocker."""
    sim = Simulation(
        library.build("crank_rocker", rate=rate).compile(), h=h, method=PenaltyTrapezoidal(refactor=refactor)
    )
    return accepted_steps(sim, steps), sim.state.z.copy()


def test_one_factorisation_a_step_gives_the_same_motion():
    reports, z = steps_of("every-iteration")
    assert all(report.factorisations == report.iterations for report in reports)
    for refactor in ("every-step", "adaptive"):
        fewer, same = steps_of(refactor)
        assert sum(report.factorisations for report in fewer) <= 1.1 * len(fewer)
        assert sum(report.iterations for report in fewer) <= sum(report.iterations for report in reports) + 6
        np.testing.assert_allclose(same, z, atol=1e-9)


def test_adaptive_makes_the_matrix_anew_when_corrections_are_large():
    """At 40 rad/s and 5 ms the crank turns 0.2 rad a step: an older factor would mislead."""
    full, z = steps_of("every-iteration", rate=40.0)
    reports, same = steps_of("adaptive", rate=40.0)
    assert sum(report.factorisations for report in reports) > 1.5 * len(reports)
    assert sum(report.iterations for report in reports) <= sum(report.iterations for report in full) + 6
    np.testing.assert_allclose(same, z, atol=1e-4)


def test_an_unknown_policy_is_refused_by_name():
    with pytest.raises(rtmbs.RtmbsError, match="every-step"):
        library_simulation("pendulum", refactor="every-steps")
