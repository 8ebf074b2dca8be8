"""What analyses share: their subject, and their results as text.

Results of analyses as one line, as text and in a notebook, and dictionaries by name.

Resolution of the ``of`` argument of analyses: a Simulation, an analysis result, or a State of a known System.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.model.model import Model
from rtmbs.semirecursive.start.checks import check_closed
from rtmbs.simulation.simulation import Simulation, store_of, system_of
from rtmbs.state import State
from rtmbs.system.system import System

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


MEANT = "a Simulation at the state that is meant"


def simulation_of(verb: str, of: Any, wanted: str = MEANT) -> Simulation:
    """Return the Simulation at the state of ``of``.

    of : a Simulation; an Equilibrium, a Linearisation or Modes; or a State of a System that a Simulation has. Raises
        InputError with the remedy for a Model, a System and anything else, StateError for a State with open loops.
    """
    if isinstance(of, Simulation):
        return of
    if isinstance(inner := getattr(of, "simulation", None), Simulation):
        return inner
    if not isinstance(of, State):
        raise wrong_argument(verb, wanted, of)
    system = system_of(of)
    if system is None:
        raise InputError(
            f"{verb} was given a State at t = {of.t:g} s of a mechanism that no Simulation here has; restore it first: "
            f"sim.restore(state), and give {verb} the Simulation"
        )
    sim = Simulation(system, of.h)
    state = of.copy()
    check_closed(sim.equations, state, "this state")
    store_of(sim).go_on_from(state, state.t)
    return sim


def wrong_argument(verb: str, wanted: str, given: Any) -> InputError:
    """Return the error for an argument that an analysis cannot use, with the remedy."""
    ways = (
        (Model, "a Model", f"rtmbs.{verb}(rtmbs.Simulation(model.compile()), ...)"),
        (System, "a System", f"rtmbs.{verb}(rtmbs.Simulation(system), ...)"),
        (State, "a State", "sim.restore(state), and give the Simulation"),
    )
    for kind, what, way in ways:
        if isinstance(given, kind):
            return InputError(f"{verb} takes {wanted}, not {what}; write {way}")
    return InputError(f"{verb} takes {wanted}, not {shown(given)}")
