"""Mass centre and centroidal momentum of a robot, with matrices and time derivatives."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.robotics.kinematics import RobotKinematics, check_same

Array = NDArray[np.float64]


class CentroidalMomentum(NamedTuple):
    """Momentum of all bodies but rotors, world axes."""

    linear: Array  # (3,) [kg m/s]
    angular: Array  # (3,) about the mass centre [kg m^2/s]


class RobotMomenta(RobotKinematics):
    """Kinematics of a Model with its momenta; ``Robot`` adds the dynamics.

    Parameters
    ----------
    model : Model
        Mechanism.
    """

    @property
    def mass(self) -> float:
        """Mass of all bodies that move [kg]."""
        return float(self._momenta(self.neutral(), self._still)[0][0, 6])

    def _momenta(self, q: Any, v: Any) -> tuple[Array, Array, Array]:
        """Return mass centre, velocity, mass (k, 7), A_G and dA_G/dt (k, 6, nv)."""
        rows, rates = self.coordinates.rows(q, self.nq, "q"), self.coordinates.rows(v, self.nv, "v")
        if len(rates) == 1 < len(rows) and np.ndim(v) == 1:
            rates = np.tile(rates, (len(rows), 1))
        check_same(rows, rates)
        return self._kernels.momentum_matrices(rows, rates)

    def center_of_mass(self, q: Any) -> Array:
        """Return the mass centre of all bodies that move.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            Point (3,) or (k, 3), world axes [m].
        """
        found = self._momenta(q, self._still)[0][:, :3]
        return found if np.ndim(q) > 1 else found[0]

    def jacobian_center_of_mass(self, q: Any) -> Array:
        """Return the derivative of the mass centre: its velocity is J v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            J (3, nv) or (k, 3, nv).
        """
        center, A, _ = self._momenta(q, self._still)
        J = A[:, :3] / center[:, 6, None, None]
        return J if np.ndim(q) > 1 else J[0]

    def centroidal_momentum_matrix(self, q: Any) -> Array:
        """Return the matrix A_G of the centroidal momentum h = A_G v: linear part, angular part about the mass centre.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            A_G (6, nv) or (k, 6, nv), world axes.
        """
        A = self._momenta(q, self._still)[1]
        return A if np.ndim(q) > 1 else A[0]

    def centroidal_momentum_matrix_time_variation(self, q: Any, v: Any) -> Array:
        """Return the time derivative of the centroidal momentum matrix: dh/dt = A_G a + dA_G v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv).

        Returns
        -------
        ndarray
            dA_G/dt (6, nv) or (k, 6, nv), world axes.
        """
        dA = self._momenta(q, v)[2]
        return dA if np.ndim(q) > 1 else dA[0]

    def centroidal_momentum(self, q: Any, v: Any) -> CentroidalMomentum:
        """Return the momentum of all bodies: linear, and angular about the mass centre.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).

        Returns
        -------
        CentroidalMomentum
            ``linear`` [kg m/s] and ``angular`` [kg m^2/s] (3,), world axes.
        """
        checked = self.coordinates.checked
        h = self.centroidal_momentum_matrix(checked(q, self.nq, "q")) @ checked(v, self.nv, "v")
        return CentroidalMomentum(h[:3], h[3:])

    def centroidal_momentum_time_variation(self, q: Any, v: Any, a: Any) -> CentroidalMomentum:
        """Return the time derivative of the centroidal momentum: the sum of outer forces and moments.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).
        a : array_like
            Accelerations (nv,).

        Returns
        -------
        CentroidalMomentum
            ``linear`` [N] and ``angular`` [N m] (3,), world axes.
        """
        checked = self.coordinates.checked
        rates, slopes = checked(v, self.nv, "v"), checked(a, self.nv, "a")
        _, A, dA = self._momenta(checked(q, self.nq, "q"), rates)
        h = A[0] @ slopes + dA[0] @ rates
        return CentroidalMomentum(h[:3], h[3:])

    ccrba = centroidal_momentum_matrix
    dccrba = centroidal_momentum_matrix_time_variation
