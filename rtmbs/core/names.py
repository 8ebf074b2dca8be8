"""Names that users write: keywords, attributes, registered classes, and channels in brackets.

Names in brackets: ``result["crank.*"]``, ``result[["crank.angle", "crank.rate"]]``, and completion by tab.

Unknown keyword arguments of public calls: an error with the call, the nearest right name and the list of all names.

Rooms hand their public names to ``checked`` where they publish them, so no class and no function does anything itself.

Registers of classes by name: those of the package, each loaded on first use, and those that users add.

Objects that refuse unknown attributes: a misspelt one would be kept without effect.
"""

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from difflib import get_close_matches
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache, wraps
from inspect import Parameter, signature, unwrap
from types import CodeType, FunctionType
from typing import Any, ClassVar, Generic, TypeVar, cast

from rtmbs.errors import ArgumentError, InputError, UnknownNameError, nearest_names, shown, unknown_name

MARKS = frozenset("*?[")


class Keyed:
    """An object that takes names in brackets: ``keys`` lists them, and IPython completes them by tab."""

    def keys(self) -> list[str]:
        """Return the names that may stand in brackets."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())


def selected(kind: str, wanted: Any, names: Collection[str]) -> list[str] | None:
    """Return the names that a pattern or a list means, each once and in the order of the list; None for one name.

    Parameters
    ----------
    kind : what carries the names, as a message calls it
    wanted : what stands in brackets: a name, a pattern of ``fnmatch`` with ``*``, ``?`` or ``[abc]``, or a list or
        tuple of names and patterns
    names : all names

    Raises UnknownNameError for a pattern without a match and for an unknown name in a list.
    """
    if isinstance(wanted, list | tuple):
        found = [one for each in wanted for one in (selected(kind, each, names) or [known(kind, each, names)])]
        return list(dict.fromkeys(found))
    if not isinstance(wanted, str) or not MARKS.intersection(wanted) or wanted in names:
        return None
    matched = [name for name in names if fnmatchcase(name, wanted)]
    if not matched:
        raise unmatched(kind, wanted, names)
    return matched


def known(kind: str, name: Any, names: Collection[str]) -> str:
    """Return a name of a list; UnknownNameError for one that does not exist."""
    if not isinstance(name, str) or name not in names:
        raise unknown_name(kind, name, names)
    return name


def unmatched(kind: str, pattern: str, names: Iterable[str]) -> UnknownNameError:
    """Return the error for a pattern that no name matches, with the patterns and names most like it."""
    names = list(names)
    owners = [f"{owner}.*" for owner in dict.fromkeys(name.rpartition(".")[0] for name in names) if owner]
    near = nearest_names(pattern, owners) or nearest_names(pattern, names)
    if not near:
        return unknown_name(kind, pattern, names)
    return UnknownNameError(
        f"there is no {kind} that matches {shown(pattern)}; did you mean {', '.join(map(repr, near))}?"
    )


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


Kind = TypeVar("Kind")
Class = TypeVar("Class", bound=type)


class Register(Mapping[str, type[Kind]], Generic[Kind]):
    """Classes by name, each loaded from ``places``: (module of ``package``, class); ``noun`` stands in errors."""

    def __init__(self, noun: str, package: str, places: Mapping[str, tuple[str, str]]) -> None:
        self.noun, self.package, self.places = noun, package, places
        self.added: dict[str, type[Kind]] = {}

    def __getitem__(self, name: str) -> type[Kind]:
        if name in self.added:
            return self.added[name]
        if name not in self.places:
            raise unknown_name(self.noun, name, self)
        module, kind = self.places[name]
        found: type[Kind] = getattr(importlib.import_module(f"{self.package}.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.places or name in self.added

    def __iter__(self) -> Iterator[str]:
        return iter((*self.places, *self.added))

    def __len__(self) -> int:
        return len(self.places) + len(self.added)

    def class_name(self, name: str) -> str:
        """Return the name of a class without loading its module."""
        return self.added[name].__name__ if name in self.added else self.places[name][1]

    def add(self, name: str, kind: type[Kind]) -> None:
        """Add a class of the user; raises InputError for a name that is taken."""
        if name in self.places:
            raise taken(self.noun, name)
        add_class(self.added, self.noun, name, kind)


def add_class(known: MutableMapping[str, type[Any]], noun: str, name: str, kind: type[Any]) -> None:
    """Add a class under a name; one of the same module and name, written anew in a notebook, takes the place of its
    older self. Raises InputError for a name that another class has.
    """
    old = known.get(name, kind)
    if (old.__module__, old.__qualname__) != (kind.__module__, kind.__qualname__):
        raise taken(noun, name)
    known[name] = kind


def taken(noun: str, name: str) -> InputError:
    return InputError(f"{noun} {name!r} is registered already, as another class; give the class another name")


ADDING: dict[type, Callable[[Any], None]] = {}  # base class: what adds a class of it to its register


def register(kind: Class) -> Class:
    """Make a class of the user known by its name: a joint type, a force law, a method of time or a formulation.

    A registered joint type or force law has a statement in the model language, and is written to files. A registered
    method stands in ``rtmbs.METHODS``, a formulation in ``rtmbs.formulations.FORMULATIONS``; the comparison of methods
    takes both. All of them work without being registered as well. Use it as a decorator, above ``@dataclass``.

    Parameters
    ----------
    kind : type
        Class derived from ``rtmbs.model.JointType``, ``rtmbs.model.ForceLaw``, ``rtmbs.methods.Method`` or
        ``rtmbs.formulations.Formulation``.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    InputError
        For anything else, and for a name that is taken.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import rtmbs
    >>> @rtmbs.register
    ... @dataclass(frozen=True)
    ... class Drawer(rtmbs.Prismatic):
    ...     "A slide that a model file names by the statement ``drawer joint``."
    >>> rtmbs.model.JOINT_TYPES["Drawer"] is Drawer
    True
    """
    bases = kind.__mro__[1:] if isinstance(kind, type) else ()
    for base in bases:
        if base in ADDING:
            ADDING[base](kind)
            return kind
    raise InputError(
        f"{shown(kind)} is no class that can be registered; derive it from rtmbs.model.JointType, "
        "rtmbs.model.ForceLaw, rtmbs.methods.Method or rtmbs.formulations.Formulation"
    )


ALIKE = 0.75  # share of letters from which another name may be meant
VOWELS = "AEIOU"


class StrictAttributes:
    """Refuses an attribute that its class does not know, by AttributeError with the nearest known name.

    Known are methods, properties and annotated names of the class and those it inherits from. A class of the user that
    inherits from one of these takes what it likes.
    """

    _remedy: ClassVar[str] = ""  # advice about an unknown attribute; {name} stands for the attribute

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = type(self)
        if name not in names_of(kind) and name not in self.__dict__:
            self._check_name(name)
        object.__setattr__(self, name, value)

    def _check_name(self, name: str) -> None:
        """Refuse an attribute that the class does not know, or that is for reading: AttributeError."""
        kind: Any = type(self)
        if not kind.__module__.startswith("rtmbs."):
            return
        found = getattr(kind, name, None)
        if isinstance(found, property) and found.fset is None:
            raise AttributeError(self._refusal(name, f"attribute {name!r} of a {kind.__name__} is for reading"))
        if found is None:
            article = "an" if kind.__name__[0] in VOWELS else "a"
            raise AttributeError(self._refusal(name, f"{article} {kind.__name__} has no attribute {name!r}"))

    @classmethod
    def _own_names(cls) -> set[str]:
        """Return the names of attributes that objects of the class may have beside methods and properties."""
        return annotated(cls)

    def _refusal(self, name: str, what: str) -> str:
        """Return the sentence about an attribute that cannot be set.

        Parameters
        ----------
        name : str
            Name of the attribute.
        what : str
            Name of the object.

        Returns
        -------
        str
            Sentence about an attribute that cannot be set.
        """
        known = [one for one in (*dir(type(self)), *self._own_names()) if not one.startswith("_")]
        near = get_close_matches(name, known, 1, ALIKE)
        meant = f"; did you mean {near[0]!r}?" if near and near[0] != name else ""
        return what + (meant or self._remedy.format(name=name))


@cache
def names_of(kind: type[StrictAttributes]) -> frozenset[str]:
    """Return the own names of a class but properties, looked up once: short runs make many a Result."""
    return frozenset(name for name in kind._own_names() if not isinstance(getattr(kind, name, None), property))


def annotated(kind: type) -> set[str]:
    """Return the names that a class and those it inherits from annotate."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}
