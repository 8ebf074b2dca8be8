"""Changes of a Model since a System or a kinematic analysis was made of it, for one warning.

A System is made of a Model as it was, and does not follow it. The Model may be changed for a second one. A run of the
first System then warns once that it does not have the changes.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from weakref import ref

import numpy as np

from rtmbs.errors import LISTED, warn

PARTS = {
    "bodies": "body",
    "joints": "joint",
    "markers": "marker",
    "rods": "rod",
    "couplers": "coupler",
    "constraints": "constraint",
    "contacts": "nonholonomic constraint",
    "contact_sets": "contact set",
    "forces": "force",
    "drivers": "driver",
    "initials": "initial value of joint",
    "looks": "looks of body",
}


class Origin:
    """The elements of a Model at one time. Copies and pickles of it refer to no Model, and never warn."""

    def __init__(self, model: Any, parts: Iterable[str] = tuple(PARTS)) -> None:
        self.model, self.warned = ref(model), False
        self.parts = {part: dict(getattr(model, part)) for part in parts}
        self.gravity = np.array(model.gravity) if "forces" in self.parts else None

    def __reduce__(self) -> tuple[Any, ...]:
        return (forgotten, ())

    def changed(self) -> bool:
        """Return whether the Model holds other elements now."""
        model = self.model()
        if model is None:
            return False
        for part, before in self.parts.items():
            now = getattr(model, part)
            if len(now) != len(before) or not all(now.get(name) is element for name, element in before.items()):
                return True
        return self.gravity is not None and not np.array_equal(model.gravity, self.gravity)

    def changes(self) -> Iterator[str]:
        """Yield the changes in words."""
        model: Any = self.model()
        for part, before in self.parts.items():
            kind, now = PARTS[part], getattr(model, part)
            if part == "looks":  # of a body that came or went: that is said already
                now = {name: looks for name, looks in now.items() if name in before or name in self.parts["bodies"]}
            yield from (f"{kind} {name!r} was added to" for name in now if name not in before)
            yield from (f"{kind} {name!r} was taken out of" for name in before if name not in now)
            both = [name for name in before if name in now]
            yield from (f"{kind} {name!r} was changed in" for name in both if now[name] is not before[name])
        if self.gravity is not None and not np.array_equal(model.gravity, self.gravity):
            yield "gravity was changed in"

    def warn_of_changes(self, made: str) -> None:
        """Warn once of changes since; ``made`` is the object made of the Model, and how to make it again."""
        if self.warned or not self.changed():
            return
        self.warned = True
        found, model = list(self.changes()), self.model()
        more = f"; {len(found) - LISTED} further changes" if len(found) > LISTED else ""
        listed = "; ".join(f"{one} model {getattr(model, 'name', '')!r}" for one in found[:LISTED])
        warn(f"{listed}{more} after {made.format(it='this change' if len(found) == 1 else 'these changes')}")


def forgotten() -> None:
    """Return None, in place of an Origin in a copy."""
    return
