"""Systems that Simulations have, by fingerprint: a State tells the fingerprint of its mechanism and no more."""

from weakref import WeakValueDictionary

from rtmbs.state import State
from rtmbs.system.system import System

KNOWN: "WeakValueDictionary[str, System]" = WeakValueDictionary()  # forgotten with their last user


def know(system: System) -> None:
    """Remember a System as long as somebody has it."""
    KNOWN[system.fingerprint] = system


def system_of(state: State) -> System | None:
    """Return a System that the State belongs to; None where nobody has one any more."""
    return KNOWN.get(state.fingerprint)
