"""Check of accepted steps for bodies that pass through each other: no force of a step stops them, and none tells.

A bound of the way of two shapes against each other clears most steps. In others the nearest points are looked at on the
straight way between the poses at both ends.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rtmbs.contact.pairs import TouchLaw
from rtmbs.model.forces import Kinematics
from rtmbs.results.catalogue import touch_kinematics
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.state import State
from rtmbs.system.system import ForceInfo, System
from rtmbs.system.tables import PRISMATIC, Array, Tables

HARMLESS = 0.5  # of the thickness: a shorter way in a step leads through no shape that the step before left apart
DENSE, MOST_PLACES = 4.0, 256  # places looked at on a way of one thickness, and in a step
RESOLVES = 0.25  # of the thickness: the way in a step that is advised


class Passing(NamedTuple):
    """A contact whose bodies pass through each other within a step."""

    contact: str
    t: float  # [s] where the step begins
    h: float  # [s]
    resolving: float  # [s]

    def __str__(self) -> str:
        return (
            f"contact {self.contact!r}: its bodies pass through each other within the step of h = {self.h:g} s from "
            f"t = {self.t:g} s, so the motion behind it is wrong; h = {self.resolving:.1g} s resolves it"
        )


class PassingBodies:
    """Check of declared contacts of shapes that have another side."""

    def __init__(self, system: System, tables: Tables, contacts: dict[str, tuple[float, float, float]]) -> None:
        self.system, self.tables, self.found = system, tables, dict[str, Passing]()
        self.infos = [system.forces[name] for name in contacts]
        self.thick = np.array([thick for _, _, thick in contacts.values()])
        self.harmless = HARMLESS * self.thick
        shape = len(contacts), len(tables.dofs.kind)
        self.reach = np.zeros(shape)  # [1, m] way of the nearest points for each unit of a coordinate
        self.slides, self.turns = np.zeros(shape), np.zeros(shape)  # 1: a slide behind a turn, which it lengthens
        for row, (info, (of_a, of_b, _)) in enumerate(zip(self.infos, contacts.values(), strict=True)):
            self.bound(row, info, of_a + of_b)
        self.long = bool(np.any(self.slides))

    def bound(self, row: int, info: ForceInfo, extent: float) -> None:
        """Fill the bounds of one contact, whose shapes reach ``extent`` [m] from their markers."""
        tables = self.tables
        for side, frames in (("a", tables.laws.frame_a), ("b", tables.laws.frame_b)):
            dof = int(getattr(tables.connectors, side)[info.connector])
            way, slides = extent + float(np.linalg.norm(frames[info.row][:, 3])), list[int]()
            while dof >= 0:
                if tables.dofs.kind[dof] == PRISMATIC:
                    self.reach[row, dof] = 1.0
                    slides.append(dof)
                else:
                    self.reach[row, dof] = max(self.reach[row, dof], way + abs(float(tables.dofs.pitch[dof])))
                    self.turns[row, dof] = float(bool(slides))
                    self.slides[row, slides] = 1.0
                way, dof = way + float(np.linalg.norm(tables.dofs.offset[dof])), int(tables.dofs.parent[dof])

    def look(self, old: State, z: Array, zd: Array, R0: Array, u: Array) -> Iterator[Passing]:
        """Yield what was not found before in steps from ``old`` that end with z, zd (k, n), R0 and inputs u."""
        if len(self.found) == len(self.infos):
            return
        begins = old.zd[None] if len(zd) == 1 else np.concatenate((old.zd[None], zd[:-1]))
        ways = old.h * (np.abs(begins) @ self.reach.T)
        if self.long:
            far = np.abs(np.concatenate((old.z[None], z[:-1])))
            ways = ways + old.h * (np.abs(begins) @ self.turns.T) * (far @ self.slides.T)
        fast = ways > self.harmless
        if not fast.any():
            return
        rows = np.flatnonzero(fast.any(axis=1))
        both = np.concatenate((rows, rows + 1))  # the ends of these steps
        own = {name: np.repeat(getattr(old, name)[None], len(both), axis=0) for name in OF_STATE}
        for name, one, more in (("z", old.z, z), ("zd", old.zd, zd), ("R0", old.R0, R0), ("u", old.u, u)):
            own[name] = np.concatenate((one[None], more))[both]
        resampled = Evaluation(self.system, self.tables, Samples(np.zeros(len(both)), **own))
        for c in np.flatnonzero(fast.any(axis=0)):
            info = self.infos[c]
            k = -1 if info.name in self.found else self.passed(resampled, int(c))
            if k >= 0:
                way = float(ways[rows[k], c])
                resolving = old.h * RESOLVES * float(self.thick[c]) / way
                self.found[info.name] = Passing(info.name, old.t + int(rows[k]) * old.h, old.h, resolving)
                yield self.found[info.name]

    def passed(self, resampled: Evaluation, c: int) -> int:
        """Return the first step in which contact ``c`` passes, or -1; begins of steps are sampled, then their ends.

        Between both poses the way is straight. It leads through where it overlaps before the normal looks back.
        """
        from scipy.spatial.transform import Rotation  # it takes long to load

        info, kinematics = self.infos[c], touch_kinematics(resampled, self.infos[c])[0]
        steps = len(resampled.samples.t) // 2
        for k in range(steps):
            r, R, turned = kinematics.r[:, k], kinematics.R[..., k], kinematics.R[..., steps + k]
            way, turn = kinematics.r[:, steps + k] - r, Rotation.from_matrix(turned @ R.T).as_rotvec()
            length = float(np.linalg.norm(way) + np.linalg.norm(turn) * sum(info.contact.spans()[:2]))
            count = min(int(DENSE * length / self.thick[c]) + 2, MOST_PLACES)
            share, still = np.linspace(0.0, 1.0, count), np.zeros((3, count))
            axes = np.moveaxis(Rotation.from_rotvec(share[:, None] * turn).as_matrix() @ R, 0, 2)
            touch = info.contact.touch(Kinematics(r[:, None] + np.outer(way, share), axes, still, still))
            normal = np.stack(np.broadcast_arrays(*touch.normal))
            over = np.flatnonzero(normal[:, 0] @ normal < 0.0)  # on the other side
            if len(over) and normal[:, 0] @ normal[:, -1] < 0.0 and np.min(touch.gap[: over[0] + 1]) < 0.0:
                return k
        return -1


def passing_bodies_of(system: System, tables: Tables) -> PassingBodies | None:
    """Return the check of the contacts of a System, or None where no shapes have another side."""
    contacts = {
        info.name: spans
        for info in system.forces.values()
        if isinstance(info.contact, TouchLaw) and (spans := info.contact.spans()) is not None
    }
    return PassingBodies(system, tables, contacts) if contacts else None
