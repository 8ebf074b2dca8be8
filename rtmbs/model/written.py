"""What a force law writes outside of itself: a recorded law is not called again, and would write nothing in a run.

Found are stores into globals, into variables of functions around and into attributes, by the function's instructions.
Changes of lists, dictionaries, sets, arrays and objects that the function knows by name are found by comparison.
"""

import dis
import types
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from rtmbs.model.captured import AROUND, LOCAL, NAMES, WRITES, belongs_to_a_package, names_known, unwrapped

IN_PLACE = "SWAP"  # what comes before a store of ``self.count += 1``
DEEP = 2  # containers in containers


class Writes:
    """Compares what a function knows by name before and after it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.called = unwrapped(lambda: function)
        self.before = self.contents()

    def contents(self) -> dict[str, Any]:
        """Return, by name, what the containers hold now."""
        found = {}
        for (_, name), look in names_known(self.called).items() if self.called else ():
            try:
                value = look()
            except (AttributeError, KeyError, IndexError, ValueError):
                continue
            if (held := contents_of(value, DEEP)) is not None:
                found[name] = held
        return found

    def names(self) -> list[str]:
        """Return the names of what the function has written, or stores into by its instructions."""
        if self.called is None:
            return []
        known, instructions = names_known(self.called), list(dis.get_instructions(self.called.function))
        stored = [one.argval for before, one in pairwise(instructions) if self.goes_outside(before, one, known)]
        now = self.contents()
        changed = [name for name, held in self.before.items() if not equal(held, now.get(name))]
        return list(dict.fromkeys([*map(str, stored), *changed]))

    def goes_outside(self, before: dis.Instruction, one: dis.Instruction, known: Mapping[Any, Any]) -> bool:
        """Return whether an instruction stores into what is not the function's own; ``before`` loads its object."""
        assert self.called is not None
        if one.opname not in WRITES:
            return False
        if one.opname == "STORE_DEREF":
            return one.argval in self.called.function.__code__.co_freevars
        if one.opname == "STORE_ATTR" and before.opname.startswith(LOCAL):
            return ("local", before.argval) in known  # such as self, and no object that the function made
        return one.opname == "STORE_GLOBAL" or before.opname in (*NAMES, AROUND, IN_PLACE)


def contents_of(value: Any, depth: int) -> Any:
    """Return what a container holds, to be compared; None for what is no container that a function may change."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    if isinstance(value, types.ModuleType | types.FunctionType | types.MethodType | type):
        return None
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list | set):
        parts = list(enumerate(value))
    elif hasattr(value, "__dict__") and not belongs_to_a_package(type(value).__module__):
        parts = list(vars(value).items())
    else:
        return None
    inner = [contents_of(one, depth - 1) if depth else None for _, one in parts]
    return parts, inner


def equal(one: Any, other: Any) -> bool:
    """Return whether two contents hold the same objects, at all depths."""
    if not (isinstance(one, tuple) and isinstance(other, tuple)):
        return bool(one is other or (isinstance(one, bytes) and one == other))
    (parts, inner), (others, further) = one, other
    if len(parts) != len(others):
        return False
    same = all(a is b for (_, a), (_, b) in zip(parts, others, strict=True))
    return same and all(equal(a, b) for a, b in zip(inner, further, strict=True))


def function_behind(function: Callable[..., Any]) -> types.CodeType | None:
    """Return the code of the function of Python behind a callable, where there is one."""
    called = unwrapped(lambda: function)
    return called.function.__code__ if called else None
