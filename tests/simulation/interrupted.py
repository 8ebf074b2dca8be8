"""An interrupt as Ctrl+C sends it, a while after work has begun."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(after: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block ``after`` seconds from now; it must come out of the block."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
