"""The contracts of time stepping: what equations answer, and what an integrator answers.

Checklist for whoever writes equations
--------------------------------------
* ``residual`` evaluates everything at one state and time; ``factor``, ``solve`` and the loop quantities belong to the
  state last evaluated by ``residual`` or ``close``.
* Nothing here may change the arrays handed in.
* A number that is not finite is returned as it is, or raises NotFinite where nothing can be returned; the integrator
  turns it into an Outcome.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import Settings, StateArrays

Array = NDArray[np.float64]


class SingularTangent(ArithmeticError):
    """Raised by ``factor`` and ``solve`` when the Newton matrix has no usable factor."""


class NotFinite(ArithmeticError):
    """Raised by ``factor`` and ``solve`` when the Newton matrix or the right-hand side is not finite."""


class Equations(Protocol):
    """Equations of motion with loops, as the implicit integrators see them."""

    n: int
    m: int
    alpha: Array  # (m,) penalty factors

    @property
    def stiffness(self) -> float:
        """Largest share of applied forces in the diagonal of the last Newton matrix; 1 when that is not known."""

    def residual(self, z: Array, zd: Array, zdd: Array, R0: Array) -> Array:
        """Return M zdd - Q + Phi_z^T alpha Phi (n,) at the state, and remember the state."""

    def factor(self, settings: Settings, tangent_terms: int, old: StateArrays, dense: bool) -> None:
        """Factor M + h/2 C + h^2/4 (K + Phi_z^T alpha Phi_z + terms) at the remembered state.

        Raises SingularTangent, NotFinite.
        """

    def factor_mass_weight(self, settings: Settings, dense: bool, share: float = 1.0) -> None:
        """Factor M + share h^2/4 Phi_z^T alpha Phi_z at the closed state."""

    def solve(self, b: Array, refined: bool) -> Array:
        """Solve with the last factor; ``refined`` improves the answer when its residual asks for it."""

    def close(self, z: Array, R0: Array) -> Array:
        """Return Phi (m,) at z, and remember Phi_z."""

    def closure_velocities(self, zd: Array) -> Array:
        """Return Phid = Phi_z zd + Phi_t (m,) at the closed state."""

    def closure_accelerations(self, zd: Array, zdd: Array) -> Array:
        """Return Phidd (m,) at the closed state."""

    def hold_energies(self, held: bool, h: float, old: StateArrays, new: StateArrays) -> float:
        """Scale new.zd so that the energy of the path to the closed state new.z balances; fill new.energy.

        Returns what was given or taken [J]; nothing, and no energy, when not ``held``.
        """

    def apply_Phi_z(self, x: Array) -> Array:
        """Return Phi_z x (m,)."""

    def apply_factored(self, x: Array) -> Array:
        """Return Phi_z x (m,) with the Phi_z inside the last factor."""

    def multipliers(self, dz: Array) -> Array:
        """Return alpha (Phi + Phi_z dz) (m,) at the remembered state, dz the correction found there.

        That is what balances the forces in the last linear solve; alpha Phi at the new state would be the same but for
        the rounding of Phi, which alpha makes large.
        """

    def respond(self, impulse: Array) -> Array:
        """Return -A^-1 Phi_z^T impulse (n,) with the last factor A and the Phi_z inside it.

        A Phi_z evaluated after the factor would not do: A^-1 (Phi_z + delta)^T alpha multiplies delta by the penalty.
        """

    def imbalance(self, state: StateArrays) -> Array:
        """Return M zdd - Q + Phi_z^T lam (n,) at a finished state, and remember the state."""

    def corrected(self, increment: Array, dz: Array) -> Array:
        """Return the increment (n,) after the correction ``dz``: their sum, but for rotations on the group."""

    def commit(self, state: StateArrays) -> None:
        """Let the reference rotations of a finished state take in its rotation steps, in place."""
