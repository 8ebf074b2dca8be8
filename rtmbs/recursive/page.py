"""The recursion in the notation of Bae and Haug, in NumPy: the oracle of the kernels (METHODS 3).

Y = [velocity of the mass centre; angular velocity] of a body, B1 and B2 of its joint, D the part of Yd that rates make.
A joint is a run of dofs through massless frames, so that B2 has a column for each of its coordinates. The base is the
first body of a tree that hangs on ground by six coordinates, or else ground itself, whose Yd is zero.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rtmbs.recursive.reduced_system import at_frames, balance, frame_ends, massless, rows_on_coordinates
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.tables import GRAVITY_SLOT

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

DEPENDENT = 1e-12  # of the largest eigenvalue of the scaled reduced system: what counts as zero
STILL = 1e-20  # of the diagonal without cancellation: a row that no coordinate moves


@dataclass
class PageBody:
    """A body with the joint to its parent; ``parent`` is a number of a body, -1 for ground."""

    parent: int
    dofs: list[int]  # coordinates of the joint
    M: Array  # (6, 6)
    Q: Array  # (6,) weight and gyroscopic part
    B1: Array  # (6, 6)
    B2: Array  # (6, k)
    D: Array  # (6,)
    f: Array  # (k,) applied forces on the coordinates
    Phi_q: Array  # (b, k) of rows on the coordinates themselves
    PhiM: Array  # (b, 6)
    K: Array = field(default_factory=lambda: np.zeros((6, 6)))
    L: Array = field(default_factory=lambda: np.zeros(6))
    Yd: Array = field(default_factory=lambda: np.zeros(6))
    kept: bool = False  # the joint's coordinates stay unknown, as border unknowns ``own``
    own: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class PageAnswer:
    """Accelerations and multipliers of the recursion."""

    zdd: Array  # (n,)
    lam: Array  # (m,)
    rank: int  # of the reduced system without Yd of the base, out of ``unknowns``
    unknowns: int


def recursive_accelerations(equations: SemiRecursiveEquations) -> PageAnswer:
    """Return accelerations and multipliers with Phidd = 0 at the state last evaluated, zdd = 0 there."""
    bodies, gamma = bodies_of(equations)
    free = len(bodies) > 0 and len(bodies[0].dofs) == 6 and sum(body.parent < 0 for body in bodies) == 1
    PhiL, RHS, bound = backward(bodies, len(gamma), 1 if free else 0)
    Yd, x, rank = reduced_solution(bodies[0] if free else None, PhiL, gamma + RHS, bound, equations.m)
    zdd = forward(bodies, Yd, x, equations.n, free)
    return PageAnswer(zdd, x[: equations.m], rank, len(gamma))


def backward(bodies: list[PageBody], b: int, base: int) -> tuple[Array, Array, Array]:
    """Return PhiL and RHS after all joints but those of the first ``base`` bodies; bodies hold K, L and PhiM.

    The third is the diagonal of PhiL without any cancellation, which rounding is compared with.
    """
    PhiL, RHS, bound = np.zeros((b, b)), np.zeros(b), np.zeros(b)
    for body in reversed(bodies[base:]):
        Mt, QL, B1, B2, D = body.M + body.K, body.Q + body.L, body.B1, body.B2, body.D
        h, g = body.PhiM @ B2 + body.Phi_q, body.f + B2.T @ (QL - Mt @ D)
        RHS -= body.PhiM @ D
        if body.kept:
            up_K, up_L, up_PhiM = Mt, QL - Mt @ D, body.PhiM.copy()
            up_PhiM[body.own] += (Mt @ B2).T
            PhiL[np.ix_(body.own, body.own)] += B2.T @ Mt @ B2
            PhiL[:, body.own] += h
            PhiL[body.own, :] += h.T
            RHS[body.own] += g
        else:
            S = B2.T @ Mt @ B2
            U = Mt @ B2
            bound += (np.abs(body.PhiM) @ np.abs(B2) + np.abs(body.Phi_q)) ** 2 @ np.diag(np.linalg.inv(S))
            up_K = Mt - U @ np.linalg.solve(S, U.T)
            up_L = QL - Mt @ D - U @ np.linalg.solve(S, g)
            up_PhiM = body.PhiM - h @ np.linalg.solve(S, U.T)
            PhiL -= h @ np.linalg.solve(S, h.T)
            RHS -= h @ np.linalg.solve(S, g)
        if body.parent >= 0:
            parent = bodies[body.parent]
            parent.K += B1.T @ up_K @ B1
            parent.L += B1.T @ up_L
            parent.PhiM += up_PhiM @ B1
    return PhiL, RHS, bound


def reduced_solution(
    base: PageBody | None, PhiL: Array, right: Array, bound: Array, m: int
) -> tuple[Array, Array, int]:
    """Return Yd of the base, the border unknowns and the rank of the reduced system, solved by blocks."""
    if base is None:
        return np.zeros(6), *least_squares(PhiL, right, bound, m)
    Mt = base.M + base.K
    free = np.linalg.solve(Mt, base.Q + base.L + np.linalg.solve(base.B2.T, base.f))
    pushed = np.linalg.solve(Mt, base.PhiM.T)
    bound = bound + base.PhiM**2 @ (1.0 / np.diag(Mt))
    x, rank = least_squares(PhiL - base.PhiM @ pushed, right - base.PhiM @ free, bound, m)
    return free - pushed @ x, x, rank


def least_squares(C: Array, right: Array, bound: Array, multipliers: int) -> tuple[Array, int]:
    """Return the shortest least-squares solution of the symmetric C, scaled, with the rank.

    -C is not negative where all unknowns are multipliers, and indefinite where coordinates are kept.
    """
    diagonal = -np.diag(C)
    moved = diagonal > STILL * bound
    if multipliers < len(C):
        scale = balance(C)
    else:
        scale = np.divide(1.0, np.sqrt(np.abs(diagonal)), out=np.zeros(len(C)), where=moved)
    values, directions = np.linalg.eigh(scale[:, None] * C * scale)
    kept = np.abs(values) > DEPENDENT * np.abs(values).max(initial=0.0)
    V, x = directions[:, kept], np.zeros(len(C))
    for _ in range(2):  # once more takes rounding away
        x = x + scale * (V @ ((V.T @ (scale * (right - C @ x))) / values[kept]))
    return x, int(kept.sum())


def forward(bodies: list[PageBody], base_Yd: Array, x: Array, n: int, free: bool) -> Array:
    """Return the accelerations of all coordinates: q'' = -S^-1 (B2^T (Mt (B1 Yd_i + D) - QL + PhiM^T lam) - ...)."""
    zdd = np.zeros(n)
    for k, body in enumerate(bodies):
        Mt, QL, B2 = body.M + body.K, body.Q + body.L, body.B2
        carried = body.D + (body.B1 @ bodies[body.parent].Yd if body.parent >= 0 else 0.0)
        if free and k == 0:
            qdd = np.linalg.solve(B2, base_Yd - carried)
        elif body.kept:
            qdd = x[body.own]
        else:
            moved = B2.T @ (Mt @ carried - QL + body.PhiM.T @ x) - body.f + body.Phi_q.T @ x
            qdd = -np.linalg.solve(B2.T @ Mt @ B2, moved)
        zdd[body.dofs] = qdd
        body.Yd = carried + B2 @ qdd
    return zdd


# ---------------------------------------------------------------------------------------- bodies of evaluated equations


def bodies_of(equations: SemiRecursiveEquations) -> tuple[list[PageBody], Array]:
    """Return the bodies, parents first, and gamma (b,) with sum of Phi_Y Yd + Phi_q q'' = gamma."""
    tables, ws = equations.tables, equations.ws
    n, m = equations.n, equations.m
    weightless = set(massless(tables).tolist())
    runs = joints_of(equations, weightless)
    applied = np.sum(ws.S * ws.Fc, axis=1) - ws.tau
    own: dict[int, int] = {dof: m + k for k, dof in enumerate(i for run in runs for i in run if i in weightless)}
    b = m + len(own)
    number = {run[-1]: k for k, run in enumerate(runs)}
    centre = mass_centres(equations)
    bodies = []
    for run in runs:
        i, p = run[-1], int(tables.dofs.parent[run[0]])
        bodies.append(
            PageBody(
                parent=number[p] if p >= 0 else -1,
                dofs=run,
                M=mass(equations, i),
                Q=weight(equations, i),
                B1=shift(centre[i] - centre[p] if p >= 0 else np.zeros(3)),
                B2=at_point(ws.S[run], centre[i]).T,
                D=rate_part(equations, run, p, centre),
                f=applied[run],
                Phi_q=np.zeros((b, len(run))),
                PhiM=np.zeros((b, 6)),
                kept=i in weightless,
                own=[own[j] for j in run if j in own],
            )
        )
    place_rows(equations, bodies, {dof: (k, c) for k, run in enumerate(runs) for c, dof in enumerate(run)}, centre)
    return bodies, np.concatenate((right_side(equations, bodies), np.zeros(b - m))) if n else np.zeros(b)


def joints_of(equations: SemiRecursiveEquations, weightless: set[int]) -> list[list[int]]:
    """Return runs of dofs: a run ends at a body, at a frame that something else hangs on, and at ends of closures."""
    dofs = equations.tables.dofs
    parent, n = np.maximum(dofs.parent, -1), equations.n
    children = np.bincount(parent[parent >= 0], minlength=n)
    heavy = (dofs.mass > 0.0) | (np.abs(dofs.inertia).max(axis=(1, 2), initial=0.0) > 0.0)
    held = {i for i, _ in at_frames(frame_ends(equations.tables))}
    runs: list[list[int]] = []
    open_: dict[int, list[int]] = {}
    for i in range(n):
        run = [*open_.pop(int(parent[i]), []), i]
        if heavy[i] or i in held or children[i] != 1 or i in weightless or i + 1 in weightless:
            runs.append(run)
        else:
            open_[i] = run
    return runs


def mass_centres(equations: SemiRecursiveEquations) -> Array:
    """Return the mass centre (n, 3) of every dof's body; the origin of a massless frame."""
    ws, dofs = equations.ws, equations.tables.dofs
    return np.asarray(ws.r[: equations.n] + np.einsum("nij,nj->ni", ws.A[: equations.n], dofs.mass_center))


def mass(equations: SemiRecursiveEquations, i: int) -> Array:
    """Return M = diag(m 1, J) about the mass centre, axes of the world."""
    dofs, A = equations.tables.dofs, equations.ws.A[i]
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = dofs.mass[i] * np.eye(3), A @ dofs.inertia[i] @ A.T
    return M


def weight(equations: SemiRecursiveEquations, i: int) -> Array:
    """Return Q = [m g; -w x J w]."""
    gravity, w = equations.u[GRAVITY_SLOT : GRAVITY_SLOT + 3], equations.ws.V[i, 3:]
    M = mass(equations, i)
    return np.concatenate((M[0, 0] * gravity, -np.cross(w, M[3:, 3:] @ w)))


def cross(s: Array) -> Array:
    """Return s~."""
    return np.array([[0.0, -s[2], s[1]], [s[2], 0.0, -s[0]], [-s[1], s[0], 0.0]])


def shift(d: Array) -> Array:
    """Return B1 = [[1, -d~], [0, 1]]."""
    B1 = np.eye(6)
    B1[:3, 3:] = -cross(d)
    return B1


def at_point(X: Array, r: Array) -> Array:
    """Return motions X (k, 6) at the global origin as they are at the point r."""
    return np.asarray(X @ shift(r).T)


def rate_part(equations: SemiRecursiveEquations, run: list[int], parent: int, centre: Array) -> Array:
    """Return D = B1dot Y_i + B2dot q': the sum of V_base x S q' at the global origin, and w x v of the ends."""
    ws, base = equations.ws, equations.tables.dofs.base
    spatial = sum((motion_cross(ws.V[base[i]], ws.S[i] * ws.zd[i]) for i in run), np.zeros(6))
    D = at_point(spatial[None], centre[run[-1]])[0]
    D[:3] += swing(ws.V[run[-1]], centre[run[-1]])
    if parent >= 0:
        D[:3] -= swing(ws.V[parent], centre[parent])
    return D


def swing(V: Array, r: Array) -> Array:
    """Return w x v of the point r."""
    return np.cross(V[3:], V[:3] + np.cross(V[3:], r))


def motion_cross(a: Array, b: Array) -> Array:
    """Return the motion cross product a x b."""
    return np.concatenate((np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:]), np.cross(a[3:], b[3:])))


def place_rows(
    equations: SemiRecursiveEquations, bodies: list[PageBody], place: dict[int, tuple[int, int]], centre: Array
) -> None:
    """Write Phi_Y of the closures at the bodies they join, and Phi_q of rows on coordinates."""
    ws = equations.ws
    for side, sign in zip(frame_ends(equations.tables), (-1.0, 1.0), strict=True):
        for row, i in enumerate(side):
            if i >= 0:
                G = ws.G[row]
                moved = np.concatenate((G[:3], G[3:] - np.cross(centre[i], G[:3])))
                bodies[place[i][0]].PhiM[row] += sign * moved
    for i, row, entry in rows_on_coordinates(equations.tables):
        k, c = place[i]
        bodies[k].Phi_q[row, c] += 1.0 if entry < 0 else ws.Phi_z[entry]


def right_side(equations: SemiRecursiveEquations, bodies: list[PageBody]) -> Array:
    """Return gamma (m,): Phidd = 0, with Phi_Y Yd of the rates alone beside it."""
    still = np.zeros(equations.n)
    gamma = -equations.closure_accelerations(equations.ws.zd, still)
    for body in bodies:
        body.Yd = body.D + (body.B1 @ bodies[body.parent].Yd if body.parent >= 0 else 0.0)
        gamma += body.PhiM[: equations.m] @ body.Yd
    return np.asarray(gamma)
