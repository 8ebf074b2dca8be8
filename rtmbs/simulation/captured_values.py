"""Values that recorded force laws read beside their arguments, compared with those at compile.

A recorded law keeps the values of compile, so a Simulation refuses to go on when one has changed since.
"""

from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary, ref

from rtmbs.errors import InputError
from rtmbs.model.captured import captured, values_captured
from rtmbs.system.system import System

MADE = "this System was compiled, which does not have {it}: compile the model again"
SHOWN = 60  # letters of a value
OFTEN, SHARE = 8, 0.5e-6  # steps between two looks at least, and the time that looks may take a step [s]


class CapturedValues:
    """Captured values of the laws of a System, checked now and then.

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
        """Compare all captured values with those at compile."""
        self.left = self.pause
        for (force, _, read), now in zip(self.laws, self.values(), strict=True):
            for name, before in read.items():
                if now.get(name, before) != before:
                    raise InputError(changed(force, name, before, now[name]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: anew, of the System of the copy."""
        return captured_values_of, (self.system(),)

    def step(self) -> None:
        """Compare all captured values once in ``pause`` steps."""
        self.left -= 1
        if self.left < 0:
            self.check()


CAPTURED: "WeakKeyDictionary[System, CapturedValues]" = WeakKeyDictionary()


def captured_values_of(system: System) -> CapturedValues | None:
    """Return the captured values of the laws of a System, or None without any."""
    if not any(one.read for one in system.outside):
        return None
    if system not in CAPTURED:
        CAPTURED[system] = CapturedValues(system)
    return CAPTURED[system]


def check_captured(system: System) -> None:
    """Refuse a law whose captured value has changed since the model was compiled: InputError.

    Warns once of a Model that has changed since.
    """
    if system.origin is not None:
        system.origin.warn_of_changes(MADE)
    values = captured_values_of(system)
    if values is not None:
        values.check()


def changed(force: str, name: str, before: str, now: str) -> str:
    """Return the sentence about a value that has changed."""
    return (
        f"force {force!r}: its law reads {name}, which was {before[:SHOWN]} when the model was compiled and is "
        f"{now[:SHOWN]} now. The recorded law keeps the first value. Make it a parameter, "
        f"parameters={{{name.rpartition('.')[2]!r}: ...}}, and set sim.inputs, or compile the model again"
    )
