"""Rigid bodies on bushings: the reactions of all joints of a mechanism as the stiffness of every joint grows.

Nothing here is taken from rtmbs but the motion of the bodies. Every joint holds by springs of stiffness s along its
directions: (M + G^T S G) a = f - G^T S c, r = -S (G a + c), with a the accelerations of all bodies in maximal
coordinates and G a + c the accelerations of all equations. As S grows, a tends to the accelerations of rigid joints and
r to their reactions. Four values of the stiffness, each twice the one before, are extrapolated to infinity.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GROUND = -1
LEVELS = 4  # stiffnesses
CONSISTENT = 1e-7  # of the largest singular value of all equations: less is no motion
FIRST = 1e5  # the first one, of the mean mass


class Mass(NamedTuple):
    """A rigid body in its axes."""

    mass: float
    center: Array  # (3,)
    inertia: Array  # (3, 3) about the mass centre


class Moving(NamedTuple):
    """Motion of a body frame, world axes."""

    x: Array
    R: Array
    v: Array
    w: Array


STILL = Moving(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))


@dataclass
class Link:
    """A joint, a rod or what acts along joint coordinates."""

    name: str
    kind: str
    a: int
    b: int
    point_a: Array  # (3,) body axes
    point_b: Array
    axis_a: Array  # (3,) body axes of a
    axis_b: Array  # (3,) body axes of b: the axis, or the second one of a universal joint
    stiffness: tuple[float, float] = (1.0, 1.0)  # against forces, and against moments by the square of the length


@dataclass
class Along:
    """A coupler or a driver: the sum of factor times coordinate follows a function of known acceleration."""

    name: str
    terms: list[tuple[Link, float]]
    acceleration: float = 0.0


class Row(NamedTuple):
    """One equation of body accelerations (6 a body), and the wrench on b of each link by a unit force."""

    entries: list[tuple[int, Array]]
    added: float
    wrenches: list[tuple[Link, Array, Array]]  # link, force, moment at its point of b
    stiffness: float
    turns: bool


@dataclass
class Bushed:
    """Bodies and links; ``length`` weighs moments against forces."""

    gravity: Array
    masses: list[Mass] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    along: list[Along] = field(default_factory=list)
    loads: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # force and moment at the body's origin

    def reactions(self, motion: list[Moving], length: float, weights: Array | None = None) -> dict[str, Array]:
        """Return the wrench [f, n] (6,) on b of every link at its point of b; ``weights`` multiply the stiffness."""
        rows = [row for link in self.links for row in equations(link, motion)]
        rows += [self.equation(one, motion) for one in self.along]
        size = np.tile([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length], len(self.masses))
        unit = np.array([length if row.turns else 1.0 for row in rows])
        G, c = np.zeros((len(rows), len(size))), np.array([row.added for row in rows]) * unit
        for k, row in enumerate(rows):
            for body, values in row.entries:
                if body != GROUND:
                    G[k, 6 * body : 6 * body + 6] += values
        G = unit[:, None] * G * size
        M, f = self.masses_and_forces(motion)
        stiffness = np.array([row.stiffness for row in rows]) * (1.0 if weights is None else weights[: len(rows)])
        r = -self.grown(size[:, None] * M * size, size * f, G, c, stiffness)
        out = {link.name: np.zeros(6) for link in self.links}
        for value, row, one in zip(r, rows, unit, strict=True):
            for link, force, moment in row.wrenches:
                out[link.name] += value * one * np.concatenate((force, moment))
        last = slice(len(rows) - len(self.along), None)
        for value, along, one in zip(r[last], self.along, unit[last], strict=True):
            out[along.name] = np.array([value * one])
        return out

    def grown(self, M: Array, f: Array, G: Array, c: Array, stiffness: Array) -> Array:
        """Return S (G a + c) as the stiffness grows, by extrapolation."""
        # poses and rates close their loops to rounding, which must not stress bushings of any stiffness
        U, values, V = np.linalg.svd(G, full_matrices=False)
        kept = values > CONSISTENT * values[0]
        U = U[:, kept]
        G, c = (U * values[kept]) @ V[kept], U @ (U.T @ c)
        mean = float(np.trace(M) / len(M))
        table = []
        for level in range(LEVELS):
            S = FIRST * 2.0**level * mean * stiffness
            whole = np.block([[M, G.T], [G, -np.diag(1.0 / S)]])
            table.append(np.linalg.solve(whole, np.concatenate((f, -c)))[len(M) :])
        for order in range(1, LEVELS):
            table = [(2.0**order * b - a) / (2.0**order - 1.0) for a, b in pairwise(table)]
        return np.asarray(table[0])

    def masses_and_forces(self, motion: list[Moving]) -> tuple[Array, Array]:
        """Return mass matrix and forces of all bodies, about the origins of their frames."""
        n = 6 * len(self.masses)
        M, f = np.zeros((n, n)), np.zeros(n)
        for k, (body, at) in enumerate(zip(self.masses, motion, strict=True)):
            r, J = at.R @ body.center, at.R @ body.inertia @ at.R.T
            C = tilde(r)
            M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.block(
                [[body.mass * np.eye(3), -body.mass * C], [body.mass * C, J - body.mass * C @ C]]
            )
            force = body.mass * (self.gravity - np.cross(at.w, np.cross(at.w, r)))
            f[6 * k : 6 * k + 3], f[6 * k + 3 : 6 * k + 6] = force, np.cross(r, force) - np.cross(at.w, J @ at.w)
            if k in self.loads:
                f[6 * k : 6 * k + 3] += self.loads[k][0]
                f[6 * k + 3 : 6 * k + 6] += self.loads[k][1]
        return M, f

    def equation(self, one: Along, motion: list[Moving]) -> Row:
        """Return the equation of a coupler or driver, of the coordinate with the largest factor."""
        main = max(one.terms, key=lambda term: abs(term[1]))
        entries, wrenches, added = [], [], -one.acceleration / main[1]
        for link, factor in one.terms:
            share = factor / main[1]
            row = coordinate(link, motion)
            entries += [(body, share * values) for body, values in row.entries]
            wrenches += [(link, share * force, share * moment) for link, force, moment in row.wrenches]
            added += share * row.added
        return Row(entries, added, wrenches, 1.0, main[0].kind != "Prismatic")


def tilde(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def of(body: int, motion: list[Moving]) -> Moving:
    return STILL if body == GROUND else motion[body]


def across(axis: Array) -> tuple[Array, Array]:
    """Return two directions perpendicular to a unit vector and to each other."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, other)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def equations(link: Link, motion: list[Moving]) -> list[Row]:
    """Return all that a joint holds at its point of b."""
    a, b = of(link.a, motion), of(link.b, motion)
    e = a.R @ link.axis_a
    pair, all3 = across(e), tuple(np.eye(3))
    if link.kind == "Rod":
        return [rod(link, a, b)]
    forces = {"Prismatic": pair, "Cylindrical": pair, "Line": pair, "Planar": (e,)}.get(link.kind, all3)
    moments = {"Spherical": (), "Line": (), "Prismatic": all3, "Fixed": all3, "Universal": (), "Point": ()}
    rows = [held_place(link, a, b, u) for u in forces]
    rows += [held_turn(link, a, b, n, 0.0) for n in moments.get(link.kind, pair)]
    if link.kind == "Universal":
        f, spin = b.R @ link.axis_b, b.w - a.w
        n = np.cross(f, e)
        rows.append(held_turn(link, a, b, n, float(e @ np.cross(spin, np.cross(spin, f)))))
    return rows


def held_place(link: Link, a: Moving, b: Moving, u: Array) -> Row:
    """Return the equation that the point of b does not accelerate along u as a sees it."""
    x = b.x + b.R @ link.point_b
    ra, rb = x - a.x, x - b.x
    relative = b.v + np.cross(b.w, rb) - a.v - np.cross(a.w, ra)
    added = np.cross(b.w, np.cross(b.w, rb)) - np.cross(a.w, np.cross(a.w, ra)) - 2.0 * np.cross(a.w, relative)
    entries = [(link.b, np.concatenate((u, np.cross(rb, u)))), (link.a, -np.concatenate((u, np.cross(ra, u))))]
    return Row(entries, float(u @ added), [(link, u, np.zeros(3))], link.stiffness[0], False)


def held_turn(link: Link, a: Moving, b: Moving, n: Array, added: float) -> Row:
    """Return the equation that b does not start to turn about n as a sees it."""
    none = np.zeros(3)
    entries = [(link.b, np.concatenate((none, n))), (link.a, -np.concatenate((none, n)))]
    return Row(entries, added - float(n @ np.cross(a.w, b.w - a.w)), [(link, none, n)], link.stiffness[1], True)


def rod(link: Link, a: Moving, b: Moving) -> Row:
    """Return the equation that two points keep their distance."""
    ra, rb = a.R @ link.point_a, b.R @ link.point_b
    d = b.x + rb - a.x - ra
    size = float(np.linalg.norm(d))
    u = d / size
    relative = b.v + np.cross(b.w, rb) - a.v - np.cross(a.w, ra)
    added = u @ (np.cross(b.w, np.cross(b.w, rb)) - np.cross(a.w, np.cross(a.w, ra))) + relative @ relative / size
    entries = [(link.b, np.concatenate((u, np.cross(rb, u)))), (link.a, -np.concatenate((u, np.cross(ra, u))))]
    return Row(entries, float(added), [(link, u, np.zeros(3))], link.stiffness[0], False)


def coordinate(link: Link, motion: list[Moving]) -> Row:
    """Return the acceleration of the coordinate of a hinge or slide, and the wrench of a force along it."""
    a, b = of(link.a, motion), of(link.b, motion)
    e = a.R @ link.axis_a
    return held_place(link, a, b, e) if link.kind == "Prismatic" else held_turn(link, a, b, e, 0.0)
