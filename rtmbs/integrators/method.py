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

from rtmbs.core.names import ADDING
from rtmbs.errors import InputError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, Chunk, Settings, arrays_of
from rtmbs.methods import Capability, add_method
from rtmbs.state import State

Array = NDArray[np.float64]

PENALTY = 1e6  # dimensionless c
NO_FACTORS = np.zeros(0)  # penalty factors of a state that has none
USUAL = frozenset(
    (
        Capability.FORCE_STATES,
        Capability.LOOPS,
        Capability.REDUNDANT,
        Capability.SAME_BYTES,
        Capability.REFINED,
        Capability.EVENTS,
    )
)


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


def settings_for(equations: Equations, tol: float, **options: Any) -> Settings:
    """Return Settings with the sizes of the equations, ``tol`` in typical sizes, and options by name."""
    sizes = equations.sizes
    return Settings(
        loop_tolerance=LOOP_TOLERANCE,
        absolute=tol * sizes.typical,
        typical=sizes.typical,
        pace=sizes.pace,
        rotation=sizes.rotation,
        scale=sizes.scale,
        mass=equations.masses,
        first=sizes.first,
        **options,
    )


def followed(equations: Equations, settings: Settings, state: State, seen: bool) -> bool:
    """Let accelerations and multipliers follow changed inputs by the compiled step of the trapezoidal rule.

    ``seen``: memory stays. False where the equations have no such step.
    """
    fused = equations.step_kernel("penalty-trapezoidal")
    return fused is not None and fused.follow(settings, arrays_of(state), state.u, not seen)


class Orders(NamedTuple):
    """Theoretical orders of a method in positions, rates, accelerations and multipliers.

    Parameters
    ----------
    q : int
        Order of positions.
    v : int
        Order of rates.
    a : int
        Order of accelerations.
    lam : int
        Order of multipliers.
    """

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
    compiled_step: ClassVar[str] = ""  # name of the compiled step, for methods with the capability BATCH
    extrapolates: ClassVar[bool] = False  # runs with a tolerance extrapolate its steps, which must be MidpointSteps

    @property
    def orders(self) -> Orders | None:
        """Orders in the step; None for a method that chooses steps by tolerances of its own."""
        return Orders(*[self.order] * 4)

    def even_powers(self, balanced: bool, turning: bool) -> bool:
        """Return True when errors of a run are even powers of h.

        Parameters
        ----------
        balanced : bool
            True when loops of the mechanism keep a balance of energy.
        turning : bool
            True when reactions of these loops change direction.

        Returns
        -------
        bool
            True when errors of a run are even powers of h.
        """
        return self.symmetric

    @property
    def c(self) -> float | None:
        """Dimensionless penalty of METHODS 1.6, also that of the start; None where factors are given in SI units."""
        return PENALTY

    def penalties(self, equations: Equations, h: float) -> Array:
        """Return the penalty factors of the loop equations for steps of one size.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        h : float
            Step [s].

        Returns
        -------
        ndarray
            Penalty factors (m,) of the loop equations [N/m; N m for rotation rows].
        """
        return penalty_factors(equations, h, self.c, None)

    def penalties_of(self, state: State) -> Array:
        """Return the penalty factors that a state carries for the next step.

        Parameters
        ----------
        state : State
            State of a Simulation with this method.

        Returns
        -------
        ndarray
            Penalty factors (m,) in ``state.memory`` [N/m; N m for rotation rows]; (0,) where it has none.
        """
        return NO_FACTORS

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return ``State.memory`` at a start.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        h : float
            Step [s].

        Returns
        -------
        dict[str, ndarray]
            Arrays of ``State.memory`` by name; none unless the method overrides this.
        """
        return {}

    def carried(self, state: State, before: Self | None = None) -> dict[str, Array]:
        """Return the part of ``state.memory`` that stays with another h or with other options.

        Parameters
        ----------
        state : State
            State before the change.
        before : Self, optional
            Method with the options before the change; those of this method unless given.

        Returns
        -------
        dict[str, ndarray]
            Arrays of ``state.memory`` that stay; the others are those of a start.
        """
        return {}

    def ended_by_ramps(self, state: State) -> Array | None:
        """Return the part of ``state.memory`` that a ramp of an input sets to zero.

        Parameters
        ----------
        state : State
            State at the beginning of a step.

        Returns
        -------
        ndarray or None
            Array of ``state.memory`` to set to zero; None where there is none.
        """
        return None

    def begin(self, equations: Equations, state: State) -> None:
        """Set ``state.memory`` to that of a start at ``state``.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        state : State
            State whose other fields are complete; its memory is written in place.
        """
        return None  # noqa: RET501

    def moved(self, equations: Equations, state: State) -> None:
        """Update ``state.memory`` after positions or rates were set by the user.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        state : State
            State with changed positions or rates; its memory is updated in place.
        """
        return None  # noqa: RET501 - mypy takes a method without a body for abstract

    def pushed(self, equations: Equations, work: Any, state: State, seen: bool = False) -> bool:
        """Update ``state.memory`` after inputs changed between two steps, before accelerations are updated.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : object
            Object that ``start`` returned.
        state : State
            State with changed inputs; its memory is updated in place.
        seen : bool, default False
            True when no step begins with the state: accelerations are looked at, and its memory stays.

        Returns
        -------
        bool
            True when accelerations, multipliers and rates of force states were updated as well, as a compiled method
            may do.
        """
        return False

    def start(self, equations: Equations, state: State) -> Any:
        """Return what steps need besides states: after a start, a restore, with a new h or other options.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        state : State
            State that the next step begins with.

        Returns
        -------
        object
            Object that ``advance`` takes as ``work``; None where steps need none.
        """
        return None

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step from ``old`` to ``new``.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : object
            Object that ``start`` returned.
        old : State
            State at the beginning of the step, read only.
        new : State
            State at the end; time, h and inputs stand in it, the rest is written in place.

        Returns
        -------
        StepReport
            Outcome, counts and violations of the step.
        """

    def advance_changed(
        self, equations: Equations, work: Any, known: Array, old: State, new: State
    ) -> StepReport | None:
        """Take a step as ``advance`` does, from a State whose inputs have changed and whose accelerations have not.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : object
            Object that ``start`` returned.
        known : ndarray
            Inputs (nu,) that the accelerations are those of; not a number where they are not known.
        old : State
            State at the beginning of the step, read only; accelerations, multipliers, rates of force states and memory
            are those of other inputs.
        new : State
            State at the end; time, h and inputs stand in it, the rest is written in place.

        Returns
        -------
        StepReport or None
            Report of an accepted step; None where ``advance`` is to take it from accelerations that are solved for.
        """
        return None

    def takes_many(self, equations: Equations) -> bool:
        """True when ``advance_many`` serves these equations.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.

        Returns
        -------
        bool
            True when ``advance_many`` serves these equations.
        """
        return False

    def advance_many(self, equations: Equations, work: Any, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row of a chunk.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : object
            Object that ``start`` returned.
        old : State
            State at the beginning of the first step.
        chunk : Chunk
            States of consecutive steps, a row a step, written in place.

        Returns
        -------
        tuple[int, bool]
            Number of accepted steps, and True when the next step is for ``advance``.
        """
        return 0, True

    def loop_weights(self, work: Any, state: State) -> tuple[Array, Array]:
        """Return the two weights of loop equations that the compiled step takes, for methods with capability BATCH.

        Parameters
        ----------
        work : object
            Object that ``start`` returned.
        state : State
            State that a step begins with.

        Returns
        -------
        tuple[ndarray, ndarray]
            Penalty factors (m,), and weights beside the mass matrix (m,); zeros for one that the step does not take.
        """
        none = np.zeros_like(state.lam)
        return none, none

    def groups(self, equations: Equations) -> Any:
        """Return the parts of the mechanism that ``advance_many`` steps on threads of their own.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.

        Returns
        -------
        object or None
            Groups with their ``coordinates``; None where the mechanism is stepped as a whole.
        """
        return None

    def changed(self, changes: dict[str, Any]) -> Self:
        """Return this method with some options changed.

        Parameters
        ----------
        changes : dict[str, object]
            Options by name.

        Returns
        -------
        Method
            New method of the same class.
        """
        return replace(self, **changes)  # type: ignore[type-var]

    def check(self, state: State, what: str) -> None:
        """Check ``state.memory`` of a state from outside.

        Parameters
        ----------
        state : State
            State that was loaded or restored.
        what : str
            Name of the state in the message.

        Raises
        ------
        StateError
            When ``state.memory`` holds what no step of this method can have left.
        """
        return None  # noqa: RET501


ADDING[Method] = add_method
