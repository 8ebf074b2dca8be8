"""Contract of a method of time integration, and penalty factors of loop equations (METHODS 1.6).

Checklist for a new method
--------------------------
1. Options are fields of a frozen dataclass, checked when it is made. What steps need besides is made by ``start``.
2. ``advance`` reads ``old``, never writes it, and fills z, zd, zdd, lam, R0 and memory of ``new`` completely before it
   answers an outcome that is accepted. Time, h and inputs at the end of the step stand in ``new`` already.
3. An accepted outcome never comes with a number that is not finite. No loop in a method is without a bound.
4. What a restart needs stands in ``State.memory``, under the names that ``remember`` gives: a State that is saved,
   loaded and gone on with gives the same numbers bit for bit.
5. A method sees ``Equations`` (``integrators/base.py``) and never a mechanism.
"""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.methods import Capability
from rtmbs.state import State

Array = NDArray[np.float64]

PENALTY = 1e6  # dimensionless c
USUAL = frozenset((Capability.FORCE_STATES, Capability.REDUNDANT, Capability.SAME_BYTES, Capability.REFINED))


def penalty_factors(equations: Equations, h: float, c: float | None, alpha: float | None) -> Array:
    """Return alpha_l = c (4/h^2) m_l (m,), or one in SI units as in the paper (times length^2 in rotation rows).

    Raises InputError for factors that are not finite.
    """
    rotation, length = equations.sizes.rotation, equations.sizes.length
    if alpha is not None:
        factors = np.where(rotation, alpha * length**2, alpha)
    else:
        factors = (c or 0.0) * 4.0 / h**2 * equations.masses
    if not np.all(np.isfinite(factors)):
        given = f"penalty = {c:g} at h = {h:g} s" if alpha is None else f"alpha = {alpha:g}"
        raise InputError(f"{given} makes penalty factors that are not finite; give a smaller penalty or a larger step")
    return np.asarray(factors, np.float64)


class Orders(NamedTuple):
    """Theoretical orders of a method in positions, rates, accelerations and multipliers."""

    q: int
    v: int
    a: int
    lam: int


class Method(Protocol):
    """A method of time integration."""

    order: ClassVar[int]  # of z, zd, zdd and lam, for smooth forces
    capabilities: ClassVar[frozenset[Capability]] = USUAL  # what is asked of it before it is used, never its class
    symmetric: ClassVar[bool] = False  # errors are even powers of h: the way back undoes a step
    redundant: bool = True  # takes dependent loop equations that agree with each other as they are
    averages_inputs: ClassVar[bool] = False  # of both ends of a step: a jump inside is then told by its mean

    @property
    def orders(self) -> Orders | None:
        """Orders in the step; None for a method that chooses steps by tolerances of its own."""
        return Orders(*[self.order] * 4)

    def even_powers(self, balanced: bool, turning: bool) -> bool:
        """True when errors of a run are even powers of h.

        ``balanced``: loops of the mechanism keep a balance of energy. ``turning``: their reactions change direction.
        """
        return self.symmetric

    @property
    def c(self) -> float | None:
        """Dimensionless penalty of METHODS 1.6, also that of the start; None where factors are given in SI units."""
        return PENALTY

    def penalties(self, equations: Equations, h: float) -> Array:
        """Return the penalty factors (m,) of the loop equations for steps of ``h`` [s]."""
        return penalty_factors(equations, h, self.c, None)

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return ``State.memory`` at a start, by name, for steps of ``h`` [s]."""
        return {}

    def carried(self, state: State, before: Self | None = None) -> dict[str, Array]:
        """Return the part of ``state.memory`` that stays with another h, or where options ``before`` become these.

        The rest is that of a start.
        """
        return {}

    def ended_by_ramps(self, state: State) -> Array | None:
        """Return the part of ``state.memory`` that a ramp of an input sets to zero; None where there is none."""
        return None

    def begin(self, equations: Equations, state: State) -> None:
        """Let ``state.memory`` be that of a start at ``state``, whose other fields are complete."""
        return None  # noqa: RET501

    def moved(self, equations: Equations, state: State) -> None:
        """Let ``state.memory`` follow positions or rates that were changed by hand."""

    def pushed(self, equations: Equations, work: Any, state: State, roughly: bool = False) -> bool:
        """Let ``state.memory`` follow inputs that were changed between two steps, before accelerations do.

        ``work`` is what ``start`` returned. ``roughly``: nobody but the next step looks, and it may lose no order. True
        when accelerations, multipliers and rates of force states followed as well: a method with a kernel may do so at
        a fraction of the time.
        """
        return False

    def start(self, equations: Equations, state: State) -> Any:
        """Return what steps need besides states: after a start, a restore, with a new h or other options."""
        return None

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step from ``old`` to ``new``; ``work`` is what ``start`` returned."""

    def takes_many(self, equations: Equations) -> bool:
        """True when ``advance_many`` serves these equations."""
        return False

    def advance_many(self, equations: Equations, work: Any, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row; returns (accepted steps, whether the next one is for ``advance``)."""
        return 0, True

    def changed(self, changes: dict[str, Any]) -> Self:
        """Return this method with some options changed."""
        return replace(self, **changes)  # type: ignore[type-var]

    def check(self, state: State, what: str) -> None:
        """Refuse what no step of this method can have left in ``state.memory``: StateError naming ``what``."""
        return None  # noqa: RET501
