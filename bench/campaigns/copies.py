"""Any calls on a Simulation, then a pickle, a copy or a deep copy, which goes on to the same bytes."""

import copy
import pickle
from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.machines import contents, simulation
from rtmbs.simulation.simulation import thread_groups

NAMES = ("crank rocker", "top", "two rows")
WAYS: tuple[Any, ...] = (lambda sim: pickle.loads(pickle.dumps(sim)), copy.copy, copy.deepcopy)


def channel(sim: rtmbs.Simulation, rng: np.random.Generator) -> str:
    """Return the name of some channel of the present state."""
    moving = [name for name, body in sim.system.bodies.items() if body.dof >= 0]
    bodies = [f"{name}.{what}" for name in moving for what in ("position", "velocity", "acceleration")]
    joints = [f"{name}.reaction" for name in sim.system.joints]
    return str(rng.choice([*bodies, *joints, "t", "energy.kinetic"]))


def read(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim.read([channel(sim, rng) for _ in range(int(rng.integers(1, 4)))])


def look(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim[channel(sim, rng)]


def run(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim.run(sim.t + int(rng.integers(1, 6)) * sim.h)


def push(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim.inputs["gravity"] = rng.normal(size=3)


def lean(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim.inputs.ramp("gravity")


def new_h(sim: rtmbs.Simulation, rng: np.random.Generator) -> None:
    sim.h = float(rng.choice((5e-4, 1e-3)))


CALLS: tuple[Any, ...] = (
    read, look, run, push, lean, new_h,
    lambda sim, rng: sim.step(),
    lambda sim, rng: sim.reaction(str(rng.choice(list(sim.system.joints)))),
    lambda sim, rng: sim.change(max_iterations=int(rng.integers(6, 12))),
    lambda sim, rng: sim.restore(sim.state.copy()),
    lambda sim, rng: (thread_groups(sim), sim.start_report.topology),
)  # fmt: skip


def judged(seed: int, tally: Tally) -> str:
    """Make some calls, copy the Simulation and go on with both; return what is wrong."""
    rng = np.random.default_rng(seed)
    sim = simulation(NAMES[seed % len(NAMES)], 1)
    for k in rng.integers(len(CALLS), size=int(rng.integers(1, 8))):
        CALLS[k](sim, rng)
    try:
        other = WAYS[int(rng.integers(len(WAYS)))](sim)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
        return f"{type(error).__name__}: {error}"
    before = contents(sim.state)
    if contents(other.state) != before:
        return "the copy is another state"
    for one in (sim, other):  # one after the other: they share nothing that steps write
        one.step()
        one.inputs["gravity"] = (0.1, 0.2, -9.0)
        one.step()
        one.step()
    if contents(sim.state) != contents(other.state):
        return "the copy goes on to other bytes"
    return ""


CAMPAIGN = Campaign(
    name="copies",
    claim="after any calls a Simulation is pickled and copied, and the copy goes on to the same bytes",
    full=4_000,
    bounded=120,
    run=lambda cases, seed: each(judged, cases, seed),
)
