"""Machine code of a compiled step, for calls from Python."""

from collections.abc import Callable
from typing import Any

from rtmbs.jit.intrinsics import seconds_per_tick

LONGEST_CALL = 0.05  # [s] so that Ctrl+C and the progress bar wait no longer, but for one step


class MachineCode:
    """Machine code of a compiled step, looked up at its first call."""

    march: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {**vars(self), "march": None}

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""
        return seconds_per_tick()
