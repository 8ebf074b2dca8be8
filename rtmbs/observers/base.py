"""What every observer answers."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.observers.schedule import EveryStep, Schedule
from rtmbs.state import State
from rtmbs.system.system import System

Array = NDArray[np.float64]


class Watched(Protocol):
    """What an observer may look at; a Simulation answers it."""

    @property
    def system(self) -> System: ...
    @property
    def equations(self) -> Any: ...
    @property
    def state(self) -> State: ...
    @property
    def start_report(self) -> Any: ...


class Observer:
    """Looks at a simulation between steps.

    To write one:

    1. Inherit from this class; pass a schedule to ``super().__init__`` when not every step matters.
    2. ``start(sim, steps)`` comes once, before the first step: look at the initial state, allocate. ``steps`` is the
       number of steps to come, or None when nobody knows.
    3. ``look(sim, report)`` comes after every step that is due. ``sim.state`` is the new state, ``report`` the
       StepReport of the step.
    4. ``finish(sim)`` comes once, after the last step; not after a step that failed for good.
    5. Read, never write: no attribute of ``sim``, no array that hangs on it, and none of its scratch. A run gives the
       same bytes with and without you.
    6. Copy what you keep: the arrays of ``sim.state`` are overwritten two steps on.
    7. An observer may watch several runs; ``start`` begins anew.
    8. ``look_at_chunk(sim, t, chunk)``, if you write it, stands for a ``look`` at every row: a run then need not come
       back to Python after every step. ``sim.state`` is already the last of them; ``chunk`` is overwritten later.

    A Simulation calls ``begin``, ``observe`` and ``end``, and so does whoever steps by hand; the schedule stands
    between these and the methods above.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        self.schedule: Schedule = EveryStep() if schedule is None else schedule

    def begin(self, sim: Watched, steps: int | None = None) -> None:
        """Start watching ``sim``, which will take ``steps`` steps."""
        self.schedule.start(sim.state.t)
        self.start(sim, steps)

    def observe(self, sim: Watched, report: StepReport) -> None:
        """Look at the step just taken when it is due."""
        if self.schedule.due(sim.state.t):
            self.look(sim, report)

    @property
    def takes_chunks(self) -> bool:
        """True when chunks serve as well as looks: ``look_at_chunk`` belongs to the class that says how to look."""
        own = type(self)
        home: type[Observer] = next(kind for kind in own.__mro__ if "look_at_chunk" in vars(kind))
        meant = home is not Observer and own.look is home.look and own.observe is home.observe
        return meant and self.schedule.simulated_time

    def observe_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Look at the steps just taken, those that are due."""
        due = self.schedule.due_of(t)
        self.look_at_chunk(sim, t[due], Chunk(*(values[due] for values in chunk)))

    def end(self, sim: Watched) -> None:
        """Stop watching."""
        self.finish(sim)

    def start(self, sim: Watched, steps: int | None) -> None:
        """Prepare; see point 2."""

    def look(self, sim: Watched, report: StepReport) -> None:
        """See one step; see point 3."""

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """See many steps, which ended at ``t`` (k,) [s]; see point 8."""
        raise NotImplementedError

    def finish(self, sim: Watched) -> None:
        """Conclude; see point 4."""
