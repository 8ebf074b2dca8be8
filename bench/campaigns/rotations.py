"""Spinning trees and loops in ball joints, against Newton and Euler in Cartesian coordinates.

Every mechanism turns by 0.02 to 1 rad a step. Orientation, angular velocity and angular acceleration of all bodies are
compared with an independent reference after some steps of h, h / 2 and h / 4.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.measures.spatial import Pose, spatial_motion
from rtmbs.errors import StepError
from rtmbs.model.body import Marker
from rtmbs.results.result import Result
from rtmbs.system import System

Array = NDArray[np.float64]

STEPS = 16  # of the largest step
LARGE = 0.3  # [rad] turn a step up to which no step may fail
SMALL_ERROR = 0.03  # [rad] of h / 2: beyond, an order means nothing
ROUNDING = 1e-9
ORDER = 1.6  # between h / 2 and h / 4; a defect of order one would show 1
LEVELS = ("orientation", "rate", "acceleration")


def random_mechanism(seed: int) -> rtmbs.Model:
    """Return a tree of one to five bodies, most in ball joints; every other one with a loop or rod and a spring."""
    rng = np.random.default_rng((seed, 11))
    model = rtmbs.Model(f"spins {seed}", gravity=tuple(rng.normal(size=3) * rng.choice((0.0, 5.0))))
    names, places = ["ground"], {"ground": np.zeros(3)}
    for k in range(int(rng.integers(1, 6))):
        name, parent = f"b{k}", str(rng.choice(names))
        places[name] = places[parent] + rng.normal(size=3) * 0.4
        add_body(rng, model, name, places[name])
        kind = ("Spherical", "Floating", "Spherical", "Revolute", "Universal")[int(rng.integers(5 if k else 2))]
        a, b = ("ground" if kind == "Floating" else parent, name)
        a, b = (a, b) if rng.random() < 0.7 else (b, a)
        point = 0.5 * (places[parent] + places[name]) + 0.05 * rng.normal(size=3)
        model.add_joint(f"j{k}", random_type(rng, kind), a, b, point=point)
        start(rng, model, f"j{k}", kind)
        names.append(name)
    if rng.random() < 0.5:
        close(rng, model, names, places)
    return model


def add_body(rng: np.random.Generator, model: rtmbs.Model, name: str, place: Array) -> None:
    """Add a body of uneven mass and any inertia, its axes and mass centre anywhere."""
    mass, moments = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.2, 1.0, 3)
    turn = Rotation.random(random_state=int(rng.integers(1 << 30)))
    model.add_body(
        name,
        mass=mass,
        center_of_mass=0.05 * rng.normal(size=3),
        inertia=tuple(mass * 0.02 * (moments.sum() - moments)),
        position=place,
        orientation=turn.as_matrix(),
    )


def random_type(rng: np.random.Generator, kind: str) -> rtmbs.model.JointType:
    """Return a joint type with its axes at random."""
    triad = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    return rtmbs.model.JOINT_TYPES[kind].example(triad)


def start(rng: np.random.Generator, model: rtmbs.Model, joint: str, kind: str) -> None:
    """Let a joint turn with 3 to 100 rad/s, wherever it stands; loops may change the rate."""
    spin = 10.0 ** rng.uniform(0.5, 2.0)
    if kind in ("Revolute", "Universal"):
        size = 1 if kind == "Revolute" else 2
        model.set_initial(joint, rate=0.1 * spin * rng.normal(size=size), pin=False)
    else:
        axis = rng.normal(size=3)
        rate = spin * axis / np.linalg.norm(axis)
        model.set_initial(joint, rate=(*rng.normal(size=3), *rate) if kind == "Floating" else rate, pin=False)


def close(rng: np.random.Generator, model: rtmbs.Model, names: list[str], places: dict[str, Array]) -> None:
    """Close a loop with a ball joint or a rod where that leaves it free to move, and add a spring."""
    a, b = (str(name) for name in rng.choice(names, 2, replace=False))
    middle = 0.5 * (places[a] + places[b]) + 0.2 * rng.normal(size=3)
    if rng.random() < 0.5 and len(names) > 3:
        model.add_joint("loop", rtmbs.Spherical(), a, b, point=middle, cut=True)
    else:
        model.add_rod("rod", between=two_points(rng, model, "rod", a, b, middle))
    spring = rtmbs.SpringDamper(30.0, 0.3)
    model.add_force("spring", spring, between=two_points(rng, model, "spring", a, b, middle))


def two_points(
    rng: np.random.Generator, model: rtmbs.Model, name: str, a: str, b: str, middle: Array
) -> tuple[Marker, Marker]:
    """Return points of two bodies half a metre to a metre apart."""
    way = rng.normal(size=3)
    way *= rng.uniform(0.25, 0.5) / np.linalg.norm(way)
    return model.add_marker(f"{name} a", a, point=middle - way), model.add_marker(f"{name} b", b, point=middle + way)


def pose_at_start(model: rtmbs.Model, result: Result) -> Pose:
    """Return the pose that rtmbs starts from, for the reference to start from."""
    names = list(model.bodies)[1:]
    A = np.array([matrices(result[f"{name}.orientation"])[0] for name in names])
    x, v = (np.array([result[f"{name}.{what}"][0] for name in names]) for what in ("position", "velocity"))
    w = np.array([result[f"{name}.angular_velocity"][0] for name in names])
    arms = np.array([A[k] @ model.bodies[name].center_of_mass for k, name in enumerate(names)])
    return Pose(x + arms, A, v + np.cross(w, arms), np.einsum("kji,kj->ki", A, w))


def matrices(quaternions: Array) -> Array:
    """Return rotations (S, 3, 3) of quaternions (S, 4), w first."""
    return np.asarray(Rotation.from_quat(np.roll(quaternions, -1, axis=1)).as_matrix())


def seen(model: rtmbs.Model, result: Result) -> tuple[Array, Array, Array]:
    """Return orientations (nb, 3, 3), angular velocities and accelerations (nb, 3) in body axes, at the end."""
    names = list(model.bodies)[1:]
    A = np.array([matrices(result[f"{name}.orientation"])[-1] for name in names])
    w, wd = (
        np.array([result[f"{name}.angular_{what}"][-1] for name in names]) for what in ("velocity", "acceleration")
    )
    return A, np.einsum("kji,kj->ki", A, w), np.einsum("kji,kj->ki", A, wd)


def errors(found: tuple[Array, Array, Array], pose: Pose, acceleration: Array, spin: float) -> Array:
    """Return the largest errors of orientation [rad], rate and acceleration, the last two as parts of the spin."""
    turns = Rotation.from_matrix(np.swapaxes(found[0], 1, 2) @ pose.A).magnitude()
    rates = np.linalg.norm(found[1] - pose.w, axis=1) / spin
    return np.array([turns.max(), rates.max(), np.linalg.norm(found[2] - acceleration, axis=1).max() / spin**2])


def step_of(seed: int, system: System) -> tuple[float, float]:
    """Return the turn a step that a seed asks for [rad], and the step with which the fastest coordinate makes it."""
    turn = float(10.0 ** np.random.default_rng((seed, 12)).uniform(np.log10(0.02), 0.0))
    start = rtmbs.Simulation(system, h=1e-4).state
    speed, gain = (float(np.abs(values / system.typical).max()) for values in (start.zd, start.zdd))
    return turn, 2.0 * turn / (speed + np.sqrt(speed**2 + 2.0 * gain * turn))  # h speed + h^2 / 2 gain = turn


class Failed(Exception):
    """A step that failed: ``turn`` is what the fastest rotation would have made in it [rad]."""

    def __init__(self, turn: float, error: StepError) -> None:
        super().__init__(str(error))
        self.turn = turn


def result_of(system: System, h: float, t_end: float) -> Result:
    """Return the run; raises Failed."""
    sim = rtmbs.Simulation(system, h=h)
    try:
        return sim.run(t_end)
    except StepError as error:
        first = np.flatnonzero(system.tables.dofs.reference >= 0)
        way = h * np.abs(sim.state.zd) + 0.5 * h**2 * np.abs(sim.state.zdd)
        raise Failed(max(float(np.linalg.norm(way[i : i + 3])) for i in first), error) from error


def differences(model: rtmbs.Model, system: System, h: float) -> Array:
    """Return the errors of all levels (3, 3) at h, h / 2 and h / 4; raises Failed."""
    runs = [result_of(system, h / part, STEPS * h) for part in (1, 2, 4)]
    start = pose_at_start(model, runs[0])
    ((pose, accelerations),) = spatial_motion(model, start, [STEPS * h])
    acceleration = accelerations[:, 3:]
    spin = max(1.0, float(np.linalg.norm(start.w, axis=1).max()))
    return np.array([errors(seen(model, result), pose, acceleration, spin) for result in runs])


def run(cases: int, seed: int) -> Tally:
    """Try every mechanism; a failed step counts up to LARGE turns a step, an order where the error is small."""
    tally = Tally()
    for k in range(seed, seed + cases):
        model = random_mechanism(k)
        system = model.compile()
        turn, h = step_of(k, system)
        try:
            wrong = judged(differences(model, system, h), tally)
        except Failed as failed:
            turn, wrong = failed.turn, [str(failed)] if failed.turn <= LARGE else []
        if wrong:
            tally.fail(f"seed {k}: {turn:.2g} rad a step: {', '.join(wrong)}")
        else:
            tally.survive()
    return tally


def judged(found: Array, tally: Tally) -> list[str]:
    """Return what is wrong with errors (3, 3) at h, h / 2 and h / 4."""
    if found[1, 0] > SMALL_ERROR:
        return []
    low = []
    for level, half, quarter in zip(LEVELS, found[1], found[2], strict=True):
        order = float(np.log2(half / quarter)) if quarter > ROUNDING else 2.0
        tally.largest(f"distance of the {level}'s order from two", abs(order - 2.0))
        if not order > ORDER:
            low.append(f"order {order:.2f} of the {level}")
    return low


CAMPAIGN = Campaign(
    name="rotations",
    claim="trees and loops in ball joints that turn by up to 0.3 rad a step take it, and show order two",
    full=400,
    bounded=40,
    run=run,
    allowed=0.05,  # where Newton's iteration, undamped, finds no way through loops of uneven masses
)
