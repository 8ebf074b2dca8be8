"""Motion by the recursion and its Result: alone, and on ranks.

Motion by the recursion, on one rank or many, and its Result: Runge-Kutta of order four with equal steps.

Every rank moves the coordinates of its own branches and of the trunk. An evaluation is one exchange of messages.

Ranks of message passing (mpi4py, the extra ``parallel``): one exchange an evaluation; an error ends all ranks.

Messages are gathered, not reduced by the library: every rank adds them in the order of the ranks, and so finds the same
bits. A rank that raises ends all ranks with one message; what a launcher does with the others when a rank dies is its
own task, and mpiexec ends them.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError, StepError
from rtmbs.integrators.tableaux import RK4
from rtmbs.recursive.part import RankPart
from rtmbs.recursive.part_kernels import NOT_FINITE, WEIGHTLESS
from rtmbs.recursive.partition import Split, split
from rtmbs.recursive.recursion import Recursion
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
STAGES = tuple(zip(RK4.b, (*(row[-1] for row in RK4.a), 0.0), RK4.c, strict=True))
# weight, way to the next stage, time of this one: a stage of this table needs the one before only, so kernels on many
# ranks or threads add up the end on the way, and stages are theirs
LAST = len(STAGES) - 1


@dataclass(frozen=True)
class RecursionReport:
    """Coordinates of a motion by the recursion, and how ranks or threads shared it.

    Parameters
    ----------
    z : ndarray
        Coordinates (k, n); rotation vectors of ball joints count from the last sample, see ``R0``.
    zd : ndarray
        Rates (k, n).
    R0 : ndarray
        Reference rotations (k, q, 3, 3).
    ranks : int
        Number of ranks or threads.
    shares : tuple[int, ...]
        Degrees of freedom of every rank, the trunk apart.
    """

    z: Array  # (k, n) coordinates; rotation vectors of ball joints count from the last sample, see ``R0``
    zd: Array  # (k, n) rates
    R0: Array  # (k, q, 3, 3) reference rotations
    ranks: int  # or threads
    shares: tuple[int, ...]  # dofs of every rank, the trunk apart

    def summary(self) -> str:
        """Return the ranks and their shares in one line.

        Returns
        -------
        str
            One line.
        """
        return f"{self.ranks} ranks or threads with {', '.join(map(str, self.shares))} dofs of their own"


NO_VALUE = "a shorter step may help, or a force has no value there, as a spring between points that coincide"


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
    ``alpha`` and ``beta`` [1/s] of the run. Raises StepError for a motion that is not finite, on all ranks.
    """
    n, k = len(system.tables.dofs.kind), len(times)
    t, z, zd, R0 = np.array(times, np.float64), np.zeros((k, n)), np.zeros((k, n)), np.zeros((k, *system.R0.shape))
    for coordinates, references, rows in parts:
        c = len(coordinates)
        z[:, coordinates], zd[:, coordinates] = rows[:, :c], rows[:, c : 2 * c]
        R0[:, references] = rows[:, 2 * c :].reshape(k, -1, 3, 3)
    lost = ~np.isfinite(z).all(axis=1) | ~np.isfinite(zd).all(axis=1)
    if lost.any():
        raise StepError(f"the motion is not finite at t = {t[int(np.argmax(lost))]:g}; {NO_VALUE}")
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


class Exchange(Protocol):
    """Contract of message passing between ranks."""

    rank: int
    ranks: int

    def share(self, message: Array, messages: Array) -> None:
        """Exchange one array between all ranks.

        Parameters
        ----------
        message : ndarray
            Message of this rank (length,).
        messages : ndarray
            Messages of all ranks (ranks, length), in their order, written in place.
        """

    def together(self, mine: Any) -> list[Any]:
        """Gather one object of every rank on all ranks.

        Parameters
        ----------
        mine : object
            Object of this rank.

        Returns
        -------
        list[object]
            Objects of all ranks, in their order.
        """


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

    def begin(self, z: Array, zd: Array, t: float, R0: Array | None = None) -> None:
        """Take the state (n,) at ``t`` [s] with reference rotations (q, 3, 3), and find where the cut joints are."""
        part = self.part
        if R0 is not None:
            part.R0[: len(part.references)] = R0[part.references]
        part.take(z, zd)
        part.prepare(self.exchange.ranks, self.u)
        self.evaluate(t)

    def evaluate(self, t: float) -> None:
        """Compute the accelerations at the stage's state. Raises StepError, on all ranks."""
        part = self.part
        if self.system.signals:
            evaluate_signals(self.system, t, self.u)
        if len(part.posts):
            part.tell_poses()
            self.exchange.share(part.told, part.all_told)
            part.place_frames()
        part.backward()
        self.exchange.share(part.message, part.messages)
        status = part.forward()
        if status == WEIGHTLESS:
            name = next(filter(None, self.exchange.together(part.weightless())), "a coordinate of the trunk")
            raise StepError(f"{name} can move without inertia at t = {t:g}; give what moves there a mass")
        if status == NOT_FINITE:
            raise StepError(f"the motion is not finite at t = {t:g}; {NO_VALUE}")

    def step(self, t: float, h: float) -> None:
        """Take one step of ``h`` from ``t`` [s]."""
        part, stage = self.part, self.part.stage
        for k, (weight, way, moment) in enumerate(STAGES):
            self.evaluate(t + moment * h)
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
    R0: Array | None = None,
) -> Result:
    """Return the motion by the recursion at given times, in steps of equal size.

    Parameters
    ----------
    system : System
        Compiled System.
    z : ndarray
        Coordinates (n,) at the start, which satisfy the loops.
    zd : ndarray
        Rates (n,) at the start, which satisfy the loops.
    times : ndarray
        Times of the samples (k,) [s]; the first is the start.
    h : float
        Largest step [s].
    exchange : Exchange, optional
        Ranks that share the work; one rank unless given. All ranks return the whole motion.
    alpha : float, default 0.0
        Baumgarte's gain of the rate of the violation [1/s].
    beta : float, default 0.0
        Baumgarte's gain of the violation [1/s].
    watch : Callable[[int], None], optional
        Function called with the number of every sample after the first.
    R0 : ndarray, optional
        Reference rotations (q, 3, 3) of spherical and floating joints at the start, as ``State.R0`` has them; those
        of the System unless given.

    Returns
    -------
    Result
        Channels of a run of this System, and ``ranks``, ``shares``, ``z``, ``zd`` and ``R0``.

    Raises
    ------
    InputError
        For times or steps out of range, and for what ranks cannot share.
    StepError
        For a coordinate without inertia, or a motion that is not finite.

    Examples
    --------
    >>> result = run(system, z, zd, np.linspace(0.0, 1.0, 101), 1e-3)  # doctest: +SKIP
    """
    exchange = exchange or Alone()
    check_times(times, h)
    march = RankSteps(system, exchange, alpha, beta)
    march.begin(z, zd, float(times[0]), R0)
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


LAUNCHERS = (
    "PMI_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_NTASKS",
)  # how many ranks, in the environment
EXTRA = "pip install 'rtmbs[parallel]'"
FAILED = 1  # exit code
PATIENCE = 0.5  # [s] for a message to leave its rank and its launcher


class Ranks:
    """Ranks of a communicator of mpi4py, as an Exchange.

    Parameters
    ----------
    communicator : object
        Communicator of mpi4py, such as ``MPI.COMM_WORLD``.
    """

    def __init__(self, communicator: Any) -> None:
        self.communicator = communicator
        self.rank, self.ranks = int(communicator.Get_rank()), int(communicator.Get_size())

    def share(self, message: Array, messages: Array) -> None:
        """Write the messages of all ranks (ranks, length), in their order."""
        self.communicator.Allgather(message, messages)

    def together(self, mine: Any) -> list[Any]:
        """Return the contributions of all ranks, in their order."""
        return list(self.communicator.allgather(mine))


def ranks_started() -> int:
    """Return how many ranks a launcher started, this process among them; 1 without a launcher."""
    return max((int(os.environ.get(name, "1") or 1) for name in LAUNCHERS), default=1)


def world() -> Exchange:
    """Return the ranks that this process was started with.

    Returns
    -------
    Exchange
        Ranks of this process; one rank, with a line on stderr, where mpi4py is absent.

    Raises
    ------
    InputError
        When a launcher started several ranks and mpi4py is absent.
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        if (started := ranks_started()) > 1:
            raise InputError(f"{started} ranks were started, and mpi4py is missing; install it: {EXTRA}") from error
        print(f"rtmbs: mpi4py is absent, one rank works alone; install it: {EXTRA}", file=sys.stderr)
        return Alone()
    return Ranks(MPI.COMM_WORLD) if MPI.COMM_WORLD.Get_size() > 1 else Alone()


def demand_same_system(exchange: Exchange, system: System, version: str) -> None:
    """Check that all ranks have the same version of rtmbs and the same mechanism.

    Parameters
    ----------
    exchange : Exchange
        Ranks.
    system : System
        Compiled System of this rank.
    version : str
        Version of rtmbs of this rank.

    Raises
    ------
    InputError
        On all ranks, naming the first rank with another version or another mechanism.
    """
    for what, mine in (("version", version), ("mechanism", system.fingerprint)):
        told = exchange.together(mine)
        for rank, other in enumerate(told):
            if other != told[0]:
                raise InputError(
                    f"rank {rank} has another {what} of rtmbs than rank 0, {other} and {told[0]}; start all ranks "
                    "from the same installation and the same model"
                    if what == "version"
                    else f"rank {rank} has another mechanism than rank 0; let all ranks build the same model"
                )


def launch(work: Callable[[Exchange], Any], exchange: Exchange | None = None) -> Any:
    """Call a function on all ranks; where it raises on one rank, all ranks end with exit code 1 and one message.

    Parameters
    ----------
    work : Callable[[Exchange], object]
        Function of the ranks.
    exchange : Exchange, optional
        Ranks; those of ``world()`` unless given.

    Returns
    -------
    object
        Result of ``work(exchange)``.

    Examples
    --------
    >>> launch(lambda exchange: run(system, z, zd, times, 1e-3, exchange))  # doctest: +SKIP
    """
    try:
        exchange = world() if exchange is None else exchange
        return work(exchange)
    except Exception as error:  # whatever it is: the other ranks would wait for this one for ever
        if exchange is None or exchange.ranks == 1:
            raise
        time.sleep(2 * PATIENCE * exchange.rank)  # what all ranks raise the first of them says, and ends the others
        print_error(exchange, error)
        time.sleep(PATIENCE)  # a launcher that hears of an abort may throw away what it has not yet passed on
        exchange.communicator.Abort(FAILED)  # type: ignore[attr-defined]
        os._exit(FAILED)  # an abort may come back before it ends this process


def print_error(exchange: Exchange, error: Exception) -> None:
    """Print the error of one rank; an unexpected error with its traceback."""
    if isinstance(error, RtmbsError):
        text = f"rtmbs: rank {exchange.rank} of {exchange.ranks}: {error}"
    else:
        text = f"rtmbs: rank {exchange.rank} of {exchange.ranks} failed\n{traceback.format_exc()}"
    print(text, file=sys.stderr, flush=True)
