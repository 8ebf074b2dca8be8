"""One pair K = -dQ/dz, C = -dQ/dzd: how long a source takes for it, and how far it is from another's."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import PAPER
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.system import System

Array = NDArray[np.float64]
REPEATS = 20  # of the closed form; the fastest counts, as for every source


class Pair(NamedTuple):
    """Both Jacobians of Q at one state."""

    K: Array  # (n, n) [N m/rad, N/m]
    C: Array  # (n, n) [N m s/rad, N s/m]


class Question(NamedTuple):
    """State and inputs of one pair, the arguments of a source."""

    z: Array  # (n,)
    zd: Array  # (n,)
    R0: Array  # (nr, 3, 3)
    u: Array  # (nu,)


class Timed:
    """A source that times each of its answers and remembers the last."""

    def __init__(self, source: Callable[..., tuple[Array, Array]]) -> None:
        self.source = source
        self.seconds: list[float] = []  # of every call

    def __call__(self, z: Array, zd: Array, R0: Array, u: Array) -> Pair:
        """Return K and C of the source."""
        start = time.perf_counter()
        pair = Pair(*self.source(z, zd, R0, u))
        self.seconds.append(time.perf_counter() - start)
        self.question, self.pair = Question(z.copy(), zd.copy(), R0.copy(), u.copy()), pair
        return pair


class ClosedForm:
    """The structured K and C alone: what the equations add into the sparse matrix, without M and penalties."""

    def __init__(self, system: System) -> None:
        self.equations = SemiRecursiveEquations(system)  # its penalty factors are zero

    def __call__(self, z: Array, zd: Array, R0: Array, u: Array) -> Pair:
        """Return K and C (n, n), written out dense."""
        self.evaluate(Question(z, zd, R0, u))
        return Pair(self.equations.assemble(0.0, 0.0, 1.0, PAPER), self.equations.assemble(0.0, 1.0, 0.0, PAPER))

    def evaluate(self, question: Question) -> None:
        """Bring the tree to the state."""
        self.equations.u[:] = question.u
        self.equations.residual(question.z, question.zd, np.zeros_like(question.z), question.R0)

    def seconds(self, question: Question) -> float:
        """Return the time of one pair in the sparse pattern: a pass over the tree, K alone, C alone.

        A step needs less: one assembly adds M + h/2 C + h^2/4 K after a pass that the residual took anyway.
        """
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            self.evaluate(question)
            self.equations.fill(0.0, 0.0, 1.0, PAPER, None)
            self.equations.fill(0.0, 1.0, 0.0, PAPER, None)
            times.append(time.perf_counter() - start)
        return min(times)


def distances(pair: Pair, reference: Pair) -> tuple[float, float]:
    """Return the largest error of K and of C, each relative to the largest entry of its reference."""
    error_K, error_C = (float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(pair, reference, strict=True))
    return error_K, error_C
