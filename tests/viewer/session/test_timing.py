"""Statistics of steps, the frame in shared memory, and commands that came together."""

import queue
import threading
import time

import numpy as np
import pytest

from rtmbs import Simulation
from rtmbs.viewer.scene.frame import STEPS, SharedFrames
from rtmbs.viewer.session.commands import (
    MoveGrab,
    Pause,
    Play,
    Rebuild,
    Reload,
    Reset,
    SetInput,
    StepForward,
    coalesced,
)
from rtmbs.viewer.session.origin import FromModel
from rtmbs.viewer.session.session import Session
from rtmbs.viewer.session.snapshot import Ring, Timing, percentiles
from rtmbs.viewer.session.worker import ManualConnection, Worker
from tests.patience import LONGEST
from tests.viewer.mechanisms import motored
from tests.viewer.outlets import Silent


class Clock:
    """Wall time that the test moves."""

    now = 5.0

    def __call__(self):
        return self.now


def test_a_ring_keeps_the_last():
    ring = Ring(4)
    assert np.all(np.isnan(ring.ordered()))
    assert len(ring.known()) == 0
    for value in range(3):
        ring.add(value)
    np.testing.assert_array_equal(ring.ordered(), [np.nan, 0, 1, 2])
    for value in range(3, 10):
        ring.add(value)
    np.testing.assert_array_equal(ring.ordered(), [6, 7, 8, 9])
    assert ring.count == 10


def test_percentiles_and_real_time_factor():
    timing = Timing()
    assert percentiles(timing.step_times) == (0.0, 0.0)
    assert timing.real_time_factor(5e-3) == 0.0
    for k in range(1, 101):
        timing.add(1e-5 * k, None)
    p50, p99 = percentiles(timing.step_times)
    assert p50 == pytest.approx(51e-5, rel=0.02)
    assert p99 == pytest.approx(99e-5)
    assert timing.real_time_factor(5e-3) == pytest.approx(5e-3 / 50.5e-5)
    for _ in range(2 * STEPS):
        timing.add(1.0, None)
    assert percentiles(timing.step_times) == (1.0, 1.0)


def test_actual_speed_is_that_of_the_last_second():
    clock = Clock()
    timing, t = Timing(clock), 0.0
    for wall, step in ((0.01, 0.005), (0.01, 0.02)):  # half real time for three seconds, then twice
        for _ in range(300):
            clock.now += wall
            t += step
            timing.mark(t)
    assert timing.actual_speed() == pytest.approx(2.0)
    assert len(timing._trail) < 20
    timing.stop()
    assert timing.actual_speed() == 0.0


def test_statistics_begin_anew_where_steps_are_of_another_kind():
    timing = Timing()
    for _ in range(5):
        timing.add(2.0, None)
        timing.add_lateness(0.1)
    timing.forget()
    assert percentiles(timing.step_times) == percentiles(timing.lateness) == (0.0, 0.0)
    timing.add(1e-3, None)
    timing.add_lateness(2e-4)
    assert percentiles(timing.step_times) == (1e-3, 1e-3), "none of the steps before"
    assert percentiles(timing.lateness) == (2e-4, 2e-4)
    assert timing.steps_before + timing.step_times.count == 6, "but they are counted"


def test_only_the_last_of_a_kind_counts():
    a, b = (lambda v: SetInput("a", v)), (lambda v: SetInput("b", v))
    move = MoveGrab((1.0, 0.0, 0.0)), MoveGrab((2.0, 0.0, 0.0))
    assert coalesced([a(1), b(1), a(2), move[0], b(2), move[1]]) == [a(2), b(2), move[1]]


def test_a_step_stands_between_settings():
    """What was set before a step counts for that step."""
    a = [SetInput("a", v) for v in range(4)]
    commands = [a[0], a[1], StepForward(1), a[2], a[3], Play(), Pause()]
    assert coalesced(commands) == [a[1], StepForward(1), a[3], Play(), Pause()]
    assert coalesced([]) == []


def test_of_commands_in_a_row_that_begin_again_the_last_one_counts():
    """A thousand of them, as a page could send, build once."""
    short, long, other = Rebuild({"ny": 1}), Rebuild({"ny": 2}), Rebuild({"nz": 3})
    assert coalesced(1000 * [Reload()]) == [Reload()]
    assert coalesced([Reset(), Reset(), Reload(), Reload(), Reset()]) == [Reset(), Reload(), Reset()]
    assert coalesced([short, long, other, long, Play(), long]) == [long, other, long, Play(), long]


def test_shared_memory_says_whether_the_latest_frame_was_taken():
    connection = ManualConnection(Simulation(motored().compile()))
    layout, frame = connection.describe().layout, connection.latest()
    writer = SharedFrames(layout)
    reader = SharedFrames(layout, writer.name)
    try:
        assert not writer.taken
        for _ in range(3):
            writer.publish(frame)
            assert not writer.taken
            reader.read()
            assert writer.taken
        writer.publish(frame)
        writer.publish(frame)
        assert not writer.taken
    finally:
        reader.close()
        writer.close()


def test_the_time_of_a_step_is_that_of_the_step_alone(monkeypatch):
    """What a session does for its history comes after the step, and is no part of what the window tells of it."""
    worker = Worker(FromModel(motored()), queue.SimpleQueue(), Silent())
    worker.controller.build({}, {})
    record_step, slow = Session.record_step, 0.1
    monkeypatch.setattr(
        Session, "record_step", lambda session, report: (time.sleep(slow), record_step(session, report))
    )
    worker._step()
    assert worker.controller.live.step_number == 1
    assert worker.controller.timing.step_times.known() < slow
    assert worker.controller.timing.phase_times.sum() > 0.0


@pytest.mark.parametrize(
    ("taken", "since", "due"), [(True, 0.02, True), (True, 0.01, False), (False, 0.02, False), (False, 0.06, True)]
)
def test_a_frame_is_due_when_the_last_one_was_taken_or_is_old(taken, since, due, monkeypatch):
    class Outlet:
        def tell(self, message):
            """Nobody listens."""

    worker = Worker(FromModel(motored()), queue.SimpleQueue(), Outlet())
    worker.controller.outlet.taken = taken
    worker.controller.published = 100.0
    monkeypatch.setattr("rtmbs.viewer.session.worker.time.perf_counter", lambda: 100.0 + since)
    assert worker._frame_due() is due


def test_readers_of_shared_memory_never_see_half_a_frame():
    """A writer as fast as it can be, a reader in another thread: r, A and step of a frame always belong together."""
    sim = Simulation(motored().compile())
    connection = ManualConnection(sim)
    layout, frames = connection.describe().layout, []
    for k in range(20):
        frame = connection.latest()
        frames.append(type(frame)(**{**vars(frame), "step": k, "r": np.full((4, 3), k)}))
    writer = SharedFrames(layout)
    reader = SharedFrames(layout, writer.name)
    assert reader.read() is None
    stop = threading.Event()

    def write():
        while not stop.is_set():
            for frame in frames:
                writer.publish(frame)

    thread = threading.Thread(target=write)
    thread.start()
    seen = set()
    try:
        end = time.monotonic() + LONGEST
        count = 0
        while (count < 2000 or len(seen) < 5) and time.monotonic() < end:
            if (frame := reader.read()) is not None:
                count += 1
                seen.add(frame.step)
                assert np.all(frame.r == frame.step)
    finally:
        stop.set()
        thread.join()
        reader.close()
        writer.close()
    assert len(seen) >= 5
