"""Recorder and meters on a running linkage; watching changes nothing."""

from collections import Counter

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.errors import InputError
from rtmbs.simulation.observers import (
    EnergyMeter,
    Every,
    EveryStep,
    IterationMeter,
    Observer,
    Recorder,
    StepTimeMeter,
    ViolationMeter,
)
from rtmbs.state import State

H = 2e-3
FIELDS = ("z", "zd", "zdd", "lam", "R0", "u")


def simulation(name="crank_rocker", h=H, **options):
    return rtmbs.Simulation(library.build(name, **options).compile(), h=h)


def all_observers():
    return [Recorder(Every(0.01)), EnergyMeter(), IterationMeter(), StepTimeMeter(), ViolationMeter()]


def contents(state: State):
    """Return every byte of a state."""
    names = ("t_ref", "k", "h", "z", "zd", "zdd", "lam", "R0", "u", "s", "sd")
    values = [*(getattr(state, name) for name in names), *state.memory.values()]
    return b"".join(np.asarray(value).tobytes() for value in values)


@pytest.mark.parametrize("name", ["crank_rocker", "driven_fourbar", "top", "governor"])
def test_watching_changes_nothing(name):
    """Run, step by hand, watched or not, asked for results and reactions on the way: the same bytes."""
    plain, run, stepped = (simulation(name) for _ in range(3))
    for _ in range(50):
        plain.step()
    run.run(50 * H, observers=all_observers())
    watching = all_observers()
    for observer in watching:
        observer.begin(stepped)
    for _ in range(50):
        report = stepped.step()
        for observer in watching:
            observer.observe(stepped, report)
        for joint in stepped.system.joints:
            stepped.reaction(joint)
        watching[0].result()["energy.total"]
    for observer in watching:
        observer.end(stepped)
    assert contents(run.state) == contents(plain.state)
    assert contents(stepped.state) == contents(plain.state)
    assert (
        run.equations.tables.closures.assembly_offset.tobytes()
        == plain.equations.tables.closures.assembly_offset.tobytes()
    )


def test_a_recorder_keeps_the_initial_state_and_every_step():
    sim = simulation()
    expected = [sim.state.copy()]
    recorder = Recorder()
    recorder.begin(sim, 20)
    for _ in range(20):
        recorder.observe(sim, sim.step())
        expected.append(sim.state.copy())
    samples = recorder.samples
    np.testing.assert_array_equal(samples.t, [state.t for state in expected])
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(samples, name), [getattr(state, name) for state in expected])
    assert recorder.outcomes == {"CONVERGED": 20}
    assert len(recorder._samples.t) == 21  # allocated once, to size


def test_a_recorder_grows_when_nobody_knows_how_many_steps_come():
    sim, recorder = simulation("pendulum"), Recorder()
    recorder.begin(sim)
    early = recorder.samples
    for _ in range(600):
        recorder.observe(sim, sim.step())
    np.testing.assert_allclose(recorder.samples.t, H * np.arange(601), rtol=1e-12)
    np.testing.assert_array_equal(recorder.samples.z[-1], sim.state.z)
    assert len(early.t) == 1
    result = recorder.result()
    np.testing.assert_array_equal(result["pivot.angle"], recorder.samples.z[:, 0])
    assert result.outcomes == {"CONVERGED": 600}


def test_a_recorder_with_a_schedule_keeps_what_is_due():
    sim, recorder = simulation("pendulum"), Recorder(Every(0.1))
    whole = sim.run(0.5, observers=[recorder])
    some = recorder.result()
    np.testing.assert_allclose(some.t, 0.1 * np.arange(6), atol=1e-12)
    np.testing.assert_array_equal(some["P.velocity"], whole["P.velocity"][::50])
    assert some.outcomes == {"CONVERGED": 250}


def test_a_recorder_may_watch_a_second_run():
    sim, recorder = simulation("pendulum"), Recorder()
    sim.run(0.1, observers=[recorder])
    first = recorder.result()
    sim.run(0.3, observers=[recorder])
    second = recorder.result()
    assert (len(first), len(second)) == (51, 101)
    assert first.t[-1] == second.t[0] == pytest.approx(0.1)
    np.testing.assert_array_equal(first["P.position"][-1], second["P.position"][0])


def test_a_recorder_that_saw_nothing_says_so():
    with pytest.raises(RuntimeError, match="watched nothing yet"):
        Recorder().result()


def test_inputs_are_recorded_as_they_were():
    model = rtmbs.Model("motor", gravity=(0, 0, 0))
    model.add_body("wheel", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "wheel")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.5)), joint="axle")
    sim, recorder = rtmbs.Simulation(model.compile(), h=0.1), Recorder()
    recorder.begin(sim)
    for torque in (1.0, 2.0, 4.0):
        sim.inputs["motor.torque"] = torque
        recorder.observe(sim, sim.step())
    result = recorder.result()
    np.testing.assert_array_equal(result["motor.torque"][1:], (1.0, 2.0, 4.0))
    np.testing.assert_allclose(result["axle.acceleration"][1:], (1.0, 2.0, 4.0), rtol=1e-9)
    np.testing.assert_allclose(result["axle.reaction"][1:, 5], (1.0, 2.0, 4.0), rtol=1e-9)


def test_energy_meter():
    sim, meter = simulation("pendulum", angle=1.0), EnergyMeter()
    result = sim.run(1.5, observers=[meter])
    total = result["energy.total"]
    assert meter.initial == pytest.approx(-9.81 * np.cos(1.0), rel=1e-12)
    assert meter.error == np.abs(total - total[0]).max()
    assert meter.latest == total[-1]
    assert meter.exchanged == pytest.approx(9.81 * (1 - np.cos(1.0)), rel=1e-3)
    assert meter.error < 1e-4 * meter.exchanged
    assert "error_J" in str(meter)


def test_violation_and_iteration_meters_sum_up_the_reports():
    sim, violations, iterations = simulation(), ViolationMeter(), IterationMeter()
    reports = []

    class Keep(Observer):
        def look(self, sim, report):
            reports.append(report)

    result = sim.run(0.1, observers=[violations, iterations, Keep()])
    for name, value in violations.summary().items():
        assert value == max(getattr(report, name) for report in reports)
    assert violations.largest["position_violation"] > 0.0
    assert violations.largest["position_violation"] >= np.abs(result["knee.violation"][1:, :3]).max()
    summary = iterations.summary()
    assert summary["steps"] == 50
    for name in ("iterations", "jacobians", "factorisations", "projections"):
        assert summary[name] == sum(getattr(report, name) for report in reports)
    assert summary["most"] == max(report.iterations for report in reports)
    assert summary["mean"] == summary["iterations"] / 50
    assert iterations.iterations_to_tolerance == Counter(report.iterations_to_tolerance for report in reports)

    counted = IterationMeter()
    simulation().run(0.1, observers=[counted])  # in rows: nobody asks for a look after every step
    assert (counted.summary(), counted.iterations_to_tolerance) == (summary, iterations.iterations_to_tolerance)


def test_step_time_meter():
    sim, meter = simulation("pendulum"), StepTimeMeter()
    sim.run(0.2, observers=[meter])
    assert meter.seconds.shape == (100,)
    summary = meter.summary()
    assert 0.0 < summary["p50_us"] <= summary["p99_us"] <= summary["max_us"]
    assert summary["total_s"] == pytest.approx(meter.seconds.sum())
    assert set(meter.phases) == {"residual", "tangent", "factor", "solve", "projection"}
    assert sum(meter.phases.values()) < summary["total_s"]
    assert StepTimeMeter().summary()["max_us"] == 0.0


def test_meters_begin_anew_with_every_run():
    sim = simulation("pendulum")
    meters = all_observers()[1:]
    sim.run(0.2, observers=meters)
    sim.run(0.3, observers=meters)
    energy, iterations, times, _ = meters
    assert iterations.steps == len(times.seconds) == 50
    assert energy.initial != pytest.approx(0.0, abs=1e-15)


def test_observers_are_told_of_begin_and_end():
    calls = []

    class Tell(Observer):
        def start(self, sim, steps):
            calls.append(("start", steps, sim.state.t))

        def look(self, sim, report):
            calls.append(("look", report.outcome.name, round(sim.state.t, 9)))

        def finish(self, sim):
            calls.append(("finish", sim.state.t))

    simulation("pendulum", h=0.01).run(0.03, observers=[Tell(Every(0.02))])
    assert calls == [("start", 3, 0.0), ("look", "CONVERGED", 0.02), ("finish", 0.03)]


def test_what_was_recorded_before_a_failure_is_kept():
    def torque(t):
        return 1.0 if t < 0.05 else np.nan

    model = library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(torque), joint="pivot")
    sim, recorder = rtmbs.Simulation(model.compile(), h=0.01), Recorder()
    with pytest.raises((rtmbs.RtmbsError, ValueError)):
        sim.run(1.0, observers=[recorder])
    assert len(recorder.result()) == 5
    assert np.isfinite(recorder.result()["P.position"]).all()


def test_a_record_that_does_not_fit_is_refused_with_the_way_out(monkeypatch):
    sim = Simulation(library.build("top").compile(), h=1e-3)
    before = sim.state.copy()
    with pytest.raises(InputError, match=r"TB, and this machine has .*record=Every\(0.1\)"):
        sim.run(1e9)
    assert (sim.state.k, sim.state.z.tobytes()) == (0, before.z.tobytes())
    result = sim.run(1.0, record=Every(0.1))
    np.testing.assert_allclose(result.t, np.linspace(0.0, 1.0, 11), atol=1e-12)
    with pytest.raises(InputError, match=r"record is 0\.1; it must be a schedule such as"):
        sim.run(2.0, record=0.1)
    monkeypatch.setattr("rtmbs.simulation.observers.recorder.machine_memory", lambda: 1e5)
    with pytest.raises(InputError, match="record of 1001 samples takes"):
        sim.run(2.0)
    sim.run(2.0, record=Every(0.1))


@pytest.mark.parametrize(("schedule", "wanted"), [(EveryStep(), 100), (Every(0.05), 21), (Every(1e-9), 100)])
def test_a_schedule_knows_how_many_samples_there_may_be(schedule, wanted):
    assert schedule.samples(100, 0.01) == wanted
