"""Event of a lock that breaks under its load (METHODS 8.5)."""

from typing import Any

import numpy as np

from rtmbs.contact.switched import LOCKED
from rtmbs.errors import InputError
from rtmbs.model.checks import number
from rtmbs.simulation.events import Event, Instant


def breaking(lock: str, load: float, *, moment: bool = False, name: str = "") -> Event:
    """Return an event that opens a lock between two markers where its load reaches a strength.

    Parameters
    ----------
    lock : str
        Name of the lock.
    load : float
        Size of its force [N] that the lock bears, or of its moment [N m].
    moment : bool, default False
        Compare the moment at the second marker.
    name : str, default ""
        Name of the event in the log; "LOCK breaks" unless given.

    Returns
    -------
    Event
        Event for ``sim.run(..., when=...)``.

    Raises
    ------
    ModelError
        For a load that is no finite number.
    InputError
        For a load that is not above zero.

    Examples
    --------
    >>> rtmbs.breaking("weld", 500.0).name
    'weld breaks'
    """
    strength = number(load, f"breaking of {lock!r}: load")
    if strength <= 0.0:
        raise InputError(f"breaking of {lock!r}: load is {strength:g}; it must be above zero")
    part = slice(3, 6) if moment else slice(0, 3)

    def overload(instant: Instant) -> float:
        return float(np.linalg.norm(instant[f"{lock}.reaction"][part])) - strength

    def part_from(sim: Any) -> None:
        sim.set(f"{lock}.{LOCKED}", False)

    return Event(overload, action=part_from, direction=1, name=name or f"{lock} breaks")
