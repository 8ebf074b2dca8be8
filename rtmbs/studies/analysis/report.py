"""Results of analyses as one line, as text and in a notebook, and dictionaries by name."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import unknown_name
from rtmbs.simulation.simulation import Simulation

LISTED = 12  # rows of a text
BALANCED = 1e-6  # of the pace of the modes, squared: accelerations that count as balance


class Report:
    """Mixin of results with ``line``, a summary in one line, and ``table``, the numbers as text."""

    def line(self) -> str:
        """Return a summary in one line."""
        raise NotImplementedError

    def table(self) -> str:
        """Return the numbers as text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.line()})"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Return the text for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


def rows(entries: Iterable[tuple[str, ...]]) -> list[str]:
    """Return lines of columns: names to the left, numbers to the right; long lists are cut, with their count."""
    listed = list(entries)
    kept = listed[: LISTED + 1]
    widths = [max(len(row[k]) for row in kept) for k in range(len(kept[0]))] if kept else []
    lines = []
    for row in kept:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines + ([f"and {len(listed) - len(kept)} more"] if len(listed) > len(kept) else [])


def unbalanced_note(sim: Simulation, pace: float) -> str:
    """Return a note for modes at an unbalanced pose; ``pace`` [1/s] is that of the modes."""
    state, typical = sim.state, sim.system.typical
    if np.max(np.abs(state.zdd) / typical, initial=0.0) > BALANCED * max(pace**2, 1.0):
        return (
            "Forces do not balance at this pose, so frequencies depend on the choice of coordinates; "
            "rtmbs.equilibrium finds a pose at which forces balance."
        )
    return ""


def numbers(values: NDArray[np.float64]) -> list[str]:
    """Return numbers as table cells."""
    return [f"{float(value):.6g}" for value in np.ravel(values)]


T = TypeVar("T")


class NamedValues(dict[str, T], Generic[T]):
    """Dict whose brackets raise UnknownNameError, with the nearest names, for an unknown name.

    also: second names, with the key that each stands for; brackets, ``in`` and ``get`` know them.
    """

    def __init__(
        self, kind: str, values: "dict[str, T] | Iterable[tuple[str, T]]" = (), also: "Mapping[str, str] | None" = None
    ) -> None:
        super().__init__(values)
        self.kind = kind  # as a message calls what carries the names
        self._also = dict(also or {})

    def __missing__(self, name: object) -> T:
        if isinstance(name, str) and name in self._also:
            return self[self._also[name]]
        raise unknown_name(self.kind, name, [*self, *self._also])

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._also

    def get(self, name: object, default: Any = None) -> Any:
        """Return the value of a name, or ``default``."""
        return self[name] if isinstance(name, str) and name in self else default

    def _ipython_key_completions_(self) -> list[str]:
        return [*self, *self._also]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self), self._also)
