"""A motion by the recursion, in one part or shared out: Runge-Kutta's method of order four with steps of one size.

Every rank moves the coordinates of its own branches and of the trunk. An evaluation is one exchange of messages.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StepError
from rtmbs.integrators.tableaux import RK4
from rtmbs.recursive.part import RankPart
from rtmbs.recursive.part_kernels import NOT_FINITE, WEIGHTLESS
from rtmbs.recursive.partition import split
from rtmbs.recursive.result import recursion_result
from rtmbs.results.result import Result
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.system import System

Array = NDArray[np.float64]

STAGES = tuple(zip(RK4.b, (*(row[-1] for row in RK4.a), 0.0), RK4.c, strict=True))
# weight, way to the next stage, time of this one: a stage of this table needs the one before only, so kernels on many
# ranks or threads add up the end on the way, and stages are theirs
LAST = len(STAGES) - 1


class Exchange(Protocol):
    """Contract of message passing between ranks."""

    rank: int
    ranks: int

    def share(self, message: Array, messages: Array) -> None:
        """Write the messages of all ranks (ranks, length), in their order."""

    def together(self, mine: Any) -> list[Any]:
        """Return what every rank brings, in their order."""


class Alone:
    """One rank without others."""

    rank, ranks = 0, 1

    def share(self, message: Array, messages: Array) -> None:
        messages[0] = message

    def together(self, mine: Any) -> list[Any]:
        return [mine]


class RankSteps:
    """The steps of one rank."""

    def __init__(self, system: System, exchange: Exchange, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.system, self.exchange = system, exchange
        self.split = split(system, exchange.ranks)
        self.part = RankPart(system, self.split, exchange.rank, alpha, beta)
        self.u = system.u0.copy()

    def begin(self, z: Array, zd: Array, t: float) -> None:
        """Take the state (n,) at ``t`` [s], and find where the cut joints are."""
        part = self.part
        part.z[:], part.zd[:] = z[part.coordinates], zd[part.coordinates]
        part.prepare(self.exchange.ranks, self.u)
        self.evaluate(t)

    def evaluate(self, t: float) -> None:
        """Find the accelerations at the stage's state. Raises StepError, on all ranks alike."""
        part = self.part
        if self.system.signals:
            evaluate_signals(self.system, t, self.u)
        part.backward()
        self.exchange.share(part.message, part.messages)
        status = part.forward()
        if status == WEIGHTLESS:
            name = next(filter(None, self.exchange.together(part.weightless())), "a coordinate of the trunk")
            raise StepError(f"{name} can move without inertia at t = {t:g}; give what moves there a mass")
        if status == NOT_FINITE:
            raise StepError(f"the motion is not finite at t = {t:g}; a shorter step may help")

    def step(self, t: float, h: float) -> None:
        """Take one step of ``h`` from ``t`` [s]."""
        part, stage = self.part, self.part.stage
        for k, (weight, way, time) in enumerate(STAGES):
            self.evaluate(t + time * h)
            stage(part.tables.dofs, h, weight, way, int(k == LAST), *part.stage_arguments)


def run(
    system: System,
    z: Array,
    zd: Array,
    times: Array,
    h: float,
    exchange: Exchange | None = None,
    alpha: float = 0.0,
    beta: float = 0.0,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Return the motion at ``times`` (k,) [s], the first of which is the start, in steps of at most ``h`` [s].

    z, zd : (n,) coordinates and rates at the start, which satisfy the loops
    exchange : ranks that share the work; one rank unless given. All ranks return the whole motion
    alpha, beta : Baumgarte's gains [1/s]
    watch : called with the number of every sample behind it
    The Result has the channels of a run of this System, and ``ranks``, ``shares``, ``z``, ``zd`` and ``R0``.
    Raises InputError for what ranks cannot share, StepError where the motion cannot go on.

    >>> result = run(system, z, zd, np.linspace(0.0, 1.0, 101), 1e-3)  # doctest: +SKIP
    """
    exchange = exchange or Alone()
    check_times(times, h)
    march = RankSteps(system, exchange, alpha, beta)
    march.begin(z, zd, float(times[0]))
    rows = [march.part.state()]
    for k in range(1, len(times)):
        span = float(times[k] - times[k - 1])
        count = int(np.ceil(span / h * (1.0 - 1e-12)))
        for j in range(count):
            march.step(float(times[k - 1]) + j * span / count, span / count)
        rows.append(march.part.state())
        if watch is not None:
            watch(k)
    part = march.part
    parts = exchange.together((part.coordinates, part.references, np.array(rows)))
    return recursion_result(system, times, parts, march.split, alpha, beta)


def check_times(times: Array, h: float) -> None:
    """Raise InputError for times that do not ascend, or a step that is none."""
    if not np.ndim(times) == 1 or len(times) < 2 or not np.all(np.diff(times) > 0.0):
        raise InputError("times of the recursion are an ascending row of two or more [s]")
    if not (np.isfinite(h) and h > 0.0):
        raise InputError(f"h is {h!r}; a finite number of seconds above 0 is wanted")
