"""Calls of FMI 2.0 and 3.0 in any order and with odd arguments, under AddressSanitizer."""

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.mechanism_files import tally_of


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` sequences of thirty calls on four mechanisms; without a C compiler none is tried."""
    return tally_of("fuzz_fmu.c", cases, seed, {1: "calls", 2: "refused calls"})


CAMPAIGN = Campaign(
    "fmu_calls",
    "no sequence of FMI calls makes an FMU crash, and a communication step that is refused says so in the log",
    100_000,
    6_000,
    run,
)
