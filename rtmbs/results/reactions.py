"""Reactions: the wrench that the first body of a joint exerts on the second through it.

It is the total: constraint forces, and motors, torsional springs and drivers of the joint as well. It is taken at the
joint point of the second body, in world axes: [f, n] [N, N m]. In the tree it follows from the balance of the bodies
beyond the joint, in a cut joint and a rod from the multipliers. What this balance leaves free is shared by all of them
(``shared_reactions``). ``JointReactions`` has all of them at one state.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import unknown_name
from rtmbs.results.body_graph import entered_from
from rtmbs.results.body_motion import body_motion, cross
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import one_sample
from rtmbs.results.shared_reactions import shared_reactions
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.origins import WORLD
from rtmbs.system.system import JointInfo, System
from rtmbs.system.tables import Tables
from rtmbs.system.topology import CONSTRAINT, KNIFE_EDGE, ROD, ROLLING

Array = NDArray[np.float64]


def reaction(equations: SemiRecursiveEquations, state: State, joint: str) -> Array:
    """Return the wrench [f, n] (6,) that the first body of a joint, rod or constraint exerts on the second, at the
    point of the second, world axes [N, N m].

    ``state`` must satisfy the equations of motion, as every state of a Simulation does; nothing is changed.
    Raises UnknownNameError with the nearest names.
    """
    system = equations.system
    resampled = Evaluation(system, equations.tables, one_sample(state))
    return reaction_values(resampled, system, joint)[0]


def reaction_values(resampled: Evaluation, system: System, name: str) -> Array:
    """Return the reaction of a joint, a rod or a constraint over all samples (S, 6)."""
    if not isinstance(name, str):  # nothing can be looked up by a list
        raise unknown_name("joint", name, [*system.joints, *held(system)])
    if name in system.joints:
        info = system.joints[name]
        at_origin, ground = joint_wrench(resampled, system, info)
        at_point = moved(at_origin, body_motion(resampled, system.bodies[info.b], ground).point(info.point_b))
        return at_point + shared_reactions(resampled).wrench.get(name, 0.0)
    if name in held(system):
        closure = system.closure_names.index(name)
        connector = int(resampled.tables.closures.connector[closure])
        at_point = moved(resampled.connector_wrench(connector), closure_point(resampled, closure, "b"))
        return at_point + shared_reactions(resampled).wrench.get(name, 0.0)
    raise unknown_name("joint", name, [*system.joints, *held(system)])


def rods(system: System) -> list[str]:
    """Return the names of all rods."""
    return [connector.name for connector in system.topology.connectors if connector.type == ROD]


def contact_names(system: System) -> list[str]:
    """Return the names of all rolling contacts and knife edges."""
    return [connector.name for connector in system.topology.connectors if connector.type in (ROLLING, KNIFE_EDGE)]


def held(system: System) -> list[str]:
    """Return the names of rods, constraints of the user between two frames, rolling contacts and knife edges."""
    kinds = ROD, CONSTRAINT, ROLLING, KNIFE_EDGE
    return [connector.name for connector in system.topology.connectors if connector.type in kinds]


def joint_wrench(resampled: Evaluation, system: System, info: JointInfo) -> tuple[Array, int]:
    """Return the wrench on body b through a joint (S, 6), and the row of ground whose origin it is taken about."""
    if info.closure >= 0:  # cut, or an auxiliary body, which is massless: what its closure passes on is what its dofs
        # carry
        connectors, connector = resampled.tables.connectors, int(resampled.tables.closures.connector[info.closure])
        ends = resampled.row(int(connectors.a[connector])), resampled.row(int(connectors.b[connector]))
        return resampled.connector_wrench(connector), min(ends)
    if not info.in_tree:  # a cut floating joint holds nothing
        return np.zeros((len(resampled.samples.t), 6)), WORLD
    child, backwards = entered_from(system, info.name)
    wrench = resampled.body_wrench(child)
    return (-wrench if backwards else wrench), resampled.row(int(resampled.graph.dof[child]))


def closure_point(resampled: Evaluation, closure: int, side: str) -> Array:
    """Return the places (S, 3) of point a or b of a closure, world axes from the origin of its part [m]."""
    closures, connectors = resampled.tables.closures, resampled.tables.connectors
    dof, local = (connectors.a, closures.point_a) if side == "a" else (connectors.b, closures.point_b)
    motion = resampled.motion(int(dof[closures.connector[closure]]))
    return np.asarray(motion.r + motion.A @ local[closure])


def moved(wrench: Array, x: Array) -> Array:
    """Return wrenches (S, 6) about an origin, taken about the points ``x`` (S, 3) from there instead."""
    force, moment = wrench[:, :3], wrench[:, 3:]
    return np.concatenate((force, moment - cross(x, force)), axis=1)


NOTHING = -1


class JointReactions:
    """Places of the reactions of all joints of a System among the wrenches of its bodies and connectors."""

    def __init__(self, system: System, tables: Tables) -> None:
        infos = list(system.joints.values())
        bodies = [system.bodies[info.b] for info in infos]
        origins = tables.origins.row
        found = [place(system, tables, info) for info in infos]
        self._names = [info.name for info in infos]
        self._row = np.array([row for row, _, _ in found], np.int64)
        self._sign = np.array([sign for _, sign, _ in found], np.float64)[:, None]
        self._dof = np.array([body.dof for body in bodies], np.int64)
        ends = [body.position + body.rotation @ info.point_b for body, info in zip(bodies, infos, strict=True)]
        self._point = np.array(ends).reshape(-1, 3)  # dof axes; ground: world
        # A body that stands still is seen from the origin of the other body's part: that of this dof.
        grounds = [ground if ground < WORLD else NOTHING for _, _, ground in found]
        self._seeing = np.array(
            [NOTHING if ground == NOTHING else np.flatnonzero(origins == ground)[0] for ground in grounds], np.int64
        )

    def read(self, resampled: Evaluation) -> Array:
        """Return what ``reaction_values`` returns of the first sample, for all joints in their order (nj, 6)."""
        if not len(self._row):
            return np.zeros((0, 6))
        frames = resampled.all_frames()[0]
        still = np.concatenate((np.eye(3).reshape(9), np.zeros(18)))
        frames = np.concatenate((frames, still[None]))  # the last row is ground
        at_dof = frames[self._dof]
        A, r = at_dof[:, :9].reshape(-1, 3, 3), at_dof[:, 9:12]
        x = r + np.einsum("kij,kj->ki", A, self._point)
        x -= np.where((self._dof < 0)[:, None], frames[self._seeing][:, 24:27], 0.0)
        wrench = self._sign * resampled.all_wrenches()[0][self._row]
        force = wrench[:, :3]
        added = shared_reactions(resampled).wrench
        shared = [added[name][0] if name in added else np.zeros(6) for name in self._names]
        return np.concatenate((force, wrench[:, 3:] - cross(x, force)), axis=1) + np.array(shared)


def place(system: System, tables: Tables, info: JointInfo) -> tuple[int, float, int]:
    """Return the row of a joint among all wrenches, the sign of its reaction, and the row of ground that it sees."""
    bodies, origins = len(system.topology.tree), tables.origins.row

    def seen(dof: int) -> int:
        return int(origins[dof]) if dof >= 0 else dof

    if info.closure >= 0:
        connector = int(tables.closures.connector[info.closure])
        ends = seen(int(tables.connectors.a[connector])), seen(int(tables.connectors.b[connector]))
        return bodies + connector, 1.0, min(ends)
    if not info.in_tree:  # a cut floating joint holds nothing
        return 0, 0.0, WORLD
    child, backwards = entered_from(system, info.name)
    dof = system.bodies[system.topology.bodies[system.topology.tree[child].child]].dof
    return child, -1.0 if backwards else 1.0, seen(dof)
