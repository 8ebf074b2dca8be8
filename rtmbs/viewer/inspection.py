"""The present values of what the user inspects: read a few times a second, and only while somebody asks."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.state import State
from rtmbs.viewer.channels import LiveChannels
from rtmbs.viewer.scene.frame import INSPECTED

Array = NDArray[np.float64]

EVERY = 0.1  # [s] between two readings of a session that plays


class Inspection:
    """Values of whole channels at the present state.

    channels_of: returns the channels of the mechanism that a state belongs to.  clock: replaced in tests.
    """

    def __init__(
        self,
        channels: LiveChannels,
        channels_of: Callable[[State], LiveChannels],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._channels, self._channels_of, self._clock = channels, channels_of, clock
        self._columns: list[tuple[str, int]] = []
        self._values, self._read_at = np.full(INSPECTED, np.nan), -np.inf
        self.ticket = 0

    def ask(self, names: Sequence[str], ticket: int) -> None:
        """Read these channels from now on.

        UnknownNameError for one that does not exist, InputError for too many, leave the old ones.
        """
        columns = self._channels.columns(names)
        if len(columns) > INSPECTED:
            raise InputError(f"{len(columns)} numbers are inspected; at most {INSPECTED} can be at once")
        self._columns, self.ticket, self._read_at = columns, ticket, -np.inf

    def read(self, state: State, playing: bool) -> Array:
        """Return the values (INSPECTED,) at ``state``; of a session that plays those of the last tenth of a second."""
        now = self._clock()
        if playing and now - self._read_at < EVERY:
            return self._values
        self._read_at, self._values = now, np.full(INSPECTED, np.nan)
        if self._columns:
            self._values[: len(self._columns)] = self._channels_of(state).at(state, self._columns)
        return self._values
