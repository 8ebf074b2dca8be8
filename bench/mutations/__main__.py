"""``python -m bench.mutations [--mutants N] [--seed S]``: draw mutants, run the tests that execute them, count kills.

The first run records which tests execute which lines (``--record``), in two ways: as it is for files of plain Python,
and with numba switched off for files of kernels, whose mutants would be compiled for minutes. Records and verdicts are
kept in ``build/mutations``; a run that is broken off goes on where it ended. Survivors that change nothing a test may
ask for are listed in ``reasons.toml``, with reasons. Ends with 1 when less than 95 % of the others were killed.
"""

import argparse
import sys
from pathlib import Path

from bench.mutations.campaign import ROOMS, TESTS, Campaign

ROOT = Path(__file__).parents[2]
ENOUGH = 0.95  # share of mutants that must be killed


def main() -> int:
    """Draw, try, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200, help="mutants to draw (200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (0)")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), help="folders of the package that are mutated")
    parser.add_argument("--processes", type=int, default=1, help="mutants that are tried side by side (1)")
    parser.add_argument("--budget", type=float, default=60.0, help="[s] processor time of the tests of one mutant (60)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutations", help="records and verdicts")
    parser.add_argument("--record", action="store_true", help="record anew which tests execute which lines, and end")
    parser.add_argument("--again", action="store_true", help="try mutants without a kill again, as after new tests")
    parser.add_argument("--list", action="store_true", help="print the mutants that would be tried, and end")
    chosen = parser.parse_args()
    campaign = Campaign(ROOT, chosen.folder.absolute(), tuple(chosen.rooms), TESTS)
    if chosen.record or not (campaign.recorded() or chosen.list):
        campaign.record()
    if chosen.record:
        return 0
    mutants = campaign.draw(chosen.mutants, chosen.seed)
    if chosen.list:
        print(*mutants, sep="\n")
        return 0
    verdicts = campaign.run(mutants, chosen.processes, chosen.budget, chosen.again)
    summary = campaign.summary(verdicts)
    print(summary)
    return 0 if summary.share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
