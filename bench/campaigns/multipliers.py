"""Multipliers of steps, in random mechanisms, with light bodies, near singular poses, with redundant loops.

A step that answers CONVERGED has multipliers within their bound, by equations of motion in extended precision at its
end. Other answers must name what they are; how many there are is among the largest values.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

import rtmbs
from bench.campaigns import redundant
from bench.campaigns.campaign import Campaign, Tally
from bench.measures import random_mechanisms
from bench.measures.exact_multipliers import exact, pull
from rtmbs import Outcome, Simulation, library
from rtmbs.errors import RtmbsError, StepError
from rtmbs.integrators.newton import MISS, largest_acceleration, load_floors
from rtmbs.library.linkages import add_bar

Rng = np.random.Generator
STEPS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)  # [s]
TAKEN, CHECKED = 60, 12  # steps of a case, and how many of them are checked beside those that look suspicious
LIGHTEST = 1e-9  # of its mass
X = (1.0, 0.0, 0.0)


@dataclass
class Seen:
    """What one case showed."""

    miss: float = 0.0  # largest error of a multiplier, in terms of its floor, of steps called CONVERGED
    off: float = 0.0  # largest error of accelerations in the metric of M, of the same steps
    when: str = ""


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    tally, answers = Tally(), dict.fromkeys(Outcome, 0)
    for case in range(seed, seed + cases):
        kind, rng = KINDS[case % len(KINDS)], np.random.default_rng((case, 91))
        try:
            sim = kind(case, rng)
        except RtmbsError:
            tally.survive()  # no such mechanism starts: that is an answer
            continue
        seen = watched(sim, rng, answers)
        tally.largest(f"multiplier, {kind.__name__}", seen.miss)
        tally.largest(f"acceleration, {kind.__name__}", seen.off)
        if seen.miss > MISS:
            tally.fail(f"seed {case}, {kind.__name__}: {seen.when} is CONVERGED and misses by {seen.miss:.2g}")
        else:
            tally.survive()
    total = max(sum(answers.values()), 1)
    for outcome in (Outcome.UNBALANCED, Outcome.UNPROJECTED):
        tally.largest(f"share {outcome.name}", answers[outcome] / total)
    return tally


def watched(sim: Simulation, rng: Rng, answers: dict[Outcome, int]) -> Seen:
    """Take steps, and compare those that are called CONVERGED with the equations of motion at their ends."""
    seen, chosen = Seen(), set(rng.choice(TAKEN, CHECKED, replace=False).tolist())
    usual = 0.0
    with suppress(StepError):
        for k in range(TAKEN):
            report = sim.step()
            if not report.outcome.accepted:
                break
            answers[report.outcome] += 1
            moved = report.projections > 4 or report.tries > 0 or report.acceleration_violation > 10.0 * usual
            usual = max(usual, report.acceleration_violation)
            if report.outcome is Outcome.CONVERGED and sim.system.m and (k in chosen or moved):
                miss, off = errors(sim)
                if miss > seen.miss:
                    seen.miss, seen.when = miss, f"the step to {sim.t:g} s"
                seen.off = max(seen.off, off)
    return seen


def errors(sim: Simulation) -> tuple[float, float]:
    """Return the errors of multipliers, in terms of their floors, and of accelerations, in the metric of M."""
    state, settings, spare = sim.state, sim._store.work.settings, set(sim.start_report.redundant)
    kept = np.array([name not in spare for name in sim.system.row_names])
    equations = exact(sim, kept)
    zdd, lam = equations.solve()
    rate, acceleration = (np.max(np.abs(x) / settings.pace, initial=0.0) for x in (state.zd, state.zdd))
    floor, fastest = np.zeros(sim.system.m), largest_acceleration(settings, rate, acceleration)
    load_floors(settings, state.lam, fastest, floor)
    wrong = equations.multipliers(pull(sim, state.lam) - equations.Phi_z.T @ lam)
    miss = np.abs(wrong) * settings.scale[kept] / np.maximum(floor[kept], 1e-300)
    apart = state.zdd - zdd
    size = max(zdd @ equations.M @ zdd, fastest**2 * np.max(np.diag(equations.M) * settings.typical**2))
    return float(np.max(miss, initial=0.0)), float(np.sqrt(apart @ equations.M @ apart / size))


# --------------------------------------------------------------------------------------------------------- mechanisms


def ordinary(case: int, rng: Rng) -> Simulation:
    return random_mechanisms.random_simulation(case, float(rng.choice(STEPS)))


def light(case: int, rng: Rng) -> Simulation:
    """A random mechanism some of whose bodies weigh up to LIGHTEST of what they did."""
    model = random_mechanisms.random_mechanism((case, 0))
    for body in model.bodies.values():
        if body.mass > 0.0 and rng.random() < 0.4:
            share = 10.0 ** rng.uniform(np.log10(LIGHTEST), 0.0)
            object.__setattr__(body, "mass", body.mass * share)
            object.__setattr__(body, "inertia", body.inertia * share)
    return Simulation(model.compile(), float(rng.choice(STEPS[:3])))


def light_rod(case: int, rng: Rng) -> Simulation:
    """A crank, a rod down to LIGHTEST of its mass, a heavy slider."""
    mass, spin = 10.0 ** rng.uniform(np.log10(LIGHTEST), 0.0), float(rng.uniform(1.0, 30.0))
    model = rtmbs.Model("light rod")
    tip, wrist = (0.0, 0.0433, 0.025), (0.0, 0.0433 + (0.04 - 0.025**2) ** 0.5, 0.0)
    add_bar(model, "crank", (0, 0, 0), tip, 10.0)
    add_bar(model, "rod", tip, wrist, mass, axial=4e-5 * mass)
    model.add_body("slider", mass=1.0, inertia=(1e-4,) * 3, position=wrist)
    model.add_joint("A", rtmbs.Revolute(X), "ground", "crank", point=(0, 0, 0))
    model.add_joint("B", rtmbs.Revolute(X), "crank", "rod", point=tip)
    model.add_joint("S", rtmbs.Prismatic((0, 1, 0)), "ground", "slider", point=wrist)
    model.add_joint("C", rtmbs.Revolute(X), "rod", "slider", point=wrist, cut=True)
    model.set_initial("A", position=0.0, rate=spin)
    return Simulation(model.compile(), float(rng.choice(STEPS[:2])))


def flat(case: int, rng: Rng) -> Simulation:
    """Windows or a four-bar that comes through its flat pose, exactly or nearly."""
    h = float(rng.choice(STEPS[:4]))
    if rng.random() < 0.5:
        sim = Simulation(library.build("windows", n=int(rng.integers(1, 4))).compile(), h)
        ahead = int(0.75 / h)
    else:
        sim = Simulation(fourbar(rng).compile(), h)
        ahead = int(rng.uniform(0.0, 1.0) / h)
    for _ in range(ahead):
        sim.step()
    return sim


def fourbar(rng: Rng) -> rtmbs.Model:
    """A parallelogram but for a part of its coupler's length, uneven masses, a turned plane."""
    across, model = rng.normal(size=3), rtmbs.Model("nearly flat", gravity=tuple(9.81 * rng.normal(size=3)))
    across /= np.linalg.norm(across)
    along = np.cross(across, rng.normal(size=3))
    along /= np.linalg.norm(along)
    up = np.cross(across, along)
    longer = 1.0 + 10.0 ** rng.uniform(-8.0, -1.5)
    a, b, c, d = np.zeros(3), up, up + longer * along, along
    for name, start, end in (("crank", a, b), ("coupler", b, c), ("rocker", d, c)):
        add_bar(model, name, tuple(start), tuple(end), float(10.0 ** rng.uniform(-1.0, 1.0)))
    model.add_joint("A", rtmbs.Revolute(across), "ground", "crank", point=a)
    model.add_joint("B", rtmbs.Revolute(across), "crank", "coupler", point=b)
    model.add_joint("D", rtmbs.Revolute(across), "ground", "rocker", point=d)
    model.add_joint("C", rtmbs.Revolute(across), "coupler", "rocker", point=c, cut=True)
    model.set_initial("A", position=0.0, rate=float(rng.uniform(1.0, 6.0)))
    return model


def doubled(case: int, rng: Rng) -> Simulation:
    """A random mechanism with joints doubled and tripled."""
    plan = redundant.drawn(case)
    model = redundant.mechanism(plan, True)[0]
    smallest = min(size for size, _ in plan.parts)
    return Simulation(model.compile(), float(rng.choice(STEPS[:3])) * smallest**0.5 * plan.units[2])


KINDS: tuple[Callable[[int, Rng], Simulation], ...] = (ordinary, light, light_rod, flat, doubled)
CAMPAIGN = Campaign(
    name="multipliers",
    claim="a step that is called CONVERGED has its multipliers to 1 % of the largest of their closure",
    full=1_000,
    bounded=60,
    run=run,
)
