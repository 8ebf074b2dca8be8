"""Sweeps on processes and on a cluster: the same bits, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.sweeps.engines import DIED
from tests.patience import LONGEST
from tests.studies.sweeps.studies import columns_bytes, deadly, fragile, greedy, logged, measure, pendulum, sizes

ROOT = Path(__file__).parents[3]
OPTIONS = {"t_end": 0.2, "h": 0.01}
LENGTHS = [*sizes(12), 3.0, *sizes(30)[12:]]  # the one in the middle fails


def swept(engine):
    return rtmbs.sweep(fragile, {"length": LENGTHS, "damping": [0.0, 0.3]}, measure, engine=engine, **OPTIONS)


@pytest.fixture(scope="module")
def serial():
    return columns_bytes(swept(rtmbs.Serial()))


@pytest.mark.parametrize("workers", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_give_the_same_bits(workers, serial):
    assert columns_bytes(swept(rtmbs.Processes(workers))) == serial


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(serial):
    table = swept(rtmbs.Dask(workers=2))
    assert columns_bytes(table) == serial
    assert table.effort.workers == 2


@pytest.mark.slow
def test_a_run_that_ends_its_worker_is_a_row(tmp_path):
    """The run is found among those of its chunk, and the sweep goes on."""
    lengths = [0.5, 2.0, 0.8, 1.0]
    table = rtmbs.sweep(
        deadly, {"length": lengths}, measure, engine=rtmbs.Processes(1), folder=tmp_path, **OPTIONS
    )  # fmt: skip
    assert table.failed == {1: DIED}
    others = rtmbs.sweep(deadly, {"length": [0.5, 0.8, 1.0]}, measure, engine=rtmbs.Serial(), **OPTIONS)
    assert table["peak"][[0, 2, 3]].tobytes() == others["peak"].tobytes()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is bounded on Linux only")
def test_a_run_that_asks_for_more_than_its_memory_is_a_row():
    """The worker goes on: the next run of its chunk has its numbers."""
    engine = rtmbs.Processes(1, memory=1.5e9)
    table = rtmbs.sweep(greedy, {"length": [0.5, 2.0, 0.8]}, measure, engine=engine, **OPTIONS)
    assert list(table.failed) == [1]
    assert "Unable to allocate" in table.failed[1]
    assert np.all(np.isfinite(table["peak"][[0, 2]]))


@pytest.mark.slow
def test_a_run_that_ends_its_worker_on_a_cluster_is_a_row():
    table = rtmbs.sweep(deadly, {"length": [0.5, 2.0, 0.8]}, measure, engine=rtmbs.Dask(workers=1), **OPTIONS)
    assert table.failed == {1: DIED}


def test_functions_that_no_process_can_import_go_by_value():
    """A lambda and a function within this one, with what they close over."""
    longest = 0.8

    def make(length):
        return pendulum(min(length, longest))

    given = {"length": [0.5, 0.8, 1.0]}
    table = rtmbs.sweep(make, given, lambda result: measure(result), engine=rtmbs.Processes(1), **OPTIONS)
    other = rtmbs.sweep(make, given, measure, engine=rtmbs.Serial(), **OPTIONS)
    assert columns_bytes(table) == columns_bytes(other)
    assert table["peak"][1] == table["peak"][2] != table["peak"][0]


def test_functions_that_hold_what_no_process_can_be_handed_are_refused():
    lock = threading.Lock()

    def make(length):
        with lock:
            return pendulum(length)

    with pytest.raises(InputError, match="cannot be handed to another process"):
        rtmbs.sweep(make, {"length": 1.0}, measure, t_end=1.0)


NOTEBOOK = """
import os, signal
import rtmbs
from tests.studies.sweeps.studies import pendulum

SHORT = 0.5

def make(length):
    if length == 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return pendulum(SHORT * length)

def measure(result):
    return {"peak": abs(result["arm.rate"]).max()}

table = rtmbs.sweep(
    make, {"length": [1.0, 2.0, 4.0]}, measure, t_end=0.2, h=0.01, engine=rtmbs.Processes(2), folder="rows",
)
print(table.failed, table["peak"].tolist())
"""


@pytest.mark.slow
def test_functions_of_a_notebook_sweep(tmp_path):
    """Their module is no file that workers could import; a run that kills its worker is a row."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONGEST, check=True,
    )  # fmt: skip
    peaks = rtmbs.sweep(pendulum, {"length": [0.5, 2.0]}, measure, engine=rtmbs.Serial(), **OPTIONS)["peak"]
    assert ended.stdout.strip() == f"{ {1: DIED} } {[float(peaks[0]), float('nan'), float(peaks[1])]}"
    assert list((tmp_path / "rows").glob("*.parquet"))


# ----------------------------------------------------------------------------------------------------------- kill -9

RUNS = 45  # two seconds at least
SCRIPT = """
import sys
import rtmbs
from tests.studies.sweeps.studies import logged, measure, sizes

if __name__ == "__main__":
    rtmbs.sweep(logged, {"length": sizes(45), "log": sys.argv[1]}, measure, t_end=0.2, h=0.01,
                engine=rtmbs.Processes(1), folder=sys.argv[2])
"""


def lines(log):
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def wait_until(ready, seconds=LONGEST):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_sweep_goes_on(tmp_path):
    log, rows = tmp_path / "log", tmp_path / "rows"
    script = tmp_path / "study.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, str(script), str(log), str(rows)], cwd=ROOT, env=environment)
    wait_until(lambda: any(rows.glob("*.parquet")) or process.poll() is not None)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was over before it was killed"
    workers = {int(pid) for _, pid in lines(log)}
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    kept = {run for path in rows.glob("*.parquet") for run in pyarrow.parquet.read_table(path)["run"].to_pylist()}
    log.unlink()
    given = {"length": sizes(RUNS), "log": str(log)}
    table = rtmbs.sweep(logged, given, measure, engine=rtmbs.Serial(), folder=rows, **OPTIONS)
    assert len(kept) > 0
    assert [float(length) for length, _ in lines(log)] == [each for k, each in enumerate(sizes(RUNS)) if k not in kept]
    assert table["run"].tolist() == list(range(RUNS))
    assert columns_bytes(rtmbs.sweep(logged, given, measure, engine=rtmbs.Serial(), folder=rows, **OPTIONS)) == (
        columns_bytes(table)
    )


@pytest.mark.slow
def test_a_script_without_a_guard_is_told(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "log"), str(tmp_path / "rows")],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "\nrtmbs.studies.sweeps.engines.CrewError: the workers end before their first" in ended.stderr
    assert "if __name__ == '__main__'" in ended.stderr
