"""``python -m bench.peers``: measure, print the tables, and with ``--docs`` write them and the plot into docs/.

The values behind the documents are kept in ``bench/peers.json``; a test holds the two together.
"""

import argparse
import json
from pathlib import Path

from bench.documents import insert
from bench.peers import report
from bench.peers.campaign import NZ, ROUNDS, STEP, STEPS, added, measure
from bench.peers.registry import ROOT

PAGE, PLOT = ROOT / "docs" / "performance.md", ROOT / "docs" / "work_precision.png"
DERIVATIVES = ROOT / "docs" / "derivatives.md"
VALUES = ROOT / "bench" / "peers.json"
MARKER = "make peers"


def main() -> None:
    """Read the options, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each, of which the median counts")
    parser.add_argument("--nz", type=int, default=NZ, help="rows of the four-bar")
    parser.add_argument("--no-plot", action="store_true", help=f"steps of {1e3 * STEP:g} ms only")
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="MODULE", help="measure these, keep the rest as it was"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the measured values")
    parser.add_argument("--read", type=Path, metavar="PATH", help="measure nothing, take the values of this file")
    parser.add_argument(
        "--docs",
        action="store_true",
        help=f"write the tables and the plot into docs/, the values to {VALUES.relative_to(ROOT)}",
    )
    options = parser.parse_args()
    if options.read is not None:
        record = json.loads(options.read.read_text(encoding="utf-8"))
    else:
        record = measure(options.rounds, (STEP,) if options.no_plot else STEPS, options.nz, options.only)
        if options.only:
            record = added(json.loads(VALUES.read_text(encoding="utf-8")), record)
    print(report.text(record))
    for path in {options.json, VALUES if options.docs else None} - {None}:
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        insert(PAGE, MARKER, report.text(record))
        insert(DERIVATIVES, MARKER, report.jacobians(record))
        if not options.no_plot:
            report.draw(record, PLOT)


if __name__ == "__main__":
    main()
