"""Energy of free loops over very many steps of the variational midpoint rule, which balances nothing."""

import numpy as np

from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.energy import linkage
from rtmbs import Simulation, VariationalMidpoint

STEPS, FIRST = 100_000, 1_000
GROWS = 1.05  # times the swing of the energy in the first steps is that of all steps
DRIFTS = 0.01  # of that swing, the mean of the last tenth from that of the first


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the energy of one loop."""
    model, h = linkage(seed)
    result = Simulation(model.compile(), h, VariationalMidpoint()).run(STEPS * h, channels=["energy.total"])
    energy = np.asarray(result["energy.total"])
    swing, tenth = float(np.ptp(energy[:FIRST])), len(energy) // 10
    grown = float(np.ptp(energy)) / swing
    drift = abs(float(energy[-tenth:].mean() - energy[:tenth].mean())) / swing
    tally.largest("swing of all steps, of that of the first", grown)
    tally.largest("drift of the mean, of the swing", drift)
    return "" if grown <= GROWS and drift <= DRIFTS else f"swing {grown:.3f}, drift {drift:.1e}"


def run(cases: int, seed: int) -> Tally:
    """Step every loop."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "variational energy",
    f"the energy of free loops swings over {STEPS} steps of the variational midpoint rule by at most {GROWS} times what"
    f" it does in the first {FIRST}, and its mean stays within {DRIFTS:g} of that",
    full=300,
    bounded=8,
    run=run,
)
