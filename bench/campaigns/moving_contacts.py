"""Random balls and boxes on planes that a hinge with a skew axis turns, against Newton and Euler by hand.

The reference integrates the body in the world with a quaternion, and the same laws of normal force and friction,
written anew here. It shares nothing with rtmbs but numbers. Of every case the largest distance of motions counts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import contact

Array = NDArray[np.float64]

STEP, TIME = 0.005, 12.0  # of 1 / w, w the contact's angular frequency: the step, and the time of a run
# The force of a bristle is off by k v h / 2 at most in the step of its touch, and acts for one step: the body is off by
# v STEP^2 / 2 of its swing, and a run has several touches. Without friction there is no such force.
JUMP, SMOOTH = 4.0, 1e-4  # of STEP^2 and of the largest motion with friction; of it without
WITHOUT = 0.3  # share of scenes without friction
SLACK, SMALL, RELAXES, ELASTIC = 1e-6, 0.1, 2e-3, 0.5  # of the bristle, METHODS 8.2


class Scene(NamedTuple):
    """One body over a plane that turns."""

    axis: Array  # of the hinge, world
    hinge: Array  # point of the hinge [m]
    rate: float  # of the plane's body [rad/s]
    plane_point: Array  # [m]
    plane_axes: Array  # (3, 3) world at t = 0
    points: Array  # (k, 3) that touch, body axes [m]
    radius: float
    mass: float
    inertia: Array  # (3, 3) body axes
    center: Array  # of the mass, body axes [m]
    place: Array  # of the body [m]
    turn: Array  # (3, 3)
    v: Array  # of the origin of the body [m/s]
    w: Array  # world [rad/s]
    gravity: Array
    k: float
    e: float
    c: float
    mu: float
    kt: float
    tau: float
    slack: float = SLACK  # d [m]


def random_scene(rng: np.random.Generator) -> tuple[Scene, object]:
    """Return a scene and the shape of its body."""
    turn, plane = Rotation.random(2, random_state=int(rng.integers(1 << 30))).as_matrix()
    size, mass, g = float(10 ** rng.uniform(-1.5, 0.5)), float(10 ** rng.uniform(-1, 1)), float(rng.uniform(2, 20))
    if rng.random() < 0.5:
        middle = 0.3 * size * rng.normal(size=3)
        shape: object = rtmbs.Sphere(size, middle)
        points, radius = middle[None], size
    else:
        edges = size * rng.uniform(0.5, 1.5, 3)
        shape, radius = rtmbs.Box(edges), 0.0
        points = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * edges
    own = np.diag(mass * size**2 * rng.uniform(0.3, 0.5, 3))
    skew = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    point, normal = size * rng.normal(size=3), plane[:, 2]
    lowest = (points @ turn.T @ normal).min() - radius
    stiffness = mass * g / (0.01 * size)
    axis = rng.normal(size=3)
    scene = Scene(
        axis / np.linalg.norm(axis), point + size * rng.normal(size=3), float(rng.normal()) * np.sqrt(g / size) * 0.3,
        point, plane, points, radius, mass, skew @ own @ skew.T, 0.1 * size * rng.normal(size=3),
        point - lowest * normal + 0.003 * size * normal, turn, 0.5 * np.sqrt(g * size) * rng.normal(size=3),
        0.5 * np.sqrt(g / size) * rng.normal(size=3), -g * normal, stiffness, 1.0,
        float(rng.choice((0.0, rng.uniform(0.1, 1.0)))) / np.sqrt(g * size), float(rng.uniform(0.1, 1.0)),
        float(rng.uniform(0.3, 1.0)) * stiffness, 1e-3,
    )  # fmt: skip
    return (scene._replace(mu=0.0) if rng.random() < WITHOUT else scene), shape


def simulated(scene: Scene, shape: object, h: float, steps: int) -> tuple[tuple[Array, Array, Array], float]:
    """Return position, velocity and angular velocity of the body at the end by rtmbs, and the slack of bristles [m]."""
    model = rtmbs.Model("scene", gravity=scene.gravity)
    model.add_body("table", mass=1.0, inertia=(1, 1, 1), position=scene.plane_point, orientation=scene.plane_axes)
    model.add_joint("hinge", rtmbs.Revolute(axis=scene.axis), "ground", "table", point=scene.hinge)
    model.add_driver("turn", rtmbs.ConstantRate(scene.rate), joint="hinge")
    model.add_body(
        "body", mass=scene.mass, inertia=scene.inertia, center_of_mass=scene.center, position=scene.place,
        orientation=scene.turn,
    )  # fmt: skip
    model.add_joint("free", rtmbs.Floating(), "ground", "body", point=scene.place)
    model.set_initial("free", rate=(*scene.v, *(scene.turn.T @ scene.w)))
    model.add_contact(
        "touch", ("table", contact.Plane()), ("body", shape), stiffness=scene.k, exponent=scene.e,
        dissipation=scene.c, friction=scene.mu, tangential_stiffness=scene.kt, damping_time=scene.tau,
    )  # fmt: skip
    sim = rtmbs.Simulation(model.compile(), h, method=rtmbs.TRBDF2())
    sim.run(steps * h, record=rtmbs.Every(steps * h))
    ends = sim["body.position"], sim["body.velocity"], sim["body.angular_velocity"]
    return ends, SLACK * min(1.0, sim.system.length / SMALL)


def bristle(scene: Scene, s: Array, v: Array, limit: float) -> tuple[Array, Array]:
    """Return force and rate of a bristle, METHODS 8.2."""
    size = float(np.linalg.norm(s))
    whole = limit + scene.kt * scene.slack
    q, share = scene.kt * size / whole, limit / whole
    u = s / size if size > 0.0 else np.zeros_like(s)
    x = min(max((q - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
    a = x * x * (3.0 - 2.0 * x)
    rate = share * (v - a * q * max(v @ u, 0.0) * u) - min(max(q - 1.0, 0.0), 1.0) * s / RELAXES
    wanted = scene.kt * (s + scene.tau * (1.0 - a) * v)
    strength = float(np.linalg.norm(wanted))
    return -wanted * min(1.0, limit / strength) if strength > 0.0 else 0.0 * wanted, rate


def rates(scene: Scene, t: float, y: Array) -> Array:
    """Return the rates of (mass centre, quaternion, velocity, angular velocity in the world, bristles)."""
    x, v, w = y[:3], y[7:10], y[10:13]
    q = y[3:7] / np.linalg.norm(y[3:7])
    R = Rotation.from_quat(q).as_matrix()
    T = Rotation.from_rotvec(scene.rate * t * scene.axis).as_matrix()
    spin, axes = scene.rate * scene.axis, T @ scene.plane_axes
    origin = scene.hinge + T @ (scene.plane_point - scene.hinge)
    force, moment = scene.mass * scene.gravity, np.zeros(3)
    s, change = y[13:].reshape(-1, 2), np.zeros((len(scene.points), 2))
    for k, point in enumerate(scene.points):
        arm = R @ (point - scene.center)
        place = x + arm
        r = axes.T @ (place - origin)
        touching = arm - scene.radius * axes[:, 2]
        slip = axes.T @ (v + np.cross(w, touching) - np.cross(spin, x + touching - scene.hinge))
        centre = axes.T @ (v + np.cross(w, arm) - np.cross(spin, place - scene.hinge))
        seen = np.array((slip[0], slip[1]))
        if scene.radius:  # slip of the ball on its table: the centre as the table sees it, and the turn about it
            turn = axes.T @ (w - spin)
            seen = np.array((centre[0] - scene.radius * turn[1], centre[1] + scene.radius * turn[0]))
        depth = scene.radius - r[2]
        N = scene.k * max(depth, 0.0) ** scene.e * max(1.0 - scene.c * centre[2], 0.0)
        tangential, change[k] = bristle(scene, s[k], seen, scene.mu * N)
        pushed = axes @ np.array((*tangential, N))
        force = force + pushed
        moment = moment + np.cross(arm, pushed)
        moment = moment + axes @ (scene.radius * np.array((tangential[1], -tangential[0], 0.0)))
    J = R @ scene.inertia @ R.T
    turned = 0.5 * np.array((
        w[0] * q[3] + w[1] * q[2] - w[2] * q[1],
        w[1] * q[3] + w[2] * q[0] - w[0] * q[2],
        w[2] * q[3] + w[0] * q[1] - w[1] * q[0],
        -w @ q[:3],
    ))  # fmt: skip
    return np.concatenate(
        (v, turned, force / scene.mass, np.linalg.solve(J, moment - np.cross(w, J @ w)), change.ravel())
    )


def judged(seed: int, tally: Tally) -> str:
    """Compare a scene with its reference; return what is wrong."""
    rng = np.random.default_rng(seed)
    scene, shape = random_scene(rng)
    h = STEP / np.sqrt(scene.k / scene.mass)
    steps = round(TIME / STEP)
    ends, slack = simulated(scene, shape, h, steps)
    scene = scene._replace(slack=slack)
    arm = scene.turn @ scene.center
    first = np.concatenate((
        scene.place + arm, Rotation.from_matrix(scene.turn).as_quat(), scene.v + np.cross(scene.w, arm), scene.w,
        np.zeros(2 * len(scene.points)),
    ))  # fmt: skip
    run = solve_ivp(lambda t, y: rates(scene, t, y), (0.0, steps * h), first, method="LSODA", rtol=1e-8, atol=1e-10)
    if not run.success:
        return f"the reference failed: {run.message}"
    y = run.y[:, -1]
    R = Rotation.from_quat(y[3:7]).as_matrix()
    w, x = y[10:13], y[:3] - R @ scene.center
    v = y[7:10] - np.cross(w, R @ scene.center)
    length = float(np.max(np.linalg.norm(scene.points, axis=1))) + scene.radius
    speed = float(np.linalg.norm(scene.v)) + length * float(np.linalg.norm(scene.w))
    missed = max(
        float(np.linalg.norm(ends[0] - x)) / length,
        float(np.linalg.norm(ends[1] - v)) / speed,
        float(np.linalg.norm(ends[2] - w)) * length / speed,
    )
    allowed = JUMP * STEP**2 if scene.mu else SMOOTH
    tally.largest("distance of motions with friction" if scene.mu else "distance of motions without", missed)
    return "" if missed < allowed else f"motions are {missed:.2e} apart"


CAMPAIGN = Campaign(
    name="moving_contacts",
    claim="balls and boxes on moving planes follow Newton and Euler with the same laws of contact and friction",
    full=200,
    bounded=6,
    run=lambda cases, seed: each(judged, cases, seed),
    allowed=0.0,
)
