"""Runs whose steps follow a tolerance: errors kept, dense output, jumps, logs, and what is refused."""

import math

import numpy as np
import pytest

import rtmbs
from bench.measures.refined import maxwell
from rtmbs import At, AtRate, Every, PenaltyTrapezoidal, RungeKutta, Simulation, library, refined
from rtmbs.errors import InputError
from rtmbs.system.tables import ROTATION
from tests.simulation.falling import falling

TIMES = 10


def pendulum(**options):
    return Simulation(library.build("pendulum").compile(), 5e-3, **options)


@pytest.mark.parametrize("name", ["pendulum", "top", "crank_rocker", "planar_slider_crank", "fourbar"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_the_error_stays_below_ten_tolerances(name, tolerance):
    system = library.build(name).compile()
    exact = refined(system, 1e-3, 0.4, runs=3)
    result = Simulation(system, 5e-3).run(0.4, tolerance=tolerance, record=Every(0.04))
    assert np.allclose(result.t, exact.t[::40], rtol=0, atol=1e-12)
    ends = ("angle", "orientation")
    for channel in [one for one in exact.names() if one.split(".")[-1] in ends]:
        assert np.abs(result[channel] - exact[channel][::40]).max() < 10.0 * tolerance, channel
    assert result.steps.steps > 10
    assert set(result.outcomes) <= {"CONVERGED"}


def test_a_smaller_tolerance_takes_more_steps_and_gives_less_error():
    exact = refined(library.build("pendulum").compile(), 2e-3, 0.4, runs=3)
    errors, steps = [], []
    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
        result = pendulum().run(0.4, tolerance=tolerance)
        names = [name for name in exact.names() if name.endswith(".angle")]
        errors.append(max(abs(result[name][-1] - exact[name][-1]) for name in names))
        steps.append(result.steps.steps)
    slope = np.polyfit(np.log10([1e-3, 1e-4, 1e-5, 1e-6]), np.log10(errors), 1)[0]
    assert 0.75 < slope < 1.25
    assert np.polyfit(np.log10(errors), np.log10(steps), 1)[0] == pytest.approx(-0.5, abs=0.1)


def test_the_run_ends_at_its_end_and_the_step_stays():
    sim = pendulum()
    result = sim.run(0.123456789, tolerance=1e-4)
    assert sim.t == 0.123456789
    assert result.t[-1] == sim.t
    assert sim.h == 5e-3
    assert sim.method == PenaltyTrapezoidal()
    assert result["t"][0] == 0.0
    after = sim.run(sim.t + 0.05)
    assert len(after) == 11
    again = sim.run(sim.t + 0.1, tolerance=1e-4)
    assert again.t[0] == after.t[-1]


def test_the_log_tells_every_try():
    result = pendulum().run(0.5, tolerance=1e-6)
    log = result.steps
    taken = log.taken
    assert np.allclose(np.cumsum(log.h[taken]), result.t[1:], rtol=0, atol=1e-12)
    assert np.all(log.error[taken] <= 1.0)
    assert np.all(~(log.error[~taken] <= 1.0))
    assert log.refused >= 1
    assert str(log.steps) in str(log)
    assert str(log.refused) in str(log)


def test_penalties_follow_the_step():
    system = library.build("crank_rocker").compile()
    seen = []

    class Look(rtmbs.Observer):
        def look(self, sim, report):
            state = sim.state
            seen.append(float(np.max(state.memory["alpha"])) * state.h**2)

    Simulation(system, 5e-3).run(0.05, tolerance=1e-4, observers=[Look()])
    assert np.ptp(seen) < 1e-9 * seen[0]


def test_observers_see_the_steps_that_were_taken_in_chunks_and_one_by_one():
    class Times(rtmbs.Observer):
        def start(self, sim, steps):
            self.t = [sim.state.t]

        def look(self, sim, report):
            assert report.t == pytest.approx(sim.state.t, abs=1e-15)
            self.t.append(sim.state.t)

    times, meter = Times(), rtmbs.EnergyMeter()
    one = pendulum().run(0.3, tolerance=1e-5, observers=[times, meter])
    assert np.array_equal(times.t, one.t)
    chunks = rtmbs.EnergyMeter()
    other = pendulum().run(0.3, tolerance=1e-5, observers=[chunks])
    assert one["t"].tobytes() == other["t"].tobytes()
    assert chunks.summary() == pytest.approx(meter.summary(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["pendulum", "top", "crank_rocker"])
def test_dense_output_is_as_good_as_the_steps(name):
    system = library.build(name).compile()
    times = np.sort(np.random.default_rng(5).uniform(0.0, 0.2, 30))
    steps = Simulation(system, 5e-3).run(0.2, tolerance=1e-5)
    dense = Simulation(system, 5e-3).run(0.2, tolerance=1e-5, record=At(times))
    assert np.array_equal(dense.t[1:], times)
    exact = refined(system, 1e-4, 0.2, runs=2)
    for channel in exact.names():
        what = channel.split(".")[-1]
        if what in ("angle", "orientation", "rate", "acceleration") and len(exact[channel]):
            size = max(float(np.abs(exact[channel]).max()), 1.0)
            at = np.searchsorted(exact.t, times)
            share = ((times - exact.t[at - 1]) / 1e-4).reshape(-1, *[1] * (exact[channel].ndim - 1))
            line = (1.0 - share) * exact[channel][at - 1] + share * exact[channel][at]
            own = max(float(np.abs(steps[channel][-1] - exact[channel][-1]).max()), 1e-6 * size)
            assert np.abs(dense[channel][1:] - line).max() < 30.0 * own + 1e-5 * size, channel


def jumping(t):
    return 30.0 if t < 0.1234567 else -5.0


class Declared:
    jumps = (0.1234567,)

    def __call__(self, t):
        return 30.0 if t <= 0.1234567 else -5.0


@pytest.mark.parametrize("value", [jumping, Declared()], ids=["watched", "declared"])
def test_no_step_goes_over_a_jump(value):
    sim = falling(value)
    result = sim.run(0.3, tolerance=1e-7)
    jump, a, b = 0.1234567, 5.0, -12.5
    inside = (result.t[:-1] < jump - 1e-9) & (result.t[1:] > jump + 1e-9)
    assert not inside.any()
    left = 0.3 - jump
    exact = 1.0 + 0.5 * a * jump**2 + a * jump * left + 0.5 * b * left**2
    assert result["rail.displacement"][-1] == pytest.approx(exact, abs=1e-10)
    assert sim.state.zdd[0] == pytest.approx(b, abs=1e-9)


def test_force_states_and_accelerations_are_continued():
    system = maxwell().compile()
    exact = refined(system, 5e-4, 0.4, runs=3)
    result = Simulation(system, 5e-3).run(0.4, tolerance=1e-6, record=Every(0.1))
    way = next(name for name in exact.names() if name.endswith(".way"))
    assert np.abs(result[way] - exact[way][::200]).max() < 1e-5
    assert np.abs(result["rail.acceleration"] - exact["rail.acceleration"][::200]).max() < 1e-2


def test_an_interrupted_run_carries_what_it_has():
    class Interrupt(rtmbs.Observer):
        def look(self, sim, report):
            if sim.t > 0.1:
                raise KeyboardInterrupt

    sim = pendulum()
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run(0.5, tolerance=1e-4, observers=[Interrupt()])
    assert len(caught.value.result) > 1
    assert sim.h == 5e-3
    assert sim.method.hold_energy
    sim.run(sim.t + 0.05)


def test_an_ordinary_result(tmp_path):
    result = pendulum().run(0.1, tolerance=1e-5, record=Every(0.01))
    plain = pendulum().run(0.1)
    assert isinstance(result, rtmbs.Result)
    assert result.names() == plain.names()
    result.save(tmp_path / "run.npz")
    read = rtmbs.load_result(tmp_path / "run.npz")
    assert all(np.array_equal(read[name], result[name]) for name in result.names())


def test_no_motion_takes_long_steps():
    model = rtmbs.Model("still", gravity=(0.0, 0.0, 0.0))
    model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "mass")
    result = Simulation(model.compile(), 1e-3).run(1.0, tolerance=1e-6)
    assert result.steps.steps < 100
    assert np.all(result["rail.displacement"] == 0.0)


BAD = (
    ({"tolerance": 0.0}, "tolerance is 0.0; it must be a positive number"),
    ({"tolerance": -1e-6}, "tolerance is -1e-06; it must be a positive number"),
    ({"tolerance": math.nan}, "tolerance is nan; it must be a positive number"),
    ({"tolerance": math.inf}, "tolerance is inf; it must be a positive number"),
    ({"tolerance": "small"}, "tolerance is 'small'; it must be a positive number"),
    ({"tolerance": True}, "tolerance is True; it must be a positive number"),
    ({"tolerance": 1e-14}, "tolerance is 1e-14, below the rounding"),
    ({"tolerance": 2.0}, "tolerance is 2, of no use as an error"),
    ({"tolerance": 1e-6, "record": AtRate(10.0)}, r"with a tolerance it must be Every\(dt\), At\(times\)"),
    ({"t_end": 0.0}, "t_end = 0.0 does not lie behind the present t = 0.05 s"),
    ({"t_end": math.nan}, "t_end is nan; it must be a time in seconds"),
    ({"when": 3.0}, "when is 3.0; it must be a function of the state"),
    ({"when": [lambda s: 1.0, "stop"]}, "when is 'stop'; it must be a function of the state"),
    ({"observers": [3]}, "observers hold 3"),
)


@pytest.mark.parametrize(("wrong", "sentence"), BAD, ids=[str(sorted(case[0])) + case[1][:12] for case in BAD])
def test_bad_input_gets_one_sentence_and_changes_nothing(wrong, sentence):
    sim = pendulum()
    sim.run(0.05)
    before = sim.state.copy()
    options = {"t_end": 0.1, "tolerance": 1e-5, **wrong}
    with pytest.raises(InputError, match=sentence):
        sim.run(**options)
    after = sim.state
    assert (after.t_ref, after.k, after.h) == (before.t_ref, before.k, before.h)
    assert after.motion() == before.motion()
    assert after.zdd.tobytes() == before.zdd.tobytes()


def test_another_method_is_refused_by_what_it_lacks():
    sim = pendulum(method=RungeKutta())
    with pytest.raises(InputError, match=r"tolerance of a run; RungeKutta does not: take PenaltyTrapezoidal"):
        sim.run(0.1, tolerance=1e-5)


@pytest.mark.parametrize("times", [["now"], [0.2, 0.1], [math.nan], 3.0, [0.1, 0.1]])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(InputError, match="times is"):
        At(times)


def test_given_times_in_a_run_of_equal_steps():
    result = pendulum().run(0.1, record=At([0.011, 0.05, 0.099]))
    assert result.t.tolist() == pytest.approx([0.0, 0.015, 0.05, 0.1])


def test_rotations_of_random_spins_between_steps():
    system = library.build("top").compile()
    sim = Simulation(system, 5e-3)
    sim.run(0.1, tolerance=1e-4)
    assert np.all(sim.state.z[system.tables.dofs.kind == ROTATION] == 0.0)
    R = sim.state.R0
    assert np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max() < 1e-14


def test_a_singular_pose_is_passed_and_told():
    """The flat pose of the windows: rates off their loops come back by what no smaller step makes smaller."""
    system = library.build("windows").compile()
    result = Simulation(system, 5e-3).run(1.0, tolerance=1e-4)
    exact = refined(system, 2e-3, 1.0, runs=3)
    for channel in [name for name in exact.names() if name.endswith(".angle")]:
        assert abs(result[channel][-1] - exact[channel][-1]) < 1e-3
    unjudged = result.warnings.get("off their loops: a smaller step had no smaller error, halves of it agreed", 0)
    assert sum(result.outcomes.values()) == result.steps.steps
    assert sum(count for name, count in result.outcomes.items() if name != "CONVERGED") >= unjudged


def test_a_failing_function_of_time_leaves_the_steps_before():
    def failing(t):
        if t > 0.2:
            raise ValueError("no such time")
        return 1.0

    sim = falling(failing)
    before = sim.state.copy()
    with pytest.raises(ValueError, match="no such time"):
        sim.run(0.4, tolerance=1e-5)
    assert sim.state.motion() == before.motion()


def test_a_run_ends_and_begins_at_a_jump():
    sim = falling(Declared())
    sim.run(0.1234567, tolerance=1e-6)
    assert sim.t == 0.1234567
    sim.run(0.3, tolerance=1e-7)
    jump, left = 0.1234567, 0.3 - 0.1234567
    assert sim.state.z[0] == pytest.approx(1.0 + 2.5 * jump**2 + 5.0 * jump * left - 6.25 * left**2, abs=1e-9)


def test_the_progress_bar_changes_nothing():
    one, other = (pendulum().run(0.2, tolerance=1e-4, progress=progress) for progress in (False, True))
    assert all(one[name].tobytes() == other[name].tobytes() for name in one.names())


def test_a_sample_at_the_end_is_never_lost():
    """The last step may end a rounding before the end of the run."""
    system = rtmbs.library.build("pendulum").compile()
    for end in np.random.default_rng(0).uniform(0.01, 0.3, 40).tolist():
        times = np.linspace(0.0, end, 9)
        result = rtmbs.Simulation(system, h=1e-3).run(end, tolerance=1e-3, record=rtmbs.At(times[1:]))
        np.testing.assert_array_equal(result.t, times)
