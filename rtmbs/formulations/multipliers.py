"""Multipliers afterwards, for formulations that eliminate them."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.rank import RANK_TOLERANCE
from rtmbs.formulations.terms import Terms

Array = NDArray[np.float64]


def least_multipliers(terms: Terms, a: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Return the least lam (m,) of those for which M a + Phi_q^T lam = F best; unique where Phi_q has full rank."""
    if not terms.system.m:
        return np.zeros(0)
    found = scipy.linalg.lstsq(terms.Phi_q.T, terms.F - terms.M @ a, cond=tolerance, check_finite=False)[0]
    return np.asarray(found)
