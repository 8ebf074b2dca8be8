"""Random bodies on bushings that tumble: no run goes past half a turn, and none ends before it.

The reference has no part of rtmbs: recorded orientations become rotation vectors by scipy. Between two samples of a run
no vector may jump. Where a run was refused, the last state turned on at its angular velocity for one step must reach
the other side.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.errors import HalfTurnError

Array = Any
H, END = 1e-3, 0.6
JOINTS = (rtmbs.Floating(), rtmbs.Spherical(), rtmbs.Revolute(axis=(0, 0, 1)))
SPREAD = 1.5  # of the turn of the last step that its rate may miss


def model_of(rng: np.random.Generator) -> tuple[rtmbs.Model, bool]:
    """Return a body beside ground or beside a second body that turns, with a bushing; and whether it resists turns."""
    model = rtmbs.Model("tumbler", gravity=(0.0, 0.0, 0.0))
    model.add_body("base", mass=2.0, inertia=(0.3, 0.4, 0.5))
    model.add_body("rod", mass=1.0, inertia=tuple(rng.uniform(0.1, 0.15, 3)))
    base, rod = (JOINTS[int(rng.integers(3))] for _ in range(2))
    for name, type_, body in (("a", base, "base"), ("b", rod, "rod")):
        model.add_joint(name, type_, "ground", body, point=(0, 0, 0))
        rates = rng.normal(size=3) * rng.choice((1.0, 4.0))
        if isinstance(type_, rtmbs.Floating):
            model.set_initial(name, (0, 0, 0, 1, 0, 0, 0), (0, 0, 0, *rates))
        elif isinstance(type_, rtmbs.Spherical):
            model.set_initial(name, (1, 0, 0, 0), tuple(rates))
        else:
            model.set_initial(name, 0.0, rates[0])
    resists = bool(rng.random() < 0.8)
    turning = tuple(rng.uniform(0.0, 2.0, 3)) if resists else (0.0, 0.0, 0.0)
    model.add_marker("p", "base")
    model.add_marker("q", "rod")
    law = rtmbs.Bushing(stiffness=(10.0, 10.0, 10.0, *turning), damping=(0.1, 0.1, 0.1, 0, 0, 0))
    model.add_force("bush", law, between=("p", "q"))
    return model, resists


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one run."""
    rng = np.random.default_rng([seed, 32])
    model, resists = model_of(rng)
    sim = rtmbs.Simulation(model.compile(), h=H)
    refused = ""
    record = rtmbs.EveryStep()
    channels = [f"{body}.{what}" for body in ("base", "rod") for what in ("orientation", "angular_velocity")]
    try:
        result = sim.run(END, record=record, channels=channels)
    except HalfTurnError as error:
        result, refused = error.result, str(error)
    q = {body: result[f"{body}.orientation"] for body in ("base", "rod")}
    turns = {body: Rotation.from_quat(np.roll(values, -1, axis=1)) for body, values in q.items()}
    seen = (turns["base"].inv() * turns["rod"]).as_rotvec()
    jumps = np.linalg.norm(np.diff(seen, axis=0), axis=1) > np.pi
    kind = "refused" if refused else "not refused"
    tally.largest(f"runs that were {kind}", tally.worst.get(f"runs that were {kind}", 0.0) + 1.0)
    if resists and np.any(jumps):
        return f"the rotation vector jumps at t = {result['t'][1:][jumps][0]:g} s and the run goes on"
    if not refused:
        return ""
    if not resists:
        return "a bushing without resistance to turns was refused"
    w = {body: result[f"{body}.angular_velocity"][-1] for body in q}
    for share in (1.0, SPREAD):
        ends = {body: Rotation.from_rotvec(share * H * w[body]) * turns[body][-1] for body in q}
        after = (ends["base"].inv() * ends["rod"]).as_rotvec()
        if np.linalg.norm(after - seen[-1]) > np.pi:
            return ""
    return f"refused at {np.linalg.norm(seen[-1]):.4f} rad: {refused}"


CAMPAIGN = Campaign(
    name="half_turns",
    claim="bodies that tumble on bushings are stopped by name at half a turn, no step earlier and none later",
    full=400,
    bounded=40,
    run=lambda count, seed: each(judged, count, seed),
)
