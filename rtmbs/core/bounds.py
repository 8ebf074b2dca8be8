"""Bounds of the numbers of a mechanism in any units: the largest and the smallest sizes."""

from typing import Any

import numpy as np

SHORTEST, LONGEST = 1e-100, 1e100  # steps [s]: their squares are still numbers
BEYOND = 1e100  # no coordinate, rate, acceleration or force comes near: squares and products are still numbers
ROTATION_TOLERANCE = 1e-6  # largest entry of R^T R - 1; steps multiply rotations without end


def are_rotations(R: Any) -> Any:
    """Return (k,) which of the matrices (k, 3, 3) are rotations: R^T R is 1, and the determinant positive."""
    miss = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3))
    return (np.max(miss, axis=(1, 2), initial=0.0) <= ROTATION_TOLERANCE) & (np.linalg.det(R) > 0.0)
