"""Formulations by name: one line each. A line and its file are all that a formulation has."""

import importlib
from collections.abc import Iterator, Mapping

from rtmbs.errors import unknown_name
from rtmbs.formulations.contract import Formulation

PLACES = {  # name: (module, class)
    "direct": ("direct", "Direct"),
    "baumgarte": ("baumgarte", "Baumgarte"),
    "partitioning": ("partitioning", "Partitioning"),
    "qr": ("qr", "QR"),
    "svd": ("svd", "SVD"),
    "null-space": ("null_space", "NullSpace"),
    "penalty": ("penalty", "Penalty"),
    "augmented-lagrangian": ("augmented_lagrangian", "AugmentedLagrangian"),
}


class Register(Mapping[str, type[Formulation]]):
    """The classes of ``PLACES``, loaded when they are asked for."""

    def __getitem__(self, name: str) -> type[Formulation]:
        if name not in PLACES:
            raise unknown_name("formulation", name, PLACES)
        module, kind = PLACES[name]
        found: type[Formulation] = getattr(importlib.import_module(f"rtmbs.formulations.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


FORMULATIONS = Register()
