"""``python -m bench.campaigns [NAME ...] [--cases N] [--seed S] [--bounded] [--json PATH]``: cases tried, survived.

Ends with 1 when a claim did not hold.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from bench.campaigns.campaign import Campaign, Tally, campaigns, held


def main() -> int:
    """Run the campaigns that were named, all of them when none was."""
    known = {campaign.name: campaign for campaign in campaigns()}
    parser = argparse.ArgumentParser(prog="python -m bench.campaigns", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}; all when none is named")
    parser.add_argument("--cases", type=int, help="cases of each campaign, in place of its own number")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--bounded", action="store_true", help="the smaller number of cases that .ci/slow takes")
    parser.add_argument("--json", type=Path, help="write the tallies to this file too")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in known]:
        parser.error(f"no campaign is called {unknown[0]!r}; there are {', '.join(known)}")
    answers: dict[str, dict[str, object]] = {}
    good = True
    for campaign in [known[name] for name in chosen.names] or known.values():
        cases = chosen.cases or (campaign.bounded if chosen.bounded else campaign.full)
        start = time.perf_counter()
        tally = campaign.run(cases, chosen.seed)
        good &= held(campaign, tally)
        print(report(campaign, tally, time.perf_counter() - start), flush=True)
        answers[campaign.name] = asdict(tally)
    if chosen.json:
        chosen.json.write_text(json.dumps(answers, indent=1) + "\n")
    return 0 if good else 1


def report(campaign: Campaign, tally: Tally, seconds: float) -> str:
    """Return the lines of one campaign."""
    verdict = "held" if held(campaign, tally) else "BROKEN"
    worst = ", ".join(f"{name} {written(value)}" for name, value in tally.worst.items())
    lines = [
        f"{campaign.name}: {campaign.claim}",
        f"    {verdict}: tried {tally.tried}, survived {tally.survived}, {seconds:.0f} s",
        *([f"    largest: {worst}"] if worst else []),
        *(f"    failed: {case}" for case in tally.failures),
    ]
    return "\n".join(lines)


def written(value: float) -> str:
    """Return a count as a whole number, anything else with two digits."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.2g}"


if __name__ == "__main__":
    sys.exit(main())
