"""Force laws of the user, readable: the part of the page form that interprets their program.

States of the laws stand behind the inputs in ``u``, and are held as they are.

The rules of ``page.py`` hold here, but for the operations that a law may hold: arrays (B, ...), the namespace ``xp`` as
first argument, built by stack and concatenate.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.ad.interpret import interpreted
from rtmbs.system.law_tables import COUNT
from rtmbs.system.tables import FRAME_INPUTS


def law_wrenches(xp, tables, u, kinematics):
    """Return wrenches (B, k, 6) [f, n] of the recorded laws in axes of a; ``kinematics`` (B, k, 18): r, R, v, w."""
    B, wrenches = kinematics.shape[0], int(tables.laws.counts[0])
    if wrenches == 0:
        return np.zeros((B, 0, 6))
    rest = np.zeros((B, int(tables.laws.counts[2])))
    x = xp.concatenate([kinematics.reshape((B, -1)), rest, *states(tables, u, B)], axis=1)
    W = interpreted(whole(xp), tables.laws.program, x, u[tables.laws.slot], slice(6 * wrenches))
    return W.reshape((B, wrenches, 6))


def law_forces(xp, tables, u, z, zd):
    """Return the generalised forces (B, o) of the recorded laws on joints."""
    wrenches, forces = (int(count) for count in tables.laws.counts[:2])
    if forces == 0:
        return np.zeros((z.shape[0], 0))
    B = z.shape[0]
    parts = [np.zeros((B, FRAME_INPUTS * wrenches)), *joint_inputs(tables, z, zd), *states(tables, u, B)]
    mine = slice(6 * wrenches, 6 * wrenches + forces)
    return interpreted(whole(xp), tables.laws.program, xp.concatenate(parts, axis=1), u[tables.laws.slot], mine)


def law_rates(xp, tables, u, kinematics, z, zd):
    """Return the rates (B, ns) of the states of all laws, at the states that stand in ``u``."""
    B, laws, count = z.shape[0], tables.laws, state_count(tables)
    wrenches, forces, _, entries = (int(number) for number in laws.counts)
    first = 6 * wrenches + forces + len(laws.wrench_entry) + entries
    looked = kinematics.reshape((B, FRAME_INPUTS * wrenches))
    x = xp.concatenate([looked, *joint_inputs(tables, z, zd), *states(tables, u, B)], axis=1)
    return interpreted(whole(xp), laws.program, x, u[laws.slot], slice(first, first + count))


def joint_inputs(tables, z, zd):
    """Return the columns (B, 1) of coordinates and rates that laws on joints look at."""
    return [(zd if rate else z)[:, dof : dof + 1] for dof, rate in tables.laws.input[: int(tables.laws.counts[2])]]


def state_count(tables):
    """Return the number of states of all laws."""
    return int(tables.laws.state_block[:, COUNT].sum())


def states(tables, u, B):
    """Return the columns (B, 1) of the states of the laws, the last numbers of ``u``."""
    count = state_count(tables)
    return [np.ones((B, 1)) * u[len(u) - count + i] for i in range(count)]


def whole(xp):
    """Return the namespace with all its functions, where ``xp`` offers the page's only."""
    return getattr(xp, "whole", xp)
