"""Recursion over bodies with multipliers of cut joints, after Bae and Haug (METHODS 3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.augmented_system import solve_parts
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Positive,
    SystemWrapper,
    checked_time,
    checked_vector,
    terms_at,
)
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.reduction import CONTRADICTION, contradiction, refuse_weightless, row_factor
from rtmbs.formulations.stabilisation import Stabilised
from rtmbs.recursive.recursion import DEPENDENT, Accelerations, Recursion

Array = NDArray[np.float64]


class RecursionMemory:
    """Memory of a motion: recursion and the system that it belongs to."""

    def __init__(self) -> None:
        self.system: ConstrainedSystem | None = None
        self.recursion: Recursion | None = None
        self.count = 0  # number of recursions made

    def of(self, system: ConstrainedSystem, joints: JointCoordinates | None, tolerance: float) -> Recursion | None:
        """Return the recursion over the bodies of ``joints``, the tree behind ``system``; None where there is none."""
        behind = system if joints is None else joints
        if self.system is not behind:
            self.system, self.count = behind, self.count + 1
            self.recursion = None if joints is None else Recursion(joints.equations, tolerance)
        return self.recursion


@dataclass(frozen=True)
class Recursive:
    """Accelerations by recursion over bodies, with multipliers of cut joints (METHODS 3; Bae and Haug).

    Backward over the bodies for K, L, PhiM, PhiL, RHS, multipliers from the reduced system, forward for q''.

    Cost is linear in the number of bodies of ``JointCoordinates``. Any other system is one base body without chains,
    and its reduced system is the augmented one. Dependent rows share their load, by least squares of the rank that
    ``tolerance`` cuts; they must agree with the others. The kernels work where the system is ``JointCoordinates`` or
    that with Baumgarte's feedback.

    Parameters
    ----------
    tolerance : float, optional
        Smallest pivot of the reduced system that counts, relative to the largest.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> a, lam = Recursive().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    tolerance: float = DEPENDENT
    redundant = True

    def __post_init__(self) -> None:
        Positive("tolerance").check(self.tolerance)

    def memory(self) -> RecursionMemory:
        """Return empty places."""
        return RecursionMemory()

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state; ``memory`` is a Kept."""
        joints, found = self.answer(system, q, v, t, memory)
        if joints is None or found is None:
            return solve_parts(terms_at(system, q, v, t))
        least = joints.rounding(joints.joint_rates(q, v), found.zdd)[found.row] if found.row >= 0 else 0.0
        if found.left > max(CONTRADICTION * found.size, least):
            raise FormulationError(contradiction(joints, found.row, found.left))
        if not len(joints.vectors.first):
            return found.zdd, found.lam
        return joint_rates(joints, q, found.zdd - joints.vectors.rate_terms(q, v)), found.lam

    def dependent_rows(self, system: ConstrainedSystem, q: Array, v: Array, t: float) -> list[str]:
        """Return the names of the rows of Phi that depend on the others at a state.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        list[str]
            Names of the dependent rows, or their numbers.
        """
        found = self.answer(system, q, v, t, None)[1]
        dependent = row_factor(terms_at(system, q, v, t).Phi_q).dependent if found is None else found.dependent
        names = getattr(system, "row_names", None)
        return [str(names[row] if names is not None else row) for row in np.sort(dependent)]

    def answer(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any
    ) -> tuple[JointCoordinates | None, Accelerations | None]:
        """Return the joint coordinates and the accelerations of the recursion.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].
        memory : object
            Memory of a motion, changed in place; None for a single state.

        Returns
        -------
        tuple[JointCoordinates or None, Accelerations or None]
            Joint coordinates behind the system, and the accelerations of the recursion; None for a system without a
            tree.

        Raises
        ------
        FormulationError
            For a coordinate without inertia.
        """
        joints, alpha, beta = tree_of(system)
        recursion = (self.memory() if memory is None else memory).of(system, joints, self.tolerance)
        if joints is None or recursion is None:
            return None, None
        q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
        joints.evaluate_rates(q, v, t)
        if note := getattr(system, "note_evaluation", None):
            note()
        found = recursion.answer(alpha, beta)
        if found.weightless >= 0:
            refuse_weightless(joints, found.weightless)
        return joints, found


def tree_of(system: ConstrainedSystem) -> tuple[JointCoordinates | None, float, float]:
    """Return the joint coordinates behind a system that changes nothing but gamma, with Baumgarte's gains [1/s].

    None for any other system.
    """
    alpha, square = 0.0, 0.0
    while isinstance(system, Stabilised) or (isinstance(system, SystemWrapper) and system.same_answers):
        if isinstance(system, Stabilised):
            alpha, square = alpha + system.alpha, square + system.beta**2
        system = system.system
    if not isinstance(system, JointCoordinates) or system.rate_rows:  # rows of rates stand in another order there
        return None, alpha, float(np.sqrt(square))
    return system, alpha, float(np.sqrt(square))


def joint_rates(joints: JointCoordinates, q: Array, x: Array) -> Array:
    """Return T^-1 x (n,) for rates x of dofs."""
    T = joints.vectors.turning(q)
    for i in joints.vectors.first:
        x[i : i + 3] = np.linalg.solve(T[i : i + 3, i : i + 3], x[i : i + 3])
    return x
