"""Random mechanisms with rates over seven decades: what ``run(..., tolerance=)`` keeps, against equations of their own.

A case is one mechanism, one rate and one tolerance. It fails when a body is further off than three tolerances although
no error was raised. A RtmbsError is an answer in words; its share is among the largest values.
"""

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.own_mechanisms import KINDS, drawn, error_of
from rtmbs import At, PenaltyTrapezoidal, Simulation
from rtmbs.errors import RtmbsError
from rtmbs.methods import Method

RATES = -1.0, 6.0  # powers of ten [rad/s]
TURNS = 3.0, 25.0  # angle of the fastest part in a run [rad]
LONGEST = 1.0  # [s]
TOLERANCES = -4.5, -2.0  # powers of ten
ALLOWED = 3.0  # tolerances
SAMPLES = 8
MOST_STEPS = 60_000


def case_of(seed: int, method: Method | None = None) -> tuple[float, str]:
    """Return the error in tolerances of one random run, and what describes it; NaN: it ended in words."""
    rng = np.random.default_rng((seed, 3104))
    rate, tolerance = float(10.0 ** rng.uniform(*RATES)), float(10.0 ** rng.uniform(*TOLERANCES))
    case = drawn(rng, KINDS[seed % len(KINDS)], rate)
    span = min(float(rng.uniform(*TURNS)) / rate, LONGEST)
    system = case.model.compile()
    sim = Simulation(system, span * float(10.0 ** rng.uniform(-4.0, -0.5)), method or PenaltyTrapezoidal())
    times = span * np.arange(1, SAMPLES + 1) / SAMPLES
    exact = case.exact(sim, times, 1e-6 * tolerance)
    what = f"{case.kind}, {rate:.3g} rad/s, {span:.3g} s, tolerance {tolerance:.1e}"
    try:
        result = sim.run(span, tolerance=tolerance, record=At(times), most_steps=MOST_STEPS)
    except RtmbsError as error:
        return float("nan"), f"{what}: {error}"
    error = error_of(result, exact, system.length, slice(1, None)) / tolerance
    return error, f"{what}: {error:.2f} tolerances, {result.steps}, {dict(result.outcomes)}"  # type: ignore[attr-defined]


def run(cases: int, seed: int, method: Method | None = None) -> Tally:
    """Run every case, and report the share of those that ended in an error message."""
    tally, words = Tally(), 0
    for k in range(seed, seed + cases):
        error, what = case_of(k, method)
        if error != error:
            words += 1
            tally.survive()
            continue
        tally.largest(f"error of {KINDS[k % len(KINDS)]} in tolerances", error)
        if error <= ALLOWED:
            tally.survive()
        else:
            tally.fail(f"seed {k}: {what}")
    tally.largest("share that ended in words", words / cases)
    return tally


CAMPAIGN = Campaign(
    "tolerances",
    "a run with a tolerance is at most three tolerances off, or says in words why it ends, at rates over seven decades",
    full=2000,
    bounded=70,
    run=run,
)
