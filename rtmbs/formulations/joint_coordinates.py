"""Joint coordinates: a compiled System as a ConstrainedSystem, by the compiled kernels of ``semirecursive``."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.formulations.terms import given
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System

Array = NDArray[np.float64]


class JointCoordinates:
    """The equations of a System in its joint coordinates z, zd: q and v of the contract [m or rad].

    ``u`` (nu,) are the inputs; functions of time fill in theirs. Raises InputError for a System whose coordinates have
    other rates than dq/dt = v (spherical and floating joints of the tree), or whose force laws have states.
    Source: METHODS 1.

    >>> import rtmbs
    >>> system = JointCoordinates(rtmbs.library.build("crank_rocker").compile())  # doctest: +SKIP
    """

    def __init__(self, system: System) -> None:
        turning = np.flatnonzero(system.tables.dofs.reference >= 0)
        if len(turning):
            raise InputError(
                f"{system.coordinate_names[turning[0]]} is a rotation dof, whose rate is an angular velocity; "
                "JointCoordinates takes revolute and prismatic dofs, so write the joint as three revolute joints"
            )
        if system.states:
            state = system.states[0]
            raise InputError(
                f"state {state.name!r} of force {state.force!r} is no coordinate; JointCoordinates takes force laws "
                "without states"
            )
        self.equations = SemiRecursiveEquations(uncondensed(system))
        self.n, self.m = self.equations.n, self.equations.m
        self.coordinate_names, self.row_names = list(system.coordinate_names), list(system.row_names)
        self.R0 = system.R0.copy()
        self.evaluated = b""  # coordinates and inputs whose mass and closures the equations hold

    @property
    def u(self) -> Array:
        """Inputs (nu,)."""
        return self.equations.u

    def mass(self, q: Array, t: float) -> Array:
        """Return M (n, n)."""
        self.evaluate(q, t)
        return self.equations.mass_matrix()

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return Q (n,), velocity terms included."""
        self.equations.at(t)
        q, self.evaluated = given("q", q, self.n), b""
        F = self.equations.force(q, given("v", v, self.n), self.R0)
        self.evaluated = key_of(q, self.u)
        return F

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,) of loops, couplers and drivers."""
        self.evaluate(q, t)
        return self.equations.ws.Phi.copy()

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        self.evaluate(q, t)
        return self.equations.closure_jacobian()

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,)."""
        self.evaluate(q, t)
        still = np.zeros(self.n)
        Phi_t = self.equations.closure_velocities(still)
        return Phi_t, -self.equations.closure_accelerations(given("v", v, self.n), still)

    def evaluate(self, q: Array, t: float) -> None:
        """Evaluate mass and closures, unless the last evaluation was at this q with these inputs."""
        q = given("q", q, self.n)
        self.equations.at(t)
        if key_of(q, self.u) == self.evaluated:
            return
        self.evaluated, still = b"", np.zeros(self.n)
        self.equations.evaluate(q, still, still, self.R0)
        self.evaluated = key_of(q, self.u)


def key_of(q: Array, u: Array) -> bytes:
    """Return what two evaluations of the same coordinates and inputs share."""
    return np.concatenate((q, u)).tobytes()
