"""Rotation vectors as coordinates: body rates omega = T(delta) d(delta)/dt, and the rate of T (METHODS 2.13)."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.errors import OutOfRange
from rtmbs.rotations.vectors import body_rates, right_jacobian

Array = NDArray[np.float64]

LARGEST_TURN = 0.9 * 2.0 * np.pi  # [rad]: T is singular at 2 pi, and its least singular value is 0.11 here


class RotationVectors:
    """Triples of coordinates delta about reference rotations, R = R0 exp(delta~), among n coordinates.

    ``first`` are the numbers of the first coordinate of each triple, ``names`` (n,) the names for errors.
    """

    def __init__(self, first: NDArray[np.int64], names: list[str]) -> None:
        self.first, self.names = first, names

    def turning(self, q: Array) -> Array:
        """Return T (n, n) with zd = T dq/dt; the identity but for rotation vectors.

        Raises InputError naming the joint whose rotation vector is so long that T is nearly singular.
        """
        T = np.eye(len(q))
        for i in self.first:
            angle = float(np.linalg.norm(q[i : i + 3]))
            if angle > LARGEST_TURN:
                raise OutOfRange(
                    f"the rotation vector of {self.names[i]} is {angle:.3g} rad long, and 2 pi is singular; at most "
                    f"{LARGEST_TURN:.3g} rad are taken, so go on from recentred(q, v) of JointCoordinates"
                )
            T[i : i + 3, i : i + 3] = right_jacobian(q[i : i + 3])
        return T

    def rate_terms(self, q: Array, v: Array) -> Array:
        """Return (dT/dt) v (n,), which the rates of q add to d(zd)/dt = T dv/dt + (dT/dt) v."""
        out = np.zeros(len(q))
        for i in self.first:
            out[i : i + 3] = body_rates(q[i : i + 3], v[i : i + 3], np.zeros(3))[1]
        return out
