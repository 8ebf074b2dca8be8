"""Functions of the user: identity across processes, equality, captured values, and pickling.

A state that goes on with another motor function would be silently wrong, so a System's fingerprint holds the identity
of every function: its qualified name, instructions and constants, defaults, the numbers, arrays and functions that it
closes over or reads as globals of its module; of an object its type and parameters.

Limits: functions of other modules, and built-in ones, are known by name only. What lies in a list, a dictionary or an
object that a function closes over is not looked at, for it may change while running. Another version of Python may
compile a function to other instructions, and so takes it for another one.

A recorded law keeps the values that it captured at compile (``rtmbs.model.captured``). A pickle holds a function by
name where another process can import it, by value otherwise.
"""

import functools
import hashlib
import pickle
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import InputError, shown

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def identity(function: Any) -> str:
    """Return the sha256 of the code and the data of a function, or of an object that is called."""
    digest = hashlib.sha256()
    for part in digest_parts(function, set(), True):
        digest.update(part + b"\0")
    return digest.hexdigest()


def digest_parts(value: Any, seen: set[int], asked: bool = False) -> Iterator[bytes]:
    """Yield the bytes that identify ``value``; of the outermost object (``asked``) they are those of its parameters."""
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufcUS":
        array = np.ascontiguousarray(value)
        yield f"array {array.dtype.str} {array.shape}".encode() + array.tobytes()
    elif isinstance(value, tuple | frozenset):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        yield f"{type(value).__name__} {len(items)}".encode()
        for item in items:
            yield from digest_parts(item, seen)
    elif isinstance(value, CodeType):
        yield from code_parts(value, seen)
    elif id(value) in seen:
        yield b"again"
    elif isinstance(value, FunctionType):
        yield from function_parts(value, seen | {id(value)})
    elif isinstance(value, functools.partial):
        yield b"partial"
        for part in (value.func, value.args, *sorted(value.keywords.items())):
            yield from digest_parts(part, seen | {id(value)}, True)
    elif isinstance(value, MethodType):
        yield b"method"
        for part in (value.__func__, value.__self__):
            yield from digest_parts(part, seen | {id(value)}, True)
    else:
        yield from object_parts(value, seen | {id(value)}, asked)


def code_parts(code: CodeType, seen: set[int]) -> Iterator[bytes]:
    """Yield instructions, constants and names of a code object; not its place."""
    yield b"code" + code.co_code
    yield " ".join((*code.co_names, "/", *code.co_varnames, "/", *code.co_freevars)).encode("utf-8", "surrogatepass")
    for constant in code.co_consts:
        yield from digest_parts(constant, seen)


def function_parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    """Yield the name, the code, the defaults, and captured values of a function."""
    yield f"function {function.__qualname__}".encode("utf-8", "surrogatepass")
    yield from code_parts(function.__code__, seen)
    yield from digest_parts(function.__defaults__, seen)
    yield from digest_parts(tuple(sorted((function.__kwdefaults__ or {}).items())), seen)
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not set yet
            continue
        yield from digest_parts(held, seen)
    for name in sorted(names_in(function.__code__)):
        held = function.__globals__.get(name)
        own = isinstance(held, FunctionType) and held.__globals__ is function.__globals__
        if own or isinstance(held, np.ndarray) or (held is not None and isinstance(held, PLAIN)):
            yield name.encode()
            yield from digest_parts(held, seen)


def names_in(code: CodeType) -> set[str]:
    """Return the names that a code and those inside it look up."""
    inner = (names_in(one) for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*inner)


def object_parts(value: Any, seen: set[int], asked: bool) -> Iterator[bytes]:
    """Yield the type of an object, and its parameters when it is the one that is called; a class by its name."""
    kind = value if isinstance(value, type) else type(value)
    name = getattr(value, "__qualname__", None) if callable(value) else None  # of a built-in function
    yield f"{kind.__qualname__} {name if isinstance(name, str) else ''}".encode()
    if not asked or isinstance(value, type | np.ufunc):  # attributes of NumPy's functions come with their use
        return
    if isinstance(inner := getattr(value, "py_func", None), FunctionType):  # a function compiled by numba
        yield from digest_parts(inner, seen)
    elif is_dataclass(value):
        for field in fields(value):
            if field.repr:  # others follow from these
                yield field.name.encode()
                yield from digest_parts(getattr(value, field.name), seen, True)
    else:
        call = next((vars(one)["__call__"] for one in kind.__mro__ if "__call__" in vars(one)), None)
        if isinstance(call, FunctionType):
            yield from digest_parts(call, seen)
        for name, held in sorted(getattr(value, "__dict__", {}).items()):
            yield name.encode()
            yield from digest_parts(held, seen)


DEEPEST = 12  # functions, cells and profiles within each other


def same_function(one: Any, other: Any, deep: int = DEEPEST) -> bool:
    """Return whether two functions, profiles or values are the same; False also where that cannot be decided.

    A function that a model is built with anew is another object of the same code. What it closes over decides.
    """
    if one is other:
        return True
    if type(one) is not type(other) or not deep:
        return False
    if isinstance(one, PLAIN):
        return bool(one == other)
    if isinstance(one, np.ndarray):
        return one.dtype.kind in "biufc" and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same_function(a, b, deep - 1) for a, b in pairs)
    if isinstance(one, FunctionType):
        same = one.__code__ is other.__code__ and one.__globals__ is other.__globals__
        return same and all(
            same_function(a, b, deep - 1) for a, b in zip(function_state(one), function_state(other), strict=True)
        )
    if is_dataclass(one):
        return all(
            same_function(getattr(one, field.name), getattr(other, field.name), deep - 1) for field in fields(one)
        )
    return False


def function_state(function: FunctionType) -> tuple[Any, ...]:
    """Return the defaults of a function, and the cells that it closes over, each with a flag that it is filled."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append((True, cell.cell_contents))
        except ValueError:  # not set yet
            cells.append((False, None))
    named = function.__kwdefaults__ or {}
    return function.__defaults__, tuple(named), tuple(named.values()), *cells


class CapturedValues(NamedTuple):
    """A recorded law, and the values that it captured when it was recorded."""

    force: str
    function: Any
    read: Mapping[str, str]  # values in words, by name

    def __deepcopy__(self, memo: Any) -> "CapturedValues":
        return self  # as functions are

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_captured, (
            self.force,
            pack_function(f"the law of force {self.force!r}", self.function),
            self.read,
        )


def restore_captured(force: str, held: Any, read: Mapping[str, str]) -> CapturedValues:
    """Return the captured values of a law from a pickle."""
    return CapturedValues(force, unpack_function(held), read)


def pack_function(what: str, function: Any) -> Any:
    """Return a function as a pickle may hold it: itself, or the bytes of cloudpickle for a lambda or the like.

    Raises InputError, which says ``what`` the function belongs to, for one that holds what cannot be copied.
    """
    with suppress(Exception):  # pickle raises whatever an object raises
        pickle.dumps(function)
        return function
    import cloudpickle

    try:
        return cloudpickle.dumps(function)
    except Exception as error:
        raise InputError(
            f"{what} cannot be pickled: {shown(function)} holds what no other process can be handed ({error}); let it "
            "make that itself"
        ) from error


def unpack_function(held: Any) -> Any:
    """Return the function that ``pack_function`` was given."""
    return pickle.loads(held) if isinstance(held, bytes) else held
