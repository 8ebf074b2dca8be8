"""Random mechanisms: derivatives of runs of the variational midpoint rule, judged as those of ``sensitivities``."""

from bench.campaigns.campaign import Campaign
from bench.campaigns.sensitivities import run_midpoint

CAMPAIGN = Campaign(
    name="midpoint_sensitivities",
    claim="derivatives of variational runs of random mechanisms are those of differences, or the step is named",
    full=60,
    bounded=6,
    run=run_midpoint,
)
