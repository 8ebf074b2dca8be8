"""What follows changed inputs, as Python calls it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import Settings, StateArrays
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.compiled import entry_for
from rtmbs.semirecursive.follow import follow_inputs

Array = NDArray[np.float64]


class FollowKernel:
    """The machine code of ``follow.follow_inputs``, loaded when inputs first change, with its scratch.

    Looking up the types of its arguments takes longer than a small mechanism does.
    """

    def __init__(self) -> None:
        self.entry: Callable[..., Any] | None = None
        self.scratch: tuple[Array, Array, Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {"entry": None, "scratch": None}

    def __call__(
        self, tables: Any, lu: Any, work: Any, settings: Settings, alpha: Array, u: Array, state: StateArrays, ws: Any,
        roughly: bool,
    ) -> bool:  # fmt: skip
        """Let balances, accelerations and multipliers of ``state`` follow ``u``; False when accelerations did not."""
        if self.scratch is None:
            self.scratch = np.zeros_like(state.z), np.zeros_like(state.energy), np.zeros_like(state.energy)
        arguments = (tables, lu, work, settings, alpha, u, state, *self.scratch, ws, roughly)
        if self.entry is None:
            with announced():
                self.entry = entry_for(follow_inputs, arguments)
        return bool(self.entry(*arguments))
