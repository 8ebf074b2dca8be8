"""Keeping workers busy, with workers that die on order."""

from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from rtmbs.studies.sweeps.engines import DIED, MOST, Chunks, Crew, CrewError, RunRow, RunRows, make_all_runs


class Mortal(Executor):
    """Ends with the first chunk that holds a deadly run."""

    def __init__(self, deadly, made):
        self.deadly, self.made, self.dead = deadly, made, False

    def submit(self, fn, points):
        future = Future()
        self.dead = self.dead or any(self.deadly(run) for run, _ in points)
        if self.dead:
            future.set_exception(BrokenExecutor("dead"))
        else:
            self.made += [run for run, _ in points]
            future.set_result(
                RunRows([RunRow(run, {"x": float(run)}, "") for run, _ in points], 1e-3 * len(points), 0.0)
            )
        return future


class Hospital:
    """An engine of mortal crews."""

    remedy = "take care"

    def __init__(self, deadly, workers=3):
        self.deadly, self.workers, self.made, self.opened = deadly, workers, [], 0

    @contextmanager
    def open(self, alone=False):
        self.opened += 1
        yield Crew(Mortal(self.deadly, self.made), 1 if alone else self.workers)

    def died(self, error):
        return isinstance(error, BrokenExecutor)


class Rowlist:
    def __init__(self):
        self.rows = {}

    def take(self, rows):
        for row in rows.rows:
            assert row.run not in self.rows, "a run came twice"
            self.rows[row.run] = row

    def tick(self):
        pass


TASK = SimpleNamespace(rows=lambda points: None, timeout=None)


@pytest.mark.parametrize("deadly", [(), (0,), (7,), (0, 1, 2), (5, 50, 99), tuple(range(20))])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_run_has_one_row_whoever_dies(deadly, workers):
    engine, keeper = Hospital(lambda run: run in deadly, workers), Rowlist()
    assert make_all_runs(engine, TASK, Chunks(range(100), lambda run: {}), keeper) == workers
    assert sorted(keeper.rows) == list(range(100))
    assert [run for run, row in sorted(keeper.rows.items()) if row.error == DIED] == list(deadly)
    assert sorted(engine.made) == [run for run in range(100) if run not in deadly]


class Stillborn(Hospital):
    @contextmanager
    def open(self, alone=False):
        executor = Mortal(self.deadly, self.made)
        executor.dead = True
        yield Crew(executor, 1)


def test_workers_that_do_not_start_end_the_sweep():
    with pytest.raises(CrewError, match="end before their first run; take care"):
        make_all_runs(Stillborn(lambda run: False), TASK, Chunks(range(3), lambda run: {}), Rowlist())


class Abandoned(Hospital):
    """Its scheduler ends with the third chunk."""

    @contextmanager
    def open(self, alone=False):
        yield Crew(Leaving(self.deadly, self.made), 1)


class Leaving(Mortal):
    def submit(self, fn, points):
        future = super().submit(fn, points)
        if len(self.made) < 3:
            return future
        gone = Future()
        gone.cancel()
        gone.set_running_or_notify_cancel()
        return gone


def test_a_scheduler_that_ends_is_told_and_rows_are_kept():
    keeper = Rowlist()
    with pytest.raises(CrewError, match="the workers are gone"):
        make_all_runs(Abandoned(lambda run: False), TASK, Chunks(range(50), lambda run: {}), keeper)
    assert sorted(keeper.rows) == [0, 1]


def test_chunks_take_even_time_and_shrink_at_the_end():
    chunks = Chunks(range(10_000), lambda run: {})
    assert len(chunks.next(2)) == 1
    chunks.update_run_time(RunRows([RunRow(0, {}, "")] * 4, 0.02, 0.0))  # 5 ms a run
    assert len(chunks.next(2)) == 50
    assert len(chunks.next(1000)) == 4  # the share of what is left
    chunks.update_run_time(RunRows([RunRow(0, {}, "")], 1e-6, 0.0))
    assert len(chunks.next(2)) == MOST
    sizes = []
    while chunks.left:
        sizes.append(len(chunks.next(2)))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
