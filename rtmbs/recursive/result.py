"""The Result of a motion by the recursion: the channels of a System, from coordinates, rates and rotations."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.recursive.partition import Split
from rtmbs.recursive.recursion import Recursion
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.result import Result
from rtmbs.results.samples import Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RecursionReport:
    """Coordinates of a motion by the recursion, and how ranks or threads shared it."""

    z: Array  # (k, n) coordinates; rotation vectors of ball joints count from the last sample, see ``R0``
    zd: Array  # (k, n) rates
    R0: Array  # (k, q, 3, 3) reference rotations
    ranks: int  # or threads
    shares: tuple[int, ...]  # dofs of every rank, the trunk apart

    def summary(self) -> str:
        """Return the ranks and their shares in one line."""
        return f"{self.ranks} ranks or threads with {', '.join(map(str, self.shares))} dofs of their own"


def recursion_result(
    system: System,
    times: Array,
    parts: Iterable[tuple[Integers, Integers, Array]],
    split: Split,
    alpha: float,
    beta: float,
) -> Result:
    """Return the Result of coordinates, reference rotations and rows of states of every rank.

    Accelerations and multipliers are evaluated at the samples when a channel is first used, with Baumgarte's gains
    ``alpha`` and ``beta`` [1/s] of the run.
    """
    n, k = len(system.tables.dofs.kind), len(times)
    t, z, zd, R0 = np.array(times, np.float64), np.zeros((k, n)), np.zeros((k, n)), np.zeros((k, *system.R0.shape))
    for coordinates, references, rows in parts:
        c = len(coordinates)
        z[:, coordinates], zd[:, coordinates] = rows[:, :c], rows[:, c : 2 * c]
        R0[:, references] = rows[:, 2 * c :].reshape(k, -1, 3, 3)
    report = RecursionReport(z, zd, R0, len(split.shares), tuple(map(len, split.shares)))

    def evaluated() -> dict[str, Source]:
        samples = evaluate_samples(system, t, report, alpha, beta)
        return sources(system, Evaluation(system, system.tables, samples))

    return Result(evaluated, system.name, system.fingerprint, system=system, report=report)


def evaluate_samples(system: System, t: Array, motion: RecursionReport, alpha: float, beta: float) -> Samples:
    """Return the samples at times ``t`` (k,) [s], with accelerations and multipliers by the recursion."""
    equations = SemiRecursiveEquations(uncondensed(system))
    recursion, still = Recursion(equations), np.zeros(equations.n)
    zdd, lam = np.zeros_like(motion.z), np.zeros((len(t), equations.m))
    u = np.tile(system.u0, (len(t), 1))
    for k, instant in enumerate(t.tolist()):
        equations.at(instant)
        equations.evaluate(motion.z[k], motion.zd[k], still, motion.R0[k])
        answer = recursion.answer(alpha, beta)
        u[k], zdd[k], lam[k] = equations.u, answer.zdd, answer.lam
    return Samples(t, motion.z, motion.zd, zdd, lam, motion.R0, u)
