"""Rolling wheels and knife edges on random bodies in space, against Newton and Euler with equations of their own.

Bodies have skew inertias, mass centres off their points, and units from micrometres to kilometres. Planes are skew, and
every other one turns about a skew axis at a constant rate. Runs of h and h/2 of each method; the order of a quantity
is that of its largest error over all samples. A method whose first run is further off than FAR, as a wheel that falls
flat may be, is counted and not judged.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_rolling import RollingBody, SlidingBody
from rtmbs import (
    TRBDF2,
    At,
    ConstantRate,
    Floating,
    Model,
    PenaltyTrapezoidal,
    Revolute,
    RungeKutta,
    Simulation,
    VariationalMidpoint,
)
from rtmbs.errors import LoopOpenError

METHODS = {
    "variational midpoint": (VariationalMidpoint, 2),
    "penalty trapezoidal": (PenaltyTrapezoidal, 2),
    "tr-bdf2": (TRBDF2, 2),
    "runge-kutta": (RungeKutta, 4),
}
SHORT = 0.25  # of an order that may be missing
ROUNDING = 2e-8  # of the size: errors below it show no order
FAR = 1e-2
STEPS, SAMPLES, TURN = 96, 6, 0.015  # of a typical rate in the longest step [rad]

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A model, its exact motion at some times, and the sizes that errors are relative to."""

    model: Model
    times: Array
    places: Array  # (k, 3)
    rotations: Array  # (k, 3, 3)
    rates: Array  # (k, 3)
    forces: Array  # (k, 3) or (k,)
    length: float


def inertia_of(rng: np.random.Generator, mass: float, length: float) -> Array:
    """Return the inertia of four random point masses about their centre."""
    points = rng.normal(size=(4, 3)) * length
    points -= points.mean(axis=0)
    return np.asarray(0.25 * mass * (np.sum(points**2) * np.eye(3) - points.T @ points))


def unit(rng: np.random.Generator) -> Array:
    """Return a random direction."""
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def axes_with(h: Array, rng: np.random.Generator) -> Array:
    """Return a rotation (3, 3) whose last column is ``h``."""
    f = np.cross(h, unit(rng))
    f /= np.linalg.norm(f)
    return np.column_stack((f, np.cross(h, f), h))


def rolling_case(rng: np.random.Generator, turning: bool) -> Case:
    """Return a wheel on a skew plane."""
    length, mass, rate = 10.0 ** rng.uniform(-4.0, 3.0), 10.0 ** rng.uniform(-4.0, 4.0), 10.0 ** rng.uniform(-1.0, 2.0)
    radius = length * rng.uniform(0.5, 1.5)
    crown = radius * (0.0, float(rng.uniform(0.2, 0.8)), 1.0)[int(rng.integers(3))]
    normal, axle = unit(rng), unit(rng)
    while abs(normal @ axle) > 0.7:
        axle = unit(rng)
    origin = length * rng.normal(size=3)
    body = RollingBody(
        mass, inertia_of(rng, mass, length), 0.3 * length * rng.normal(size=3), axle, radius, crown, normal, origin,
        0.5 * rate * rng.normal(size=3) if turning else np.zeros(3), 0.2 * length * rate**2 * rng.normal(size=3),
    )  # fmt: skip
    w = rate * rng.normal(size=3)
    r = body.contact(0.0, np.eye(3), w)[0]
    across = np.cross(normal, unit(rng))
    C = origin + length * rng.uniform(0.5, 2.0) * across / np.linalg.norm(across) - r
    model = Model("rolling", gravity=body.gravity)
    wheel = model.add_body("wheel", mass=mass, center_of_mass=body.center, inertia=body.inertia, position=C)
    model.add_joint("free", Floating(), "ground", wheel, point=C)
    base: Any = model.ground
    if turning:
        base = model.add_body("table", mass=mass, inertia=inertia_of(rng, mass, length), position=origin)
        pace = float(np.linalg.norm(body.spin))
        model.add_joint("bearing", Revolute(axis=body.spin / pace), "ground", base, point=origin)
        model.add_driver("motor", ConstantRate(pace), joint="bearing")
    axle_marker = model.add_marker("axle", wheel, C, axes=axes_with(axle, rng))
    floor = model.add_marker("floor", base, origin, axes=axes_with(normal, rng))
    model.add_rolling("contact", axle_marker, floor, radius, crown)
    model.set_initial("free", rate=(*body.velocity(0.0, C, np.eye(3), w), *w), pin=False)
    h = TURN / rate / 2.0
    times = h * STEPS * np.arange(1, SAMPLES + 1) / SAMPLES
    places, rotations, rates = body.motion(C, w, times)
    forces = [body.accelerations(t, *one)[2] for t, *one in zip(times, places, rotations, rates, strict=True)]
    return Case(model, times, places, rotations, rates, np.array(forces), length)


def sliding_case(rng: np.random.Generator) -> Case:
    """Return a body on a blade."""
    length, mass, rate = 10.0 ** rng.uniform(-4.0, 3.0), 10.0 ** rng.uniform(-4.0, 4.0), 10.0 ** rng.uniform(-1.0, 2.0)
    body = SlidingBody(
        mass, inertia_of(rng, mass, length), length * rng.normal(size=3), unit(rng),
        0.2 * length * rate**2 * rng.normal(size=3),
    )  # fmt: skip
    w, v = rate * rng.normal(size=3), rate * length * rng.normal(size=3)
    v -= body.direction * (body.direction @ (v + np.cross(w, body.point)))
    G = length * rng.normal(size=3)
    model = Model("blade", gravity=body.gravity)
    sleigh = model.add_body("wheel", mass=mass, inertia=body.inertia, position=G)
    model.add_joint("free", Floating(), "ground", sleigh, point=G)
    axes = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    blade = model.add_marker("blade", sleigh, G + body.point, axes=axes)
    model.add_knife_edge("contact", blade, direction=axes.T @ body.direction)
    model.set_initial("free", rate=(*v, *w), pin=False)
    times = TURN / rate / 2.0 * STEPS * np.arange(1, SAMPLES + 1) / SAMPLES
    places, rotations, rates, speeds = body.motion(G, v, w, times)
    states = zip(rotations, speeds, rates, strict=True)
    forces = np.array([body.accelerations(*state)[2] for state in states])
    return Case(model, times, places, rotations, rates, forces, length)


def errors_of(case: Case, sim: Simulation) -> dict[str, float]:
    """Return the largest error of every quantity of a run, each over its largest value."""
    result, last = sim.run(float(case.times[-1]), record=At(case.times)), np.arange(-len(case.times), 0)
    turned = np.roll(result["wheel.orientation"][last], -1, axis=1)
    found = {
        "position": np.abs(result["wheel.position"][last] - case.places).max() / case.length,
        "rate": np.abs(result["wheel.angular_velocity"][last] - case.rates).max() / np.abs(case.rates).max(),
        "force": np.abs(result["contact.force"][last] - case.forces).max() / np.abs(case.forces).max(),
    }
    found["rotation"] = np.abs(Rotation.from_quat(turned).as_matrix() - case.rotations).max()
    return {name: float(value) for name, value in found.items()}


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the orders of all methods on one body."""
    rng = np.random.default_rng((seed, 4107))
    case = sliding_case(rng) if seed % 3 == 2 else rolling_case(rng, seed % 2 == 1)
    system, wrong = case.model.compile(), []
    h = float(case.times[-1]) / STEPS
    for name, (method, order) in METHODS.items():
        try:
            coarse, fine = (errors_of(case, Simulation(system, h / parts, method())) for parts in (1, 2))
        except LoopOpenError:  # an explicit method says that it drifted
            coarse = fine = {"position": np.inf}
        if max(coarse.values()) > FAR:
            tally.largest("runs not judged", tally.worst.get("runs not judged", 0.0) + 1.0)
            continue
        for quantity, error in fine.items():
            tally.largest(f"{name}, {quantity}", error)
            if error <= ROUNDING:
                continue
            reached = float(np.log2(coarse[quantity] / error))
            tally.largest(f"{name}: missing of order {order}", order - reached)
            if reached < order - SHORT:
                wrong.append(f"{name}, {quantity}: order {reached:.2f} ({coarse[quantity]:.1e}, {error:.1e})")
    return "; ".join(wrong)


def run(cases: int, seed: int) -> Tally:
    """Try every body."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "rolling",
    "rolling wheels and knife edges have the order of each method in places, rotations, rates and contact forces "
    "against Newton and Euler",
    full=300,
    bounded=6,
    run=run,
)
