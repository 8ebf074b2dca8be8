"""A recorded force law keeps what it read at compile: whoever asks refuses to go on when that has changed since."""

from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary, ref

from rtmbs.errors import InputError
from rtmbs.model.captured import captured, values_captured
from rtmbs.system.system import System

MADE = "this System was compiled, which does not have {it}: compile the model again"
SHOWN = 60  # letters of a value
OFTEN, SHARE = 8, 0.5e-6  # steps between two looks at least, and the time that looks may take a step [s]


class Watch:
    """Looks at what the laws of a System have read, now and then.

    Raises InputError when something is another value than at compile.
    """

    def __init__(self, system: System) -> None:
        self.system = ref(system)
        self.laws = [(force, captured(function), read) for force, function, read in system.outside if read]
        begin = perf_counter()
        self.values()
        self.pause = max(OFTEN, int((perf_counter() - begin) / SHARE))
        self.left = 0

    def values(self) -> list[dict[str, str]]:
        """Return the present values in words, law by law."""
        return [values_captured(looks) for _, looks, _ in self.laws]

    def check(self) -> None:
        """Look at everything."""
        self.left = self.pause
        for (force, _, read), now in zip(self.laws, self.values(), strict=True):
            for name, before in read.items():
                if now.get(name, before) != before:
                    raise InputError(changed(force, name, before, now[name]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: anew, of the System of the copy."""
        return watch_of, (self.system(),)

    def step(self) -> None:
        """Look at everything once in ``pause`` steps."""
        self.left -= 1
        if self.left < 0:
            self.check()


WATCHES: "WeakKeyDictionary[System, Watch]" = WeakKeyDictionary()


def watch_of(system: System) -> Watch | None:
    """Return what watches over the laws of a System; None where they read nothing from outside."""
    if not any(one.read for one in system.outside):
        return None
    if system not in WATCHES:
        WATCHES[system] = Watch(system)
    return WATCHES[system]


def check_outside(system: System) -> None:
    """Refuse a law that reads a value from outside which has changed since the model was compiled: InputError.

    Warns once of a Model that has changed since.
    """
    if system.origin is not None:
        system.origin.tell(MADE)
    watch = watch_of(system)
    if watch is not None:
        watch.check()


def changed(force: str, name: str, before: str, now: str) -> str:
    """Return the sentence about a value that has changed."""
    return (
        f"force {force!r}: its law reads {name}, which was {before[:SHOWN]} when the model was compiled and is "
        f"{now[:SHOWN]} now. The recorded law keeps the first value. Make it a parameter, "
        f"parameters={{{name.rpartition('.')[2]!r}: ...}}, and set sim.inputs, or compile the model again"
    )
