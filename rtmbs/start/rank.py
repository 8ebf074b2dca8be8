"""Numerical rank of the loop equations, which of them are redundant, and the stress an inconsistent one would cause."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from rtmbs.start.loops import Group

Array = NDArray[np.float64]

TOLERANCE = 1e-10  # of the largest singular value of the block-scaled Phi_z
DENSE_LIMIT = 1500  # coordinates of a group; above, the rank is estimated from sparse pivots
FLOOR = 1e-9


def scaled(Phi_z: csc_array, masses: Array) -> csc_array:
    """Return Phi_z with each row times sqrt(m_l), so that translations and rotations compare."""
    return csc_array(diags_array(np.sqrt(masses)) @ Phi_z)


def group_rank(P: csc_array, group: Group) -> tuple[int, bool]:
    """Return the rank of one group of loops and whether it is an estimate."""
    block = P[group.rows][:, group.columns]
    if len(group.columns) > DENSE_LIMIT:
        return estimated_rank(block), True
    values = svd(block.toarray(), compute_uv=False, check_finite=False)
    return int(np.count_nonzero(values > TOLERANCE * values[0])) if values[0] > 0 else 0, False


def estimated_rank(block: csc_array) -> int:
    """Count the squared singular values above a floor, for large groups.

    By Sylvester's law P^T P - floor has as many positive pivots as eigenvalues above zero. The floor stands for
    singular values of 3e-5 of the largest, where ``TOLERANCE`` looks down to 1e-10: so it is an estimate.
    """
    gram = (block.T @ block).tocsc()
    floor = FLOOR * float(np.max(gram.diagonal()))
    if floor == 0.0:
        return 0
    A = csc_array(gram - floor * diags_array(np.ones(gram.shape[0])))
    pivots = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).U.diagonal()
    return int(np.count_nonzero(pivots > 0.0))


def redundant_rows(P: csc_array, group: Group, rank: int) -> NDArray[np.int64]:
    """Return the rows of the group that the others already hold: the last ones of a pivoted QR of P^T."""
    if len(group.rows) == rank:
        return np.zeros(0, np.int64)
    block = P[group.rows][:, group.columns].toarray()
    order = qr(block.T, mode="r", pivoting=True, check_finite=False)[1]
    return np.sort(group.rows[order[rank:]])


def inconsistent_part(P: csc_array, group: Group, Phi: Array) -> Array:
    """Return U_2 U_2^T Phi of the group, the part of Phi that no motion can remove (METHODS 1.13)."""
    block = P[group.rows][:, group.columns].toarray()
    U, values, _ = svd(block, full_matrices=True, check_finite=False)
    left = U[:, int(np.count_nonzero(values > TOLERANCE * values[0])) :]
    return np.asarray(left @ (left.T @ Phi[group.rows]))
