"""Random scenes of balls, bars, boxes and tetrahedra on a turned plane: energy never grows.

Every contact takes energy, so kinetic energy, weight and the energy of the springs never exceed that of the start. They
are summed here from motions, masses and shapes. Scenes without friction run by tolerance and count springs. Scenes with
friction run by fixed steps, for a bristle is stiff where a contact begins. There kinetic energy and weight count.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import contact
from rtmbs.errors import InputError
from rtmbs.system import System

SHARE, STEPS = 0.006, 40000  # of 1 / w, w the fastest contact's angular frequency: the step; steps of a run
LIGHTEST = 0.3  # of mass times square of reach: the least moment of inertia, which a point at the reach feels
TOLERANCES = 1e-7, 1e-6, 1e-5  # of runs without friction, the next where one is refused at a pose of large rounding
GROWTH = 1e-9  # of the energy exchanged


Array = NDArray[np.float64]


class Own(NamedTuple):
    """What the sum of energies needs of a body."""

    name: str
    mass: float
    inertia: Array  # (3,) about the mass centre, in body axes
    points: Array  # (k, 3) that touch the plane, in body axes [m]
    radius: float  # about them
    stiffness: float  # of its contacts with the plane and with bodies before it
    ball: bool


class Scene(NamedTuple):
    """A mechanism with what the sum of energies needs."""

    system: System
    bodies: list[Own]
    plane: contact.Plane
    gravity: Array
    exchanged: float  # energy of falls through the radii [J]
    h: float
    rubs: bool  # whether any contact has friction


def touching_points(form: object) -> tuple[Array, float]:
    """Return the points (k, 3) of a shape that touch a plane, and the radius about them."""
    if isinstance(form, rtmbs.Sphere):
        return np.zeros((1, 3)), form.radius
    if isinstance(form, rtmbs.Bar):
        return np.array([form.start, form.end]), form.radius
    if isinstance(form, rtmbs.Box):
        return 0.5 * np.array(list(product((-1.0, 1.0), repeat=3))) * form.size, 0.0
    assert isinstance(form, rtmbs.Surface)
    return np.asarray(form.vertices), 0.0


def shape(rng: np.random.Generator) -> tuple[object, float]:
    """Return a shape about the origin and the radius of a ball around it [m]."""
    size = float(10 ** rng.uniform(-2, 0))
    kind = int(rng.integers(4))
    if kind == 0:
        return rtmbs.Sphere(size), size
    if kind == 1:
        along = rng.normal(size=3)
        along *= size / np.linalg.norm(along)
        return rtmbs.Bar(-along, along, 0.3 * size), 1.3 * size
    if kind == 2:
        edges = size * rng.uniform(0.3, 1.0, 3)
        return rtmbs.Box(edges), 0.5 * float(np.linalg.norm(edges))
    corners = rng.normal(size=(4, 3))
    corners *= size / np.linalg.norm(corners, axis=1)[:, None]
    return rtmbs.Surface(corners, [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]), size


def scene(rng: np.random.Generator) -> Scene:
    """Return one to three bodies over a turned plane, the energy of falls through their radii, and the step."""
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    plane = contact.Plane(point=rng.normal(size=3), normal=normal)
    strength = float(rng.uniform(1.0, 20.0))
    tilt = rng.normal(size=3) * 0.3
    down = -normal + tilt - normal * (tilt @ normal)
    gravity = strength * down / np.linalg.norm(down)
    model = rtmbs.Model("scene", gravity=gravity)
    place, bodies, exchanged, fastest, rubs = plane.point, [], 0.0, 0.0, False
    owns: list[Own] = []
    for k in range(int(rng.integers(1, 4))):
        form, reach = shape(rng)
        place = place + normal * reach * 1.2
        mass = float(10 ** rng.uniform(-1, 1))
        inertia = mass * reach**2 * rng.uniform(LIGHTEST, 0.5, 3)
        body = model.add_body(f"b{k}", mass=mass, inertia=inertia, position=place, shape=form)
        place = place + normal * reach * 1.2
        model.add_joint(f"free{k}", rtmbs.Floating(), "ground", body, point=body.position)
        rates = (*(rng.normal(size=3) * np.sqrt(reach * strength)), *(rng.normal(size=3) * np.sqrt(strength / reach)))
        model.set_initial(f"free{k}", rate=rates)
        given = {
            "stiffness": mass * strength / (1e-3 * reach) * float(10 ** rng.uniform(0, 1)),
            "exponent": 1.0,
            "dissipation": float(rng.choice((0.0, 10 ** rng.uniform(-2, 0)))),
            "friction": float(rng.choice((0.0, rng.uniform(0.05, 1.0)))),
        }
        rubs = rubs or given["friction"] > 0.0
        fastest = max(fastest, given["stiffness"] / mass * (1.0 + 1.0 / LIGHTEST))
        model.add_contact(f"floor{k}", ("ground", plane), body, **given)
        for other, its in bodies:
            if isinstance(form, rtmbs.Sphere | rtmbs.Bar) and isinstance(its, rtmbs.Sphere | rtmbs.Bar):
                model.add_contact(f"c{k}{other.name}", other, body, **given)
        bodies.append((body, form))
        ball = isinstance(form, rtmbs.Sphere)
        owns.append(Own(body.name, mass, inertia, *touching_points(form), given["stiffness"], ball))
        exchanged += mass * strength * reach
    return Scene(model.compile(), owns, plane, gravity, exchanged, SHARE / np.sqrt(fastest), rubs)


def energies(result: rtmbs.Result, scene: Scene) -> tuple[Array, Array, Array]:
    """Return the energies of all bodies and springs at all samples [J]: kinetic, of weight, of springs.

    They are summed here from motions, masses and shapes. Springs between bars are left out, which bounds the sum.
    """
    moving, weight, stored = np.zeros((3, len(result.t)))
    n = scene.plane.normal
    for body in scene.bodies:
        x, v, q = (np.asarray(result[f"{body.name}.{what}"]) for what in ("position", "velocity", "orientation"))
        R = Rotation.from_quat(q, scalar_first=True).as_matrix()
        spin = np.einsum("tji,tj->ti", R, np.asarray(result[f"{body.name}.angular_velocity"]))
        moving += 0.5 * body.mass * np.sum(v * v, axis=1) + 0.5 * np.sum(spin * spin * body.inertia, axis=1)
        weight -= body.mass * (x - scene.plane.point) @ scene.gravity
        places = x[:, None] + np.einsum("tij,kj->tki", R, body.points)
        depth = np.maximum(body.radius - (places - scene.plane.point) @ n, 0.0)
        stored += 0.5 * body.stiffness * np.sum(depth * depth, axis=1)
    for k, body in enumerate(scene.bodies):
        for other in scene.bodies[:k]:
            if body.ball and other.ball:
                away = np.asarray(result[f"{body.name}.position"]) - np.asarray(result[f"{other.name}.position"])
                depth = np.maximum(body.radius + other.radius - np.linalg.norm(away, axis=1), 0.0)
                stored += 0.5 * body.stiffness * depth * depth
    return moving, weight, stored


def by_tolerance(own: Scene) -> rtmbs.Result:
    """Return a run whose steps have high order and end where contacts begin and end."""
    for tolerance in TOLERANCES:
        sim = rtmbs.Simulation(own.system, own.h, method=rtmbs.VariationalMidpoint())
        try:
            return sim.run(STEPS * own.h, tolerance=tolerance)
        except InputError:
            if tolerance == TOLERANCES[-1]:
                raise
    raise AssertionError


def judged(seed: int, tally: Tally) -> str:
    """Run a scene and return what is wrong with its energy."""
    own = scene(np.random.default_rng(seed))
    if own.rubs:
        sim = rtmbs.Simulation(own.system, own.h, method=rtmbs.TRBDF2())
        result = sim.run(STEPS * sim.h, on_failure="halve")
    else:
        try:
            result = by_tolerance(own)
        except InputError as refused:
            return str(refused)
    if not all(word == "CONVERGED" for word in result.outcomes):
        return f"outcomes {result.outcomes}"
    moving, weight, stored = energies(result, own)
    energy = moving + weight if own.rubs else moving + weight + stored
    growth = float((energy - energy[0]).max()) / (own.exchanged + float(moving.max()))
    tally.largest(f"growth of energy, {'friction, fixed steps' if own.rubs else 'no friction, by tolerance'}", growth)
    tally.largest("cases with friction", tally.worst.get("cases with friction", 0.0) + float(own.rubs))
    return "" if growth < GROWTH else f"energy grows by {growth:.2e} of what is exchanged"


CAMPAIGN = Campaign(
    name="contacts",
    claim="contact of random bodies with a plane and with each other takes energy, and every step converges",
    full=500,
    bounded=12,
    run=lambda cases, seed: each(judged, cases, seed),
    allowed=0.0,
)
