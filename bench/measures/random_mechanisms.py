"""Random mechanisms in motion, that a campaign takes steps with: every joint type, loops, uneven masses, laws, drivers.

The same seed gives the same mechanism. Loops close at the reference pose; the start makes the rates consistent, and a
draw that it refuses (rates or drivers that contradict a loop) gives way to the next draw of the same seed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from rtmbs import Model, Simulation
from rtmbs.errors import ModelError, StartError, TopologyError
from rtmbs.library import force_laws
from rtmbs.model import JOINT_TYPES
from rtmbs.simulation.options import by_name

Array = NDArray[np.float64]
Rng = np.random.Generator

FREEDOM = {
    "Revolute": 1, "Prismatic": 1, "Cylindrical": 2, "Universal": 2, "Planar": 3, "Spherical": 3, "Line": 4,
}  # fmt: skip
KINDS = ("Revolute", "Revolute", "Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Spherical", "Line")
FASTEST = 10.0  # [rad/s or m/s] at the start
DRAWS = 40  # of one seed, until the start accepts one


def random_simulation(seed: int, h: float, **options: Any) -> Simulation:
    """Return a simulation of the mechanism ``seed`` with steps of ``h`` [s]."""
    for draw in range(DRAWS):
        try:
            sim = Simulation(random_mechanism((seed, draw)).compile(), h, **by_name(**options))
        except (ModelError, StartError, TopologyError):
            continue
        moves = sim.start_report.degrees_of_freedom > 0  # what drivers move alone may have nowhere to go
        if moves and np.abs(sim.state.zd).max(initial=0.0) <= FASTEST:
            return sim
    raise StartError(f"no draw of seed {seed} makes a mechanism that starts")


def random_mechanism(seed: tuple[int, int]) -> Model:
    """Return a tree, or one to two loops, of 2 to 8 bodies in motion."""
    rng = np.random.default_rng((*seed, 11))
    model = Model(f"random {seed[0]}", gravity=tuple(rng.normal(size=3) - (0.0, 0.0, 9.81)))
    what = rng.random()
    if what < 0.3:
        add_tree(rng, model, int(rng.integers(2, 6)))
    elif what < 0.5:
        add_planar_loop(rng, model)
    else:
        for loop in range(1 if what < 0.8 else 2):
            add_spatial_loop(rng, model, f"loop {loop}")
    add_forces(rng, model)
    if rng.random() < 0.4:
        add_driver(rng, model)
    speed = float(rng.uniform(1.0, 4.0))
    for joint in model.joints.values():
        size = {"coordinates": len(joint.type.coordinates), "quaternion": 3}.get(joint.type.start, 0)
        if size and not joint.cut and joint not in {d.joint[0] for d in model.drivers.values() if d.joint}:
            rate = speed * rng.normal(size=size)
            model.set_initial(joint, rate=rate if size > 1 else float(rate[0]), pin=False)
    return model


# ------------------------------------------------------------------------------------------------------------ structure


def unit(rng: Rng) -> Array:
    """Return a random direction (3,)."""
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def triad(rng: Rng, first: Array | None = None) -> Array:
    """Return a random rotation (3, 3), its first column given."""
    x = unit(rng) if first is None else first
    y = np.cross(x, unit(rng))
    y /= np.linalg.norm(y)
    return np.array([x, y, np.cross(x, y)]).T


def add_body(rng: Rng, model: Model, name: str, start: Array, end: Array) -> None:
    """Add a body about the line between two points: a box of that length, its mass log-uniform over two decades."""
    mass, length = float(10.0 ** rng.uniform(-1.0, 1.0)), float(np.linalg.norm(end - start))
    sides = np.array([length, *rng.uniform(0.15, 0.5, 2) * length])
    axes = triad(rng, (end - start) / length)
    principal = mass / 12.0 * (np.sum(sides**2) - sides**2)
    center = (start + end) / 2.0 + 0.1 * length * rng.normal(size=3)
    model.add_body(name, mass=mass, center_of_mass=center, inertia=axes @ np.diag(principal) @ axes.T)


def add_joint(rng: Rng, model: Model, name: str, ends: tuple[str, str], point: Array, **how: Any) -> None:
    """Add a joint of a random type, or of the type ``how["kind"]``, along random axes or ``how["axes"]``."""
    kind = str(how.pop("kind", rng.choice(KINDS)))
    axes = how.pop("axes", None)
    joint = JOINT_TYPES[kind].example(triad(rng) if axes is None else axes)
    model.add_joint(name, joint, *ends, point=point, **how)


def add_tree(rng: Rng, model: Model, bodies: int) -> None:
    """Add bodies that hang in each other, and sometimes on ground."""
    tips: dict[str, Array] = {"ground": np.zeros(3)}
    names = ["ground"]
    for k in range(bodies):
        parent = names[-1] if rng.random() < 0.6 else str(rng.choice(names))
        start = tips[parent]
        tips[f"link {k}"] = start + rng.uniform(0.3, 1.0) * unit(rng)
        add_body(rng, model, f"link {k}", start, tips[f"link {k}"])
        add_joint(rng, model, f"joint {k}", (parent, f"link {k}"), start)
        names.append(f"link {k}")


def add_spatial_loop(rng: Rng, model: Model, name: str) -> None:
    """Add a closed chain from ground to ground with one to three freedoms, joints of any type on skew axes."""
    kinds = [str(kind) for kind in rng.choice(KINDS, 3)]
    while sum(FREEDOM[kind] for kind in kinds) < 7:
        kinds.append(str(rng.choice(KINDS)))
    points = ring(rng, len(kinds), triad(rng)[:, :2])
    add_chain(rng, model, name, kinds, points, None)


def add_planar_loop(rng: Rng, model: Model) -> None:
    """Add a four- or five-bar in a random plane: hinges across it, at most one slide in it."""
    axes = triad(rng)
    count = int(rng.integers(4, 6))
    kinds = ["Revolute"] * count
    if rng.random() < 0.3:
        kinds[int(rng.integers(count))] = "Prismatic"
    across, along = axes[:, [2, 0, 1]], axes
    add_chain(rng, model, "plane", kinds, ring(rng, count, axes[:, :2]), {"Revolute": across, "Prismatic": along})


def ring(rng: Rng, count: int, plane: Array) -> Array:
    """Return points (count, 3) around a random centre in the plane of two directions (3, 2)."""
    angles = 2.0 * np.pi * (np.arange(count) + rng.uniform(-0.3, 0.3, count)) / count
    around = np.array([np.cos(angles), np.sin(angles)]) * rng.uniform(0.3, 0.8, count)
    return np.asarray(rng.normal(size=3) + (plane @ around).T)


def add_chain(
    rng: Rng, model: Model, name: str, kinds: list[str], points: Array, axes: Mapping[str, Array] | None
) -> None:
    """Add bodies between successive points, joined at them; the first and the last joint hold to ground."""
    last = len(kinds) - 1
    if axes is None:
        points = points + 0.15 * rng.normal(size=points.shape)  # out of the plane
    bodies = ["ground", *(f"{name} bar {k}" for k in range(last)), "ground"]
    for k in range(last):
        add_body(rng, model, bodies[k + 1], points[k], points[k + 1])
    for k, kind in enumerate(kinds):
        how = {} if axes is None else {"axes": axes[kind]}
        add_joint(rng, model, f"{name} joint {k}", (bodies[k], bodies[k + 1]), points[k], kind=kind, **how)


# --------------------------------------------------------------------------------------------------- forces and drivers


def coordinates(model: Model) -> list[tuple[str, str]]:
    """Return (joint, coordinate) of all joints that have coordinates of their own and are not cut."""
    return [(joint.name, name) for joint in model.joints.values() if not joint.cut for name in joint.type.coordinates]


def add_forces(rng: Rng, model: Model) -> None:
    """Add a spring-damper to ground, and of the others each with an even chance."""
    moving = [name for name in model.bodies if name != "ground"]
    places = coordinates(model)

    def place() -> tuple[str, str]:
        return places[int(rng.integers(len(places)))]

    ends = (
        model.add_marker("hook", "ground", rng.normal(size=3) + 1.0),
        model.add_marker("eye", str(rng.choice(moving)), 0.5 * rng.normal(size=3)),
    )
    stiffness = float(10.0 ** rng.uniform(1.0, 4.0))
    length = float(np.linalg.norm(ends[1].body.world(ends[1].point) - ends[0].point) * rng.uniform(0.95, 1.05))
    model.add_force("spring", rtmbs.SpringDamper(stiffness, 1e-3 * stiffness, length=length), between=ends)
    if places and rng.random() < 0.5:
        model.add_force("torsion", rtmbs.TorsionSpring(float(10.0 ** rng.uniform(0.0, 3.0)), 0.1), joint=place())
    if places and rng.random() < 0.5:
        smoothing = float(10.0 ** rng.uniform(-3.0, -1.0))
        values = {"static": 1.5, "sliding": 1.0, "stribeck_rate": 0.1, "viscous": 0.01, "smoothing": smoothing}
        model.add_force("friction", force_laws.stribeck_friction, joint=place(), parameters=values)
    if places and rng.random() < 0.5:
        values = {"clearance": 0.3, "stiffness": 1e3, "exponent": 2.0, "damping": 10.0}
        model.add_force("stop", force_laws.bump_stop, joint=place(), parameters=values)
    if rng.random() < 0.5:
        values = {"density": 1.2, "area": 0.2, "drag": 1.0, "wind": (3.0, 0.0, 0.0)}
        model.add_force("drag", force_laws.aerodynamic_drag, body=str(rng.choice(moving)), parameters=values)


def add_driver(rng: Rng, model: Model) -> None:
    """Drive one coordinate gently, from where it stands."""
    places = coordinates(model)
    if places:
        wave = rtmbs.Sine(float(rng.uniform(0.05, 0.2)), float(rng.uniform(1.0, 6.0)))
        model.add_driver("driver", wave, joint=places[int(rng.integers(len(places)))])
