"""What follows changed inputs, as Python calls it: energies of components, accelerations and multipliers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import Settings, StateArrays
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.compiling import announced
from rtmbs.semirecursive.follow import component_energies, follow_inputs

Array = NDArray[np.float64]


class FollowKernel:
    """The machine code of ``follow.follow_inputs`` and ``follow.component_energies``, loaded when inputs first change.

    Looking up the types of their arguments takes longer than they do.
    """

    def __init__(self) -> None:
        self.accelerations: Callable[..., Any] | None = None
        self.balance: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {"accelerations": None, "balance": None}

    def follow(self, tables: Any, lu: Any, work: Any, settings: Settings, u: Array, state: StateArrays, ws: Any) -> bool:
        """Let accelerations and multipliers of ``state`` be those of ``u``; False where that takes more than passes."""
        arguments = (tables, lu, work, settings, u, state, ws)
        if self.accelerations is None:
            with announced():
                self.accelerations = entry_for(follow_inputs, arguments)
        return bool(self.accelerations(*arguments))

    def energies(self, tables: Any, settings: Settings, u: Array, state: StateArrays, ws: Any) -> Array:
        """Return the energies of ``state`` (n, 2) [J] of components that keep a balance, with the inputs ``u``."""
        still, none, found = np.zeros_like(state.z), np.zeros_like(state.energy), np.zeros_like(state.energy)
        arguments = (tables, settings, u, state, still, none, found, ws)
        if self.balance is None:
            with announced():
                self.balance = entry_for(component_energies, arguments)
        self.balance(*arguments)
        return found
