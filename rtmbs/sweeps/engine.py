"""The contract of an engine: workers behind an Executor of ``concurrent.futures``."""

from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from rtmbs.errors import RtmbsError


class Crew(NamedTuple):
    """Workers that are ready."""

    executor: Executor
    workers: int


class Engine(Protocol):
    """Where the runs of a sweep are made.

    1. ``open`` yields a crew, of one worker when ``alone``, and ends its workers when the block ends.
    2. ``died`` tells the error of a future whose worker ended from an error of the machinery. The sweep then opens a
       new crew, makes each run that was under way alone, and gives a run that ends its worker again a failed row.
    3. ``remedy`` is what the user may do when no worker starts.
    """

    remedy: str

    def open(self, alone: bool = False) -> AbstractContextManager[Crew]: ...

    def died(self, error: BaseException) -> bool: ...


class CrewError(RtmbsError):
    """Workers do not start, or end before their first run."""
