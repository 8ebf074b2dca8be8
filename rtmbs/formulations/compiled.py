"""Accelerations of a system of recorded functions by one compiled call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.ad.trace import record
from rtmbs.errors import InputError
from rtmbs.formulations.augmented_system import augmented_accelerations
from rtmbs.formulations.compiled_kernels import SOLVED, accelerations_entry, work_for
from rtmbs.formulations.consistent import closed_state, least_solution
from rtmbs.formulations.contract import ConstrainedSystem, StackedRows, with_rate_rows
from rtmbs.formulations.function_system import FunctionSystem
from rtmbs.formulations.reduction import RANK_TOLERANCE
from rtmbs.numerics.linear.solver import DenseSolver

Array = NDArray[np.float64]
SAME = 1e-9  # of the largest entry of M and F: what a recorded function may differ by
PROBES = (0.1, 0.3, 1.0, 3.0)  # sizes of states beside the start that a kept program is tried at
Rates = Callable[[Array, Array, float, Array], tuple[Array, Array, Array] | None]


@dataclass(frozen=True)
class Compiled:
    """Accelerations and corrections of a FunctionSystem by one compiled call, for SolveIVP and CVODE.

    ``mass`` and ``force`` are recorded by ``rtmbs.ad``, and must be functions of their arguments alone. Numbers that
    they read elsewhere are taken as they are at the start of a run. At every sample the functions are asked again, and
    a run ends in MotionError when they have changed. The augmented system is solved by LU, and states are put back on
    the constraints by the least change in the metric of the inertias. Dependent rows are refused. Methods of this room
    call it state by state, as Direct.

    Examples
    --------
    >>> from rtmbs.dae import SolveIVP
    >>> method = SolveIVP("DOP853", Compiled(), rtol=1e-8)
    """

    redundant = False

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, as Direct."""
        return augmented_accelerations(system, q, v, t, DenseSolver, RANK_TOLERANCE, "Compiled")

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) with Phi = 0 and Phid = 0, by the least change of both."""
        return closed_state(with_rate_rows(system), q, v, t, least_solution)

    def compiled(self, system: Any, q: Array, v: Array, t: float) -> Rates:
        """Return the equations of a motion as one compiled call.

        Parameters
        ----------
        system : ConstrainedSystem
            FunctionSystem, or a wrapper of one that gives the same answers.
        q : ndarray
            Coordinates (n,) at the start.
        v : ndarray
            Rates (n,) at the start.
        t : float
            Time of the start [s].

        Returns
        -------
        Callable
            Function of q, v, t and weights (n,) of the least change. It returns q and v on the constraints and
            accelerations, (n,) each; None where it has no answer.

        Raises
        ------
        InputError
            For a system that is no FunctionSystem, or functions that cannot be recorded.
        """
        inner = inner_system(system)
        kept = KEPT.get(inner)
        if kept is None or not kept.is_of(inner, q, v, t):  # what the functions read elsewhere may have changed
            kept = KEPT[inner] = CompiledSystem(inner)
            if not kept.agrees(q, v, t):
                raise InputError(
                    "mass or force of this FunctionSystem is not what was recorded; it must be a function alone"
                )
        return kept


KEPT: WeakKeyDictionary[FunctionSystem, "CompiledSystem"] = WeakKeyDictionary()  # recorded once for all runs


def inner_system(system: Any) -> FunctionSystem:
    """Return the FunctionSystem in wrappers that give its answers. Raises InputError for another system."""
    if isinstance(system, FunctionSystem):
        return system
    if not getattr(system, "same_answers", False) and not isinstance(system, StackedRows):
        raise InputError(
            f"Compiled takes a FunctionSystem with independent rows, not {type(system).__name__}; QR() is wanted here"
        )
    return inner_system(system.system)


class CompiledSystem:
    """Programs of one system and their scratch; a call returns q, v and a, or None."""

    def __init__(self, system: FunctionSystem) -> None:
        n, self.n, self.functions = system.n, system.n, (system.mass, system.force)
        nothing, motion = ProgramRunner(record(lambda x: [x[0]], 1, 1)), recorded_motion(system)
        self.motion = motion
        phi, jacobian, second, psi, rates = [nothing] * 5
        place, rates_place = np.zeros(0, np.int64), np.zeros(0, np.int64)
        held, free = system.programs
        if held is not None:
            phi, second = held[0].value_run, held[1].value_run
            jacobian, place = held[0].jacobian_entries.run, held[0].jacobian_entries.place
        if free is not None:
            psi, rates, rates_place = free.value_run, free.jacobian_entries.run, free.jacobian_entries.place
        self.work = work_for(n, system.m, system.rate_rows, len(place), len(rates_place))
        self.out = np.zeros(2 * n)
        runs = motion, phi, jacobian, second, psi, rates
        programs: list[Any] = [part for run in runs for part in (run.program, run.memory)]
        programs.insert(6, place)
        programs.append(rates_place)
        self.programs = tuple(programs)
        self.call = accelerations_entry((*self.programs, np.zeros(n), self.work, self.out))

    def is_of(self, system: FunctionSystem, q: Array, v: Array, t: float) -> bool:
        """Return whether the program is that of the functions of a system, as they answer now.

        A change of the numbers that functions read elsewhere may not show at the start, as that of a damping at rest.
        So states of other sizes are tried too.
        """
        if self.functions != (system.mass, system.force) or not self.agrees(q, v, t):
            return False
        rng = np.random.default_rng(0)
        sizes = max(1.0, float(np.abs(q).max())), max(1.0, float(np.abs(v).max()))
        for share in PROBES:
            dq, dv, dt = rng.normal(size=self.n), rng.normal(size=self.n), rng.random()
            try:
                if not self.agrees(q + share * sizes[0] * dq, v + share * sizes[1] * dv, t + share * dt):
                    return False
            except (ArithmeticError, ValueError):
                continue  # no state of the functions
        return True

    def agrees(self, q: Array, v: Array, t: float) -> bool:
        """Return whether the program has M and F of the functions at a state."""
        mass, force = self.functions
        with np.errstate(all="ignore"):
            wanted = np.append(np.asarray(mass(q, t), np.float64).ravel(), force(q, v, t))
            found = self.motion(np.concatenate((q, v, [t])), np.zeros(0))
        if not np.all(np.isfinite(wanted)):
            return True  # no state of the functions
        return bool(np.abs(found - wanted).max() <= SAME * max(float(np.abs(wanted).max()), 1e-300))

    def multipliers(self) -> Array:
        """Return the multipliers (m + k,) of the last call."""
        return self.work.answer[self.n :].copy()

    def __call__(self, q: Array, v: Array, t: float, weight: Array) -> tuple[Array, Array, Array] | None:
        """Return q and v on the constraints and accelerations, (n,) each."""
        n, work = self.n, self.work
        work.z[:n], work.z[n:-1], work.z[-1] = q, v, t
        if self.call(*self.programs, weight, work, self.out) != SOLVED:
            return None
        return work.q.copy(), work.v.copy(), self.out[n:].copy()


def recorded_motion(system: FunctionSystem) -> ProgramRunner:
    """Return the program of M and F of (q, v, t). Raises InputError for functions that cannot be recorded."""
    n = system.n

    def terms(x: Any) -> Any:
        M, F = system.mass(x[:n], x[2 * n]), system.force(x[:n], x[n : 2 * n], x[2 * n])
        return [*(M[i][j] + 0.0 * x[0] for i in range(n) for j in range(n)), *(F[i] + 0.0 * x[0] for i in range(n))]

    try:
        return ProgramRunner(record(terms, 2 * n + 1, n * n + n))
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise InputError(
            f"mass or force of this FunctionSystem cannot be recorded ({error}); for Compiled they must be written in "
            "plain NumPy without branches on numbers"
        ) from error
