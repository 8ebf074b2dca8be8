"""Ranks of message passing (mpi4py, the extra ``parallel``): one exchange an evaluation; an error ends all ranks.

Messages are gathered, not reduced by the library: every rank adds them in the order of the ranks, and so finds the same
bits. A rank that raises ends all ranks with one message; what a launcher does with the others when a rank dies is its
own task, and mpiexec ends them.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError
from rtmbs.recursive.motion import Alone, Exchange
from rtmbs.system.system import System

Array = NDArray[np.float64]

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
