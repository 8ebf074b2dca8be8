"""Controllers that integrate in redundant mechanisms anywhere: the equilibrium stands at the target, and a run stays.

Four-bars, slider-cranks, five-bars and doors of the campaign ``turned``, turned at random and moved, with a controller
of three gains at the first joint. At the equilibrium its angle is the target, the integral holds the load, and nothing
accelerates. A run that begins there stays there where small motions are stable. What Newton does not reach settles
before, as the message says.
"""

import copy
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.equilibria import accelerations
from bench.campaigns.turned import G, mechanism
from rtmbs.studies.analysis.equilibrium import NoEquilibrium

TARGET = 1e-9  # [rad]: how far the angle may be from its target
LEFT = 1e-6  # of gravity over the size: accelerations at the equilibrium
STAYS = 1e-6  # [rad]: how far a run may go away
STEPS = 200
SETTLING = 2.0  # [s]


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with the equilibrium of a mechanism, or nothing."""
    model, target = controlled(case)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    try:
        found = rtmbs.equilibrium(sim)
    except NoEquilibrium:  # the message names this remedy
        tally.largest("settled before", tally.worst.get("settled before", 0.0) + 1.0)
        found = rtmbs.equilibrium(sim, relaxation=SETTLING)
    at = found.simulation
    away = abs(float(at["a.angle"]) - target)
    left = accelerations(at) / (G / sim.system.length)
    drift = abs(float(copy.copy(at).state.sd[0]))
    tally.largest("angle from its target", away)
    tally.largest("acceleration, of gravity", left)
    tally.largest("rate of the integral", drift)
    if away > TARGET or left > LEFT or drift > TARGET:
        return f"the angle is {away:.2g} off, {left:.2g} of gravity is left, the integral moves by {drift:.2g}"
    if not found.stable:
        tally.largest("not stable", tally.worst.get("not stable", 0.0) + 1.0)
        return ""
    at.run(at.t + STEPS * at.h)
    gone = abs(float(at["a.angle"]) - target)
    tally.largest("angle after a run", gone)
    return "" if gone < STAYS else f"a run goes {gone:.2g} away from a stable equilibrium"


def controlled(case: int) -> tuple[rtmbs.Model, float]:
    """Return a mechanism with a controller at its first joint, and the controller's target [rad]."""
    rng = np.random.default_rng((case, 41))
    place = 10.0 ** rng.uniform(-1, 1) * rng.normal(size=3)
    model = mechanism(case, Rotation.random(random_state=rng).as_matrix(), place)
    target = float(rng.uniform(-0.05, 0.05))
    size = max(float(np.linalg.norm(body.center_of_mass)) for body in model.bodies.values())
    torque = G * size * sum(body.mass for body in model.bodies.values())
    gains = {"p": 20.0 * torque, "i": 50.0 * torque, "d": 2.0 * torque, "target": target}

    def law(t: float, kinematics: Any, parameters: Any, states: Any) -> Any:
        error = parameters["target"] - kinematics.z
        return parameters["p"] * error + parameters["i"] * states["sum"] - parameters["d"] * kinematics.zd, error

    model.add_force("controller", law, joint="a", parameters=gains, states={"sum": 0.0})
    return model, target


CAMPAIGN = Campaign(
    name="integrating",
    claim="mechanisms under a controller that integrates rest at its target, and runs from there stay",
    full=200,
    bounded=30,
    run=run,
)
