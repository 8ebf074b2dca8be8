"""Force laws that only Python can evaluate: their kinematics, values, and derivatives by central differences.

Everything is put where the compiled laws put theirs (``law_wrench``, ``law_local``, ``law_force``, ``law_entry``),
before the kernels run.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.law_kernels import set_kinematics
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.system.system import CalledLaw, System
from rtmbs.system.tables import FRAME_INPUTS, Tables

Array = NDArray[np.float64]

INCREMENT = 6e-6  # cube root of the rounding unit: the best of a central difference


def call_laws(system: System, tables: Tables, R0: Array, u: Array, ws: Workspace) -> None:
    """Evaluate every called law at ``ws.z``, ``ws.zd``; raises what a law raises."""
    if not system.called:
        return
    forward_positions(tables, R0, ws.z, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    for law in system.called:
        values = law.function(law_input(law, tables, ws), u[law.slot])
        if law.row >= 0:
            ws.law_wrench[law.row] = values
        else:
            ws.law_force[law.force : law.force + len(values)] = values


def differentiate_laws(system: System, tables: Tables, u: Array, ws: Workspace) -> None:
    """Take central differences of every called law at the state last given to ``call_laws``."""
    for law in system.called:
        x, p = law_input(law, tables, ws), u[law.slot]
        if law.row >= 0:
            ws.law_local[law.row] = wrench_differences(law, x, p, system.length)
        else:
            entries = np.stack(
                [difference(law, x, p, unit, max(abs(float(x @ unit)), 1.0)) for unit in np.eye(law.n)], axis=1
            )
            ws.law_entry[law.entry : law.entry + entries.size] = entries.ravel()


def law_input(law: CalledLaw, tables: Tables, ws: Workspace) -> Array:
    """Return the law's inputs at the evaluated state: r, R, v, w, or coordinates and rates."""
    if law.row >= 0:
        set_kinematics(tables, law.row, ws)
        return ws.law_input[FRAME_INPUTS * law.row : FRAME_INPUTS * (law.row + 1)].copy()
    laws = tables.laws
    mine = laws.input[laws.force_entry[law.entry : law.entry + law.n, 1]]
    return np.array([(ws.zd if rate else ws.z)[dof] for dof, rate in mine])


def wrench_differences(law: CalledLaw, x: Array, p: Array, length: float) -> Array:
    """Return the derivative (6, 12) of a wrench by r, a turn d of R as (d x) R, v and w."""
    along = np.zeros((12, FRAME_INPUTS))
    along[0:3, 0:3] = along[6:9, 12:15] = along[9:12, 15:18] = np.eye(3)
    for k in range(3):
        along[3 + k, 3:12] = np.cross(np.eye(3)[k], x[3:12].reshape(3, 3).T).T.ravel()
    sizes = np.repeat((length, 1.0, length, 1.0), 3)
    values = np.abs(np.concatenate((x[:3], np.zeros(3), x[12:])))
    columns = [difference(law, x, p, *one) for one in zip(along, np.maximum(sizes, values), strict=True)]
    return np.stack(columns, axis=1)


def difference(law: CalledLaw, x: Array, p: Array, dx: Array, size: float) -> Array:
    """Return the derivative of the law along ``dx`` by a step of the typical ``size``."""
    step = INCREMENT * size
    return (law.function(x + step * dx, p) - law.function(x - step * dx, p)) / (2.0 * step)
