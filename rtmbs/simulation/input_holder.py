"""Inputs of the state that counts: held from now on, or reached at the end of the next step."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.model.closed import Closed
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.one_thread import one_thread
from rtmbs.simulation.options import Options
from rtmbs.state import State

Array = NDArray[np.float64]
Goals = dict[int, tuple[slice, Array]]  # inputs at the end of the next step, by first slot
NO_GOALS: Goals = {}  # never written to


class InputHolder(Closed):
    """What ``Inputs`` reads and writes."""

    options: Options
    equations: SemiRecursiveEquations
    _inside: int | None
    _states: tuple[State, State]  # the one that counts, and the one the next step writes
    _goals: Goals
    _accelerations_current: bool  # False: accelerations are those of other inputs
    _exactly: bool = True  # how accelerations follow before a step: solved for, unless only quick inputs have changed

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input of the state that counts."""
        return self._goals[place.start][1] if place.start in self._goals else self._states[0].u[place]

    @one_thread
    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the state that counts; its accelerations follow before anybody sees them."""
        u = self._states[0].u
        self._drop_goal(place.start)
        if not np.array_equal(u[place], numbers):
            # first: an interrupt in between costs a solution, not the order of a step
            vars(self).update(_accelerations_current=False, _exactly=True)
            u[place] = numbers

    @one_thread
    def aim_input(self, place: slice, numbers: Array) -> None:
        """Let one input be these numbers at the end of the next step; the state that counts stays.

        A balance of energy begins anew, as it is none in loops with functions of time: potentials do not tell the work.
        Raises InputError with a method that does not average the inputs of both ends of a step.
        """
        if not self.options.method.averages_inputs:
            raise InputError(
                f"{type(self.options.method).__name__} takes no ramps and no drivers by Input: use PenaltyTrapezoidal, "
                "or hold the value at the middle of the step"
            )
        state = self._states[0]
        if "energy" in state.memory and not np.array_equal(state.u[place], numbers):
            state.memory["energy"][:] = 0.0
        self._goals = {**self._goals, place.start: (place, numbers)}

    @one_thread
    def opened_by(self, place: slice, numbers: Array) -> tuple[str, float, float]:
        """Return the equation that an input opens most, its violation over its size, and the largest one of now."""
        state, equations = self._states[0], self.equations
        gaps = []
        for values in (state.u[place].copy(), numbers):
            equations.u = state.u.copy()
            equations.u[place] = values
            gaps.append(np.abs(equations.close(state.z, state.R0)) / equations.sizes.scale)
        equations.u = state.u
        worst = int(np.argmax(gaps[1]))
        return equations.system.row_names[worst], float(gaps[1][worst]), float(gaps[0].max())

    def _drop_goal(self, slot: int) -> None:
        """Forget what an input was to be at the end of the next step."""
        if slot in self._goals:
            self._goals = {other: goal for other, goal in self._goals.items() if other != slot}

    def _reach_goals(self, u: Array) -> None:
        """Write the inputs that end a ramp at the end of the next step to ``u`` (nu,) or (k, nu)."""
        for place, numbers in self._goals.values():
            u[..., place] = numbers

    def _take_goals(self) -> None:
        """Let the ends of ramps be inputs of the present."""
        goals = self._goals
        vars(self).update(_goals={})
        for place, numbers in goals.values():
            self.write_input(place, numbers)

    @one_thread
    def write_number(self, slot: int, number: float, quick: bool = False) -> None:
        """Change an input of one number, as ``write_input`` does; ``quick``: a step may take it roughly."""
        u = self._states[0].u
        self._drop_goal(slot)
        if u[slot] != number:
            own = self.__dict__  # an assignment to the attribute would be a call
            own["_exactly"] = not quick or (self._exactly and not self._accelerations_current)
            own["_accelerations_current"] = False
            u[slot] = number
