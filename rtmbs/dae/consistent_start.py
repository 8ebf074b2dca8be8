"""Check that positions and rates of a start satisfy the constraints, in terms of their own size (METHODS 2.12)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, FormulationError
from rtmbs.formulations.correction import least_solution
from rtmbs.formulations.rate_constraints import holonomic_rows
from rtmbs.formulations.reduction import RANK_TOLERANCE, demand_full_rank
from rtmbs.formulations.terms import Terms, row_names, terms_at

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CONSISTENT = 1e-8  # of Phi_q times the largest coordinate or rate, or 1; and of the size of the constraints themselves
ROUNDING = 1e-14  # rates in SI units: below it a rate is what rounding left of one
SHARES = 1.0, 0.25, 0.0625  # of Newton's correction, of which the first that closes a row tells how far off it is


def demand_start(system: ConstrainedSystem, method: Any, q: Array, v: Array, t: float) -> None:
    """Raise FormulationError for a start off the constraints, or rows that the method cannot take."""
    terms = terms_at(system, q, v, t)
    Phi, Phid = system.constraints(q, t), terms.Phi_q @ v + terms.Phi_t
    for what, left, size in (("Phi", Phi, q), ("Phid", Phid, v)):
        allowed = CONSISTENT * max(1.0, np.abs(size).max(initial=0.0)) * np.abs(terms.Phi_q).max(initial=1.0)
        off = far_off(system, q, t, Phi, terms.Phi_q) if what == "Phi" else unbalanced(terms, v, Phid)
        worst = np.flatnonzero(~(np.abs(left) <= allowed) | off)
        if len(worst):
            raise FormulationError(
                f"{row_names(system, worst)} of {what} {'is' if len(worst) == 1 else 'are'} violated by "
                f"{np.abs(left[worst]).max():.2g} at the start; take q and v from consistent_state(system, q, v, t)"
            )
    if not getattr(method, "redundant", True) and not getattr(method, "leaves_out", False) and system.m:
        demand_full_rank(terms, RANK_TOLERANCE, type(method).__name__)


def far_off(system: ConstrainedSystem, q: Array, t: float, Phi: Array, Phi_q: Array) -> Mask:
    """Return the rows (m,) whose gradient turns by more than CONSISTENT on the way back to Phi = 0.

    The gradient of a constraint changes by its own size over the size of the mechanism, so its change tells the
    distance in terms of that size, whatever the unit of length. A linear row has no size and is not judged. Next to a
    singular pose the correction of a closed row is rounding over a small gradient. It does not close the row, and
    does not count.
    """
    off, held = np.zeros(len(Phi), np.bool_), holonomic_rows(system)
    if not held or not np.any(Phi[:held]):
        return off
    P, gap = Phi_q[:held], np.abs(Phi[:held])
    step = least_solution(P, Phi[:held])
    size, judged = np.abs(P).max(axis=1, initial=0.0), np.zeros(held, np.bool_)
    for share in SHARES if np.all(np.isfinite(step)) else ():
        z = q - share * step
        closes = ~judged & (np.abs(system.constraints(z, t)[:held]) < (1.0 - 0.5 * share) * gap)
        turned = np.abs(system.constraint_jacobian(z, t)[:held] - P).max(axis=1, initial=0.0)
        off[:held] |= closes & (turned > share * CONSISTENT * size)
        judged |= closes
        if np.all(judged | (gap == 0.0)):
            break
    return off


def unbalanced(terms: Terms, v: Array, Phid: Array) -> Mask:
    """Return the rows (m,) of Phid, linear in v, of whose terms more than CONSISTENT is left.

    Rows below CONSISTENT of the largest gradient may depend on the others, and are not judged.
    """
    size = np.abs(terms.Phi_q).max(axis=1, initial=0.0)
    rounding = (ROUNDING + CONSISTENT**2 * np.abs(v).max(initial=0.0)) * size.max(initial=0.0)
    return np.abs(Phid) > CONSISTENT * (np.abs(terms.Phi_q) @ np.abs(v) + np.abs(terms.Phi_t)) + rounding
