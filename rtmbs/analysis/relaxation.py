"""Dynamic relaxation: a motion whose rates are taken away at every peak of its kinetic energy comes to rest."""

import math

from rtmbs.errors import InputError, shown
from rtmbs.simulation.simulation import Simulation, store_of

RESTS = 1e-16  # of the largest peak of kinetic energy: the motion is over
HALVINGS = 6  # of a step that fails


def relax(sim: Simulation, duration: float) -> None:
    """Let a Simulation go downhill for ``duration`` [s] at most, functions of time standing still; it ends at rest.

    Kinetic damping: what goes down gains kinetic energy, and past the bottom loses it. There the rates are set to zero.
    A motion over before that ends the relaxation. Raises InputError for a duration that is none and a step that fails.
    """
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0.0 < duration < math.inf:
        raise InputError(f"relaxation is {shown(duration)}; it must be a time in s, such as 2.0")
    t, h = sim.t, sim.h
    before = peak = 0.0
    for _ in range(math.ceil(duration / h)):
        step_in_parts(sim)
        kinetic = float(sim["energy.kinetic"])
        if kinetic < before:
            rest(sim, t)
            if before <= RESTS * peak:
                break
            peak, before = max(peak, before), 0.0
        else:
            before = kinetic
    rest(sim, t)


def step_in_parts(sim: Simulation) -> None:
    """Take a step, in parts where the whole one fails."""
    h = sim.h
    for halving in range(HALVINGS + 1):
        if halving:
            sim.h = h / 2**halving
        reports = [sim.step() for _ in range(2**halving)]
        if all(report.outcome.accepted for report in reports):
            break
    else:
        sim.h = h
        raise InputError(f"the relaxation ends at a step that fails: {reports[-1]}; take a Simulation with a smaller h")
    if sim.h != h:
        sim.h = h


def rest(sim: Simulation, t: float) -> None:
    """Take the rates away, and go back to the time ``t`` [s] for functions of time."""
    state = sim.state.copy()
    state.zd[:] = 0.0
    store_of(sim).go_on_from(state, t)
