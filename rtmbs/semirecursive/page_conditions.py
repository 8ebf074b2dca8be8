"""Constraints of the user, readable: the part of the page form that interprets their program.

The rules of ``page.py`` hold here. Every array of derivatives is dense, by the inputs of the program: r, R (row-major)
and t of b relative to a between frames, or coordinates and t.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from rtmbs.ad.interpret import interpreted
from rtmbs.semirecursive.page_laws import whole
from rtmbs.system.tables import POSE_INPUTS


def inputs_of(tables, q):
    """Return the first input of a condition and how many there are."""
    conditions = tables.conditions
    first = int(conditions.input[q])
    framed = first < POSE_INPUTS * len(conditions.frame_a)
    return first, POSE_INPUTS if framed else int(conditions.place[q + 1] - conditions.place[q])


def all_inputs(xp, tables, u, z, poses):
    """Return what the program takes (B, nx); ``poses`` (B, k, 12) are r and R of all pairs of frames."""
    conditions, columns = tables.conditions, []
    t = u[conditions.clock[0]] + 0 * z[:, :1]
    for k in range(len(conditions.frame_a)):
        columns += [poses[:, k], t]
    columns += [t if dof < 0 else z[:, dof : dof + 1] for dof in conditions.dof]
    return xp.concatenate(columns, axis=1)


def program(xp, tables, u, x, outputs):
    """Return some outputs of the program (B, outputs)."""
    return interpreted(whole(xp), tables.conditions.program, x, u[tables.conditions.slot], outputs)


def values(xp, tables, u, x):
    """Return Phi (B, nq), scaled."""
    scale = tables.conditions.scale
    return program(xp, tables, u, x, slice(len(scale))) * scale


def slopes(xp, tables, u, x):
    """Return the derivatives of each condition by its inputs: a list of (B, inputs)."""
    conditions = tables.conditions
    count = len(conditions.scale)
    y = program(xp, tables, u, x, slice(count, count + len(conditions.slope)))
    found = []
    for q in range(count):
        at = {int(i): e for e, (k, i) in enumerate(conditions.slope) if k == q}
        none = 0 * x[:, 0]
        columns = [conditions.scale[q] * y[:, at[i]] if i in at else none for i in range(inputs_of(tables, q)[1])]
        found.append(xp.stack(columns, axis=-1))
    return found


def bends(xp, tables, u, x, q, rates):
    """Return the change of the slopes (B, inputs) of condition q when its inputs change by ``rates`` (B, inputs)."""
    conditions = tables.conditions
    first = len(conditions.scale) + len(conditions.slope)
    y = program(xp, tables, u, x, slice(first, first + len(conditions.bend)))
    columns = [0 * x[:, 0] for _ in range(inputs_of(tables, q)[1])]
    for e, (k, i, j) in enumerate(conditions.bend):
        if k == q:
            columns[i] = columns[i] + conditions.scale[q] * y[:, e] * rates[:, j]
    return xp.stack(columns, axis=-1)


def columns_of(xp, m):
    """Return the columns (B, 3, 3), column first, of matrices (B, 9), row-major."""
    return xp.stack([m[:, k::3] for k in range(3)], axis=1)
