"""Reactions of all joints at one state, for those who ask again and again: their places are found once."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.graph import entered_from
from rtmbs.results.motion import cross
from rtmbs.results.resampled import Resampled
from rtmbs.results.shared_reactions import shared_reactions
from rtmbs.system.origins import WORLD
from rtmbs.system.system import JointInfo, System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
NOTHING = -1


class JointReactions:
    """Where the reactions of the joints of a System are found among the wrenches of its bodies and connectors."""

    def __init__(self, system: System, tables: Tables) -> None:
        infos = list(system.joints.values())
        self._names = [info.name for info in infos]
        bodies = [system.bodies[info.b] for info in infos]
        origins = tables.origins.row
        found = [place(system, tables, info) for info in infos]
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

    def read(self, resampled: Resampled) -> Array:
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
