"""Pairs of contact sets that are near, renewed before every step, and what touches in a State (METHODS 8.10)."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import InputError, StepError, unknown_name
from rtmbs.model.checks import Array
from rtmbs.semirecursive.contact_sets import evaluate_sets
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.near_pairs import find_near, keep_pairs, pair_scratch, passing_pair, same_pairs
from rtmbs.semirecursive.passes import forward_velocities
from rtmbs.state import State
from rtmbs.system.contact_tables import FORCE, GAP, MIDDLE, NORMAL, REACH, TOUCHES
from rtmbs.system.system import System

DEEPEST = 0.01  # of the radius: a deeper pair cannot have met within a step that saw it


class SetPairs:
    """Near pairs of all contact sets of a System."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.scratch = [pair_scratch(system.tables, g) for g in range(len(system.contact_sets))]

    def __reduce__(self) -> tuple[type["SetPairs"], tuple[System]]:
        return SetPairs, (self.system,)

    def renew(self, equations: SemiRecursiveEquations, state: State, begun: bool) -> bool:
        """Write the pairs that are near to inputs and bristles of the state; True where a new pair overlaps.

        Raises StepError where there are more pairs than a set has room for, and in a run that has ``begun`` where balls
        would pass through each other within the step, and where a new pair is deep: it met unseen.
        """
        tables, ws, overlaps = equations.tables, equations.ws, False
        equations.u = state.u
        equations.close(state.z, state.R0)
        forward_velocities(tables.dofs, state.zd, ws)
        for g, scratch in enumerate(self.scratch):
            count = int(find_near(tables, g, state.h, ws, scratch))
            if count == len(scratch.pair):
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: more than {count - 1} pairs are near at t = "
                    f"{state.t:g}; give add_contacts a larger most=",
                    t=state.t,
                )
            if begun and (passing := int(passing_pair(tables, g, count, scratch))) >= 0:
                i, j = (int(k) - 1 for k in scratch.pair[passing])
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: members {i} and {j} would pass through each other in "
                    f"the step from t = {state.t:g}; take a smaller h",
                    t=state.t,
                )
            if same_pairs(tables, g, count, state.u, scratch):
                continue
            least = float(keep_pairs(tables, g, count, state.u, state.s, state.sd, ws, scratch))
            if begun and least < -DEEPEST:
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: a pair is {-least:.2g} radii deep where it begins, at "
                    f"t = {state.t:g}: it met within one step; take a smaller h, or let it start apart",
                    t=state.t,
                )
            overlaps |= least < 0.0
        return overlaps


def check_method(system: System, method: Any) -> None:
    """Raise InputError for a method whose steps have no tangent of contact sets."""
    if getattr(method, "compiled_step", "") != "trbdf2":
        raise InputError(
            f"contacts {system.contact_sets[0]!r} need method=rtmbs.TRBDF2(); {type(method).__name__} has no tangent "
            "of pairs that change"
        )


class Touching(NamedTuple):
    """Pairs of a contact set that touch.

    Parameters
    ----------
    members : ndarray
        Numbers (k, 2) of the members of each pair, planes first, then balls, each in the order they were given.
    points : ndarray
        Points (k, 3) where the forces act, world axes [m]: midway in the overlap of balls.
    normals : ndarray
        Normals (k, 3) towards the second member.
    penetrations : ndarray
        Penetrations (k,) [m].
    forces : ndarray
        Forces (k, 3) on the second member, friction included [N].
    """

    members: Any
    points: Array
    normals: Array
    penetrations: Array
    forces: Array


def touching(sim: Any, name: str) -> Touching:
    """Return the pairs of a contact set that touch in the present State.

    Parameters
    ----------
    sim : Simulation
        Simulation of a model with contact sets.
    name : str
        Name of the set.

    Returns
    -------
    Touching
        Members, points, normals, penetrations and forces.

    Raises
    ------
    UnknownNameError
        For a name that no contact set has.

    Examples
    --------
    >>> touching(sim, "heap").penetrations.max()  # doctest: +SKIP
    """
    if name not in sim.system.contact_sets:
        raise unknown_name("contact set", name, sim.system.contact_sets)
    return touching_at(sim.equations, sim.state, sim.system.contact_sets.index(name))


def touching_at(equations: SemiRecursiveEquations, state: State, g: int) -> Touching:
    """Return the pairs of contact set ``g`` that touch in a State."""
    tables, ws = equations.tables, equations.ws
    equations.u = state.u
    equations.close(state.z, state.R0)
    forward_velocities(tables.dofs, state.zd, ws)
    hold_states(state.s, ws)
    evaluate_sets(tables, state.u, ws)
    sets = tables.sets
    slot, first, room = int(sets.slot[g]), int(sets.pair_pointer[g]), int(np.diff(sets.pair_pointer)[g])
    pairs = state.u[slot : slot + 2 * room].reshape(-1, 2).astype(np.int64)
    rows = ws.touch[first : first + room]
    touch = (pairs[:, 0] > 0) & (rows[:, TOUCHES] > 0.0)
    pairs, rows = pairs[touch] - 1, rows[touch]
    normals = rows[:, NORMAL : NORMAL + 3]
    points = rows[:, MIDDLE : MIDDLE + 3] - rows[:, REACH, None] * normals
    i, j = (sets.member_pointer[g] + pairs).T
    towards = np.where((sets.radius[i] > 0.0) & (sets.dof[i] > sets.dof[j]), -1.0, 1.0)[:, None]  # second ball leads
    return Touching(pairs, points, towards * normals, -rows[:, GAP], towards * rows[:, FORCE : FORCE + 3])
