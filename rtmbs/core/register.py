"""Registers of classes by name: those of the package, each loaded on first use, and those that users add."""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

from rtmbs.errors import InputError, shown, unknown_name

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
