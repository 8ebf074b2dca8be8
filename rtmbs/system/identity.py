"""What tells two functions of time apart, in words that are the same in every process.

A state that goes on with another motor function would be silently wrong, so a System's fingerprint holds the identity
of every function: its qualified name, instructions and constants, defaults, the numbers, arrays and functions that it
closes over or reads as globals of its module; of an object its type and parameters.

Limits: functions of other modules, and built-in ones, are known by name only. What lies in a list, a dictionary or an
object that a function closes over is not looked at, for it may change while running. Another version of Python may
compile a function to other instructions, and so takes it for another one.
"""

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def identity(function: Any) -> str:
    """Return the sha256 of what is known of a function or of an object that is called."""
    digest = hashlib.sha256()
    for part in parts(function, set(), True):
        digest.update(part + b"\0")
    return digest.hexdigest()


def parts(value: Any, seen: set[int], asked: bool = False) -> Iterator[bytes]:
    """Yield what is known of ``value``; of an object its parameters when it is the one ``asked`` about."""
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufcUS":
        array = np.ascontiguousarray(value)
        yield f"array {array.dtype.str} {array.shape}".encode() + array.tobytes()
    elif isinstance(value, tuple | frozenset):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        yield f"{type(value).__name__} {len(items)}".encode()
        for item in items:
            yield from parts(item, seen)
    elif isinstance(value, CodeType):
        yield from code_parts(value, seen)
    elif id(value) in seen:
        yield b"again"
    elif isinstance(value, FunctionType):
        yield from function_parts(value, seen | {id(value)})
    elif isinstance(value, functools.partial):
        yield b"partial"
        for part in (value.func, value.args, *sorted(value.keywords.items())):
            yield from parts(part, seen | {id(value)}, True)
    elif isinstance(value, MethodType):
        yield b"method"
        for part in (value.__func__, value.__self__):
            yield from parts(part, seen | {id(value)}, True)
    else:
        yield from object_parts(value, seen | {id(value)}, asked)


def code_parts(code: CodeType, seen: set[int]) -> Iterator[bytes]:
    """Yield instructions, constants and names; not where the code stands."""
    yield b"code" + code.co_code
    yield " ".join((*code.co_names, "/", *code.co_varnames, "/", *code.co_freevars)).encode("utf-8", "surrogatepass")
    for constant in code.co_consts:
        yield from parts(constant, seen)


def function_parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    """Yield the name, the code, defaults, and what the code reaches outside of it."""
    yield f"function {function.__qualname__}".encode("utf-8", "surrogatepass")
    yield from code_parts(function.__code__, seen)
    yield from parts(function.__defaults__, seen)
    yield from parts(tuple(sorted((function.__kwdefaults__ or {}).items())), seen)
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not set yet
            continue
        yield from parts(held, seen)
    for name in sorted(names_in(function.__code__)):
        held = function.__globals__.get(name)
        own = isinstance(held, FunctionType) and held.__globals__ is function.__globals__
        if own or isinstance(held, np.ndarray) or (held is not None and isinstance(held, PLAIN)):
            yield name.encode()
            yield from parts(held, seen)


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
        yield from parts(inner, seen)
    elif is_dataclass(value):
        for field in fields(value):
            if field.repr:  # others follow from these
                yield field.name.encode()
                yield from parts(getattr(value, field.name), seen, True)
    else:
        call = next((vars(one)["__call__"] for one in kind.__mro__ if "__call__" in vars(one)), None)
        if isinstance(call, FunctionType):
            yield from parts(call, seen)
        for name, held in sorted(getattr(value, "__dict__", {}).items()):
            yield name.encode()
            yield from parts(held, seen)
