"""Random mechanisms at rest: an equilibrium is found, and the dynamics agree, or the coordinate that drifts is named.

Trees and loops of every joint type whose bodies springs tie to ground, and others under forces of every kind in odd
units, all without drivers, couplers and constraints. An equilibrium is judged by the accelerations of the dynamics in
typical sizes of coordinates, against those of the first pose. A mechanism without an equilibrium must say so by name.
"""

from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.measures.forced import forced_model
from bench.measures.random_mechanisms import random_mechanism
from rtmbs.errors import InputError, RtmbsError
from rtmbs.studies.analysis.equilibrium import NoEquilibrium

ALLOWED = 1e-8  # of the accelerations of the first pose, or of gravity
STEP, LONG, RESTS = 0.02, 400.0, 1e-6  # of a damped run, over its pace: step and duration; and what may be left of it


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    tally = Tally()
    counts = dict.fromkeys(("found", "none", "refused", "no start"), 0)
    for case in range(seed, seed + cases):
        try:
            sim = rtmbs.Simulation(mechanism(case).compile())
            before = accelerations(sim)
        except RtmbsError:
            counts["no start"] += 1
            tally.survive()
            continue
        try:
            found = rtmbs.equilibrium(sim)
        except (NoEquilibrium, InputError) as error:
            counts["none" if isinstance(error, NoEquilibrium) else "refused"] += 1
            if rests := has_a_rest(case):
                tally.fail(f"seed {case}: there is a pose of rest, {rests}, and the answer is: {error}")
            else:
                tally.survive()
            continue
        counts["found"] += 1
        left = accelerations(found.simulation) / max(before, gravity(sim))
        tally.largest("acceleration left, of the first", left)
        if left < ALLOWED:
            tally.survive()
        else:
            tally.fail(f"seed {case}: {left:.2g} of the first accelerations is left")
    for name, count in counts.items():
        tally.largest(name, count)
    return tally


def has_a_rest(case: int) -> str:
    """Return how it is known that a mechanism has an equilibrium; nothing where a long damped run does not rest."""
    if not case % 2:
        return "as springs tie every body"
    model = mechanism(case)
    try:
        plain = rtmbs.Simulation(model.compile())
        pace, before = np.sqrt(max(accelerations(plain), gravity(plain))), accelerations(plain)
        for name, body in list(model.bodies.items())[1:]:
            values = {"c": 2.0 * pace * body.mass, "d": 2.0 * pace * float(np.trace(body.inertia)) / 3.0}
            model.add_force(f"calm {name}", calming, body=body, parameters=values)
        sim = rtmbs.Simulation(model.compile(), h=STEP / pace)
        sim.run(LONG / pace)
        left = accelerations(sim) / max(before, gravity(plain))
    except RtmbsError:
        return ""
    return f"which a damped run reaches to {left:.2g}" if left < RESTS else ""


def calming(t: Any, motion: Any, parameters: Any) -> Any:
    """Oppose the velocity of the centre of mass, and turning."""
    return np.concatenate((-parameters["c"] * motion.v, -parameters["d"] * motion.w))


def mechanism(case):
    """Return a random mechanism."""
    model = forced_model(case)[0] if case % 2 else random_mechanism((case, 0))
    for moving in (model.drivers, model.couplers, model.constraints):  # they may follow functions of time
        moving.clear()
    if case % 2:  # under forces of every kind there may be no rest
        return model
    rng, bodies = np.random.default_rng(case), list(model.bodies)[1:]
    for k, body in enumerate(bodies):  # every body is tied, so that a pose of rest exists
        a, b = rng.normal(size=3), rng.normal(size=3)
        ends = model.add_marker(f"tie {k}", "ground", point=a), model.add_marker(f"tied {k}", body, point=b)
        model.add_force(f"rope {k}", rtmbs.SpringDamper(10.0 ** rng.uniform(1, 3), 1.0, 0.3), between=ends)
    return model


def accelerations(sim):
    """Return the largest acceleration at rest over the typical size of its coordinate [1/s^2]."""
    state = sim.state
    zdd = sim.equations.accelerations(state.z, np.zeros(sim.system.n), state.R0, state.s)[0]
    return float(np.abs(zdd / sim.system.typical).max())


def gravity(sim):
    """Return gravity over the length of the mechanism [1/s^2]."""
    return float(np.linalg.norm(sim.state.u[:3])) / sim.system.length


CAMPAIGN = Campaign(
    name="equilibria",
    claim="an equilibrium is found where the dynamics rest, or the coordinate that drifts is named",
    full=200,
    bounded=30,
    run=run,
)
