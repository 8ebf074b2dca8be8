"""Random mechanisms with steps from 1 to 50 ms: how many runs end early, how many steps need help, how good they are.

A case is one seed of ``bench.measures.random_mechanisms``, run for half a second with every step, as ``run`` does it by
default: further tries where Newton's plain iteration fails, then parts of the step. It fails when a run ends early. The
largest values say what share of the runs ended early, at each step, by each way of getting through.
"""

from collections import Counter

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.measures.random_mechanisms import random_simulation
from rtmbs import Simulation
from rtmbs.errors import StepError

STEPS = {1e-3: 0.0, 5e-3: 0.0, 1e-2: 0.01, 2e-2: 0.04, 5e-2: 1.0}  # [s], and the share of runs that may end early
WAYS = {
    "plain": ({"tries": 0}, "raise"),
    "tries": ({}, "raise"),
    "parts": ({}, "halve"),
}  # how steps are taken: options, on_failure
T_END = 0.5  # [s]
CHECKED = 3  # steps of a run that further tries took, compared with 64 small ones
FINE = 64


def run(cases: int, seed: int) -> Tally:
    """Run every mechanism with every step, by every way; only the last way is judged."""
    tally, ended = Tally(), Counter[tuple[float, str]]()
    for k in range(seed, seed + cases):
        early = []
        for h in STEPS:
            for way, (options, on_failure) in WAYS.items():
                sim = random_simulation(k, h, **options)
                try:
                    sim.run(T_END, on_failure=on_failure)
                except StepError as error:
                    ended[h, way] += 1
                    if not error.reason:
                        early.append(f"seed {k}, h = {h:g} s: no reason in {error}")
                    if way == "parts":
                        early.append(f"seed {k}, h = {h:g} s: {error}")
            tally.largest(f"error of helped steps at {h:g} s [rad]", error_of_helped(k, h))
        for case in early:
            tally.failures.append(case)
        tally.survive()
    for h, allowed in STEPS.items():
        for way in WAYS:
            tally.largest(f"ended early at {h:g} s, {way}", ended[h, way] / cases)
        if ended[h, "parts"] > allowed * cases:
            tally.fail(f"{ended[h, 'parts']} of {cases} runs ended early at {h:g} s, {allowed:.0%} may")
    return tally


def error_of_helped(seed: int, h: float) -> float:
    """Return the largest error of the steps that further tries took, against the same step in small ones."""
    sim, worst, checked = random_simulation(seed, h), 0.0, 0
    fine = random_simulation(seed, h / FINE)
    for _ in range(round(T_END / h)):
        before = sim.state.copy()
        report = sim.step()
        if not report.outcome.accepted or checked == CHECKED:
            break
        if report.tries:
            checked += 1
            worst = max(worst, error_of_step(sim, fine, before))
    return worst


def error_of_step(sim: Simulation, fine: Simulation, before: object) -> float:
    """Return the largest error of the coordinates, in typical sizes, of the step from ``before`` that ``sim`` took."""
    start = fine.state.copy()
    for name in ("z", "zd", "zdd", "R0", "u"):
        getattr(start, name)[:] = getattr(before, name)
    start.t_ref, start.k = before.t, 0
    fine.restore(start)
    if not all(fine.step().outcome.accepted for _ in range(FINE)):
        return 0.0
    if not np.array_equal(fine.state.R0, sim.state.R0):
        return 0.0  # other charts, other coordinates
    return float(np.max(np.abs(fine.state.z - sim.state.z) / sim.system.typical, initial=0.0))


CAMPAIGN = Campaign(
    "large-steps",
    "random mechanisms run at 1 and 5 ms, but for 1 % at 10 ms and 4 % at 20 ms, and what ends early says why",
    full=200,
    bounded=12,
    run=run,
)
