"""The engine of a cluster: dask.distributed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import whole
from rtmbs.studies.sweeps.engines import MOST_WORKERS, Crew, CrewError

PATIENCE = 60.0  # until a first worker is there [s]


@dataclass(frozen=True)
class Dask:
    """Engine of the workers of a dask cluster (extra ``cluster``).

    Parameters
    ----------
    address : str, optional
        Address of a scheduler, ``rtmbs.Dask("tcp://head:8786")``, or None for a cluster of ``workers`` processes on
        this machine. Workers of a cluster should have one thread each: ``dask worker tcp://head:8786 --nthreads 1``.
    workers : int, optional
        Number of workers; one a core unless given.

    Raises
    ------
    InputError
        Where dask.distributed is missing.
    CrewError
        Where no scheduler answers.
    """

    address: str | None = None
    workers: int | None = None

    remedy = "start the scheduler and its workers, and let them import the functions of the sweep"

    def __post_init__(self) -> None:
        if not (self.address is None or isinstance(self.address, str)):
            raise InputError(f"address is {shown(self.address)}; it must be that of a scheduler: 'tcp://head:8786'")
        if self.workers is not None:
            whole("workers", self.workers, 1, MOST_WORKERS)
            if self.address is not None:
                raise InputError("workers counts processes of this machine; a cluster with an address has its own")
        if find_spec("distributed") is None:
            raise InputError("Dask needs dask.distributed; install it with pip install 'rtmbs[cluster]'")

    @contextmanager
    def open(self, alone: bool = False) -> Iterator[Crew]:
        """Yield the crew of workers, and close it at the end.

        Parameters
        ----------
        alone : bool, default False
            True for a sweep in the calling process alone.

        Yields
        ------
        Crew
            Crew of workers.

        Raises
        ------
        CrewError
            When the workers cannot be reached.
        """
        from distributed import Client

        with self.cluster() as address:
            try:
                client = Client(address, set_as_default=False, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise CrewError(f"no scheduler answers at {address}: {error}") from None
            try:
                self.wait(client)
                threads = sum(client.nthreads().values())
                executor = client.get_executor(pure=False)
                yield Crew(executor, threads)
                executor.shutdown(wait=False)
            finally:
                client.close()

    def wait(self, client: Any) -> None:
        """Wait for a first worker.

        Parameters
        ----------
        client : object
            Client of the scheduler.

        Raises
        ------
        CrewError
            When the workers cannot be reached.
        """
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise CrewError(f"the cluster has had no worker for {PATIENCE:.0f} s; {self.remedy}") from None

    @contextmanager
    def cluster(self) -> Iterator[Any]:
        """Yield a scheduler: the user's, or one of this machine with its workers.

        Yields
        ------
        object
            Scheduler: the user's, or one of this machine with its workers.
        """
        if self.address is not None:
            yield self.address
            return
        from distributed import LocalCluster

        with LocalCluster(self.workers, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster

    def died(self, error: BaseException) -> bool:
        """True when an exception means that a worker died.

        Parameters
        ----------
        error : BaseException
            Exception of a run.

        Returns
        -------
        bool
            True when the error means that a worker died.
        """
        from distributed import KilledWorker

        return isinstance(error, KilledWorker)
