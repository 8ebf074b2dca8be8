"""Contracts of equations of motion and of methods of time integration, and penalty factors of loops (METHODS 1.6).

Checklist for new equations
---------------------------
* ``residual`` evaluates everything at one state and time; ``factor``, ``solve`` and the loop quantities belong to the
  state last evaluated by ``residual`` or ``close``.
* Nothing here may change the arrays handed in.
* A number that is not finite is returned as it is, or raises NotFinite where nothing can be returned; the integrator
  turns it into an Outcome.

Checklist for a new method
--------------------------
1. Options are fields of a frozen dataclass, checked when it is made. What steps need besides is made by ``start``.
2. ``advance`` reads ``old``, never writes it, and fills z, zd, zdd, lam, R0 and memory of ``new`` completely before it
   answers an outcome that is accepted. Time, h and inputs at the end of the step stand in ``new`` already.
3. An accepted outcome never comes with a number that is not finite. No loop in a method is without a bound.
4. What a restart needs stands in ``State.memory``, under the names that ``remember`` gives: a State that is saved,
   loaded and gone on with gives the same numbers bit for bit.
5. A method sees ``Equations`` and never a mechanism.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.names import ADDING
from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, Chunk, Settings, StateArrays, arrays_of
from rtmbs.methods import Capability, add_method
from rtmbs.numerics.linear.solver import LinearSolver
from rtmbs.state import State

Array = NDArray[np.float64]


class SingularTangent(ArithmeticError):
    """Raised by ``factor`` and ``solve`` when the Newton matrix has no usable factor."""


class NotFinite(ArithmeticError):
    """Raised by ``factor`` and ``solve`` when the Newton matrix or the right-hand side is not finite."""


class Turned(Protocol):
    """Coordinates and reference rotations: a State, or its arrays."""

    @property
    def z(self) -> Array: ...
    @property
    def R0(self) -> Array: ...


class Sizes(NamedTuple):
    """Sizes of coordinates and of loop equations."""

    length: float  # characteristic length of the mechanism [m]
    typical: Array  # (n,) typical size of a coordinate [rad or m]
    pace: Array  # (n,) the same, what the largest joint speed is measured in; infinite where loops do not feel it
    rotation: NDArray[np.bool_]  # (m,) rows that measure rotation
    scale: Array  # (m,) size a row is compared with: characteristic length, or 1 for rotation
    first: NDArray[np.bool_]  # (m,) rows with which a closure begins


class Missed(NamedTuple):
    """Residual of the equations of motion at accelerations and multipliers."""

    violation: Array  # (m,) Phidd
    loops: NDArray[np.bool_]  # (m,) rows of which more is left than rounding: no acceleration keeps them closed
    change: Array  # (n,) accelerations that the forces left over ask for, in typical sizes [1/s^2]
    forces: NDArray[np.bool_]  # (n,) coordinates for which that is more than rounding


class Diagnosis(NamedTuple):
    """Cause of a failed step."""

    worst: tuple[str, ...] = ()  # drivers, laws, loops
    reason: str = ""
    hopeless: bool = False  # no smaller step helps


class StepEquations(Protocol):
    """Equations of motion as the readable step of the penalty trapezoidal rule calls them."""

    n: int
    m: int
    alpha: Array  # (m,) penalty factors
    solver: LinearSolver  # of the next factor; the caller may exchange it for another of ``solvers``

    @property
    def long_loops(self) -> bool:
        """True when closures over long branches are condensed: the tension of long loops then joins the tangent."""

    @property
    def stiffness(self) -> float:
        """Largest share of applied forces in the diagonal of the last Newton matrix; 1 when that is not known."""

    def residual(self, z: Array, zd: Array, zdd: Array, R0: Array) -> Array:
        """Return M zdd - Q + Phi_z^T alpha Phi (n,) at the state, and remember the state."""

    def factor(self, velocity: float, position: float, terms: int, old: StateArrays) -> None:
        """Factor M + velocity C + position (K + Phi_z^T alpha Phi_z + terms) at the remembered state, with ``solver``.

        Raises SingularTangent, NotFinite.
        """

    def factor_mass_metric(self, position: float) -> None:
        """Factor M + position Phi_z^T alpha Phi_z at the closed state."""

    def solve(self, b: Array, refined: bool) -> Array:
        """Solve with the last factor; ``refined`` improves the answer when its residual asks for it."""

    def close(self, z: Array, R0: Array) -> Array:
        """Return Phi (m,) at z, and remember Phi_z."""

    def closure_velocities(self, zd: Array) -> Array:
        """Return Phid = Phi_z zd + Phi_t (m,) at the closed state."""

    def closure_accelerations(self, zd: Array, zdd: Array) -> Array:
        """Return Phidd (m,) at the closed state."""

    def hold_energies(self, held: bool, h: float, old: StateArrays, new: StateArrays) -> float:
        """Scale new.zd so that the energy of the path to the closed state new.z balances; fill new.energy.

        Returns what was given or taken [J]; nothing, and no energy, when not ``held``.
        """

    def apply_Phi_z(self, x: Array) -> Array:
        """Return Phi_z x (m,)."""

    def apply_factored(self, x: Array) -> Array:
        """Return Phi_z x (m,) with the Phi_z inside the last factor."""

    def pull_back(self, x: Array) -> Array:
        """Return Phi_z^T x (n,)."""

    def multipliers(self, dz: Array) -> Array:
        """Return alpha (Phi + Phi_z dz) (m,) at the remembered state, dz the correction found there.

        That is what balances the forces in the last linear solve; alpha Phi at the new state would be the same but for
        the rounding of Phi, which alpha makes large.
        """

    def solve_for_impulse(self, impulse: Array) -> Array:
        """Return -A^-1 Phi_z^T impulse (n,) with the last factor A and the Phi_z inside it.

        A Phi_z evaluated after the factor would not do: A^-1 (Phi_z + delta)^T alpha multiplies delta by the penalty.
        """

    def imbalance(self, state: StateArrays) -> Array:
        """Return M zdd - Q + Phi_z^T lam (n,) at a finished state, and remember the state."""

    def corrected(self, increment: Array, dz: Array) -> Array:
        """Return the increment (n,) after the correction ``dz``: their sum, but for rotations on the group."""

    def follow_states(self, base: Array, share: float) -> None:
        """Let force states be s = base + share ds/dt, base (ns,), share [s], in what is evaluated from now on.

        A trapezoidal step has the base s_n + h/2 ds_n/dt and the share h/2.
        """

    def keep_states(self, new: StateArrays, old: StateArrays | None = None, h: float = 0.0) -> None:
        """Write force states and their rates at ``new.z`` and ``new.zd``, the state last closed, to ``new``.

        Bristles of contacts that begin within a step of ``h`` [s] from ``old`` grow from there on.
        """

    def commit(self, state: Turned) -> None:
        """Let the reference rotations of a finished state take in its rotation dofs, in place."""


class MomentumEquations(Protocol):
    """Equations of motion in momenta, three rotation dofs being one element of the group (METHODS 6).

    ``u`` (nu,) are the inputs that each question goes by.
    """

    def begin(self, z: Array, zd: Array, R0: Array, u: Array) -> Array:
        """Return p = M zd (n,) where the step begins, and remember Phi_z there."""

    def end(self, z: Array, R0: Array, u: Array) -> Array:
        """Return Phi (m,) where the step ends, and remember Phi_z there."""

    def slip(self, y: Array) -> Array:
        """Return (A_0 + A_1) y (m,) of rows A that bind rates alone, A at both ends of the step; 0 of other rows."""

    def middle(self, z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        """Return p = M zd and -(dT/dz + Q), both (n,), and remember the state."""

    def here(self, zd: Array) -> Array:
        """Return p = M zd (n,) at the pose of ``factor_end``."""

    def state_rates(self) -> Array:
        """Return the rates (ns,) of force states at the state of ``middle``."""

    def turned_back(self, turn: Array, x: Array) -> Array:
        """Return exp(-turn~) x (n,) of rotations, x of others."""

    def half_turned(self, y: Array, x: Array) -> Array:
        """Return (x + exp(-y~) x) / 2 (n,) of rotations, x of others."""

    def undone(self, y: Array, x: Array) -> Array:
        """Return T^-1(y) x (n,) of rotations, T the right Jacobian of the exponential; x of others."""

    def pulled(self, impulse: Array) -> Array:
        """Return Phi_z^T impulse (n,) where the step begins."""

    def pulled_left(self, impulse: Array) -> Array:
        """Return ``half_turned`` of ``pulled`` (n,), with the Phi_z inside the last factor."""

    def moved_right(self, x: Array) -> Array:
        """Return the change of Phi (m,) at the end of the step by a small turn x (n,) at the middle."""

    def factor(self, h: float, y: Array, start: Array, weight: Array) -> None:
        """Factor the Newton matrix of the half increment ``y`` at the state of ``middle``, loops of weight (m,).

        ``start`` (n,) is the momentum that the step begins with. Raises SingularTangent, NotFinite.
        """

    def factor_end(self, weight: Array) -> None:
        """Factor M + Phi_z^T weight Phi_z where the step ends, at the pose of ``end``; raises the same."""

    def wrenches(self, zd: Array) -> Array:
        """Return the momenta (n, 6) of all that each dof moves, about the common origin, at the pose of ``end``."""

    def along(self, wrenches: Array) -> Array:
        """Return the momenta p (n,) that the momenta (n, 6) behind the dofs make at the pose of ``end``."""

    def turns(self, R: Array, after: Array) -> Array:
        """Return the turns (n,) of rotation dofs from rotations ``R`` to others; zero for other dofs."""


class Equations(StepEquations, Protocol):
    """Equations of motion with loops, as methods see them. The coefficients of a tangent are the method's."""

    u: Array  # (nu,) inputs, and functions of time at the time last told to ``at``
    masses: Array  # (m,) effective masses of the loop equations [kg or kg m^2]
    solvers: tuple[LinearSolver, ...]  # that suit the matrices of these equations: the fastest first, the surest last
    states: int  # number of force states

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the arrays of a State."""

    @property
    def sizes(self) -> Sizes:
        """Sizes of coordinates and loop equations."""

    @property
    def may_bend(self) -> bool:
        """True when slopes of force laws change with the motion, so that they may do so at once (METHODS 1.11)."""

    @property
    def binds_rates(self) -> bool:
        """True when some rows bind rates and no positions: their Newton matrix lacks h/2 (A zd)_z (METHODS 1.41)."""

    @property
    def timed(self) -> bool:
        """True when there are functions of time."""

    def at(self, t: float) -> None:
        """Let functions of time be those of ``t`` [s]; other inputs stay. Raises whatever a user's function raises."""

    def not_finite_inputs(self) -> tuple[str, ...]:
        """Return the names of inputs that are no number in range."""

    def accelerations(self, z: Array, zd: Array, R0: Array, s: Array) -> tuple[Array, Array, Array]:
        """Return zdd (n,) and lam (m,) with Phidd = 0 at a state, and the rates (ns,) of its force states ``s`` (ns,).

        Raises StartError where nothing gives inertia.
        """

    def missed(self, state: StateArrays, h: float) -> Missed:
        """Return the residual of the equations of motion at the accelerations and multipliers of ``state``.

        What moves nothing by more than rounding in a step ``h`` [s] is no miss.
        """

    def coordinate_rates(self, z: Array, zd: Array) -> Array:
        """Return dz/dt (n,): zd, but for rotations on the group, whose zd is the angular velocity in body axes."""

    def component_energies(self, z: Array, zd: Array, R0: Array) -> tuple[Array, Array]:
        """Return the energy of each component that keeps a balance, and the size of its parts (n,) [J]."""

    def worst(self, outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
        """Return the names of the elements at fault in a failed step from ``old``."""

    def diagnose(self, settings: Settings, old: StateArrays) -> Diagnosis:
        """Return why the step from ``old`` fails, as far as that shows."""

    def pull_back(self, x: Array) -> Array:
        """Return Phi_z^T x (n,) at the closed state."""

    def in_momenta(self) -> MomentumEquations:
        """Return the equations in momenta."""

    def step_kernel(self, name: str) -> Any:
        """Return the compiled step of the name that a method gives it; None where there is none for these equations.

        A step that has to ask Python, as for a law that is called, has none.
        """

    def inputs_between(self, start: Array, end: Array, share: float, h: float) -> Array:
        """Return the inputs (nu,) at a share of a step of ``h`` [s] between those of its ends."""


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
        may_bend=equations.may_bend,
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
