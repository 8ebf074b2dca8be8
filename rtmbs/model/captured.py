"""Captured values of force laws: values read beside the arguments, and values written outside of the function.

A recorded law keeps the values of compile, and is not called again. Reads are found in the instructions of the
function, and of functions and methods that it calls by name: globals, variables of functions around, default arguments,
arguments of ``functools.partial``, and attributes of objects, classes and modules. What a function writes itself is its
own. Not found is what an index or the answer of a call leads to.
"""

import dis
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

NAMES, AROUND, LOCAL = ("LOAD_GLOBAL", "LOAD_NAME"), "LOAD_DEREF", "LOAD_FAST"
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
WRITES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")
CONSTANT = ("numpy", "scipy", "math", "cmath", "rtmbs")  # packages that nobody changes
DEEP = 3  # lists in lists in lists
ABSENT = (AttributeError, KeyError, IndexError, ValueError)  # what a name may raise that is there no more

Look = Callable[[], Any]  # returns what a name leads to now


class BoundFunction(NamedTuple):
    """A function of Python with its bound first arguments: ``self``, and those of a partial."""

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


def unwrapped(look: Look) -> BoundFunction | None:
    """Return the function of Python behind a function, a method, a partial, or an object that can be called."""
    found: Any = look()
    if isinstance(found, functools.partial):
        inner = unwrapped(lambda: found.func)
        if inner is None:
            return None
        given = tuple(functools.partial(getitem, found.args, k) for k in range(len(found.args)))
        named = {name: functools.partial(getitem, found.keywords, name) for name in found.keywords}
        return BoundFunction(inner.function, (*inner.given, *given), {**inner.named, **named})
    if isinstance(found, types.MethodType):
        inside = found.__func__
        return BoundFunction(inside, (lambda: found.__self__,), {}) if hasattr(inside, "__globals__") else None
    if isinstance(found, types.FunctionType):
        return BoundFunction(found, (), {})
    of_class: Any = vars(type(found)).get("__call__")
    return BoundFunction(of_class, (look,), {}) if isinstance(of_class, types.FunctionType) else None


def getitem(held: Any, key: Any) -> Any:
    """Return an entry."""
    return held[key]


def names_known(called: BoundFunction) -> dict[tuple[str, str], Look]:
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
    """Yield the object of a name, and those of the attributes read ``after`` it."""
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


IN_PLACE = "SWAP"  # what comes before a store of ``self.count += 1``
WRITE_DEPTH = 2  # containers in containers


class Writes:
    """Comparison of the objects that a function refers to by name, before and after a call.

    Found are stores into globals, into variables of functions around and into attributes, by the instructions of the
    function. Changes of lists, dictionaries, sets, arrays and objects are found by comparison.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.called = unwrapped(lambda: function)
        self.before = self.contents()

    def contents(self) -> dict[str, Any]:
        """Return the present contents of the containers by name."""
        found = {}
        for (_, name), look in names_known(self.called).items() if self.called else ():
            try:
                value = look()
            except (AttributeError, KeyError, IndexError, ValueError):
                continue
            if (held := contents_of(value, WRITE_DEPTH)) is not None:
                found[name] = held
        return found

    def names(self) -> list[str]:
        """Return the names that the function has written, or that its instructions store into."""
        if self.called is None:
            return []
        known, instructions = names_known(self.called), list(dis.get_instructions(self.called.function))
        stored = [one.argval for before, one in pairwise(instructions) if self.goes_outside(before, one, known)]
        now = self.contents()
        changed = [name for name, held in self.before.items() if not equal(held, now.get(name))]
        return list(dict.fromkeys([*map(str, stored), *changed]))

    def goes_outside(self, before: dis.Instruction, one: dis.Instruction, known: Mapping[Any, Any]) -> bool:
        """Return whether an instruction stores into a foreign object; ``before`` loads the object."""
        assert self.called is not None
        if one.opname not in WRITES:
            return False
        if one.opname == "STORE_DEREF":
            return one.argval in self.called.function.__code__.co_freevars
        if one.opname == "STORE_ATTR" and before.opname.startswith(LOCAL):
            return ("local", before.argval) in known  # such as self, and no object that the function made
        return one.opname == "STORE_GLOBAL" or before.opname in (*NAMES, AROUND, IN_PLACE)


def contents_of(value: Any, depth: int) -> Any:
    """Return the content of a container, to be compared; None for objects that are no mutable container."""
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
