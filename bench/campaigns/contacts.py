"""Random scenes of balls, bars, boxes and tetrahedra on a turned plane: energy never grows.

The reference is the balance of energy with gravity alone: every contact takes energy, so the sum of kinetic and
potential energy never exceeds that of the start.
"""

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import contact
from rtmbs.system import System

SHARE, STEPS = 0.006, 40000  # of 1 / w, w the fastest contact's angular frequency: the step; steps of a run
LIGHTEST = 0.3  # of mass times square of reach: the least moment of inertia, which a point at the reach feels
GROWTH = 1e-5  # of the energy exchanged: coarser steps may gain energy where a contact begins within a step


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


def scene(rng: np.random.Generator) -> tuple[System, float, float]:
    """Return one to three bodies over a turned plane, the energy of falls through their radii, and the step."""
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    plane = contact.Plane(point=rng.normal(size=3), normal=normal)
    strength = float(rng.uniform(1.0, 20.0))
    tilt = rng.normal(size=3) * 0.3
    down = -normal + tilt - normal * (tilt @ normal)
    model = rtmbs.Model("scene", gravity=strength * down / np.linalg.norm(down))
    place, bodies, exchanged, fastest = plane.point, [], 0.0, 0.0
    for k in range(int(rng.integers(1, 4))):
        form, reach = shape(rng)
        place = place + normal * reach * 1.2
        mass = float(10 ** rng.uniform(-1, 1))
        inertia = mass * reach**2 * rng.uniform(LIGHTEST, 0.5, 3)
        body = model.add_body(f"b{k}", mass=mass, inertia=inertia, position=place, shape=form)
        place = place + normal * reach * 1.2
        model.add_joint(f"free{k}", rtmbs.Floating(), "ground", body)
        rates = (*(rng.normal(size=3) * np.sqrt(reach * strength)), *(rng.normal(size=3) * np.sqrt(strength / reach)))
        model.set_initial(f"free{k}", rate=rates)
        given = {
            "stiffness": mass * strength / (1e-3 * reach) * float(10 ** rng.uniform(0, 1)),
            "exponent": 1.0,
            "dissipation": float(rng.choice((0.0, 10 ** rng.uniform(-2, 0)))),
            "friction": float(rng.choice((0.0, rng.uniform(0.05, 1.0)))),
        }
        fastest = max(fastest, given["stiffness"] / mass * (1.0 + 1.0 / LIGHTEST))
        model.add_contact(f"floor{k}", ("ground", plane), body, **given)
        for other, its in bodies:
            if isinstance(form, rtmbs.Sphere | rtmbs.Bar) and isinstance(its, rtmbs.Sphere | rtmbs.Bar):
                model.add_contact(f"c{k}{other.name}", other, body, **given)
        bodies.append((body, form))
        exchanged += mass * strength * reach
    return model.compile(), exchanged, SHARE / np.sqrt(fastest)


def judged(seed: int, tally: Tally) -> str:
    """Run a scene and return what is wrong with its energy."""
    system, exchanged, h = scene(np.random.default_rng(seed))
    sim = rtmbs.Simulation(system, h, method=rtmbs.TRBDF2())
    result = sim.run(STEPS * sim.h, on_failure="halve")
    if not all(word == "CONVERGED" for word in result.outcomes):
        return f"outcomes {result.outcomes}"
    energy = result["energy.kinetic"] + result["energy.weight"]
    growth = float((energy - energy[0]).max()) / (exchanged + float(result["energy.kinetic"].max()))
    tally.largest("growth of energy", growth)
    return "" if growth < GROWTH else f"energy grows by {growth:.2e} of what is exchanged"


CAMPAIGN = Campaign(
    name="contacts",
    claim="contact of random bodies with a plane and with each other takes energy, and every step converges",
    full=500,
    bounded=12,
    run=lambda cases, seed: each(judged, cases, seed),
    allowed=0.0,
)
