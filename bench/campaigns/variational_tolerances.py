"""The campaign ``tolerances`` with the variational midpoint rule, extrapolated."""

from bench.campaigns import tolerances
from bench.campaigns.campaign import Campaign, Tally
from rtmbs import VariationalMidpoint


def run(cases: int, seed: int) -> Tally:
    """Run every case."""
    return tolerances.run(cases, seed, VariationalMidpoint())


CAMPAIGN = Campaign(
    "variational tolerances",
    "a run of the variational midpoint rule with a tolerance is at most three tolerances off, or says in words why it"
    " ends, at rates over seven decades",
    full=2000,
    bounded=70,
    run=run,
)
