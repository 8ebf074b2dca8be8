"""Contracts of methods of time over a ConstrainedSystem: motion, points, counts, integrator and errors."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import MotionError as MotionError
from rtmbs.errors import RtmbsWarning
from rtmbs.formulations.contract import NO_STATES, ConstrainedSystem
from rtmbs.integrators.contract import Method as Method
from rtmbs.integrators.contract import Orders as Orders
from rtmbs.methods import Capability

Array = NDArray[np.float64]


class GainWarning(RtmbsWarning):
    """Gains of a stabilised formulation that lie outside the stability region of the method at this step."""


class Point(NamedTuple):
    """A state of a motion with its accelerations and multipliers, and the rates of its force states.

    Parameters
    ----------
    t : float
        Time [s].
    q : ndarray
        Coordinates (n,).
    v : ndarray
        Rates of the coordinates (n,).
    a : ndarray
        Accelerations (n,).
    lam : ndarray
        Multipliers (m,).
    s : ndarray, optional
        States of forces (ns,).
    sd : ndarray, optional
        Rates of the states of forces (ns,).
    left : tuple[float, float], optional
        Largest |Phi| and |Phid| that a solver of differential equations left before its state was corrected; those of
        the point itself unless given.
    """

    t: float  # [s]
    q: Array  # (n,)
    v: Array  # (n,)
    a: Array  # (n,)
    lam: Array  # (m,)
    s: Array = NO_STATES  # (ns,)
    sd: Array = NO_STATES  # (ns,)
    left: tuple[float, float] | None = None


@dataclass
class Counts:
    """Work of a motion.

    Parameters
    ----------
    evaluations : int, default 0
        Calls of ``force``.
    factorisations : int, default 0
        Factorisations of a mass or Newton matrix.
    iterations : int, default 0
        Newton iterations, projections left out.
    steps : int, default 0
        Steps taken.
    """

    evaluations: int = 0
    factorisations: int = 0
    iterations: int = 0  # of Newton, projections left out
    steps: int = 0


@dataclass
class Motion:
    """A system that counts its evaluations, and a consistent start.

    ``rows`` chooses independent rows anew along the motion, where some are left out.
    """

    system: ConstrainedSystem
    q: Array  # (n,)
    v: Array  # (n,)
    t0: float = 0.0  # [s]
    s: Array = field(default_factory=NO_STATES.copy)  # (ns,)
    counts: Counts = field(default_factory=Counts)
    rows: "RowChoice | None" = None


class RowChoice(Protocol):
    """Independent rows among all rows of a system."""

    def renew(self, point: Point) -> bool:
        """Choose rows anew where those kept are nearly dependent; return whether they are others now."""

    def shared(self, point: Point) -> Point:
        """Return a point with multipliers of all rows."""


class Integrator(Protocol):
    """A method of time that ``integrate`` takes: it yields the points of a motion.

    ``capabilities`` hold FORCE_STATES where it integrates the states of a system as well.
    """

    capabilities: ClassVar[frozenset[Capability]]

    @property
    def redundant(self) -> bool:
        """Whether dependent rows that agree with each other are accepted."""

    @property
    def orders(self) -> Orders | None:
        """Orders in the step; None for a method that chooses steps by tolerances."""

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield a Point at each of the times.

        A method of fixed steps takes one step from time to time.

        Parameters
        ----------
        motion : Motion
            System with its consistent start.
        times : ndarray
            Evenly spaced times (k + 1,) [s]; the first is the start.

        Yields
        ------
        Point
            Point at each time.

        Raises
        ------
        FormulationError
            At a state without accelerations.
        MotionError
            For a step that fails.
        """
