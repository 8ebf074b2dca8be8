"""What a force law reads beside its arguments: a recorded law keeps the values that these had at compile.

Found in the instructions of the function, and of functions and methods that it calls by name: globals, variables of
functions around, default arguments, arguments of ``functools.partial``, and attributes of objects, classes and modules.
What a function writes itself is its own. Not found is what an index or the answer of a call leads to.
"""

import dis
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

NAMES, AROUND, LOCAL = ("LOAD_GLOBAL", "LOAD_NAME"), "LOAD_DEREF", "LOAD_FAST"
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
WRITES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")
CONSTANT = ("numpy", "scipy", "math", "cmath", "rtmbs")  # packages that nobody changes
DEEP = 3  # lists in lists in lists
ABSENT = (AttributeError, KeyError, IndexError, ValueError)  # what a name may raise that is there no more

Look = Callable[[], Any]  # returns what a name leads to now


class Called(NamedTuple):
    """A function of Python, and what its first arguments are already: ``self``, and those of a partial."""

    function: Any  # a types.FunctionType
    given: tuple[Look, ...]
    named: Mapping[str, Look]


def captured(function: Any) -> dict[str, Look]:
    """Return, by name, how to look at all numbers and words that a function reads beside its arguments."""
    return dict(looks(lambda: function, set()))


def values_captured(looks_: Mapping[str, Look]) -> dict[str, str]:
    """Return present values in words; those that are none are left out."""
    found = {}
    for name, look in looks_.items():
        try:
            words = in_words(look())
        except ABSENT:
            continue
        if words is not None:
            found[name] = words
    return found


def looks(look: Look, seen: set[tuple[int, ...]]) -> Iterator[tuple[str, Look]]:
    """Yield name and look of everything that a callable reads."""
    called = unwrapped(look)
    if called is None:
        return
    key = (id(called.function), *(id(one()) for one in (*called.given, *called.named.values())))
    if key in seen or belongs_to_a_package(called.function.__module__):
        return
    seen.add(key)
    instructions = list(dis.get_instructions(called.function))
    if any(one.opname in WRITES for one in instructions):
        return
    known = names_known(called)
    for k, one in enumerate(instructions):
        name = one.argval[-1] if isinstance(one.argval, tuple) else one.argval
        place = "local" if one.opname.startswith(LOCAL) else "around" if one.opname == AROUND else "global"
        if (place != "global" or one.opname in NAMES) and (place, name) in known:
            yield from reached(name, known[place, name], instructions[k + 1 :], seen)


def unwrapped(look: Look) -> Called | None:
    """Return the function of Python behind a function, a method, a partial, or an object that can be called."""
    found: Any = look()
    if isinstance(found, functools.partial):
        inner = unwrapped(lambda: found.func)
        if inner is None:
            return None
        given = tuple(functools.partial(getitem, found.args, k) for k in range(len(found.args)))
        named = {name: functools.partial(getitem, found.keywords, name) for name in found.keywords}
        return Called(inner.function, (*inner.given, *given), {**inner.named, **named})
    if isinstance(found, types.MethodType):
        inside = found.__func__
        return Called(inside, (lambda: found.__self__,), {}) if hasattr(inside, "__globals__") else None
    if isinstance(found, types.FunctionType):
        return Called(found, (), {})
    of_class: Any = vars(type(found)).get("__call__")
    return Called(of_class, (look,), {}) if isinstance(of_class, types.FunctionType) else None


def getitem(held: Any, key: Any) -> Any:
    """Return an entry."""
    return held[key]


def names_known(called: Called) -> dict[tuple[str, str], Look]:
    """Return how a function finds objects by name: globals, variables around, and arguments that it has already."""
    function, code = called.function, called.function.__code__
    known: dict[tuple[str, str], Look] = {}
    for name in code.co_names:
        if name in function.__globals__:
            known["global", name] = functools.partial(getitem, function.__globals__, name)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        known["around", name] = functools.partial(getattr, cell, "cell_contents")
    arguments = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    own: dict[str, Look] = {}
    for k, name in enumerate(arguments[len(arguments) - len(defaults) :]):
        own[name] = functools.partial(getitem, defaults, k)
    for name in function.__kwdefaults__ or {}:
        own[name] = functools.partial(getitem, function.__kwdefaults__, name)
    own |= {**dict(zip(arguments, called.given, strict=False)), **called.named}
    return known | {("local", name): look for name, look in own.items()}


def reached(
    name: str, look: Look, after: list[dis.Instruction], seen: set[tuple[int, ...]]
) -> Iterator[tuple[str, Look]]:
    """Yield what a name, with the attributes read ``after`` it, leads to."""
    try:
        value = look()
        for one in after:
            if one.opname not in ATTRIBUTES or isinstance(value, np.ndarray | types.FunctionType):
                break
            if isinstance(value, types.ModuleType) and belongs_to_a_package(value.__name__):
                return
            name, look = f"{name}.{one.argval}", functools.partial(attribute, look, one.argval)
            value = look()
    except ABSENT:
        return
    if callable(value):
        yield from looks(look, seen)
    elif in_words(value) is not None:
        yield name, look


def attribute(look: Look, name: str) -> Any:
    """Return an attribute that is held by an object, its class or a module; KeyError for one that is worked out."""
    owner = look()
    if isinstance(owner, types.ModuleType):
        return vars(owner)[name]
    if not isinstance(owner, type) and name in getattr(owner, "__dict__", {}):
        return owner.__dict__[name]
    for kind in owner.__mro__ if isinstance(owner, type) else type(owner).__mro__:
        if name in vars(kind):
            held = vars(kind)[name]
            slot = isinstance(held, types.MemberDescriptorType)
            if slot or isinstance(held, types.FunctionType | staticmethod | classmethod):
                return getattr(owner, name)
            if hasattr(type(held), "__get__"):
                break  # a property
            return held
    raise KeyError(name)


def belongs_to_a_package(module: str | None) -> bool:
    """Return whether a module is of a package whose numbers stay."""
    return (module or "").partition(".")[0] in CONSTANT


def in_words(value: Any, depth: int = 0) -> str | None:
    """Return numbers and texts in words that differ when they do; None for what is neither."""
    if isinstance(value, int | float | complex | str | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return repr(value.tolist())
    if depth < DEEP and isinstance(value, list | tuple):
        parts = [in_words(one, depth + 1) for one in value]
        return None if None in parts else f"[{', '.join(filter(None, parts))}]"
    if depth < DEEP and isinstance(value, dict) and all(isinstance(key, str | int) for key in value):
        inner = {key: in_words(one, depth + 1) for key, one in value.items()}
        return (
            None if None in inner.values() else ", ".join(f"{key}: {words}" for key, words in inner.items()).join("{}")
        )
    return None
