"""What penalties of both kinds share: options, the feedback of Phi and Phid, and the sizes of the penalties."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.checked import given, instant
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.stabilised import Stabilised
from rtmbs.formulations.terms import Positive, Terms, inertias, terms_at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PenaltyOptions:
    """``penalty`` times the masses of the rows, and the error equation that Phi obeys."""

    penalty: float
    frequency: float = 20.0  # [1/s], of Phi
    damping: float = 1.0  # [1], 1 is critical
    redundant = True

    def __post_init__(self) -> None:
        for name, unit in (("penalty", ""), ("frequency", "1/s"), ("damping", "")):
            Positive(f"{name} of {type(self).__name__}", unit).check(getattr(self, name))

    @property
    def gains(self) -> tuple[float, float]:
        """Alpha and beta of the error equation [1/s]."""
        return self.damping * self.frequency, self.frequency

    def memory(self) -> None:
        """Nothing is kept."""

    def stabilised(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, sparse: bool = False
    ) -> tuple[Terms, Array]:
        """Return the terms with gamma* for gamma, ``sparse`` or dense, and the penalties (m,).

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
        sparse : bool, default False
            True for SciPy sparse matrices.

        Returns
        -------
        tuple[Terms, ndarray]
            Terms with gamma* for gamma, ``sparse`` or dense, and the penalties (m,).
        """
        q, v, t = given("q", q, system.n), given("v", v, system.n), instant(t)
        terms = terms_at(Stabilised(system, *self.gains), q, v, t, sparse)
        return terms, self.penalty * row_masses(terms)


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
