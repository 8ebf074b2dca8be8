"""Register of the kinds of force between two frames. A new kind is a file beside this one and a line here."""

import importlib
from typing import Any, NamedTuple, cast

import numpy as np

from rtmbs.forces.kind import ForceKind
from rtmbs.jit.struct import struct

FILES = (
    "springs",
    "wrenches",
    "bushings",
)  # of this room, each with one ForceKind; kernels run in this order


def kind_in(file: str) -> ForceKind:
    """Return the ForceKind of a file of this room."""
    (found,) = (one for one in vars(importlib.import_module(f"rtmbs.forces.{file}")).values() if type(one) is ForceKind)
    return found


KINDS: tuple[ForceKind, ...] = tuple(map(kind_in, FILES))
BY_WORD = {kind.word: kind for kind in KINDS}

# ``Tables.forces``: the table of every kind under its name.
Forces: Any = struct(cast(Any, NamedTuple)("Forces", [(kind.name, Any) for kind in KINDS]))


def select_connected(table: Any, connectors: np.ndarray, number: np.ndarray) -> Any:
    """Return the rows of a table whose connectors are kept (nl,) bool, under their new numbers (nl,)."""
    kept = connectors[table.connector]
    rows = type(table)(*(column[kept] for column in table))
    return rows._replace(connector=number[rows.connector])
