"""What a force law reads from outside of its arguments: a recorded law keeps the values that these had at compile.

Looked at are numbers, arrays and dictionaries of numbers that the function, and functions that it calls by name, read
as globals, from an enclosing function, or as attributes of such objects. What the function itself writes is its own.
"""

import dis
import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rtmbs.system.packing import packed, unpacked

GLOBAL, CLOSED_OVER, ATTRIBUTE, ARGUMENT = ("LOAD_GLOBAL", "LOAD_NAME"), "LOAD_DEREF", ("LOAD_ATTR",), "LOAD_FAST"
WRITES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR")


class Outside(NamedTuple):
    """A recorded law, and what it read when it was recorded."""

    force: str
    function: Any
    read: Mapping[str, str]  # values in words, by name

    def __deepcopy__(self, memo: Any) -> "Outside":
        return self  # as functions are

    def __reduce__(self) -> tuple[Any, ...]:
        return outside_of, (self.force, packed(f"the law of force {self.force!r}", self.function), self.read)


def outside_of(force: str, held: Any, read: Mapping[str, str]) -> Outside:
    """Return what was pickled of a recorded law."""
    return Outside(force, unpacked(held), read)


def values_read(function: Any) -> dict[str, str]:
    """Return what a function reads from outside, in words, by name."""
    return dict(readings(function, set()))


def readings(function: Any, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield name and value of everything that a function reads."""
    owner = None
    if isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.MethodType):
        owner, function = function.__self__, function.__func__
    elif not isinstance(function, types.FunctionType) and hasattr(type(function), "__call__"):  # noqa: B004
        owner, function = function, type(function).__call__
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    known = names_known(function, owner)
    instructions = list(dis.get_instructions(function))
    if any(one.opname in WRITES for one in instructions):
        return
    for k, one in enumerate(instructions):
        if one.opname in (*GLOBAL, CLOSED_OVER, ARGUMENT) and one.argval in known:
            yield from reached(one.argval, known[one.argval], instructions[k + 1 :], seen)


def names_known(function: types.FunctionType, owner: Any) -> dict[str, Any]:
    """Return the objects that a function finds by name; ``owner`` is that of a method."""
    code, cells = function.__code__, function.__closure__ or ()
    known = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        if cell != types.CellType():  # filled
            known[name] = cell.cell_contents
    if owner is not None and code.co_argcount:
        known[code.co_varnames[0]] = owner
    return known


def reached(name: str, value: Any, after: list[dis.Instruction], seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield what a name, with the attributes read ``after`` it, leads to."""
    for one in after:
        if one.opname not in ATTRIBUTE or isinstance(value, types.ModuleType | types.FunctionType | type):
            break
        held = getattr(value, "__dict__", {})
        if one.argval not in held:
            return
        name, value = f"{name}.{one.argval}", held[one.argval]
    if isinstance(value, types.FunctionType):
        yield from readings(value, seen)
    elif (words := in_words(value)) is not None:
        yield name, words


def in_words(value: Any) -> str | None:
    """Return numbers in words that differ when they do; None for what is none."""
    if isinstance(value, int | float | complex | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return repr(value.tolist())
    if isinstance(value, dict) and all(isinstance(one, int | float) for one in value.values()):
        return repr(value)
    return None
