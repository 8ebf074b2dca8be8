"""Components in groups on threads of their own: the motion of the whole, bit for bit the same however threads run."""

import copy
import threading
import time

import numpy as np
import pytest

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import InputError, NotConvergedError, NotFiniteError
from rtmbs.integrators.settings import FIRST_CORRECTION, ITERATIONS, ITERATIONS_TO_TOLERANCE, RESIDUAL_TICKS, STATS_SIZE
from rtmbs.library.force_laws import point_spring
from rtmbs.semirecursive import compiled_steps, groups
from rtmbs.simulation.observers import EnergyMeter, IterationMeter, ViolationMeter
from rtmbs.simulation.options import by_name
from rtmbs.simulation.simulation import thread_groups
from tests.contracts.machines import accepted_steps, beside, contents, difference, everything
from tests.contracts.test_steps import STEP, cart_model
from tests.patience import LONGEST
from tests.simulation.interrupted import interrupted
from tests.simulation.test_running import ByHand, hold_together
from tests.system.parts import pair

H = 1e-3
SEEDS = [(0, 5), (2, 6), (7, 8), (9, 11)]


def linkages(*names):
    return beside(*(library.build(name) for name in names)).compile()


@pytest.fixture(scope="module")
def system():
    """Two linkages and a spinning top."""
    return linkages("crank_rocker", "bricard", "top")


@pytest.fixture(scope="module")
def frames():
    return library.build("fourbar", ny=2, nz=3, layout="parallel").compile()


def same_motion(system, steps, tolerance=1e-8, **options):
    """Run on one thread and on two; return the second Simulation.

    Multipliers of redundant closures are rounding of Phi times alpha: they agree to fewer digits.
    """
    one, two = (Simulation(system, **by_name(**{"h": H, **options, "threads": threads})) for threads in (1, 2))
    assert len(thread_groups(one)) == 1
    assert len(thread_groups(two)) == 2
    for sim in (one, two):
        sim.run(sim.t + steps * sim.h)
    assert one.state.t == two.state.t
    assert difference(one.state, two.state) < 1e4 * tolerance
    two.state.lam[:] = one.state.lam
    assert difference(one.state, two.state) < tolerance
    return two


# -------------------------------------------------------------------------------------------------------- same motion


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_mechanisms_side_by_side(seeds):
    """Every joint, closure and force, with laws of the user: to the tolerance of Newton's iteration."""
    system = pair(seeds, driven=False, timed=False).compile()
    assert not system.signals
    same_motion(system, 20)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"projection_metric": "mass"},
        {"alpha": 1e8},
        {"refactor": "every-iteration", "tangent_terms": "exact"},
        {"tangent_terms": "lagged"},
        {"fixed_iterations": True, "max_iterations": 3},
    ],
    ids=str,
)
def test_options(system, options):
    same_motion(system, 100, **options)


def test_rotations_are_committed():
    sim = same_motion(linkages("crank_rocker", "top", "top"), 250, 1e-6, h=5e-3)
    assert not np.array_equal(sim.state.R0, sim.system.R0)


def test_chunks_and_single_steps_have_the_same_bytes(system):
    hold_together(lambda: Simulation(system, h=H, threads=3), 60)


def test_a_frame_beside_others_moves_as_alone(frames):
    """Bit for bit: nothing of the others reaches it."""
    sim = Simulation(frames, h=5e-3, threads=3)
    alone = Simulation(library.build("fourbar", ny=2, nz=1, layout="parallel").compile(), h=5e-3)
    start, n, m = alone.state.copy(), alone.system.n, alone.system.m
    for name, size in (("z", n), ("zd", n), ("zdd", n), ("lam", m)):
        getattr(start, name)[:] = getattr(sim.state, name)[:size]
    start.memory["alpha"][:] = sim.state.memory["alpha"][:m]
    alone.restore(start)
    sim._store.work.settings = sim._store.work.settings._replace(reuse_below=alone._store.work.settings.reuse_below)
    sim.run(1.0), alone.run(1.0)
    for name, size in (("z", n), ("zd", n), ("zdd", n), ("lam", m)):
        np.testing.assert_array_equal(getattr(sim.state, name)[:size], getattr(alone.state, name))


def test_frames_keep_their_bytes_when_others_are_dealt_out_differently(frames):
    two, three = Simulation(frames, h=5e-3, threads=2), Simulation(frames, h=5e-3, threads=3)
    shared = [group for group in thread_groups(two) if group in thread_groups(three)]
    assert shared
    two.run(0.5), three.run(0.5)
    for group in shared:
        i = [frames.coordinate_names.index(name) for name in group]
        np.testing.assert_array_equal(two.state.z[i], three.state.z[i])


@pytest.mark.parametrize("longest", [0.0, 2e-4, 10.0])
def test_the_pace_of_threads_decides_nothing(system, monkeypatch, longest):
    """Calls that end anywhere, and threads that dawdle: the same bytes."""
    reference = Simulation(system, h=H, threads=2)
    reference.run(0.1)
    monkeypatch.setattr(compiled_steps, "LONGEST_CALL", longest)
    plain, calls = groups.Group.advance, []

    def dawdling(self, *arguments):
        calls.append(threading.current_thread())
        time.sleep(0.002 * (len(calls) % 3))
        return plain(self, *arguments)

    monkeypatch.setattr(groups.Group, "advance", dawdling)
    sim = Simulation(system, h=H, threads=2)
    sim.run(0.1)
    assert everything(sim) == everything(reference)
    assert threading.main_thread() in calls
    assert len(set(calls)) > 1, "one of the groups runs on another thread"


def test_groups_of_one_thread_are_the_whole(system, frames):
    """What hangs together, and what asks Python in every step, stays as it is."""
    stacked = library.build("fourbar", ny=2, nz=3).compile()
    one, two = Simulation(stacked, h=H), Simulation(stacked, h=H, threads=2)
    assert thread_groups(one) == thread_groups(two) == (tuple(stacked.coordinate_names),)
    one.run(0.1), two.run(0.1)
    assert everything(one) == everything(two)
    for options in ({"jacobian": "trace"}, {"fused": False}):
        assert len(thread_groups(Simulation(frames, h=H, threads=2, **by_name(**options)))) == 1
    timed = linkages("driven_fourbar", "pendulum")
    assert timed.signals
    assert len(thread_groups(Simulation(timed, h=H, threads=2))) == 1


# -------------------------------------------------------------------------------------------------------------- stats


def test_observers_see_one_mechanism(system):
    def watch(threads, *more):
        sim = Simulation(system, h=H, threads=threads)
        meters = [EnergyMeter(), ViolationMeter(), IterationMeter()]
        result = sim.run(0.05, observers=[*meters, *more])
        return result, [meter.summary() for meter in meters]

    (one, _), (two, seen), (_, by_hand) = watch(1), watch(2), watch(2, ByHand())
    for a, b in zip(seen, by_hand, strict=True):
        assert a == pytest.approx(b, rel=1e-12)
    assert one.outcomes == two.outcomes == {"CONVERGED": 50}
    np.testing.assert_allclose(one["0 crank.position"], two["0 crank.position"], atol=1e-10)
    np.testing.assert_allclose(one["0 crank_pivot.reaction"], two["0 crank_pivot.reaction"], atol=1e-3)


def test_stats_are_those_of_the_worst_group():
    stats = np.zeros((2, 3, STATS_SIZE))
    stats[:, :, ITERATIONS] = [[2, 3, 2], [4, 1, 2]]
    stats[:, :, ITERATIONS_TO_TOLERANCE] = [[2, 0, 2], [3, 1, 2]]
    stats[:, :, FIRST_CORRECTION] = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]]
    stats[:, :, RESIDUAL_TICKS] = [[5, 6, 7], [1, 2, 9]]
    together, in_turn = groups.combined(stats, True), groups.combined(stats, False)
    assert together[:, ITERATIONS].tolist() == [4, 3, 2]
    assert together[:, ITERATIONS_TO_TOLERANCE].tolist() == [3, 0, 2]
    assert together[:, FIRST_CORRECTION].tolist() == [0.3, 0.2, 0.3]
    assert together[:, RESIDUAL_TICKS].tolist() == [5, 6, 9]
    assert in_turn[:, RESIDUAL_TICKS].tolist() == [6, 8, 16]
    np.testing.assert_array_equal(np.delete(together, RESIDUAL_TICKS, 1), np.delete(in_turn, RESIDUAL_TICKS, 1))


def test_a_step_that_one_group_does_not_finish_is_unfinished(system):
    sim = Simulation(system, h=5e-3, threads=3, method=PenaltyTrapezoidal(max_iterations=1, fixed_iterations=True))
    assert sim.step().outcome is Outcome.UNFINISHED
    assert sim.run(0.055).outcomes == {"UNFINISHED": 10}


# ----------------------------------------------------------------------------------------------------------- failures


def failing(**options):
    """A crank-rocker that meets a step it cannot do, beside a calm pendulum."""
    model = beside(library.build("pendulum"), library.build("crank_rocker", rate=40.0))
    return Simulation(model.compile(), h=2e-2, **by_name(max_iterations=5, **options))


def test_a_group_that_fails_on_the_way_ends_the_run_as_ever():
    by_hand, sim, taken = failing(threads=2), failing(threads=2), 0
    while (report := by_hand.step()).outcome.accepted:
        taken += 1
    with pytest.raises(NotConvergedError) as caught:
        sim.run(10.0, on_failure="raise")
    assert taken > 0
    assert caught.value.step == taken + 1
    assert caught.value.residuals == report.corrections
    assert "1 " in str(caught.value), "names what is at fault"
    assert everything(sim) == everything(by_hand)


def test_halving_gives_the_same_bytes_in_chunks_and_by_hand():
    rows, single = failing(threads=2), failing(threads=2)
    results = [sim.run(0.4, on_failure="halve", observers=more) for sim, more in ((rows, []), (single, [ByHand()]))]
    assert everything(rows) == everything(single)
    assert results[0].t.tobytes() == results[1].t.tobytes()


def test_a_pivot_that_is_too_small_in_one_group():
    """That step is the dense one of the whole mechanism, by hand and in a run."""
    system = beside(cart_model(), library.build("pendulum")).compile()
    one, two, rows = (Simulation(system, h=STEP, threads=threads) for threads in (1, 2, 2))
    assert len(thread_groups(two)) == 2
    reports = [sim.step() for sim in (one, two)]
    assert all(report.dense and report.outcome is Outcome.CONVERGED for report in reports)
    assert rows.run(STEP).outcomes == {"CONVERGED": 1}
    assert everything(one) == everything(two) == everything(rows)


def test_numbers_that_are_not_finite_are_named(system):
    sim = Simulation(system, h=H, threads=2)
    sim.state.u[:] = np.nan
    with pytest.raises(NotFiniteError, match="gravity"):
        sim.run(0.1)


def workers():
    """Return the threads that hold up the end of the program; the monitor of progress bars does not."""
    return {thread for thread in threading.enumerate() if not thread.daemon}


def test_an_interrupt_ends_at_a_whole_step_and_leaves_no_thread(system):
    sim, reference = Simulation(system, h=H, threads=2), Simulation(system, h=H, threads=2)
    threads = workers()
    with interrupted(0.3):
        sim.run(sim.t + 10_000_000 * sim.h)
    end = time.monotonic() + LONGEST
    while workers() > threads and time.monotonic() < end:
        time.sleep(1e-3)  # interrupted while it waited for the other thread, which ends its call
    assert workers() == threads
    reference.run(sim.state.k * reference.h)
    assert everything(sim) == everything(reference)
    sim.run(sim.t + 5 * H), reference.run(reference.t + 5 * H)
    assert everything(sim) == everything(reference)


def test_a_fault_in_a_thread_comes_out(system, monkeypatch):
    plain = groups.Group.advance

    def faulty(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("in a thread")
        return plain(self, *arguments)

    sim = Simulation(system, h=H, threads=2)
    before = everything(sim)
    monkeypatch.setattr(groups.Group, "advance", faulty)
    with pytest.raises(MemoryError, match="in a thread"):
        sim.run(0.01)
    assert everything(sim) == before
    monkeypatch.undo()
    sim.run(0.01)


# ------------------------------------------------------------------------------------------- changes between two runs


def test_groups_follow_every_change(system):
    """h, options, inputs, a restored state, a copy: as in a Simulation that was made with them."""
    sim, other = Simulation(system, h=H, threads=2), Simulation(system, h=2e-3, threads=1)
    sim.run(0.01)
    copied = copy.deepcopy(sim)
    for one in (sim, copied):
        one.h = 2e-3
        one.change(penalty=1e5, tol=1e-8)
        one.inputs["gravity"] = (0.0, 1.0, -9.0)
    other.change(penalty=1e5, tol=1e-8, threads=2)
    other.restore(sim.state)
    for one in (sim, copied, other):
        one.run(one.t + 0.04)
    assert everything(sim) == everything(copied) == everything(other)
    sim.change(threads=1)
    assert len(thread_groups(sim)) == 1
    assert contents(sim.state) == contents(other.state)
    sim.change(threads=64)
    assert len(thread_groups(sim)) == 3, "no more than there are components"


def test_a_hand_that_takes_hold_elsewhere():
    """The law moves from one group to the other."""
    model = beside(library.build("crank_rocker"), library.build("pendulum"))
    bodies = [name for name in model.bodies if name != "ground"]
    parameters = {"target": (0.3, 0.2, 0.1), "stiffness": 20.0, "damping": 1.0, "limit": 50.0}
    model.add_force("hand", point_spring, body=bodies[0], parameters=parameters)
    system = model.compile()
    sims = [Simulation(system, h=H, threads=threads) for threads in (1, 2)]
    for body in (bodies[-1], bodies[1]):
        for sim in sims:
            sim.run(sim.t + 0.05)
            sim.attach("hand", body, (0.0, 0.1, 0.0))
            sim.run(sim.t + 0.05)
        assert difference(sims[0].state, sims[1].state) < 1e-8
    assert len(thread_groups(sims[1])) == 2


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, None, 10**6, float("nan")])
def test_bad_numbers_of_threads(system, threads):
    with pytest.raises(InputError, match=r"threads is .*; it must be a whole number from 1 to 256"):
        Simulation(system, h=H, threads=threads)
    sim = Simulation(system, h=H)
    with pytest.raises(rtmbs.RtmbsError, match="threads is"):
        sim.change(threads=threads)
    assert sim._store.options.threads == 1


def test_one_thread_is_the_default(system):
    sim = Simulation(system, h=H)
    assert sim._store.options.threads == 1
    assert thread_groups(sim) == (tuple(system.coordinate_names),)
    assert sorted(sum(thread_groups(Simulation(system, h=H, threads=2)), ())) == sorted(system.coordinate_names)
    assert accepted_steps(sim, 1)
