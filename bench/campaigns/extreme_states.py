"""Runs with a tolerance from states of extreme values: every one ends within a bounded number of steps, or in words.

Rates, masses, stiffness, gravity, places and times are powers of ten over twenty-four decades. What is counted are the
steps tried, in the log of the result or of the error.
"""

from contextlib import suppress

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.own_mechanisms import drawn
from rtmbs import At, Simulation
from rtmbs.errors import RtmbsError
from rtmbs.simulation import step_choice
from rtmbs.simulation.error_growth import MOST_AGAIN

MOST_STEPS = 2_000
BATCH = step_choice.SIZE  # a refusal throws away a batch at most


def extreme(rng: np.random.Generator) -> float:
    """Return a number of any size and sign."""
    return float(rng.choice((-1.0, 1.0)) * 10.0 ** rng.uniform(-12.0, 12.0))


def model_of(rng: np.random.Generator) -> rtmbs.Model:
    """Return one or two bodies with a joint each and a torsion spring, or a loop, all of extreme values."""
    if rng.random() < 0.3:
        return drawn(rng, str(rng.choice(("crank_rocker", "slider_crank"))), extreme(rng), extreme(rng)).model
    model = rtmbs.Model("extreme", gravity=(0.0, 0.0, extreme(rng)))
    before = "ground"
    for k in range(int(rng.integers(1, 3))):
        mass, size = abs(extreme(rng)), 10.0 ** rng.uniform(-3.0, 3.0)
        model.add_body(f"b{k}", mass=mass, inertia=(mass * size**2,) * 3, center_of_mass=(size, 0.0, 0.1 * size))
        kind = int(rng.integers(0, 4))
        joint = (rtmbs.Revolute((0, 1, 0)), rtmbs.Prismatic((1, 0, 0)), rtmbs.Spherical(), rtmbs.Floating())[kind]
        model.add_joint(f"j{k}", joint, before, f"b{k}")
        rates = (1, 1, 3, 6)[kind]
        model.set_initial(f"j{k}", rate=tuple(extreme(rng) for _ in range(rates)) if rates > 1 else extreme(rng))
        if kind == 0 and rng.random() < 0.5:
            law = rtmbs.TorsionSpring(stiffness=abs(extreme(rng)), damping=abs(extreme(rng)))
            model.add_force(f"t{k}", law, joint=f"j{k}")
        before = f"b{k}"
    return model


def run(cases: int, seed: int) -> Tally:
    """Try every case."""
    tally = Tally()
    for k in range(seed, seed + cases):
        rng = np.random.default_rng((k, 3312))
        span = 10.0 ** rng.uniform(-3.0, 3.0)
        tolerance = 10.0 ** rng.uniform(-9.0, -1.0)
        try:
            sim = Simulation(model_of(rng).compile(), abs(extreme(rng)))
        except RtmbsError:
            tally.survive()
            continue
        tried = count_of(sim, span, tolerance)
        tally.largest("steps tried over those allowed", tried / MOST_STEPS)
        if tried <= (BATCH + 2) * (MOST_AGAIN + 1) * MOST_STEPS:
            tally.survive()
        else:
            tally.fail(f"seed {k}: {tried} steps")
    return tally


def count_of(sim: Simulation, span: float, tolerance: float) -> int:
    """Return how many steps a run took and threw away, until it ended in an answer or in words."""
    taken, step, chunk = 0, sim.step, sim._take_chunk

    def one(*args: object) -> object:
        nonlocal taken
        taken += 1
        return step()

    def many(rows: object, *how: object, **others: object) -> object:
        nonlocal taken
        done, failed = chunk(rows, *how, **others)  # type: ignore[arg-type]
        taken += done + failed
        return done, failed

    vars(sim).update(step=one, _take_chunk=many)
    with suppress(RtmbsError):
        sim.run(sim.t + span, tolerance=tolerance, record=At([sim.t + span]), most_steps=MOST_STEPS)
    return taken


CAMPAIGN = Campaign(
    "extreme-states",
    "a run with a tolerance from a state of extreme values ends within its number of steps, in an answer or in words",
    full=1000,
    bounded=40,
    run=run,
)
