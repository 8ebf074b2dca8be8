"""Pairs of shapes renewed before every step: near pairs of contact sets, and patches of convex shapes that touch.

Near pairs also tell what touches in a State (METHODS 8.10). A patch of two convex shapes is renewed wherever they have
moved (METHODS 8.8). It is a function of the pose alone, but for the order of its points: each takes the place of the
nearest one of the patch before, with its bristle.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.convex import (
    APART,
    EDGE_A,
    EDGE_B,
    FAR,
    FIRST,
    OF_PATCH,
    SECOND,
    ConvexPair,
    PatchPoint,
    inputs_of,
    without_input,
)
from rtmbs.contact.convex_shapes import MOST, Features, Polytope, Rod, nearest, patch_points
from rtmbs.contact.normal_force import NormalForce
from rtmbs.errors import InputError, StepError, unknown_name
from rtmbs.model.checks import Array
from rtmbs.semirecursive.contact_sets import evaluate_sets
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.near_pairs import find_near, keep_pairs, pair_scratch, passing_pair, same_pairs
from rtmbs.semirecursive.passes import forward_velocities
from rtmbs.state import State
from rtmbs.system.contact_tables import FORCE, GAP, MIDDLE, NORMAL, REACH, TOUCHES
from rtmbs.system.system import System

DEEPEST_PAIR = 0.01  # of the radius: a deeper pair cannot have met within a step that saw it


class SetPairs:
    """Near pairs of all contact sets of a System."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.scratch = [pair_scratch(system.tables, g) for g in range(len(system.contact_sets))]

    def __reduce__(self) -> tuple[type["SetPairs"], tuple[System]]:
        return SetPairs, (self.system,)

    def renew(self, equations: SemiRecursiveEquations, state: State, begun: bool) -> bool:
        """Write the pairs that are near to inputs and bristles of the state; True where a new pair overlaps.

        Raises StepError where there are more pairs than a set has room for, and in a run that has ``begun`` where balls
        would pass through each other within the step, and where a new pair is deep: it met unseen.
        """
        tables, ws, overlaps = equations.tables, equations.ws, False
        equations.u = state.u
        equations.close(state.z, state.R0)
        forward_velocities(tables.dofs, state.zd, ws)
        for g, scratch in enumerate(self.scratch):
            count = int(find_near(tables, g, state.h, ws, scratch))
            if count == len(scratch.pair):
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: more than {count - 1} pairs are near at t = "
                    f"{state.t:g}; give add_contacts a larger most=",
                    t=state.t,
                )
            if begun and (passing := int(passing_pair(tables, g, count, scratch))) >= 0:
                i, j = (int(k) - 1 for k in scratch.pair[passing])
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: members {i} and {j} would pass through each other in "
                    f"the step from t = {state.t:g}; take a smaller h",
                    t=state.t,
                )
            if same_pairs(tables, g, count, state.u, scratch):
                continue
            least = float(keep_pairs(tables, g, count, state.u, state.s, state.sd, ws, scratch))
            if begun and least < -DEEPEST_PAIR:
                raise StepError(
                    f"contacts {self.system.contact_sets[g]!r}: a pair is {-least:.2g} radii deep where it begins, at "
                    f"t = {state.t:g}: it met within one step; take a smaller h, or let it start apart",
                    t=state.t,
                )
            overlaps |= least < 0.0
        return overlaps


def check_method(system: System, method: Any) -> None:
    """Raise InputError for a method whose steps have no tangent of contact sets."""
    if getattr(method, "compiled_step", "") != "trbdf2":
        raise InputError(
            f"contacts {system.contact_sets[0]!r} need method=rtmbs.TRBDF2(); {type(method).__name__} has no tangent "
            "of pairs that change"
        )


class Touching(NamedTuple):
    """Pairs of a contact set that touch.

    Parameters
    ----------
    members : ndarray
        Numbers (k, 2) of the members of each pair, planes first, then balls, each in the order they were given.
    points : ndarray
        Points (k, 3) where the forces act, world axes [m]: midway in the overlap of balls.
    normals : ndarray
        Normals (k, 3) towards the second member.
    penetrations : ndarray
        Penetrations (k,) [m].
    forces : ndarray
        Forces (k, 3) on the second member, friction included [N].
    """

    members: Any
    points: Array
    normals: Array
    penetrations: Array
    forces: Array


def touching(sim: Any, name: str) -> Touching:
    """Return the pairs of a contact set that touch in the present State.

    Parameters
    ----------
    sim : Simulation
        Simulation of a model with contact sets.
    name : str
        Name of the set.

    Returns
    -------
    Touching
        Members, points, normals, penetrations and forces.

    Raises
    ------
    UnknownNameError
        For a name that no contact set has.

    Examples
    --------
    >>> touching(sim, "heap").penetrations.max()  # doctest: +SKIP
    """
    if name not in sim.system.contact_sets:
        raise unknown_name("contact set", name, sim.system.contact_sets)
    return touching_at(sim.equations, sim.state, sim.system.contact_sets.index(name))


def touching_at(equations: SemiRecursiveEquations, state: State, g: int) -> Touching:
    """Return the pairs of contact set ``g`` that touch in a State."""
    tables, ws = equations.tables, equations.ws
    equations.u = state.u
    equations.close(state.z, state.R0)
    forward_velocities(tables.dofs, state.zd, ws)
    hold_states(state.s, ws)
    evaluate_sets(tables, state.u, ws)
    sets = tables.sets
    slot, first, room = int(sets.slot[g]), int(sets.pair_pointer[g]), int(np.diff(sets.pair_pointer)[g])
    pairs = state.u[slot : slot + 2 * room].reshape(-1, 2).astype(np.int64)
    rows = ws.touch[first : first + room]
    touch = (pairs[:, 0] > 0) & (rows[:, TOUCHES] > 0.0)
    pairs, rows = pairs[touch] - 1, rows[touch]
    normals = rows[:, NORMAL : NORMAL + 3]
    points = rows[:, MIDDLE : MIDDLE + 3] - rows[:, REACH, None] * normals
    i, j = (sets.member_pointer[g] + pairs).T
    towards = np.where((sets.radius[i] > 0.0) & (sets.dof[i] > sets.dof[j]), -1.0, 1.0)[:, None]  # second ball leads
    return Touching(pairs, points, towards * normals, -rows[:, GAP], towards * rows[:, FORCE : FORCE + 3])


MARGIN = 0.1  # of the size of a pair, beside its way in a step: points that may come to touch within the step
DEEPEST = 0.1  # of the size of a pair: a deeper contact cannot have begun within a step that saw it
THROUGH, BACK = 1e-3, -0.5  # of the size, and cosine of the normals: shapes that went through each other in a step
MOST_OFFSET = 0.1  # of the size of a pair: how far the points of a patch may lie beside the shapes, to keep energy
SAME_POINT = 0.1  # of the size of a pair: a point that moves less keeps its bristle
RESTS = 1e-9  # of the size of a pair: points that move less stay as they are
TURNED = 1e-9  # likewise of the normal
SAME_ENERGY = 1e-12  # of it: a difference that needs no offset
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
            for key in inputs_of(pair)
        }
        self.normal: NormalForce = info.contact.normal
        own = [[k for k, one in enumerate(system.states) if one.force == name] for name in names]
        self.bristles = np.array(own, np.int64).reshape(len(names), -1)
        self.shapes = coal_shape(pair.a, 1.0 / pair.size), coal_shape(pair.b, 1.0 / pair.size)
        self.distance = coal.ComputeDistance(*self.shapes)
        self.still, self.moved = coal.Transform3s(), coal.Transform3s()
        self.fields = [(key, name) for key, name in zip(OF_PATCH, Features._fields, strict=False) if key in self.places]
        self.request, self.result = coal.DistanceRequest(), coal.DistanceResult()
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 256

    def patch(self, r: Array, R: Array, way: float) -> tuple[list[Features], float]:
        """Return the points of the second shape at ``r`` (3,), turned by ``R`` (3, 3), and the distance [m].

        There are none where the shapes do not meet within a ``way`` [m]. Raises StepError where the package finds no
        nearest points.
        """
        pair, margin = self.pair, MARGIN * self.size + way
        if r @ r > (pair.a.reach + pair.b.reach + margin) ** 2:
            return [], np.inf
        apart = self.distance_at(r, R)
        if apart > margin:
            return [], apart
        normal = np.array(self.result.normal)
        first, second = (self.size * np.array(getattr(self.result, f"getNearestPoint{k}")()) for k in (1, 2))
        if not abs((second - first) @ normal - apart) < AGREES * self.size:
            raise StepError(
                f"contact {pair.name!r}: coal finds no nearest points of its shapes at a distance of {r} m; move the "
                "start a little, or take simpler shapes"
            )
        normal, close = normal / np.linalg.norm(normal), (first, second)
        return patch_points(pair.a, pair.b, r, R, normal, close, margin, pair.a_leads), apart

    def distance_at(self, r: Array, R: Array) -> float:
        """Return the distance of the shapes at a pose [m]; the normal and the nearest points stand in ``result``."""
        self.moved.setTranslation(r / self.size)
        self.moved.setRotation(R)
        self.result.clear()
        return float(self.size * self.distance(self.still, self.moved, self.request, self.result))

    def passed(self, state: State, r: Array, R: Array) -> bool:
        """Return whether the shapes went through each other since the points of a state were found.

        By those points they overlap deeply at the pose, and the normal looks back.
        """
        points = self.kept(state)
        depths = self.depths(points, r, R) if points else np.zeros(1)
        if depths.max() < THROUGH * self.size:
            return False
        deepest = points[int(depths.argmax())]
        normal = np.array(nearest(self.pair.a, self.pair.b, deepest, r.tolist(), R.tolist()).normal)
        self.distance_at(r, R)
        return float(normal @ np.array(self.result.normal)) < BACK

    def fastest(self, V: Array, middles: list[Array]) -> float:
        """Return a bound of the relative speed of any two points that meet [m/s].

        V : relative velocity (6,) of the bodies, that of the point at the origin of the world first
        """
        k = int(self.pair.b.reach < self.pair.a.reach)  # points that meet are as near to this middle as it reaches
        speed = np.linalg.norm(V[:3] + np.cross(V[3:], middles[k]))
        speed += min(self.pair.a.reach, self.pair.b.reach) * np.linalg.norm(V[3:])
        return float(speed) if np.isfinite(speed) else 0.0

    def used(self, state: State) -> Any:
        """Return which points (MOST,) of a state are in use."""
        return state.u[self.places[APART][:, 0]] < 0.5 * self.far

    @property
    def far(self) -> float:
        """Gap of a point that is not in use [m]."""
        return FAR * (self.pair.a.reach + self.pair.b.reach)

    def depths(self, points: list[Features], r: Array, R: Array) -> Array:
        """Return how deep points (k,) lie at a pose [m]."""
        place, axes = r.tolist(), R.tolist()
        return np.array([-nearest(self.pair.a, self.pair.b, one, place, axes).gap for one in points])

    def kept(self, state: State) -> list[Features]:
        """Return the points in use that stand in a state."""
        standing = {key: state.u[places] for key, places in self.places.items()}
        return [
            Features(*(without_input(key) if key not in standing else flat(standing[key][k]) for key in OF_PATCH[:-1]))
            for k in np.flatnonzero(self.used(state))
        ]

    def write(self, state: State, points: list[Features], pose: tuple[Array, Array], continues: bool) -> bool:
        """Write points to the inputs and bristles of a state; False where they are those that stand there.

        pose : place (3,) [m] and axes (3, 3) of the second shape in axes of the first
        continues : the points go on with the energy of those that stand there
        """
        u, places, used = state.u, self.places, self.used(state)
        if not points:
            if not np.any(used):
                return False
            u[places[APART]] = self.far
            state.s[self.bristles] = 0.0
            return True
        fresh = {key: np.array([np.ravel(getattr(one, name)) for one in points]) for key, name in self.fields}
        order, kept = matched(u[places[FIRST]], used, fresh[FIRST], SAME_POINT * self.size)
        now = np.zeros(MOST, np.bool_)
        now[order] = True
        if np.array_equal(now, used) and np.all(kept) and self.rest(u, order, fresh):
            return False
        offset = self.offset(state, points, pose) if continues else 0.0
        for key, values in fresh.items():
            u[places[key][order]] = values
        u[places[APART]] = self.far
        u[places[APART][order]] = offset
        state.s[self.bristles[~now]] = 0.0
        state.s[self.bristles[order[~kept]]] = 0.0
        return True

    def rest(self, u: Array, order: Any, fresh: dict[str, Array]) -> bool:
        """Return whether new points are those that stand in the inputs ``u``."""
        for key, values in fresh.items():
            near = RESTS * self.size if key in (FIRST, SECOND, EDGE_A, EDGE_B) else TURNED
            if np.max(np.abs(u[self.places[key][order]] - values)) > near:
                return False
        return True

    def offset(self, state: State, points: list[Features], pose: tuple[Array, Array]) -> float:
        """Return the gap offset [m] with which new points have the energy of those that stand in a state."""
        standing = state.u[self.places[APART][self.used(state), 0]]
        before = self.energy(self.depths(self.kept(state), *pose) - standing)
        depths = self.depths(points, *pose)
        deepest = float(depths.max())
        if before == 0.0:
            return self.bounded(max(deepest, 0.0), state.t)
        if abs(self.energy(depths) - before) <= SAME_ENERGY * before:
            return 0.0
        alone = before ** (1.0 / (self.normal.exponent + 1.0))  # of one point with all of the energy
        from scipy.optimize import brentq  # it takes long to load

        deep = brentq(  # of the deepest point: a difference of depths would drown in their rounding
            lambda y: self.energy(depths - deepest + y) - before, 0.0, alone * (1.0 + SAME_ENERGY), xtol=1e-15 * alone
        )
        return self.bounded(deepest - float(deep), state.t)

    def bounded(self, offset: float, t: float) -> float:
        """Return an offset [m]; StepError beyond MOST_OFFSET, where shapes no longer touch as they are drawn."""
        if abs(offset) > MOST_OFFSET * self.size:
            raise StepError(
                f"contact {self.pair.name!r}: its points lie {abs(offset):.2g} m beside its shapes at t = {t:g}, by "
                "all changes of the points that kept the energy; take a smaller h, or let the shapes part",
                t=t,
            )
        return offset

    def energy(self, depths: Array) -> float:
        """Return the energy of points as deep [J], over the stiffness."""
        return float(np.sum(np.maximum(depths, 0.0) ** (self.normal.exponent + 1.0)))


def flat(values: Array) -> Any:
    """Return the numbers of an input: one, or a vector."""
    return values if len(values) > 1 else float(values[0])


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
            pose = (middles[1] - middles[0]) @ axes, axes.T @ A[b] @ frame_b[:, :3]
            stands = bool(np.any(one.used(state)))
            if begun and stands and one.passed(state, *pose):
                raise StepError(
                    f"contact {one.pair.name!r}: its shapes went through each other in the step to t = {state.t:g}; "
                    "take a smaller h, or a larger stiffness",
                    t=state.t,
                )
            found, apart = one.patch(*pose, way)
            if begun and found and -apart > DEEPEST * one.size and not stands:
                raise StepError(
                    f"contact {one.pair.name!r} is {-apart:.2g} m deep where it begins, at t = {state.t:g}: its shapes "
                    "met within one step; take a smaller h, or let them start apart",
                    t=state.t,
                )
            changed |= one.write(state, found, pose, begun or stands)
        return changed


def convex_contacts_of(system: System) -> ConvexContacts | None:
    """Return the pairs of convex shapes of a System, None where it has none."""
    found = ConvexContacts(system)
    return found if found.pairs else None
