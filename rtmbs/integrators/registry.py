"""Integrators by name. Each is a class made from (equations, settings, record, dense) with ``advance(old, new)``."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Settings, StateArrays
from rtmbs.integrators.trapezoidal import TrapezoidalStep


class Integrator(Protocol):
    """What an integrator answers.

    1. ``advance`` reads ``old``, never writes it, and fills ``new`` completely before it answers CONVERGED.
    2. It fills ``record`` (places in ``settings.py``): iterations, factorisations, sweeps, violations, phases.
    3. It never answers CONVERGED with a number that is not finite, and no loop in it is without a bound.
    4. ``dense`` asks for the pivoted dense factor, after a step whose static elimination order failed.
    """

    def __init__(
        self, equations: Equations, settings: Settings, record: NDArray[np.float64], dense: bool = False
    ) -> None: ...

    def advance(self, old: StateArrays, new: StateArrays) -> Outcome:
        """Take one step of ``settings.h``."""


TRAPEZOIDAL = "trapezoidal"

INTEGRATORS: dict[str, type[Integrator]] = {TRAPEZOIDAL: TrapezoidalStep}
