"""The contract of this room: a method carries a constrained motion from time to time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import NO_STATES, ConstrainedSystem, Formulation

Array = NDArray[np.float64]


class Orders(NamedTuple):
    """Theoretical orders of a method in positions, rates, accelerations and multipliers."""

    q: int
    v: int
    a: int
    lam: int


class Point(NamedTuple):
    """A state of a motion with its accelerations and multipliers, and the rates of its force states."""

    t: float  # [s]
    q: Array  # (n,)
    v: Array  # (n,)
    a: Array  # (n,)
    lam: Array  # (m,)
    s: Array = NO_STATES  # (ns,)
    sd: Array = NO_STATES  # (ns,)


@dataclass
class Counts:
    """Work done: an evaluation is one call of ``force``, a factorisation one of a mass or Newton matrix."""

    evaluations: int = 0
    factorisations: int = 0
    iterations: int = 0  # of Newton, projections left out
    steps: int = 0


@dataclass
class Motion:
    """What a method is given: a system that counts its evaluations, and a consistent start."""

    system: ConstrainedSystem
    q: Array  # (n,)
    v: Array  # (n,)
    t0: float = 0.0  # [s]
    s: Array = field(default_factory=NO_STATES.copy)  # (ns,)
    counts: Counts = field(default_factory=Counts)


class Method(Protocol):
    """A frozen dataclass of options that yields the points of a motion.

    A method that integrates the states of a system as well has ``integrates_states = True``; others are not asked.
    """

    @property
    def redundant(self) -> bool:
        """Whether dependent rows that agree with each other are accepted."""

    @property
    def orders(self) -> Orders | None:
        """Orders in the step; None for a method that chooses steps by tolerances."""

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield a Point at each of ``times`` (k + 1,) [s], which are evenly spaced; the first is the start.

        A method of fixed steps takes one step from time to time. Raises FormulationError where there is no answer, and
        MotionError for a step that fails.
        """


class OverFormulation:
    """Common to methods over the accelerations of a ``formulation``; they integrate the states of a system too."""

    formulation: Formulation
    integrates_states = True

    @property
    def redundant(self) -> bool:
        return self.formulation.redundant


class ByTolerance(OverFormulation):
    """A method over a formulation that chooses its steps by tolerances."""

    orders = None
