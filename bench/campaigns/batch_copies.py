"""Copies of a Batch with NaN, infinite and huge inputs among others, on closed loops with numbers of their own.

Every copy is compared with a Simulation of its own System that takes the same inputs by hand: the same bytes, the same
outcome, at the same step. A case has some copies of one mechanism, and counts as one.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import Batch, Outcome, Simulation
from rtmbs.errors import InputError
from rtmbs.system.system import System

COPIES, STEPS = 6, 10
BAD = (np.nan, np.inf, -np.inf, 1e200, -1e300)
HUGE = (1e99, -1e60, 1e20, -1e12, 1e7)  # taken as inputs; the step may fail, as that of a Simulation does
STATE = ("z", "zd", "zdd", "lam", "R0", "s", "sd", "u")
FAILED = ("z", "zd", "R0", "s")  # what stays as it was when a step fails


def linkage(turn: Any, rng: np.random.Generator) -> rtmbs.Model:
    """Return a four-bar with a motor and a spring, about an axis of its own, with random lengths and uneven masses."""
    model = rtmbs.Model("linkage", gravity=tuple(turn @ (0.3, -9.0, 1.0)))
    points = np.array([(0, 0, 0), (0.1, 0.4, 0), (1.0, 0.9, 0), (1.2, 0, 0)]) + 0.05 * rng.normal(size=(4, 3)) * (
        1,
        1,
        0,
    )
    axis = tuple(turn @ (0.0, 0.0, 1.0))
    for k, name in enumerate(("crank", "coupler", "rocker")):
        mass = 10.0 ** rng.uniform(-1.0, 1.0)
        center = turn @ (0.5 * (points[k] + points[k + 1]) + 0.02 * rng.normal(size=3))
        model.add_body(name, mass=mass, inertia=tuple(mass * np.array((0.02, 0.03, 0.04))), center_of_mass=center)
    ends = (("a", "ground", "crank"), ("b", "crank", "coupler"), ("c", "coupler", "rocker"), ("d", "ground", "rocker"))
    for (name, one, other), point in zip(ends, points, strict=True):
        hinge = rtmbs.Revolute(axis=axis)
        model.add_joint(name, hinge, one, other, point=tuple(turn @ point), cut=name == "c")
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="a")
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=2.0, damping=0.1), joint="d")
    model.set_initial("a", rate=rng.uniform(-3.0, 3.0))
    return model


def cart_and_ball(turn: Any, rng: np.random.Generator) -> rtmbs.Model:
    """Return a tree: a slide, a hinge on it, and a ball joint below, with random masses and lengths."""
    length = rng.uniform(0.2, 1.5)
    model = rtmbs.Model("cart and ball", gravity=tuple(turn @ (0.0, 0.5, -9.0)))
    model.add_body("cart", mass=rng.uniform(0.5, 3.0), inertia=(0.1, 0.1, 0.1))
    model.add_body("pole", mass=rng.uniform(0.1, 2.0), inertia=(0.02, 0.02, 0.01),
                   center_of_mass=turn @ (0.0, 0.0, 0.5 * length))  # fmt: skip
    model.add_body("tail", mass=0.3, inertia=(0.01, 0.02, 0.015), center_of_mass=turn @ (0.1, 0.05, 1.3 * length))
    model.add_joint("rail", rtmbs.Prismatic(axis=tuple(turn @ (1.0, 0.0, 0.0))), "ground", "cart", point=(0, 0, 0))
    model.add_joint("pivot", rtmbs.Revolute(axis=tuple(turn @ (0.0, 1.0, 0.0))), "cart", "pole", point=(0, 0, 0))
    model.add_joint("ball", rtmbs.Spherical(), "pole", "tail", point=tuple(turn @ (0.0, 0.0, length)))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=2.0, damping=0.1), joint="pivot")
    model.set_initial("pivot", position=rng.uniform(-0.5, 0.5), rate=rng.normal())
    return model


def of_library(name: str, **options: Any) -> Callable[..., rtmbs.Model]:
    """Return the builder of a mechanism of the library with a motor and a spring at its first hinge."""

    def build(turn: Any, rng: np.random.Generator) -> rtmbs.Model:
        model = rtmbs.library.build(name, **options)
        hinge = next(one for one, joint in model.joints.items() if isinstance(joint.type, rtmbs.Revolute))
        model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=hinge)
        model.add_force("spring", rtmbs.TorsionSpring(stiffness=2.0, damping=0.1), joint=hinge)
        return model

    return build


OWN = (linkage, cart_and_ball)  # every copy has numbers of its own
SHARED = (
    of_library("slider_crank"),
    of_library("bricard"),
    of_library("fourbar", ny=1, nz=3),
    of_library("crank_rocker"),
)
METHODS = (rtmbs.PenaltyTrapezoidal(), rtmbs.PenaltyTrapezoidal(), rtmbs.VariationalMidpoint(), rtmbs.TRBDF2())


@functools.cache
def shared(number: int) -> System:
    """Return a mechanism whose copies are alike, compiled once."""
    return SHARED[number](np.eye(3), np.random.default_rng(0)).compile()


def systems_of(seed: int, rng: np.random.Generator) -> list[System]:
    """Return the System of each copy."""
    number = seed % (len(OWN) + len(SHARED))
    if number >= len(OWN):
        return [shared(number - len(OWN))] * COPIES
    turn = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    return [OWN[number](turn, rng).compile() for _ in range(COPIES)]


def channels_of(system: System) -> list[str]:
    """Return coordinates of joints with one, and the position of the last body."""
    one = [name for name in system.coordinate_names if name.endswith((".angle", ".displacement"))]
    return [*one, f"{list(system.bodies)[-1]}.position"]


def inputs_of(system: System, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """Return inputs by name, some of which hold for a while, and which copies (COPIES,) have a bad or a huge one."""
    push, stiffness = rng.normal(size=(COPIES, STEPS)), rng.uniform(0.5, 5.0, size=(COPIES, STEPS))
    gravity = 9.0 * rng.normal(size=(COPIES, STEPS, 3))
    for values in (push, stiffness, gravity):
        values[:, 3:6] = values[:, 3:4]
    odd = rng.random(COPIES) < 0.4
    for copy in np.flatnonzero(odd).tolist():
        values = (push, stiffness, gravity[:, :, int(rng.integers(3))])[int(rng.integers(3))]
        values[copy, int(rng.integers(STEPS))] = rng.choice(BAD + HUGE)
    name = next(one for one in system.inputs if one.startswith("push."))
    return {name: push, "spring.stiffness": stiffness, "gravity": gravity}, odd


def by_hand(system: System, h: float, method: Any, given: dict[str, Any], copy: int) -> tuple[Simulation, Outcome, Any]:
    """Return a Simulation after the steps of a copy, its last outcome, and the channels of all steps taken."""
    sim, outcome, read = Simulation(system, h=h, method=method), Outcome.CONVERGED, []
    for k in range(STEPS):
        try:
            for name, values in given.items():
                sim.inputs[name] = values[copy, k]
        except InputError:
            return sim, Outcome.NOT_FINITE, read
        report = sim.step()
        outcome = report.outcome
        if not outcome.accepted:
            break
        read.append(sim.read(channels_of(system)))
    return sim, outcome, read


def judged(seed: int, tally: Tally) -> str:
    """Compare the copies of a case with Simulations; return what is wrong."""
    rng = np.random.default_rng(seed)
    systems = systems_of(seed, rng)
    given, odd = inputs_of(systems[0], rng)
    method, h = METHODS[int(rng.integers(len(METHODS)))], float(rng.choice((1e-3, 5e-3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = systems[0] is not systems[1]
        batch = Batch(systems if own else systems[0], COPIES, h=h, method=method, threads=1 + seed % 2)
        found = batch.rollout(given, channels=channels_of(systems[0]))
        for copy, system in enumerate(systems):
            sim, outcome, read = by_hand(system, h, method, given, copy)
            if wrong := compared(batch, copy, found[copy], sim, outcome, read, bool(odd[copy])):
                return f"copy {copy} of {system.name!r} by {type(method).__name__}: {wrong}"
            tally.largest("copies marked", float(np.count_nonzero(~batch.alive)))
    return ""


def compared(batch: Batch, copy: int, found: Any, sim: Simulation, outcome: Outcome, read: list[Any], odd: bool) -> str:
    """Return what differs between a copy and its Simulation."""
    if batch.alive[copy] != outcome.accepted:
        return f"it ends as {batch.outcomes[copy].name}, the Simulation as {outcome.name}"
    if not outcome.accepted and not odd:
        return f"it is marked {outcome.name} without an odd input"
    if not outcome.accepted and batch.outcomes[copy] is not outcome:
        return f"it is marked {batch.outcomes[copy].name}, the Simulation ends as {outcome.name}"
    if not np.all(np.isnan(found[len(read) :])):
        return "channels behind its last step are no NaN"
    if len(read) and found[: len(read)].tobytes() != np.array(read).tobytes():
        return "its channels differ"
    mine, theirs = batch.state(copy), sim.state
    if mine.k != theirs.k:
        return f"it took {mine.k} steps, the Simulation {theirs.k}"
    for name in STATE if outcome.accepted else FAILED:
        if getattr(mine, name).tobytes() != getattr(theirs, name).tobytes():
            return f"its {name} differs"
    return ""


CAMPAIGN = Campaign(
    name="batch copies",
    claim="copies of a Batch with odd inputs and numbers of their own have the bytes and outcomes of Simulations",
    full=1_700,
    bounded=18,
    run=lambda cases, seed: each(judged, cases, seed),
)
