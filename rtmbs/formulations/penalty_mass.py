"""The size of a penalty: a pure number times the mass that a row of Phi feels (METHODS 1.6)."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.terms import Terms, inertias

Array = NDArray[np.float64]

LIGHTEST, HEAVIEST = 0.1, 1e6  # of the mean: a row that feels less or more is taken to feel this


def row_masses(terms: Terms) -> Array:
    """Return the effective mass of each row (m,): 1 / (Phi_q D^-1 Phi_q^T)_ii with D the diagonal of M."""
    inertia, positive = inertias(terms)
    if not terms.system.m or not positive.any():
        return np.ones(terms.system.m)
    mobility = terms.Phi_q[:, positive] ** 2 @ (1.0 / inertia[positive])
    if not (mobility > 0.0).any():
        return np.ones(terms.system.m)
    middle = np.exp(np.mean(np.log(mobility[mobility > 0.0])))
    return 1.0 / np.clip(mobility, middle / HEAVIEST, middle / LIGHTEST)
