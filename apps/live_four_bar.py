"""The multiple four-bar of the paper, live: watch it, pull it, change its size and the source of its Jacobian.

    python apps/live_four_bar.py                     # 40 parallel frames of 4 four-bars, as in the paper's table
    python apps/live_four_bar.py --ny 2 --nz 3 --layout stacked
    python apps/live_four_bar.py --check             # no window: it keeps real time, or says why not

``--check`` plays the mechanism for a few seconds in the process that the window would watch, changes options on the way
and goes back in its history and forward again. It ends with 1 when a number differs, with 3 when real time was missed.
"""

import argparse
import sys
import time
from typing import Any

REAL_TIME = 0.98  # of the simulated time that the wall clock asks for
SLOW = 3  # exit code of a check that found nothing wrong, on a machine too slow or too busy for real time


def main() -> int:
    """Open the window, or check without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ny", type=int, default=4, help="four-bars in series")
    parser.add_argument("--nz", type=int, default=40, help="frames side by side, or storeys")
    parser.add_argument("--layout", default="parallel", choices=("parallel", "stacked"))
    parser.add_argument("--h", type=float, default=5e-3, help="step [s]")
    parser.add_argument("--check", action="store_true", help="no window: check what the window would show")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long --check plays")
    given = parser.parse_args()
    parameters = {"ny": given.ny, "nz": given.nz, "layout": given.layout}
    if given.check:
        return check(parameters, given.h, given.seconds)
    from rtmbs.viewer.view import view

    return view("fourbar", parameters=parameters, options={"h": given.h})


def check(parameters: dict[str, Any], h: float, seconds: float) -> int:
    """Play, switch, go back and forward; return 0, SLOW where real time was not kept, or 1 for a wrong state."""
    from rtmbs.viewer.session.commands import Pause, Play, Seek, SetInput, SetOption, StepForward
    from rtmbs.viewer.session.connect import connect

    connection = connect("fourbar", "process", parameters=parameters, options={"h": h})
    try:
        scene = connection.describe()
        print(f"{scene.name}: {scene.facts['bodies']} bodies, {scene.degrees_of_freedom} degrees of freedom")
        connection.send(Play())
        frame = seen(connection, lambda frame: frame.t >= 0.5 * seconds)
        connection.send(SetOption("jacobian", "central-difference"))
        connection.send(SetInput("gravity", (0.0, 2.0, -9.0)))
        connection.send(StepForward(5))
        connection.send(SetOption("jacobian", "structured"))
        connection.send(Play())
        frame = seen(connection, lambda frame: frame.playing and frame.t >= seconds)
        connection.send(Pause())
        last = seen(connection, lambda frame: not frame.playing)
        connection.send(Seek(last.oldest))
        seen(connection, lambda frame: frame.step == last.oldest)
        connection.send(StepForward(last.step - last.oldest))
        again = seen(connection, lambda frame: frame.step == last.step)
    finally:
        connection.close()
    same = again.z.tobytes() == last.z.tobytes()
    print(f"{last.step} steps, p50 {1e3 * frame.p50:.2f} ms, p99 {1e3 * frame.p99:.2f} ms, deadline {1e3 * h:g} ms")
    print(f"speed {frame.actual_speed:.3f}, {frame.missed} of {frame.deadlines} deadlines missed")
    print(f"back to step {last.oldest} and forward again: {'the same bytes' if same else 'other numbers'}")
    if not (same and last.outcome.accepted):
        return 1
    return 0 if frame.actual_speed > REAL_TIME else SLOW


def seen(connection: Any, condition: Any, patience: float = 600.0) -> Any:
    """Return the first frame for which ``condition`` holds; exit with the messages when none comes."""
    end = time.monotonic() + patience
    told = []
    while time.monotonic() < end:
        frame = connection.latest()
        if frame is not None and condition(frame):
            return frame
        told += [message.text for message in connection.messages() if message.kind in ("warning", "failure")]
        time.sleep(1e-3)
    raise SystemExit(f"nothing came within {patience:g} s; {'; '.join(told) or 'no message'}")


if __name__ == "__main__":
    sys.exit(main())
