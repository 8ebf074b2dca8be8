"""What ``page.py`` is written in: sums over the tree in any array namespace.

Vectors and rotations are in ``rotations.plain``.

The rules of ``page.py`` hold here: the namespace ``xp`` comes first, of it only the functions in ``ALLOWED`` are used.
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from functools import partial
from types import SimpleNamespace

import numpy as np

from rtmbs.system.tables import Array, Tables

ALLOWED = ("concatenate", "cos", "matmul", "sin", "sqrt", "stack", "sum")

# ---------------------------------------------------------------------------------------------------------------- tree


def path_matrix(tables: Tables) -> Array:
    """Return T (n, n): T[i, j] = 1 where dof j lies on the way from ground to dof i, i included (Eq. 7)."""
    T = np.eye(len(tables.dofs.parent))
    for i, p in enumerate(tables.dofs.parent):
        if p >= 0:
            T[i] += T[p]
    return T


def path_sum(xp, T, x):
    """Return T x: over the dofs from ground to each dof. x (B, n, k)."""
    return xp.path_sum(T, x) if hasattr(xp, "path_sum") else xp.matmul(T, x)


def subtree_sum(xp, T, x):
    """Return T^T x: over the dofs that each dof carries. x (B, n, k)."""
    return xp.subtree_sum(T, x) if hasattr(xp, "subtree_sum") else xp.matmul(T.T, x)


def path_recursion(xp, T, x):
    """Return T x by walking root to tips."""
    total: list[Array] = []
    for i in range(len(T)):
        ancestors = np.flatnonzero(T[i, :i])
        total.append(x[:, i] + total[ancestors[-1]] if len(ancestors) else x[:, i])
    return xp.stack(total, axis=1)


def subtree_recursion(xp, T, x):
    """Return T^T x by walking tips to root."""
    total = [x[:, i] for i in range(len(T))]
    for i in reversed(range(len(T))):
        ancestors = np.flatnonzero(T[i, :i])
        if len(ancestors):
            total[ancestors[-1]] = total[ancestors[-1]] + total[i]
    return xp.stack(total, axis=1)


def recursive(xp):
    """Return ``xp`` with sums by recursion: a recorder would write n^2 additions down where n are meant.

    ``whole`` is ``xp`` itself, for force laws, which may use any function.
    """
    sums = {"path_sum": partial(path_recursion, xp), "subtree_sum": partial(subtree_recursion, xp)}
    return SimpleNamespace(**{name: getattr(xp, name) for name in ALLOWED}, **sums, whole=xp)


def levels(parent: Array) -> list[Array]:
    """Return one index array a level of the tree: dofs with 0, 1, 2, ... dofs between them and ground."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for i, p in enumerate(parent):
        depth[i] = depth[p] + 1 if p >= 0 else 0
    return [np.flatnonzero(depth == level) for level in range(depth.max(initial=-1) + 1)]


def scatter(xp, x, targets, n):
    """Return (B, n, ...): row i is the sum of the rows of x whose target is i. Target -1 is dropped."""
    members = [np.flatnonzero(targets == i) for i in range(n)]
    width = max((len(rows) for rows in members), default=0)
    table = np.array([np.pad(rows, (0, width - len(rows)), constant_values=len(targets)) for rows in members])
    padded = xp.concatenate((x, np.zeros((x.shape[0], 1, *x.shape[2:]))), axis=1)
    return xp.sum(padded[:, table.astype(np.int64)], axis=2)
