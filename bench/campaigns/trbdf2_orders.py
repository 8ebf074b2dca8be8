"""The order of TR-BDF2 on random mechanisms in the plane and in space, against equations of their own.

Mechanisms, references and the judgement are those of ``variational_orders``.
"""

from bench.campaigns import variational_orders
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import TRBDF2

METHOD = TRBDF2(tol=1e-12)


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the orders of one mechanism."""
    return variational_orders.judged(seed, tally, METHOD)


def run(cases: int, seed: int) -> Tally:
    """Measure the orders of every mechanism."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "trbdf2 orders",
    f"positions, velocities, accelerations and reactions of TR-BDF2 have order {variational_orders.LEAST} to"
    f" {variational_orders.MOST} against equations of their own",
    full=1000,
    bounded=25,
    run=run,
)
