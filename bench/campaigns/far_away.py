"""Random mechanisms at home, far away, and on the way there at great speed: the same motion, reactions, violations."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import (
    Floating,
    Model,
    PenaltyTrapezoidal,
    Prismatic,
    Revolute,
    Simulation,
    Spherical,
    SpringDamper,
    Universal,
    ViolationMeter,
)
from rtmbs import Wrench as Push
from rtmbs.errors import RtmbsError

Array = NDArray[np.float64]
Seed = tuple[int, int]

DISTANCES = (1e3, 1e6, 1e7)  # [m]
SPEEDS = {1e3: 1.0, 1e4: 1e2}  # [m/s], of floating mechanisms that nothing ties to ground, and factors of the bounds
EASY = 6  # iterations of Newton that suffice at home
STEPS, H = 100, 2e-3  # [s]
LATTICE = 2.0**-20  # places lie on it [m], so that the shape of a mechanism is the same at every distance
# Relative, or SI. Newton's tolerance alone moves rates by 2e-8.
BOUNDS = {"position": 1e-9, "rate": 3e-8, "acceleration": 1e-6, "reaction": 1e-6, "violation": 5e-8}
TRIES = 9  # mechanisms that are drawn until one runs at home
ULPS = 16.0  # last places of the distance: a place in the world is known no better


def run(count: int, seed: int) -> Tally:
    """Try ``count`` random mechanisms, each at home and at every distance in a skew direction."""
    tally = Tally()
    for number in range(seed, seed + count):
        try:
            wrong = compare(*at_home(number), tally)
        except RtmbsError as error:
            wrong = str(error)
        if wrong:
            tally.fail(f"seed {number}: {wrong}")
        else:
            tally.survive()
    return tally


def at_home(number: int) -> tuple[Seed, dict[str, Array]]:
    """Return the seed of a mechanism that runs where it is built, and what its run ends with; StartError, StepError."""
    for attempt in range(TRIES - 1):
        with suppress(RtmbsError):
            return (number, attempt), measure((number, attempt), np.zeros(3), np.zeros(3), EASY)
    return (number, TRIES), measure((number, TRIES), np.zeros(3), np.zeros(3), EASY)


def compare(seed: Seed, home: dict[str, Array], tally: Tally) -> str:
    """Return what differs too much between home and far away, at rest or at speed, or nothing."""
    rest = np.zeros(3)
    direction = np.random.default_rng((*seed, 1)).normal(size=3)
    direction /= np.linalg.norm(direction)
    for distance in DISTANCES:
        place = on_lattice(distance * direction)
        away = measure(seed, place, rest)
        if wrong := differing(home, away, 1.0, f"at {distance / 1e3:g} km", tally):
            return wrong
        moved = float(np.max(np.abs(away["place"] - place - home["place"])))
        if not moved <= BOUNDS["position"] + ULPS * np.spacing(distance):
            return f"a body stands {moved:.2g} m off at {distance / 1e3:g} km"
    for speed, factor in SPEEDS.items() if is_free(mechanism(seed, rest, rest)) else ():
        away = measure(seed, rest, speed * direction)
        if wrong := differing(home, away, factor, f"at {speed / 1e3:g} km/s", tally):
            return wrong
    return ""


def differing(home: dict[str, Array], away: dict[str, Array], factor: float, where: str, tally: Tally) -> str:
    """Return the first quantity that differs by more than its bound times ``factor``, or nothing."""
    for what, bound in BOUNDS.items():
        error = float(np.max(np.abs(away[what] - home[what])) / max(np.max(np.abs(home[what])), 1.0))
        tally.largest(f"{what} {where}", error)
        if not error <= factor * bound:
            return f"{what} differs by {error:.2g} {where}"
    return ""


def is_free(model: Model) -> bool:
    """True when nothing but a floating joint is between a mechanism and ground."""
    return isinstance(model.joints["j0"].type, Floating) and "post" not in model.forces


def measure(seed: Seed, place: Array, velocity: Array, iterations: int = 8) -> dict[str, Array]:
    """Return what a run of one mechanism that starts at ``place`` (3,) with ``velocity`` (3,) ends with."""
    system, violations = mechanism(seed, place, velocity).compile(), ViolationMeter()
    simulation = Simulation(system, h=H, method=PenaltyTrapezoidal(max_iterations=iterations))
    result = simulation.run(STEPS * H, observers=[violations])
    state = simulation.state
    shape = [k for k, name in enumerate(system.coordinate_names) if ".slide_" not in name]  # not where it stands
    return {
        "position": np.concatenate([state.z[shape], state.R0.ravel()]),
        "rate": state.zd[shape],
        "acceleration": state.zdd,
        "reaction": np.concatenate([simulation.reaction(joint) for joint in system.joints]),
        "violation": np.array(list(violations.largest.values())),
        "place": np.array([result[f"{body}.mass_center"][-1] for body in list(system.bodies)[1:]]),
    }


def mechanism(seed: Seed, place: Array, velocity: Array) -> Model:
    """Return a random tree of bodies on a floating or grounded base at ``place``, with a loop, springs, a wrench."""
    rng = np.random.default_rng(seed)
    model = Model("far", gravity=tuple(rng.normal(size=3) - (0.0, 0.0, 9.81)))
    size = 10.0 ** rng.uniform(-1.0, 1.0)
    corners = place + on_lattice(
        size * np.cumsum(rng.uniform(0.2, 1.0, (6, 3)) * rng.choice((-1.0, 1.0), (6, 3)), axis=0)
    )
    count = int(rng.integers(2, 6))
    for k in range(count):
        mass = 10.0 ** rng.uniform(-1.0, 2.0)
        inertia = mass * size**2 * rng.uniform(0.1, 0.15, 3)
        center = 0.5 * (corners[k + 1] - corners[k]) + 0.1 * size * rng.normal(size=3)
        model.add_body(f"b{k}", mass=mass, inertia=inertia, center_of_mass=center, position=corners[k])
    floats = bool(rng.random() < 0.6)
    base = Floating() if floats else draw_joint(rng)
    model.add_joint("j0", base, model.ground, "b0", point=corners[0])
    if floats:
        model.set_initial("j0", rate=(*(velocity + 3.0 * size * rng.normal(size=3)), *rng.normal(size=3)))
    for k in range(1, count):
        model.add_joint(f"j{k}", draw_joint(rng), f"b{int(rng.integers(k))}", f"b{k}", point=corners[k])
    add_ties(model, rng, corners, count, floats)
    return model


def draw_joint(rng: np.random.Generator) -> Revolute | Prismatic | Spherical | Universal:
    """Return a joint of a random type about skew axes."""
    axis, other = rng.normal(size=(2, 3))
    kinds = (Revolute(axis), Revolute(axis), Prismatic(axis), Spherical(), Universal(axis, np.cross(axis, other)))
    return kinds[int(rng.integers(len(kinds)))]


def add_ties(model: Model, rng: np.random.Generator, corners: Array, count: int, floats: bool) -> None:
    """Add a rod that closes a loop, springs between bodies and to ground, and a wrench that turns with a body."""
    last = f"b{count - 1}"
    tip = model.add_marker("tip", last, corners[count])
    if count > 2:
        near = model.add_marker("near", "b0", corners[0] + on_lattice(0.3 * (corners[1] - corners[0])))
        if rng.random() < 0.5:
            model.add_rod("rod", between=(near, tip))
        else:
            model.add_force("spring", SpringDamper(50.0 * rng.random(), rng.random()), between=(near, tip))
    if not floats or rng.random() < 0.3:
        post = model.add_marker("post", model.ground, corners[0] + on_lattice(corners[2] - corners[1]))
        model.add_force("post", SpringDamper(20.0 * rng.random(), rng.random()), between=(post, tip))
    model.add_force("push", Push(force=tuple(rng.normal(size=3)), axes="body"), body=last)


def on_lattice(x: Array) -> Array:
    """Return the nearest places whose sums with each other are exact."""
    return LATTICE * np.round(np.asarray(x) / LATTICE)


CAMPAIGN = Campaign(
    "far_away",
    "10,000 km from the origin a mechanism moves as it does there: angles, rates, accelerations, reactions, violations",
    full=400,
    bounded=20,
    run=run,
)
