"""Inputs of the state that counts: held from now on, or reached at the end of the next step."""

from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.methods import Capability, demand
from rtmbs.model.closed import Closed
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.one_thread import CHANGE, check_visitor, guarded
from rtmbs.simulation.options import Options
from rtmbs.state import State

Array = NDArray[np.float64]
Goals = dict[int, tuple[slice, Array]]  # inputs at the end of the next step, by first slot
INPUTS = "inputs[...] ="  # the call that the user makes
NO_GOALS: Goals = {}  # never written to


class InputHolder(Closed):
    """What ``Inputs`` reads and writes."""

    options: Options
    equations: SemiRecursiveEquations
    _inside: Any  # who is in a guarded method
    _states: tuple[State, State]  # the one that counts, and the one the next step writes
    _goals: Goals
    _accelerations_current: bool  # False: accelerations are those of other inputs
    _exactly: bool = True  # how accelerations follow before a step: solved for, unless only quick inputs have changed

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input of the state that counts."""
        return self._goals[place.start][1] if place.start in self._goals else self._states[0].u[place]

    @guarded(CHANGE, INPUTS)
    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the state that counts; its accelerations follow before anybody sees them."""
        u, own, goals = self._states[0].u, self.__dict__, self._goals_without(place.start)
        if np.array_equal(u[place], numbers):
            own["_goals"] = goals
        else:  # one statement without calls: an interrupt comes before it or after it
            u[place], own["_accelerations_current"], own["_exactly"], own["_goals"] = numbers, False, True, goals

    @guarded(CHANGE, INPUTS)
    def aim_input(self, place: slice, numbers: Array) -> None:
        """Let one input be these numbers at the end of the next step; the state that counts stays.

        A balance of energy begins anew, as it is none in loops with functions of time: potentials do not tell the work.
        Raises InputError with a method without ramps.
        """
        demand(self.options.method, Capability.RAMPS, "an input that moves along a step")
        state, own, goals = self._states[0], self.__dict__, {**self._goals, place.start: (place, numbers)}
        ended = self.options.method.ended_by_ramps(state)
        if ended is not None and not np.array_equal(state.u[place], numbers):
            ended[:], own["_goals"] = 0.0, goals  # one statement, as in ``write_input``
        else:
            own["_goals"] = goals

    @guarded(CHANGE, INPUTS)
    def opened_by(self, place: slice, numbers: Array) -> tuple[str, float, float]:
        """Return the equation that an input opens most, its violation over its size, and the largest one of now."""
        state, equations = self._states[0], self.equations
        gaps = []
        try:
            for values in (state.u[place].copy(), numbers):
                equations.u = state.u.copy()
                equations.u[place] = values
                gaps.append(np.abs(equations.close(state.z, state.R0)) / equations.sizes.scale)
        finally:
            equations.u = state.u
        worst = int(np.argmax(gaps[1]))
        return equations.system.row_names[worst], float(gaps[1][worst]), float(gaps[0].max())

    def _goals_without(self, slot: int) -> Goals:
        """Return what inputs are to be at the end of the next step, without one of them."""
        goals = self._goals
        return {other: goal for other, goal in goals.items() if other != slot} if slot in goals else goals

    def check_change(self, called: str) -> None:
        """Refuse a change of inputs where a function of the user may not make it: BusyError."""
        if self._inside is not None and self._inside != get_ident():
            check_visitor(self, self._inside, CHANGE, called)

    def _reach_goals(self, u: Array) -> None:
        """Write the inputs that end a ramp at the end of the next step to ``u`` (nu,) or (k, nu)."""
        for place, numbers in self._goals.values():
            u[..., place] = numbers

    def _take_goals(self) -> None:
        """Let the ends of ramps be inputs of the present."""
        for place, numbers in list(self._goals.values()):
            self.write_input(place, numbers)  # which ends the goal

    @guarded(CHANGE, INPUTS)
    def write_number(self, slot: int, number: float, quick: bool = False) -> None:
        """Change an input of one number, as ``write_input`` does; ``quick``: a step may take it roughly."""
        u, own, goals = self._states[0].u, self.__dict__, self._goals_without(slot) if self._goals else NO_GOALS
        if u[slot] != number:
            exactly = not quick or (self._exactly and not self._accelerations_current)
            # one statement, as in ``write_input``
            u[slot], own["_accelerations_current"], own["_exactly"], own["_goals"] = number, False, exactly, goals
        else:
            own["_goals"] = goals
