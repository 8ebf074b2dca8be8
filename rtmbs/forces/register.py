"""Register of the kinds of force between two frames. A new kind is a file beside this one and a line here."""

from typing import Any, NamedTuple, cast

import numpy as np

from rtmbs.forces.bushings import BUSHINGS
from rtmbs.forces.kind import ForceKind
from rtmbs.forces.springs import SPRINGS
from rtmbs.forces.wrenches import WRENCHES
from rtmbs.jit.struct import struct

KINDS: tuple[ForceKind, ...] = (SPRINGS, WRENCHES, BUSHINGS)
BY_WORD = {kind.word: kind for kind in KINDS}

# ``Tables.forces``: the table of every kind under its name.
Forces: Any = struct(cast(Any, NamedTuple)("Forces", [(kind.name, Any) for kind in KINDS]))


def select_connected(table: Any, connectors: np.ndarray, number: np.ndarray) -> Any:
    """Return the rows of a table whose connectors are kept (nl,) bool, under their new numbers (nl,)."""
    kept = connectors[table.connector]
    rows = type(table)(*(column[kept] for column in table))
    return rows._replace(connector=number[rows.connector])
