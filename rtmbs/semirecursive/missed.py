"""Says where accelerations and multipliers do not satisfy the equations of motion (METHODS 1.15)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Missed
from rtmbs.integrators.settings import StateArrays
from rtmbs.semirecursive.accelerations import unbalance, violation_terms
from rtmbs.semirecursive.noise import accuracy_of

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

ALLOWED = 1e4  # accuracies of the geometry: Phidd left, in terms of its parts
SETTLED = 1e-6  # change of an acceleration that is still wanted, relative to the largest of its component
UNSEEN = 1e-13  # of the sizes: a change of a coordinate, or a gap, in one step that is rounding


def allowed_violation(equations: "SemiRecursiveEquations", terms: Array, rounding: Array) -> Array:
    """Return how much of Phidd (m,) may be left, for terms of this size."""
    return ALLOWED * (accuracy_of(equations) * terms + rounding)


def missed(equations: "SemiRecursiveEquations", state: StateArrays, masses: Array, h: float) -> Missed:
    """Return what accelerations leave of Phidd and of the balance of forces; the factor is still theirs.

    ``masses`` (m,) are the effective ones. What moves nothing by more than rounding in a step h [s] is no miss: forces
    may balance to zero.
    """
    scale, typical, parts = equations.sizes.scale, equations.sizes.typical, equations.parts
    force, violation = unbalance(equations, state.z, state.zd, state.zdd, state.lam, state.R0)
    terms, rounding = violation_terms(equations, state.zd, state.zdd, state.lam / masses)
    loops = np.abs(violation) > allowed_violation(equations, terms, rounding) + UNSEEN / h**2 * scale
    change = np.abs(equations.solve(force)) / typical
    largest = np.maximum(
        parts.largest(state.zdd / typical), parts.largest_of_rows(state.lam / masses / scale)
    )  # fmt: skip
    forces = change > SETTLED * largest[parts.columns] + UNSEEN / h**2
    return Missed(violation, np.asarray(loops), change, np.asarray(forces))
