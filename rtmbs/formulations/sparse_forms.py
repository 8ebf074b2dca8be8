"""Sparse forms of a system: optional, asked for where a sparse linear solver takes them."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem, OutOfRange, answered

Array = NDArray[np.float64]


@runtime_checkable
class SparseForms(Protocol):
    """What a ConstrainedSystem may answer beside its dense matrices: the same ones as SciPy sparse arrays."""

    def sparse_mass(self, q: Array, t: float) -> csc_array:
        """Return M (n, n).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        csc_array
            M (n, n).
        """

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        csc_array
            Phi_q (m, n).
        """


def mass_of(system: ConstrainedSystem, q: Array, t: float, sparse: bool = True) -> Any:
    """Return M (n, n), checked: sparse where the system has sparse forms and they are wanted."""
    shape = system.n, system.n
    if sparse and isinstance(system, SparseForms):
        return sparse_answer("sparse_mass(q, t)", system.sparse_mass(q, t), shape)
    return answered("mass(q, t)", system.mass(q, t), shape)


def jacobian_of(system: ConstrainedSystem, q: Array, t: float, sparse: bool = True) -> Any:
    """Return Phi_q (m, n), checked: sparse where the system has sparse forms and they are wanted."""
    shape = system.m, system.n
    if sparse and isinstance(system, SparseForms):
        return sparse_answer("sparse_constraint_jacobian(q, t)", system.sparse_constraint_jacobian(q, t), shape)
    return answered("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), shape)


def sparse_answer(call: str, A: Any, shape: tuple[int, int]) -> csc_array:
    """Return what a system answered as a sparse array of the shape that the contract asks for."""
    if not issparse(A):
        raise InputError(f"{call} returned {shown(A)}; a sparse array of SciPy is wanted")
    if A.shape != shape:
        raise InputError(f"{call} returned an array {A.shape}; {shape} is wanted")
    found = csc_array(A, dtype=np.float64)
    if not np.all(np.isfinite(found.data)):
        k = int(np.argmin(np.isfinite(found.data)))
        place = int(found.indices[k]), int(np.searchsorted(found.indptr, k, side="right")) - 1
        raise OutOfRange(f"{call} returned {found.data[k]} at {place}; finite numbers are wanted")
    return found
