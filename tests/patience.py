"""How long tests wait for what must come: a condition ends a wait, and this bound only one that would never end.

A machine may be loaded by others, so no test fails for its time. What must be fast is measured in ``bench/``.
"""

import time
from collections.abc import Callable

LONGEST = 600.0  # [s]
LONGEST_MS = 600_000


def wait_until(condition: Callable[[], object]) -> None:
    """Return when a condition holds; fail when it never does."""
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, f"the condition did not hold within {LONGEST:.0f} s"
        time.sleep(0.01)
