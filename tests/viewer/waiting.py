"""Waiting for what a session shows."""

import time

from tests.patience import LONGEST


def wait(connection, condition, what="what was waited for", seconds=LONGEST):
    """Return the first frame for which ``condition`` holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        frame = connection.latest()
        if frame is not None and condition(frame):
            return frame
        time.sleep(2e-3)
    raise AssertionError(f"{what}: not within {seconds} s; {connection.messages()}")
