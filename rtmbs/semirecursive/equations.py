"""``SemiRecursiveEquations``: equations of motion for the integrators, with starts, fused steps and diagnoses."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.contract import Diagnosis, Missed
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Settings, StateArrays
from rtmbs.semirecursive.accelerations import equation_residuals, first_accelerations
from rtmbs.semirecursive.compiled_steps import STEP_KERNELS, FusedSteps
from rtmbs.semirecursive.diagnosis import diagnose, failure_names
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.system.pattern import with_blocks
from rtmbs.system.system import System

if TYPE_CHECKING:
    from rtmbs.semirecursive.midpoint_equations import Midpoint

Array = NDArray[np.float64]


class SemiRecursiveEquations(EvaluatedEquations):
    """Equations of motion of a System in joint coordinates; answers ``integrators.base.Equations``.

    Attributes ``u`` (inputs, set between steps), ``alpha`` (penalty factors), ``masses`` (effective masses of the loop
    equations, which the start finds) and ``threads`` belong to the caller.
    """

    def __init__(self, system: System, source: Any = None) -> None:
        super().__init__(system, source)
        self._fused = FusedSteps(self)

    def accelerations(self, z: Array, zd: Array, R0: Array, s: Array) -> tuple[Array, Array, Array]:
        """Return zdd (n,) and lam (m,) with Phidd = 0 at a state, and the rates (ns,) of its force states."""
        hold_states(s, self.ws)
        zdd, lam = first_accelerations(self, z, zd, R0, self.masses)
        return zdd, lam, self.ws.state_rate.copy()

    def missed(self, state: StateArrays, h: float) -> Missed:
        """Return the residuals of Phidd and of the balance of forces at the last accelerations; see ``Missed``."""
        return equation_residuals(self, state, self.masses, h)

    def worst(self, outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
        """Return the names of coordinates, loop equations or laws at fault in a failed step from ``old``."""
        return failure_names(self, outcome, old, scale)

    def diagnose(self, settings: Settings, old: StateArrays) -> Diagnosis:
        """Return the causes of a failed step from ``old``, as far as found."""
        return diagnose(self, settings, old)

    @property
    def own_steps(self) -> FusedSteps:
        """Machine code of the penalty trapezoidal rule, which starts and copies share."""
        if self._fused.equations is not self:  # these are a copy
            self._fused = self._fused.of(self)
        return self._fused

    def step_kernel(self, name: str) -> Any:
        """Return the compiled step of a name of ``STEP_KERNELS``; None where laws or sources need Python."""
        made = STEP_KERNELS.get(name)
        return None if made is None or self.system.called else made(self)

    def in_momenta(self) -> "Midpoint":
        """Return the equations in momenta, whose kernels are loaded for it; all closures have blocks from then on."""
        from rtmbs.semirecursive.midpoint_equations import Midpoint

        if self.long_loops:
            self.compiled = with_blocks(self.compiled)
            self.source = self.source  # takes the tables
        return Midpoint(self)

    def inputs_between(self, start: Array, end: Array, share: float, h: float) -> Array:
        """Return the inputs (nu,) at a share of a step of ``h`` [s] between those of its ends."""
        from rtmbs.semirecursive.trbdf2_step import interpolate_inputs

        out = np.zeros_like(end)
        interpolate_inputs(self.tables, h, share, start, end, out)
        return out
