"""Simulation: what the user calls. Steps and runs, times and counts, reports, observers, step sizes."""

import copy
import itertools
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import InputError, NotConvergedError, StateError
from rtmbs.integrators.settings import MAX_ITERATIONS, PHASES
from rtmbs.semirecursive.sources import source_names
from rtmbs.simulation.options import by_name
from rtmbs.simulation.running import steps_to
from tests.contracts.machines import accepted_steps, contents, entry, everything, library_simulation, put_entry

CRANK = library.build("crank_rocker").compile()


def falling(**options):
    """A stone in free fall, thrown upwards."""
    model = rtmbs.Model("falling")
    model.add_body("stone", mass=3.0, center_of_mass=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6))
    model.add_joint("free", rtmbs.Floating(), "ground", "stone", point=(0.1, 0.2, 0.3))
    return Simulation(model.compile(), **by_name(**options))


# -------------------------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize("h", [0.5, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("fused", [True, False])
def test_a_free_fall_is_exact(h, fused):
    """4.905 m in a second: a parabola is what the rule integrates without error."""
    if h == 1e-3 and not fused:
        return
    sim = falling(h=h, fused=fused)
    result = sim.run(1.0)
    np.testing.assert_allclose(result["stone.position"][-1] - result["stone.position"][0], (0, 0, -4.905), atol=1e-9)
    np.testing.assert_allclose(result["stone.velocity"][-1], (0, 0, -9.81), atol=1e-9)


def test_a_step_reports_what_it_did():
    sim = Simulation(CRANK, h=2e-3)
    report = sim.step()
    assert report.outcome is Outcome.CONVERGED
    assert report.t == sim.t == 2e-3
    assert report.iterations == len(report.corrections) == report.iterations_to_tolerance >= report.jacobians > 0
    assert report.jacobians == report.factorisations
    assert 0 < report.projections <= 6
    assert 0.0 < report.position_violation < 1e-5
    assert 0.0 <= report.velocity_violation < 1e-7
    assert report.phases.keys() == set(PHASES)
    assert all(0.0 <= seconds < 0.1 for seconds in report.phases.values())
    assert sum(report.phases.values()) > 0.0
    assert report.worst == ()
    assert "the step converged" in str(report)


def test_phases_of_both_forms_are_seconds():
    """Ticks of the processor and the clock of Python tell one time."""
    sums = []
    for fused in (True, False):
        sim = Simulation(CRANK, h=2e-3, method=PenaltyTrapezoidal(fused=fused))
        accepted_steps(sim, 3)
        sums.append(sum(sum(report.phases.values()) for report in accepted_steps(sim, 20)) / 20)
    assert 1e-7 < sums[0] < sums[1] < 1e-1


@pytest.mark.parametrize("iterations", [1, 2, 5, MAX_ITERATIONS])
def test_fixed_iterations_are_always_so_many(iterations):
    sim = Simulation(CRANK, h=2e-3, method=PenaltyTrapezoidal(max_iterations=iterations, fixed_iterations=True))
    reports = [sim.step() for _ in range(3)]
    assert {report.iterations for report in reports} == {iterations}
    assert len(reports[0].corrections) == iterations
    assert {report.outcome for report in reports} == {Outcome.CONVERGED if iterations > 1 else Outcome.UNFINISHED}


def test_max_iterations_bounds_newton():
    sim = Simulation(CRANK, h=0.3, method=PenaltyTrapezoidal(max_iterations=3))
    before = everything(sim)
    report = sim.step()
    assert report.outcome is Outcome.NOT_CONVERGED
    assert report.iterations == 3
    assert everything(sim) == before


def test_a_tighter_tolerance_takes_no_fewer_iterations():
    loose, tight = (Simulation(CRANK, h=1e-2, method=PenaltyTrapezoidal(tol=tol)) for tol in (1e-3, 1e-12))
    for one, other in zip(accepted_steps(loose, 10), accepted_steps(tight, 10), strict=True):
        assert one.iterations <= other.iterations
    np.testing.assert_allclose(loose.state.z, tight.state.z, atol=1e-3)


def test_stepping_alike_gives_the_same_bytes():
    one, other = Simulation(CRANK, h=2e-3), Simulation(CRANK, h=2e-3)
    assert everything(one) == everything(other)
    accepted_steps(one, 30)
    for _ in range(30):  # step by step beside another simulation of the same system
        accepted_steps(other, 1)
        accepted_steps(Simulation(CRANK, h=1e-3), 1)
    assert everything(one) == everything(other)


@pytest.mark.parametrize("field", ["z", "zd", "zdd", "lam", "u", "alpha"])
def test_an_array_of_another_layout_in_the_state_is_read_right(field):
    """The usual step skips the look-up of types; an array that the user put in place of one of ours must not."""
    sim, other = (library_simulation("fourbar") for _ in range(2))
    assert sim.step().outcome.accepted
    assert other.step().outcome.accepted
    values = entry(other.state, field)
    strided = np.repeat(values, 2)[::2]
    assert not strided.flags.c_contiguous or len(strided) < 2
    put_entry(other.state, field, strided)
    assert sim.step().outcome == other.step().outcome
    assert contents(sim.state) == contents(other.state)


@pytest.mark.parametrize(
    ("field", "bad", "words"),
    [
        ("z", np.zeros((4, 1)), r"z of the state has shape \(4, 1\); the step needs"),
        ("lam", np.zeros(0), r"lam of the state has shape \(0,\); the step needs"),
        ("alpha", np.zeros(1), r"alpha of the state has shape \(1,\); the step needs"),
        ("zd", ["fast"], r"zd of the state is \['fast'\]; the step needs"),
    ],
)
def test_an_array_that_does_not_fit_is_refused_before_the_step(field, bad, words):
    sim = library_simulation("fourbar")
    put_entry(sim.state, field, bad)
    with pytest.raises(StateError, match=words):
        sim.step()


def test_a_list_is_read_and_an_array_that_must_not_be_written_is_left_alone():
    sim, other = (library_simulation("fourbar") for _ in range(2))
    fixed = sim.state.z.copy()
    fixed.flags.writeable = False
    before = fixed.copy()
    sim.state.z, sim.state.zd = fixed, sim.state.zd.tolist()
    for one in (sim, other):
        accepted_steps(one, 3)
    assert fixed.tobytes() == before.tobytes()
    assert contents(sim.state) == contents(other.state)


def test_a_simulation_goes_through_a_pickle():
    sim = library_simulation("fourbar")
    accepted_steps(sim, 2)
    other = pickle.loads(pickle.dumps(sim))
    for one in (sim, other):
        accepted_steps(one, 3)
    assert contents(sim.state) == contents(other.state)


def test_a_step_of_ones_own_has_no_warm_up():
    class Counting(Simulation):
        def step(self):
            self.count = getattr(self, "count", 0) + 1
            return super().step()

    sim = Counting(library_simulation("fourbar").system, h=1e-3)
    assert not hasattr(sim, "count")
    assert sim.step().outcome.accepted
    assert sim.count == 1


@pytest.mark.parametrize("refactor", ["every-step", "adaptive"])
def test_the_exact_tangent_is_made_anew_for_every_iteration(refactor):
    """With an older one the multipliers of an earlier iterate would go into the projections."""
    system = library_simulation("crank_rocker").system
    sims = [
        Simulation(system, h=2e-3, method=PenaltyTrapezoidal(tangent_terms="exact", refactor=one))
        for one in (refactor, "every-iteration")
    ]
    for sim in sims:
        sim.run(0.1)
    assert contents(sims[0].state) == contents(sims[1].state)


def test_a_copy_goes_its_own_way():
    sim = Simulation(CRANK, h=2e-3)
    accepted_steps(sim, 3)
    other, before = copy.deepcopy(sim), everything(sim)
    other.inputs["gravity"] = (0.0, 0.0, 5.0)
    accepted_steps(other, 3)
    assert everything(sim) == before
    accepted_steps(sim, 3)
    assert everything(sim)[0]["z"] != everything(other)[0]["z"]


def test_reading_changes_nothing():
    sim, quiet = library_simulation("bricard"), library_simulation("bricard")
    for each in (sim, quiet):
        accepted_steps(each, 3)
    sim.reaction("joint_2")
    sim.equations.energies(sim.state.z, sim.state.zd, sim.state.R0)
    str(sim.start_report), str(sim.start_report.topology), sim.t, sim.h, dict(sim.inputs), sim.state.copy()
    accepted_steps(sim, 3)
    accepted_steps(quiet, 3)
    assert everything(sim) == everything(quiet)


# --------------------------------------------------------------------------------------------------------------- runs


def test_a_run_is_its_steps():
    stepped, ran = Simulation(CRANK, h=2e-3), Simulation(CRANK, h=2e-3)
    accepted_steps(stepped, 50)
    result = ran.run(0.1)
    assert everything(stepped) == everything(ran)
    assert len(result) == 51
    np.testing.assert_array_equal(result.t, np.arange(51) * 2e-3)


def test_a_run_goes_on_where_the_last_one_ended():
    once, twice = Simulation(CRANK, h=2e-3), Simulation(CRANK, h=2e-3)
    whole = once.run(0.06)
    first, second = twice.run(0.02), twice.run(0.06)
    assert everything(once) == everything(twice)
    np.testing.assert_array_equal(np.concatenate((first.t, second.t[1:])), whole.t)
    angle = "crank_pivot.angle"
    np.testing.assert_array_equal(np.concatenate((first[angle], second[angle][1:])), whole[angle])


def test_a_run_to_now_takes_no_step():
    sim = Simulation(CRANK, h=2e-3)
    accepted_steps(sim, 3)
    before = everything(sim)
    assert len(sim.run(sim.t)) == 1
    assert everything(sim) == before


@given(h=st.floats(1e-6, 10.0), steps=st.integers(0, 10**7), start=st.integers(0, 10**6))
def test_whole_numbers_of_steps_are_recognised(h, steps, start):
    """t_end computed as the user would, (start + steps) h, wherever the simulation stands."""
    sim = Simulation(CRANK, h=h) if h < 1e-2 else SIM
    sim.state.k = start
    assert steps_to(sim, (start + steps) * sim.h) == steps
    sim.state.k = 0


SIM = Simulation(CRANK, h=2e-3)


@given(t_end=st.floats(1e-5, 1e3))
def test_the_nearest_step_named_fits(t_end):
    """Either t_end is a whole number of steps, or the error names an h with which it is one."""
    ratio = t_end / SIM.h
    assume(abs(ratio - round(ratio)) > 1e-6 * max(ratio, 1.0))
    with pytest.raises(InputError, match="no whole number of steps") as refusal:
        steps_to(SIM, t_end)
    h = float(re.search(r"; h = ([0-9.e+-]+) fits", str(refusal.value)).group(1))
    assert abs(t_end / h - round(t_end / h)) < 1e-9 * max(t_end / h, 1.0)
    assert abs(h - SIM.h) <= SIM.h or round(t_end / h) == 1


def test_observers_see_every_step_once():
    class Witness(rtmbs.Observer):
        def __init__(self):
            super().__init__()
            self.seen = []

        def start(self, sim, steps):
            self.seen.append(("start", sim.t, steps))

        def look(self, sim, report):
            assert sim.t == report.t
            self.seen.append(("look", sim.t, report.outcome.accepted))

        def finish(self, sim):
            self.seen.append(("finish", sim.t, None))

    sim, witness = Simulation(CRANK, h=0.25e-2), Witness()
    sim.run(0.01, observers=[witness])
    times = [0.0025, 0.005, 0.0075, 0.01]
    assert witness.seen == [("start", 0.0, 4), *(("look", t, True) for t in times), ("finish", 0.01, None)]


def test_progress_is_a_bar_on_a_terminal_and_silence_in_a_pipe(capsys):
    sim = Simulation(CRANK, h=2e-3)
    sim.run(0.01, progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_run_that_fails_keeps_what_was_recorded():
    recorder, sim = rtmbs.Recorder(), Simulation(CRANK, h=2e-3)
    sim.run(0.01)
    sim.h = 0.3
    with pytest.raises(NotConvergedError):
        sim.run(sim.t + 0.9, observers=[recorder], on_failure="raise")
    assert recorder.count >= 1
    assert recorder.result().t[0] == pytest.approx(0.01)


# ------------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("name", source_names())
def test_every_source_runs_by_name(name):
    sim = Simulation(CRANK, h=2e-3, jacobian=name)
    accepted_steps(sim, 2)
    assert sim._store.options.jacobian == name


def test_penalty_and_alpha():
    """One alpha a block from the dimensionless penalty, or one for all in SI units."""
    scaled, tenfold, fixed = (Simulation(CRANK, h=2e-3, **by_name(**o)) for o in ({}, {"penalty": 1e7}, {"alpha": 1e8}))
    np.testing.assert_allclose(tenfold.state.memory["alpha"], 10.0 * scaled.state.memory["alpha"], rtol=1e-14)
    rotation = CRANK.row_is_rotation
    np.testing.assert_array_equal(fixed.state.memory["alpha"], np.where(rotation, 1e8 * CRANK.length**2, 1e8))
    assert (scaled.method.c, scaled.method.alpha) == (1e6, None)
    assert (fixed.method.c, fixed.method.alpha) == (None, 1e8)
    assert fixed.start_report.penalty is None
    assert "alpha fixed" in str(fixed.start_report)


def test_a_stiffer_penalty_leaves_a_smaller_gap():
    gaps = [
        max(
            r.position_violation
            for r in accepted_steps(Simulation(CRANK, h=2e-3, method=PenaltyTrapezoidal(penalty=c)), 20)
        )
        for c in (1e5, 1e6)
    ]
    assert gaps[0] / gaps[1] == pytest.approx(10.0, rel=0.1)


def test_projections_can_be_switched_off():
    """The canary of METHODS 5: without it the violation is larger by orders of magnitude."""
    clean = accepted_steps(Simulation(CRANK, h=5e-3), 20)[-1]
    rates = accepted_steps(Simulation(CRANK, h=5e-3, method=PenaltyTrapezoidal(project_velocities=False)), 20)[-1]
    accelerations = accepted_steps(
        Simulation(CRANK, h=5e-3, method=PenaltyTrapezoidal(project_accelerations=False)), 20
    )[-1]
    assert rates.velocity_violation > 1e3 * max(clean.velocity_violation, 1e-12)
    assert accelerations.acceleration_violation > 1e3 * max(clean.acceleration_violation, 1e-9)


@pytest.mark.parametrize(("alpha", "most"), [(None, 6), (1e7, 20)])
def test_projections_are_bounded(alpha, most):
    """Three for rates and three for accelerations; ten each with a fixed alpha, which may be weak."""
    sim = Simulation(CRANK, h=5e-3, method=PenaltyTrapezoidal(alpha=alpha))
    assert max(report.projections for report in accepted_steps(sim, 20)) <= most


# --------------------------------------------------------------------------------------------------------- time and h


def test_time_is_a_count():
    sim = Simulation(CRANK, h=1e-3)
    for k in range(1, 8):
        sim.step()
        assert sim.t == k * 1e-3
    assert (sim.state.k, sim.state.t_ref) == (7, 0.0)


def test_a_new_h_goes_on_at_the_same_time():
    sim = Simulation(CRANK, h=2e-3)
    accepted_steps(sim, 5)
    state = sim.state.copy()
    sim.h = 1e-3
    assert sim.t == state.t
    for name in ("z", "zd", "zdd", "lam", "u", "R0"):
        np.testing.assert_array_equal(getattr(sim.state, name), getattr(state, name))
    accepted_steps(sim, 1)
    assert sim.t == state.t + 1e-3
    np.testing.assert_allclose(sim.state.memory["alpha"], 4.0 * state.memory["alpha"], rtol=1e-14)


def test_a_new_h_is_as_good_as_a_simulation_with_it():
    """From the start on, the same numbers bit for bit."""
    one, other = Simulation(CRANK, h=2e-3), Simulation(CRANK, h=7e-4)
    one.h = 7e-4
    accepted_steps(one, 10)
    accepted_steps(other, 10)
    assert contents(one.state) == contents(other.state)


@pytest.mark.parametrize("h", [0.0, -1e-3, math.nan, math.inf, "1e-3", None, 1e-200, 1e200])
def test_a_step_that_is_none_changes_nothing(h):
    sim = Simulation(CRANK, h=2e-3)
    accepted_steps(sim, 2)
    before = everything(sim)
    with pytest.raises(InputError, match="h is"):
        sim.h = h
    assert everything(sim) == before
    assert sim.step().outcome.accepted


def test_order_two_with_halved_steps():
    """The short form of a convergence test: errors fall by four."""
    ends = []
    for h in (8e-3, 4e-3, 2e-3, 1e-3):
        sim = Simulation(CRANK, h=h)
        sim.run(0.4)
        ends.append(np.concatenate((sim.state.z, sim.state.zd)))
    changes = [np.abs(b - a).max() for a, b in itertools.pairwise(ends)]
    for coarse, fine in itertools.pairwise(changes):
        assert 3.4 < coarse / fine < 5.0
