"""Patches of convex shapes that touch, renewed before a step wherever the shapes have moved (METHODS 8.8).

A patch is a function of the pose alone, but for the order of its points: each takes the place of the nearest one of the
patch before, with its bristle.
"""

from typing import Any

import numpy as np

from rtmbs.contact.convex import APART, FAR, FIRST, NORMAL, OF_PATCH, ON_B, SECOND, ConvexPair, PatchPoint
from rtmbs.contact.convex_shapes import Polytope, Rod
from rtmbs.contact.patch import MOST, PatchPoints, patch_points
from rtmbs.errors import StepError
from rtmbs.model.checks import Array
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.passes import forward_velocities
from rtmbs.state import State
from rtmbs.system.system import System

MARGIN = 0.1  # of the size of a pair, beside its way in a step: points that may come to touch within the step
DEEPEST = 0.1  # of the size of a pair: a deeper contact cannot have begun within a step that saw it
SAME_POINT = 0.1  # of the size of a pair: a point that moves less keeps its bristle
RESTS = 1e-9  # of the size of a pair: points that move less stay as they are
TURNED = 1e-9  # likewise of the normal
AGREES = 1e-4  # of the size of a pair: distance and nearest points of an answer; smaller tolerances lose answers


class PairPlace:
    """Places of one pair in inputs and states, and its shapes for the package that finds nearest points."""

    def __init__(self, system: System, pair: ConvexPair, names: list[str]) -> None:
        import coal

        self.pair, self.size = pair, pair.size
        info, inputs = system.forces[names[0]], system.inputs
        self.row, self.connector = info.row, info.connector
        self.places = {
            key: np.array([np.arange(inputs[f"{name}.{key}"].start, inputs[f"{name}.{key}"].stop) for name in names])
            for key in OF_PATCH
        }
        own = [[k for k, one in enumerate(system.states) if one.force == name] for name in names]
        self.bristles = np.array(own, np.int64).reshape(len(names), -1)
        self.shapes = coal_shape(pair.a, 1.0 / pair.size), coal_shape(pair.b, 1.0 / pair.size)
        self.distance = coal.ComputeDistance(*self.shapes)
        self.still, self.moved = coal.Transform3s(), coal.Transform3s()
        self.request, self.result = coal.DistanceRequest(), coal.DistanceResult()
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 256

    def patch(self, r: Array, R: Array, way: float) -> tuple[PatchPoints | None, float]:
        """Return the patch of the second shape at ``r`` (3,), turned by ``R`` (3, 3), and the distance [m].

        The patch is None where the shapes do not meet within a ``way`` [m]. Its points are in axes of their shapes, and
        so is the normal. Raises StepError where the package finds no nearest points.
        """
        pair, margin = self.pair, MARGIN * self.size + way
        if r @ r > (pair.a.reach + pair.b.reach + margin) ** 2:
            return None, np.inf
        self.moved.setTranslation(r / self.size)
        self.moved.setRotation(R)
        self.result.clear()
        apart = self.size * self.distance(self.still, self.moved, self.request, self.result)
        if apart > margin:
            return None, apart
        normal = np.array(self.result.normal)
        first, second = (self.size * np.array(getattr(self.result, f"getNearestPoint{k}")()) for k in (1, 2))
        if not abs((second - first) @ normal - apart) < AGREES * self.size:
            raise StepError(
                f"contact {pair.name!r}: coal finds no nearest points of its shapes at a distance of {r} m; move the "
                "start a little, or take simpler shapes"
            )
        found = patch_points(pair.a, pair.b, r, R, normal / np.linalg.norm(normal), (first, second), margin)
        own = R.T @ found.normal if found.on_second else found.normal
        return found._replace(normal=own, second=(found.second - r) @ R), apart

    def fastest(self, V: Array, middles: list[Array]) -> float:
        """Return a bound of the relative speed of any two points that meet [m/s].

        V : relative velocity (6,) of the bodies, that of the point at the origin of the world first
        """
        k = int(self.pair.b.reach < self.pair.a.reach)  # points that meet are as near to this middle as it reaches
        speed = np.linalg.norm(V[:3] + np.cross(V[3:], middles[k]))
        speed += min(self.pair.a.reach, self.pair.b.reach) * np.linalg.norm(V[3:])
        return float(speed) if np.isfinite(speed) else 0.0

    def touches(self, state: State) -> bool:
        """Return whether the patch of a state has points."""
        return bool(np.any(state.u[self.places[APART]] == 0.0))

    def write(self, state: State, patch: PatchPoints | None) -> bool:
        """Write a patch to the inputs and bristles of a state; False where it is the one that stands there."""
        u, places = state.u, self.places
        apart, far = u[places[APART][:, 0]] > 0.0, FAR * (self.pair.a.reach + self.pair.b.reach)
        if patch is None:
            if np.all(apart):
                return False
            u[places[APART]] = far
            state.s[self.bristles] = 0.0
            return True
        order, kept = matched(u[places[FIRST]], ~apart, patch.first, SAME_POINT * self.size)
        used = np.zeros(MOST, np.bool_)
        used[order] = True
        moved = np.abs(u[places[FIRST][order]] - patch.first) + np.abs(u[places[SECOND][order]] - patch.second)
        turned = np.abs(u[places[NORMAL][order]] - patch.normal)
        same = np.all(kept) and np.array_equal(used, ~apart) and np.all(u[places[ON_B][order, 0]] == patch.on_second)
        if same and np.max(moved) <= RESTS * self.size and np.max(turned) <= TURNED:
            return False
        u[places[NORMAL][order]], u[places[ON_B][order, 0]] = patch.normal, float(patch.on_second)
        u[places[FIRST][order]], u[places[SECOND][order]] = patch.first, patch.second
        u[places[APART]] = far
        u[places[APART][order]] = 0.0
        state.s[self.bristles[~used]] = 0.0
        state.s[self.bristles[order[~kept]]] = 0.0
        return True


def matched(before: Array, used: Any, points: Array, near: float) -> tuple[Any, Any]:
    """Return the place (k,) of each new point among the old ones (MOST, 3), and which of them were there before."""
    order, kept = np.full(len(points), -1), np.zeros(len(points), np.bool_)
    distance = np.linalg.norm(points[:, None] - before[None], axis=2)
    distance[:, ~used] = np.inf
    for _ in range(len(points)):
        k, place = np.unravel_index(np.argmin(distance), distance.shape)
        if not distance[k, place] < near:
            break
        order[k], kept[k] = place, True
        distance[k], distance[:, place] = np.inf, np.inf
    free = [place for place in range(MOST) if place not in order]
    order[~kept] = free[: int(np.sum(~kept))]
    return order, kept


def coal_shape(shape: Any, scale: float) -> Any:
    """Return a shape, ``scale`` times as large, as the package takes it."""
    import coal

    if isinstance(shape, Polytope):
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in shape.vertices:
            points.append(scale * vertex)
        for first, second, third in shape.triangles.tolist():
            triangles.append(coal.Triangle(first, second, third))
        return coal.Convex(points, triangles)
    if isinstance(shape, Rod):
        return (coal.Cylinder if shape.flat else coal.Capsule)(scale * shape.radius, 2.0 * scale * shape.half)
    return coal.Ellipsoid(*(float(scale * half) for half in shape.half))


class ConvexContacts:
    """All pairs of convex shapes of a System."""

    def __init__(self, system: System) -> None:
        self.system = system
        names: dict[ConvexPair, list[str]] = {}
        for name, info in system.forces.items():
            if isinstance(info.contact, PatchPoint):
                names.setdefault(info.contact.pair, []).append(name)
        self.pairs = [PairPlace(system, pair, own) for pair, own in names.items()]

    def __reduce__(self) -> tuple[type["ConvexContacts"], tuple[System]]:
        return ConvexContacts, (self.system,)  # shapes of the package cannot be saved, and are not shared by threads

    def renew(self, equations: SemiRecursiveEquations, state: State, begun: bool) -> bool:
        """Write the patches at a pose to inputs and bristles of the state; False where all stay as they are.

        Raises StepError where a contact of a run that has ``begun`` is new and deep: its shapes met unseen.
        """
        equations.u = state.u
        equations.close(state.z, state.R0)
        forward_velocities(equations.tables.dofs, state.zd, equations.ws)
        tables, A, origins = equations.tables, equations.ws.A, equations.ws.r
        laws, changed = tables.laws, False
        for one in self.pairs:
            a, b = int(tables.connectors.a[one.connector]), int(tables.connectors.b[one.connector])
            frame_a, frame_b = laws.frame_a[one.row], laws.frame_b[one.row]
            axes = A[a] @ frame_a[:, :3]
            middles = [origins[k] + A[k] @ frame[:, 3] for k, frame in ((a, frame_a), (b, frame_b))]
            V = equations.ws.V[b] - equations.ws.V[a]
            way = state.h * one.fastest(V, middles)
            found, apart = one.patch((middles[1] - middles[0]) @ axes, axes.T @ A[b] @ frame_b[:, :3], way)
            if begun and found is not None and -apart > DEEPEST * one.size and not one.touches(state):
                raise StepError(
                    f"contact {one.pair.name!r} is {-apart:.2g} m deep where it begins, at t = {state.t:g}: its shapes "
                    "met within one step; take a smaller h, or let them start apart",
                    t=state.t,
                )
            changed |= one.write(state, found)
        return changed


def convex_contacts_of(system: System) -> ConvexContacts | None:
    """Return the pairs of convex shapes of a System, None where it has none."""
    found = ConvexContacts(system)
    return found if found.pairs else None


def renew_patches(store: Any, begun: bool = True) -> None:
    """Let the points of convex shapes that touch be those of the present pose; accelerations follow before a step."""
    if store.patches is not None and store.patches.renew(store.equations, store.states[0], begun):
        vars(store).update(current=False, exactly=True)
