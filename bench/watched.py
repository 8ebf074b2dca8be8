"""What watching costs a step: steps of a session with a window beside steps of a bare loop, in short blocks in turns.

    xvfb-run -a -s "-screen 0 1280x800x24" env LP_NUM_THREADS=0 python -m bench.watched --layout stacked

Both loops keep the same pace, each in a process of its own. The bare loop has a Simulation and a Pacer; the session is
that of ``rtmbs view``. Blocks of the same part of the motion follow one another, so a busy machine disturbs both. It
prints JSON: medians of both, and ``ratio`` of watched to unwatched over the pairs of blocks with its quartiles, for
the ``step`` alone, the step ``with_history`` and all else that a session does for it, and processor time of both.
``fast`` is the ratio of the fastest tenth of the steps, which other programs disturb least. ``late_us`` is how late
steps began. Pictures are taken between steps, and ``late_us`` shows them. With ``--blind`` nobody draws: the price of
the session itself is left. A machine without a core for the window shows the window in the steps.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.viewer import add_mechanism, run
from rtmbs.viewer.session import process_connection

Array = NDArray[np.float64]

MEMORY = "RTMBS_BENCH_STEPS"  # variable with the name of the memory that a session writes its steps into
KEPT = 200_000  # steps
STEP, WALL, PROCESSOR, LATE = range(4)  # columns
WIDTH = 4
SETTLED = 2  # pairs of blocks that do not count
FAST = 10  # percentile of the fast steps
BUILT = 3.0  # [s] after which a session that was described has taken its first steps


class Steps:
    """Times and lateness of every step, in memory that two processes share [s]."""

    def __init__(self, name: str | None = None) -> None:
        self._memory = SharedMemory(name=name, create=name is None, size=8 * (WIDTH * KEPT + 1))
        self._whole: Any = np.ndarray(WIDTH * KEPT + 1, np.float64, self._memory.buf)
        self._rows: Any = self._whole[1:].reshape(KEPT, WIDTH)
        self.name, self._owned = self._memory.name, name is None

    def __len__(self) -> int:
        return int(self._whole[0])

    def timed(self, late: float, step: Callable[[], Any], alone: list[float] | None = None) -> Any:
        """Take a step that began ``late`` [s], and note it; ``alone`` then has its time without what follows."""
        wall, processor = time.perf_counter(), time.thread_time()
        answer = step()
        whole = time.perf_counter() - wall
        row = len(self)
        self._rows[row] = whole if alone is None else alone[0], whole, time.thread_time() - processor, late
        self._whole[0] = row + 1
        return answer

    def since(self, first: int) -> Array:
        """Return the rows (k, 4) from a step on."""
        return np.array(self._rows[first : len(self)])

    def close(self) -> None:
        """Let go of the memory."""
        self._whole = self._rows = None
        self._memory.close()
        if self._owned:
            self._memory.unlink()


def serve(*arguments: Any) -> None:
    """Run the session of a viewer as ever, and note every step."""
    from rtmbs.viewer.session.session import Session
    from rtmbs.viewer.session.snapshot import Timing
    from rtmbs.viewer.session.worker import Worker

    steps, late, alone = Steps(os.environ[MEMORY]), [0.0], [0.0]
    turn, advance, noted = Worker._step, Session.advance, Timing.add_lateness

    def note(timing: Timing, seconds: float) -> None:
        late[0] = seconds
        noted(timing, seconds)

    def clocked(session: Session) -> Any:
        begun = time.perf_counter()
        report = advance(session)
        alone[0] = time.perf_counter() - begun
        return report

    Timing.add_lateness, Session.advance = note, clocked  # type: ignore[method-assign]
    Worker._step = lambda worker: steps.timed(late[0], lambda: turn(worker), alone)  # type: ignore[method-assign]
    real_serve(*arguments)


real_serve = process_connection.serve


def bare(parameters: dict[str, Any], h: float, name: str, orders: Any) -> None:
    """Step without a viewer: so many steps of a block at every order, until None comes."""
    from rtmbs.library import build
    from rtmbs.simulation import Simulation
    from rtmbs.simulation.pacing import Pacer

    sim, steps = Simulation(build("fourbar", **parameters).compile(), h), Steps(name)
    state = sim.state.copy()
    sim.step()
    sim.restore(state)
    process_connection.freeze_garbage()
    orders.send("ready")
    while (count := orders.recv()) is not None:
        pacer = Pacer(h)
        for _ in range(count):
            pacer.wait()
            steps.timed(h - pacer.remaining(), sim.step)
        orders.send("done")
    steps.close()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the numbers."""
    parameters = {"ny": arguments.ny, "nz": arguments.nz, "layout": arguments.layout}
    watched, unwatched = Steps(), Steps()
    os.environ[MEMORY] = watched.name
    process_connection.serve = serve
    orders, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=bare, args=(parameters, arguments.h, unwatched.name, theirs), daemon=True)
    other.start()
    orders.recv()
    window = open_session(parameters, arguments) if arguments.blind else open_window(parameters, arguments)
    count, pairs = round(arguments.block / arguments.h), list[tuple[Array, Array]]()
    for _ in range(SETTLED + arguments.pairs):
        first = len(unwatched)
        orders.send(count)
        orders.recv()
        alone, first = unwatched.since(first), len(watched)
        watch(window, watched, first + count)
        pairs.append((watched.since(first)[:count], alone))
    orders.send(None)
    pictures = 0 if arguments.blind else window.canvas.pictures
    window.close()
    other.join()
    found = report(pairs[SETTLED:]) | {"pictures": pictures}
    for steps in (watched, unwatched):
        steps.close()
    title = f"{arguments.layout} {arguments.ny} x {arguments.nz}, h = {arguments.h:g} s"
    return {"mechanism": title, "pairs": arguments.pairs, "block_s": arguments.block, **found}


def open_session(parameters: dict[str, Any], arguments: argparse.Namespace) -> Any:
    """Return a session that is built and stands still, without a window."""
    from rtmbs.viewer.session.connect import connect

    connection = connect("fourbar", "process", parameters=parameters, options={"h": arguments.h})
    connection.describe()
    time.sleep(BUILT)
    return connection


def open_window(parameters: dict[str, Any], arguments: argparse.Namespace) -> Any:
    """Return a window on a session that is built and stands still, with the given panels."""
    from rtmbs.viewer.qt.application import application
    from rtmbs.viewer.session.connect import connect

    connection = connect("fourbar", "process", parameters=parameters, options={"h": arguments.h})
    application()
    from rtmbs.viewer.qt.window import Window

    window = Window(connection)
    window.show()
    for name in arguments.panels:
        window.act[name]()
    while "bodies," not in window.log_panel.toPlainText():
        run(0.1)
    return window


def watch(window: Any, steps: Steps, until: int) -> None:
    """Play until so many steps were taken, and pause."""
    from rtmbs.viewer.session.commands import Pause, Play

    timer = getattr(window, "_timer", None)
    wait = time.sleep if timer is None else run
    if timer is not None:
        timer.start()
    window.send(Play())
    while len(steps) < until:
        wait(0.02)
    window.send(Pause())
    wait(0.2)
    if timer is not None:
        timer.stop()


def report(pairs: list[tuple[Array, Array]]) -> dict[str, Any]:
    """Return medians, ratios with their quartiles, and lateness."""
    found: dict[str, Any] = {}
    for name, column in (("step", STEP), ("with_history", WALL), ("processor", PROCESSOR)):
        medians = 1e3 * np.array([[np.median(steps[:, column]) for steps in pair] for pair in pairs])
        fastest = np.array([[np.percentile(steps[:, column], FAST) for steps in pair] for pair in pairs])
        ratio = np.percentile(medians[:, 0] / medians[:, 1], (25, 50, 75))
        found[name] = {
            "watched_ms": round(float(np.median(medians[:, 0])), 4),
            "unwatched_ms": round(float(np.median(medians[:, 1])), 4),
            "ratio": round(float(ratio[1]), 4),
            "quartiles": [round(float(ratio[0]), 4), round(float(ratio[2]), 4)],
            "fast": round(float(np.median(fastest[:, 0] / fastest[:, 1])), 4),
        }
    for name, k in (("watched", 0), ("unwatched", 1)):
        late = 1e6 * np.concatenate([pair[k][:, LATE] for pair in pairs])
        found[f"late_us_{name}"] = {f"p{q}": round(float(np.percentile(late, q)), 1) for q in (50, 90, 99)}
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_mechanism(parser, "stacked")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of blocks, watched and unwatched")
    parser.add_argument("--block", type=float, default=1.0, help="length of a block [s]")
    parser.add_argument("--blind", action="store_true", help="a session without a window")
    parser.add_argument("--panels", nargs="*", default=[], help="panels that are open: model, plots, profiler")
    print(json.dumps(measure(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
