"""Unknown keyword arguments of public calls: an error with the call, the nearest right name and the list of all names.

Rooms hand their public names to ``checked`` where they publish them, so no class and no function does anything itself.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import wraps
from inspect import Parameter, signature, unwrap
from types import CodeType, FunctionType
from typing import Any, cast

from rtmbs.errors import ArgumentError, nearest_names

SYMBOLS = {  # short names of textbooks and other programs, and the arguments that they mean
    "F": ("force",),
    "I": ("inertia",),
    "J": ("inertia",),
    "L": ("length",),
    "R": ("orientation", "radius"),
    "T": ("t_end", "torque"),
    "atol": ("tolerance",),
    "c": ("damping",),
    "cog": ("center_of_mass",),
    "com": ("center_of_mass",),
    "d": ("damping",),
    "dt": ("h",),
    "duration": ("t_end",),
    "g": ("gravity",),
    "integrator": ("method",),
    "k": ("stiffness",),
    "l": ("length",),
    "l0": ("length",),
    "m": ("mass",),
    "omega": ("rate", "frequency"),
    "q": ("orientation", "position"),
    "r": ("radius", "position", "point"),
    "rtol": ("tolerance",),
    "solver": ("method",),
    "step": ("h",),
    "step_size": ("h",),
    "tau": ("torque",),
    "tf": ("t_end",),
    "tol": ("tolerance",),
    "v": ("rate",),
}

WRAPPERS: set[CodeType] = set()  # the code of ``call``
CONSTRUCTORS = ("__init__", "__new__")  # of a NamedTuple the second one
IN_EVERY_STEP = ("StepReport",)  # classes whose constructor keeps its speed


def checked(value: Any) -> Any:
    """Return a public class or function whose calls answer an unknown keyword argument by ArgumentError.

    A class is changed in place: its constructor, and the methods with an optional argument. Methods without one are
    called by position, at every step of a run, and cost nothing more. A function is replaced where it is defined.
    """
    if isinstance(value, type):
        if not issubclass(value, Enum) and value.__name__ not in IN_EVERY_STEP:
            for kind in value.__mro__:
                if kind.__module__.startswith("rtmbs."):
                    for name, method in list(methods(kind)):
                        setattr(kind, name, method)
    elif isinstance(value, FunctionType) and value.__code__ not in WRAPPERS:
        name, value = value.__name__, refusing(value)
        setattr(sys.modules[value.__module__], name, value)  # pickle compares the two
    return value


def publish(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Let these public names of a module be ``checked``."""
    namespace.update({name: checked(namespace[name]) for name in names})


def lazily(package: str, attached: tuple[Any, Any, Any]) -> tuple[Callable[[str], Any], Any, Any]:
    """Return the functions of ``lazy_loader.attach`` with names that are ``checked`` at their first use.

    The loader keeps what it found in the ``package``, so the checked one takes its place there.
    """
    find, listed, names = attached

    def found(name: str) -> Any:
        value = checked(find(name))
        if name in vars(sys.modules[package]):
            setattr(sys.modules[package], name, value)
        return value

    return found, listed, names


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the constructor of a class and its public methods with an optional argument, not yet checked."""
    for name, held in vars(kind).items():
        bound = isinstance(held, classmethod | staticmethod)
        function = held.__func__ if bound else held
        if not isinstance(function, FunctionType) or function.__code__ in WRAPPERS:
            continue
        own = name in CONSTRUCTORS and not getattr(kind, "_is_protocol", False)  # typing compares that of a protocol
        if own or (not name.startswith("_") and optional(function)):
            yield name, type(held)(refusing(function)) if bound else refusing(function)


def optional(function: Any) -> bool:
    """Return whether a function, or the one that it wraps, has an argument with a default."""
    inner = unwrap(function)
    return bool(inner.__defaults__ or inner.__kwdefaults__)


def refusing(function: Any) -> Any:
    """Return a function that raises ArgumentError where Python raises TypeError for an unknown keyword argument."""

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError:
            if keywords and (error := unknown_keyword(function, args, keywords)):
                raise error from None
            raise

    WRAPPERS.add(cast(Any, call).__code__)
    return call


def unknown_keyword(function: Any, args: tuple[Any, ...], keywords: Iterable[str]) -> ArgumentError | None:
    """Return the error for the first keyword that a function does not take; None when it takes all of them."""
    parameters = signature(function).parameters.values()
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return None
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    known = [one.name for one in parameters if one.kind in named and one.name not in ("self", "cls", "_cls")]
    unknown = next((name for name in keywords if name not in known), None)
    if unknown is None:
        return None
    what = called(function, args)
    listed = f"takes {', '.join(known)}" if known else "takes none by name"
    meant = [name for name in SYMBOLS.get(unknown, ()) if name in known] or nearest_names(unknown, known)
    if not meant:
        return ArgumentError(f"{what} takes no argument {unknown!r}; it {listed}")
    return ArgumentError(f"{what} takes no argument {unknown!r}; did you mean {meant[0]!r}? It {listed}")


def called(function: Any, args: tuple[Any, ...]) -> str:
    """Return the name of a call as the user writes it: ``SpringDamper``, ``Model.add_body``, ``sweep``."""
    owner, dot, name = function.__qualname__.rpartition(".")
    if not dot or owner.endswith("<locals>"):
        return str(name)
    kind = args[0] if args and isinstance(args[0], type) else type(args[0]) if args else None
    shown = kind.__name__ if kind is not None else owner
    return shown if name in CONSTRUCTORS else f"{shown}.{name}"
