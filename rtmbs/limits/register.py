"""Registers: classes by name, each in a module of its own, which is loaded when the class is asked for."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from rtmbs.errors import unknown_name

Kind = TypeVar("Kind")


class Register(Mapping[str, type[Kind]], Generic[Kind]):
    """The classes of ``places``, name: (module of ``package``, class); ``noun`` is what errors call one."""

    def __init__(self, noun: str, package: str, places: Mapping[str, tuple[str, str]]) -> None:
        self.noun, self.package, self.places = noun, package, places

    def __getitem__(self, name: str) -> type[Kind]:
        if name not in self.places:
            raise unknown_name(self.noun, name, self.places)
        module, kind = self.places[name]
        found: type[Kind] = getattr(importlib.import_module(f"{self.package}.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
