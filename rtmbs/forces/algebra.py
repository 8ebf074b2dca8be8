"""Points and frames fixed in dofs, in plain arrays of any namespace, by the rules of ``semirecursive/page.py``."""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.numerics.rotations.plain import cross, product, transposed, turn


def take(x, rows):
    """Return x[:, rows]; neighbours are taken as a slice."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))) and rows[0] >= 0:
        return x[:, rows[0] : rows[0] + len(rows)]
    return x[:, rows]


def on_ground(xp, x, ground, rows):
    """Return the rows of x (B, n, ...); row -1 is ground's, given without batch axis."""
    resting = np.broadcast_to(ground, (x.shape[0], 1, *np.shape(ground)))
    return take(xp.concatenate((x, resting), axis=1), np.where(rows < 0, x.shape[1], rows))


def points(xp, A, r, V, dofs, local):
    """Return position and velocity (B, k, 3) of points fixed in dofs (-1: ground), given in dof axes."""
    A, r, V = (on_ground(xp, x, ground, dofs) for x, ground in ((A, np.eye(3)), (r, np.zeros(3)), (V, np.zeros(6))))
    x = r + turn(xp, A, local)
    return x, V[..., :3] + cross(xp, V[..., 3:], x)


def relative_motion(xp, connectors, connector, frame_a, frame_b, A, r, V):
    """Return axes of a and the point of b in the world, and r, R, v, w of frames b relative to a, in axes of a.

    connector (k,) int; frame_a, frame_b (k, 3, 4) [axes | point] in dof axes; results (B, k, 3) and (B, k, 3, 3).
    """
    a, b = connectors.a[connector], connectors.b[connector]
    axes_a, axes_b = (
        product(xp, on_ground(xp, A, np.eye(3), side), frame[:, :, :3]) for side, frame in ((a, frame_a), (b, frame_b))
    )
    x_a, _ = points(xp, A, r, V, a, frame_a[:, :, 3])
    x_b, v_b = points(xp, A, r, V, b, frame_b[:, :, 3])
    V_a, V_b = (on_ground(xp, V, np.zeros(6), side) for side in (a, b))
    v = v_b - V_a[..., :3] - cross(xp, V_a[..., 3:], x_b)  # a carries the point where b's marker is
    into_a = transposed(xp, axes_a)
    seen = [turn(xp, into_a, x) for x in (x_b - x_a, v, V_b[..., 3:] - V_a[..., 3:])]
    return axes_a, x_b, seen[0], product(xp, into_a, axes_b), seen[1], seen[2]


def wrench_at(xp, axes, x, f, n):
    """Return the wrench (B, k, 6) about the origin of f and n at the point x, given in axes (B, k, 3, 3)."""
    force, torque = turn(xp, axes, f), turn(xp, axes, n)
    return xp.concatenate((force, torque + cross(xp, x, force)), axis=-1)
