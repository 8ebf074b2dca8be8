"""Contact of A with B gives the forces of B with A: every pair of shapes in both orders, friction and bristles too."""

from itertools import combinations_with_replacement
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import contact
from rtmbs.contact.convex import OF_PATCH, PatchPoint
from rtmbs.contact.convex_shapes import Features, convex_of, patch_points
from rtmbs.contact.elements import comes_first, touching
from rtmbs.contact.friction import DryFriction
from rtmbs.contact.normal_force import NormalForce
from rtmbs.contact.pairs import BRISTLE
from rtmbs.errors import ModelError
from rtmbs.model.forces import Kinematics

FORCE, FRICTION = NormalForce(1e4, 1.0, 0.1), DryFriction(1e4, 1e-3, 1.3, 0.05)
KINDS = ("sphere", "bar", "box", "cylinder", "ellipsoid", "surface", "plane", "profile")
POSES = 12


def shape(kind, rng):
    """Return a random shape about as large as 1 m, off the origin of its body."""
    center, axes = 0.2 * rng.normal(size=3), Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    along = 0.6 * rng.normal(size=3)
    corners = rng.normal(size=(4, 3))
    corners /= np.linalg.norm(corners, axis=1)[:, None]
    makers = {
        "sphere": lambda: rtmbs.Sphere(rng.uniform(0.3, 0.8), center=center),
        "bar": lambda: rtmbs.Bar(center - along, center + along, 0.3),
        "box": lambda: rtmbs.Box(rng.uniform(0.5, 1.5, 3), center=center, axes=axes),
        "cylinder": lambda: rtmbs.Cylinder(0.5, rng.uniform(0.5, 1.5), center=center, axis=along),
        "ellipsoid": lambda: contact.Ellipsoid(rng.uniform(0.4, 1, 3), center=center, axes=axes),
        "surface": lambda: rtmbs.Surface(corners, [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]),
        "plane": lambda: contact.Plane(center, along),
        "profile": lambda: contact.Profile([(1, -1), (1, 1), (-1, 0)], bulges=[0.3, 0, 0], center=center, axes=axes),
    }
    return makers[kind]()


def distance_of(pair):
    """Return a function of the pose of two convex shapes: distance, normal and nearest points, by coal."""
    import coal

    from rtmbs.simulation.contact_pairs import coal_shape

    shapes, still, moved = [coal_shape(one, 1.0) for one in pair], coal.Transform3s(), coal.Transform3s()
    distance, request, result = coal.ComputeDistance(*shapes), coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_max_iterations = request.epa_max_iterations = 256

    def found(r, R):
        moved.setTranslation(r)
        moved.setRotation(R)
        result.clear()
        apart, kept = distance(still, moved, request, result), shapes
        normal = np.array(result.normal)
        close = np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
        return apart, normal / np.linalg.norm(normal), close, kept

    return found


def patch(pair, r, R):
    _, normal, close, _ = distance_of((pair.a, pair.b))(r, R)
    return patch_points(pair.a, pair.b, r, R, normal, close, 0.1 * pair.size, pair.a_leads)


def wrench(sides, motion, bristle):
    """Return force, moment about the origin and rates of the bristles of the side "b", summed over the points."""
    (one, of_one), (other, of_other) = sides
    if comes_first(of_other, of_one):
        one, of_one, other, of_other = other, of_other, one, of_one
    bodies, total, features = (SimpleNamespace(name=one), SimpleNamespace(name=other)), np.zeros((3, 3)), None
    sign = 1.0 if other == "b" else -1.0
    for k, pair in enumerate(touching("c", "c", (bodies[0], of_one), (bodies[1], of_other), FORCE, FRICTION)):
        (_, point_a, axes_a), (_, point_b, axes_b) = pair.a, pair.b
        (ra, Ra, va, wa), (rb, Rb, vb, wb) = motion[one], motion[other]
        xa, xb, T = ra + Ra @ point_a, rb + Rb @ point_b, Ra @ axes_a
        v = vb + np.cross(wb, xb - rb) - va - np.cross(wa, xb - ra)
        at, given = Kinematics(T.T @ (xb - xa), T.T @ Rb @ axes_b, T.T @ v, T.T @ (wb - wa)), {"friction": 0.3}
        if isinstance(pair.law, PatchPoint):
            features = features or patch(pair.law.pair, at.r, at.R)
            if k >= len(features):
                continue
            values = {key: getattr(features[k], name) for key, name in zip(OF_PATCH, Features._fields, strict=False)}
            given |= values | {"gap_offset": 0.0}
        own = T.T @ (sign * bristle)
        (f, m), rates = pair.law(0.0, at, given, dict(zip(BRISTLE, own, strict=True)))
        f, m = T @ np.array(f, float), T @ np.array(m, float)
        rate = T @ np.resize(np.array(rates, float), 3) + np.cross(wa, T @ own)
        total += sign * np.array((f, m + np.cross(xb, f), rate if np.any(f) else np.zeros(3)))
    return total


def pose_in_touch(shapes, rng):
    """Return the motion (r, R, v, w) of bodies "a" and "b" whose shapes overlap by 0.1 to 50 mm."""
    own = rng.normal(size=3), Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    R, v = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix(), rng.normal(size=(4, 3))
    way, depth = rng.normal(size=3), 10 ** rng.uniform(-4, -1.3)
    way /= np.linalg.norm(way)

    def motion(way):
        return {"a": (*own, v[0], v[1]), "b": (own[0] + way, R, v[2], v[3])}

    if any(isinstance(one, contact.Plane | contact.Profile) for one in shapes):
        return motion(0.3 * way)
    (one, point_a, axes_a), (other, point_b, axes_b) = (convex_of("test", each) for each in shapes)
    found, T, low, high = distance_of((one, other)), own[1] @ axes_a, 0.0, 8.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        r = T.T @ (middle * way + R @ point_b - own[1] @ point_a)
        low, high = (low, middle) if found(r, T.T @ R @ axes_b)[0] > -depth else (middle, high)
    return motion(middle * way)


@pytest.mark.parametrize("kinds", list(combinations_with_replacement(KINDS, 2)), ids="-".join)
def test_both_orders_give_one_force(kinds):
    """Deep overlaps turned the friction by 2.8e-2: it acted on the surface of the second side."""
    pytest.importorskip("coal")
    touched, refused = 0, 0
    for seed in range(POSES):
        rng = np.random.default_rng(seed)
        shapes = [shape(kind, rng) for kind in kinds]
        motion, bristle = pose_in_touch(shapes, rng), 1e-4 * rng.normal(size=3)
        sides = ("a", shapes[0]), ("b", shapes[1])
        try:
            first, second = wrench(sides, motion, bristle), wrench(sides[::-1], motion, bristle)
        except ModelError:
            refused += 1
            continue
        touched += bool(np.any(first))
        np.testing.assert_allclose(first, second, rtol=0.0, atol=1e-9 * np.max(np.abs(first[0])) + 1e-12)
    kinds = set(kinds)
    no_pair = kinds <= {"plane", "profile"} or ("profile" in kinds and "sphere" not in kinds)
    assert refused == (POSES if no_pair else 0)
    assert touched > POSES // 3 or no_pair


@pytest.mark.parametrize("kind", KINDS)
def test_rigid_contacts_are_the_same_in_both_orders_or_refused_in_both(kind):
    found = []
    for order in (1, -1):
        model = rtmbs.Model("rigid")
        model.add_body("a", mass=1.0, inertia=(1, 1, 1))
        sides = ("ground", contact.Plane((0, 0, 0.1), (1, 2, 3))), ("a", shape(kind, np.random.default_rng(1)))
        if kind in ("cylinder", "ellipsoid", "plane", "profile"):
            with pytest.raises(ModelError, match="does not touch"):
                model.add_rigid_contact("c", *sides[::order], friction=0.3)
            continue
        model.add_rigid_contact("c", *sides[::order], friction=0.3)
        found.append([(one.law.function, [end.body.name for end in one.between]) for one in model.constraints.values()])
    assert not found or found[0] == found[1]


def spinning(order):
    """Return a System in which a bar falls on a bar and a tilted cylinder on a box, all of them free and turning."""
    model = rtmbs.Model("order", gravity=(0, 0, 0))
    shapes = {
        "bar": rtmbs.Bar((-0.2, 0, 0), (0.2, 0, 0), 0.05), "log": rtmbs.Bar((-0.2, 0, 0), (0.2, 0, 0), 0.04),
        "box": rtmbs.Box((0.2, 0.3, 0.1)), "cylinder": rtmbs.Cylinder(0.06, 0.2),
    }  # fmt: skip
    places = {"bar": (0, 0, 0.05), "log": (0.02, 0, 0.1395), "box": (1, 0, 0.05), "cylinder": (1.02, 0.01, 0.23)}
    for k, name in enumerate(shapes):
        turn = Rotation.from_rotvec((0.05, 0.4, 0.1) if name == "cylinder" else (0, 0, 0.9 * k)).as_matrix()
        model.add_body(name, mass=1.0 + k, inertia=(2e-3, 3e-3, 4e-3), orientation=turn, position=places[name])
        model.add_joint(f"free {name}", rtmbs.Floating(), "ground", name, point=places[name])
        model.set_initial(f"free {name}", rate=(0.3, -0.1 * k, -0.5 * (k % 2), k, 1.0, 20.0 * (k % 2)))
    for one, two in (("bar", "log"), ("box", "cylinder")):
        sides = (one, shapes[one]), (two, shapes[two])
        model.add_contact(f"{one} {two}", *sides[::order], stiffness=3e4, friction=0.4)
    return model.compile()


@pytest.mark.slow
def test_runs_of_both_orders_are_one_motion():
    """Bristles are integrated in axes of the first side, so with friction they agree to the order of the method."""
    pytest.importorskip("coal")
    systems = spinning(1), spinning(-1)
    apart = []
    for friction, h in ((0.0, 5e-4), (0.4, 5e-4), (0.4, 2.5e-4)):
        ends = []
        for system in systems:
            sim = rtmbs.Simulation(system, h, method=rtmbs.TRBDF2())
            for name in system.forces:
                sim.inputs[f"{name}.friction"] = friction
            result = sim.run(0.1)
            assert all(
                any(result[f"{name}.normal_force"][:, None].max() > 1.0 for name in system.forces if pair in name)
                for pair in ("bar log", "box cylinder")
            )
            ends.append(
                [
                    sim[f"{name}.{word}"]
                    for name in ("bar", "log", "box", "cylinder")
                    for word in ("velocity", "angular_velocity")
                ]
            )
        apart.append(np.max(np.abs(np.subtract(*ends))))
    assert apart[0] < 1e-10
    assert 3.0 < apart[1] / apart[2] < 6.0
    assert apart[2] < 1e-3
