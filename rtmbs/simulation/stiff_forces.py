"""Check of accepted steps for forces too stiff or too sudden for the step, such as a brake of 1e7 N m s/rad.

A kernel looks at every step; what it suspects is looked at again in NumPy, for the name of the coordinate.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.newton import BESIDE
from rtmbs.jit.compiled import kernel
from rtmbs.system.system import System
from rtmbs.system.tables import Array, Tables

MOST = 1.1  # of what the faster end of a step moves in it: what the acceleration at its end may move
JUMP = 0.3  # the same for the change of accelerations over the step: of a vibration of w h = 0.8
STRUCK = 0.2  # of the faster rate: change of a rate that neither acceleration explains
ADVICE = "method=rtmbs.TRBDF2() damps what is stiff within a step, and a smaller h resolves it"


@kernel
def any_stiff(h: float, zd_start: Any, zdd_start: Any, zd: Any, zdd: Any, typical: Any) -> bool:
    """Return whether a step shows a force too stiff or too sudden, by the rule of ``StiffForces.look``."""
    for k in range(len(zd)):
        v0, a0 = (zd_start, zdd_start) if k == 0 else (zd[k - 1], zdd[k - 1])
        way, push = BESIDE, 0.0
        for i in range(len(typical)):
            v1, a1 = abs(zd[k, i]), abs(zdd[k, i])
            way = max(way, h * max(abs(v0[i]), v1) / typical[i])
            push = max(push, 0.5 * h * h / MOST * a1 / typical[i])
            if not a1 < 0.5 * abs(a0[i]):
                push = max(push, 0.5 * h * h / JUMP * abs(zdd[k, i] - a0[i]) / typical[i])
            struck = abs(zd[k, i] - v0[i]) - h * max(a1, abs(a0[i]))
            push = max(push, h / STRUCK * struck / typical[i])
        if push > way:
            return True
    return False


class StiffForce(NamedTuple):
    """A coordinate whose acceleration no step resolves."""

    coordinate: str
    h: float  # [s]
    method: str

    def __str__(self) -> str:
        remedy = "a smaller h resolves it" if self.method == "TRBDF2" else ADVICE
        return (
            f"{self.coordinate}: its acceleration stops or reverses all motion within a step of h = {self.h:g} s of "
            f"{self.method}: a force on it is too stiff or too sudden for h, and the motion behind it may be wrong; "
            f"{remedy}"
        )


class StiffForces:
    """Check of accelerations after every step: also of steps that were taken one by one or in parts.

    A rule that does not damp answers a damper of c h / m far above one with rates that change their sign and do not
    decay: accelerations are then c / m times a rate that is no rate at all. Steps in an even number of parts hide the
    sign, but not the size. A contact of one step makes accelerations jump, and a shorter one leaves only the change of
    rates. A constant acceleration is never too large: over a step it makes a rate of its own.
    """

    def __init__(self, system: System) -> None:
        self.system, self.found = system, dict[str, StiffForce]()

    def suspects(self, h: float, zd_start: Array, zdd_start: Array, zd: Array, zdd: Array) -> bool:
        """Return whether ``look`` would find a step among those of ``h`` [s] that end with zd, zdd (k, n)."""
        return any_stiff(h, zd_start, zdd_start, zd, zdd, self.system.typical)

    def look(self, h: float, rates: Array, zdd: Array, method: str) -> list[StiffForce]:
        """Return what was not found before in steps of ``h`` [s] with rates and accelerations (k + 1, n)."""
        typical = self.system.typical
        with np.errstate(all="ignore"):
            way = np.maximum((h * np.abs(rates) / typical).max(axis=1), BESIDE)
            way = np.maximum(way[1:], way[:-1])
            push = 0.5 * h * h / MOST * np.abs(zdd[1:]) / typical
            settles = np.abs(zdd[1:]) < 0.5 * np.abs(zdd[:-1])  # as behind a brake that was just set and holds
            jump = np.where(settles, 0.0, 0.5 * h * h / JUMP * np.abs(zdd[1:] - zdd[:-1]) / typical)
            explained = h * np.maximum(np.abs(zdd[1:]), np.abs(zdd[:-1]))
            struck = h / STRUCK * (np.abs(rates[1:] - rates[:-1]) - explained) / typical
            push = np.maximum(push, np.maximum(jump, struck))
            stiff = push.max(axis=1) > way
        new = []
        for k in np.flatnonzero(stiff):
            name = self.system.coordinate_names[int(np.argmax(push[k]))]
            if name not in self.found:
                self.found[name] = StiffForce(name, h, method)
                new.append(self.found[name])
        return new


def stiff_forces_of(system: System, tables: Tables) -> StiffForces | None:
    """Return the check of accelerations, or None for a System without forces that may be stiff."""
    forces = len(tables.connectors.a) > len(tables.closures.connector)
    return StiffForces(system) if forces or len(tables.joint_forces.dof) or len(tables.laws.row) else None
