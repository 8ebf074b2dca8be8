"""Groups of components: parts of a mechanism that share nothing but ground, each stepped by itself.

Every group has tables, a factor, scratch and a chunk of its own, so that one kernel call a group may run on a thread of
its own for many steps, without a word between them. Which thread is faster decides nothing: a step depends on the row
before it only, and rows count up to where the last group came.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import (
    GIVEN,
    ITERATIONS_TO_TOLERANCE,
    RESIDUAL_TICKS,
    STATS_SIZE,
    Chunk,
    Settings,
    StateArrays,
)
from rtmbs.numerics.linear.sparse_lu import workspace as factor_workspace
from rtmbs.semirecursive.machine_code import ACCEPTED, Ending
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.components import find_groups, restricted
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
UNBOUNDED = 1 << 20


class Group:
    """Some components of a mechanism, and all that a kernel needs to step them."""

    def __init__(self, tables: Tables, coordinates: Integers, kernel: Callable[..., Ending]) -> None:
        part = restricted(tables, coordinates)
        self.coordinates, self.tables, self.lu, self.kernel = coordinates, part.tables, part.lu, kernel
        self.ws, self.work = workspace(part.tables), factor_workspace(part.lu)
        z, lam, R0, s = (as_slice(index) for index in (part.coordinates, part.rows, part.references, part.states))
        self.place = StateArrays(z, z, z, lam, R0, z, s, s)  # of each array in that of the whole
        self.settings: tuple[Settings, Settings] | None = None  # of the whole, of the group
        self.chunk: Chunk | None = None

    def advance(self, settings: Settings, alpha: Array, old: StateArrays, chunk: Chunk, budget: int) -> Ending:
        """Take a step for every row, and fill the group's part of ``chunk`` (``stats`` apart) with the accepted
        ones.
        """
        own = self.room_for(chunk)
        before = StateArrays(*(values[place] for values, place in zip(old, self.place, strict=True)))
        ending, done = self.kernel(
            self.tables, self.lu, self.work, self.settings_in(settings), alpha[self.place.lam], before, own, self.ws,
            budget,
        )  # fmt: skip
        for name, place in self.place._asdict().items():
            getattr(chunk, name)[:done, place] = getattr(own, name)[:done]
        return ending, done

    def room_for(self, chunk: Chunk) -> Chunk:
        """Return the group's own chunk, as many as ``chunk``, with the same inputs."""
        count = len(chunk.stats)
        if self.chunk is None or len(self.chunk.stats) < count:
            parts = {name: getattr(chunk, name)[:, place] for name, place in self.place._asdict().items()}
            arrays = {name: np.zeros(part.shape) for name, part in parts.items()}
            self.chunk = Chunk(**arrays, u=chunk.u, stats=np.zeros((count, STATS_SIZE)))
        return Chunk(*(values[:count] for values in self.chunk))._replace(u=chunk.u)

    def settings_in(self, settings: Settings) -> Settings:
        """Return the settings of the whole with tolerances and sizes of this group's coordinates and equations."""
        if self.settings is None or self.settings[0] is not settings:
            z, lam = self.place.z, self.place.lam
            own = settings._replace(
                absolute=settings.absolute[z],
                typical=settings.typical[z],
                pace=settings.pace[z],
                rotation=settings.rotation[lam],
                scale=settings.scale[lam],
                mass=settings.mass[lam],
                first=settings.first[lam],
            )
            self.settings = settings, own
        return self.settings[1]


class Groups:
    """A mechanism in at most ``threads`` groups of its components; fewer when it has fewer components."""

    def __init__(self, tables: Tables, lu: Any, threads: int, kernel: Callable[..., Ending]) -> None:
        self.tables, self.threads, self.coordinates = tables, threads, find_groups(tables, lu, threads)
        several = len(self.coordinates) > 1
        self.members = [Group(tables, coordinates, kernel) for coordinates in self.coordinates] if several else []
        self.longest = UNBOUNDED  # rows of a call that all groups finish in time

    def __len__(self) -> int:
        return len(self.coordinates)

    def advance(
        self, settings: Settings, alpha: Array, old: StateArrays, chunk: Chunk, budget: int, side_by_side: bool
    ) -> Ending:
        """Take a step for every row, all groups at once on threads of their own or one after the other on this one.

        Each group stops after ``budget`` ticks and before a step that fails; accepted are the steps that all groups
        took. The next call is as long as the slowest came, so that the others do not run ahead for nothing.
        """
        count = min(len(chunk.stats), self.longest)
        wanted = Chunk(*(values[:count] for values in chunk))
        calls = [partial(group.advance, settings, alpha, old, wanted, budget) for group in self.members]
        endings = at_once(calls) if side_by_side else [call() for call in calls]
        done = min(accepted for _, accepted in endings)
        self.longest = min(2 * self.longest, UNBOUNDED) if done == count else max(done, 1)
        stats = [group.chunk.stats[:done] for group in self.members if group.chunk is not None]
        chunk.stats[:done] = combined(np.array(stats), side_by_side)
        last = [ending for ending, accepted in endings if accepted == done]
        return next((ending for ending in last if ending not in ACCEPTED), max(last)), done


def at_once(calls: Sequence[Callable[[], Ending]]) -> list[Ending]:
    """Make all calls, the first on this thread, and return their answers when all are back.

    Threads are made for the purpose: 0.1 ms of the 50 that a call may last, and none is left behind to look after.
    """
    with ThreadPoolExecutor(len(calls) - 1) as pool:
        others = [pool.submit(call) for call in calls[1:]]
        return [calls[0](), *(other.result() for other in others)]


def combined(stats: Array, side_by_side: bool) -> Array:
    """Return the stats (k, STATS_SIZE) of steps from those of their groups (groups, k, STATS_SIZE).

    The largest of every number, but ITERATIONS_TO_TOLERANCE is 0 when one group did not come so far, and phases of
    groups that ran one after the other add up.
    """
    whole: Array = stats.max(axis=0)
    whole[:, GIVEN] = stats[:, :, GIVEN].sum(axis=0)
    whole[:, ITERATIONS_TO_TOLERANCE] *= np.all(stats[:, :, ITERATIONS_TO_TOLERANCE] > 0.0, axis=0)
    if not side_by_side:
        whole[:, RESIDUAL_TICKS:ITERATIONS_TO_TOLERANCE] = stats[:, :, RESIDUAL_TICKS:ITERATIONS_TO_TOLERANCE].sum(
            axis=0
        )
    return whole


def as_slice(index: Integers) -> Any:
    """Return an ascending index as a slice when it has no gaps: views instead of copies."""
    if len(index) == 0:
        return slice(0, 0)
    return slice(int(index[0]), int(index[-1]) + 1) if index[-1] - index[0] == len(index) - 1 else index
