"""The command line of ``table1``: words to sizes and names, each refused with what would be right."""

import argparse
import re
from pathlib import Path

from bench.table1 import paper
from bench.table1.measure import ALPHA
from rtmbs.commands.arguments import Parser, positive
from rtmbs.errors import unknown_name
from rtmbs.semirecursive.sources import source_names

BOTH = "both"
LAYOUTS = ("stacked", "parallel")
BUDGET = 1.0  # [s]


def table1_parser(program: str) -> Parser:
    """Return the parser of the options of ``table1``; the defaults are the whole table, both layouts, every source."""
    parser = Parser(
        prog=program,
        description="Measure the paper's Table 1: multiple four-bars by every source of K and C.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--layout", choices=(*LAYOUTS, BOTH), default=BOTH, help="rows on one another, all on ground, or both")
    add("--rows", type=sizes, default=tuple(paper.TABLE), metavar="4x40,...", help="n_y x n_z; the paper's 16 rows")
    add("--sources", type=names, default=tuple(source_names()), metavar="NAME,...", help="of K and C; all of them")
    add("--budget", type=positive, default=BUDGET, metavar="S", help="a source takes fewer steps after so long [s]")
    add(
        "--paper",
        action="store_true",
        help="measure the method as printed beside ours: one alpha, Eq. 17, one projection",
    )
    add("--alpha", type=positive, default=ALPHA, metavar="A", help="penalty of all rows with --paper [N/m]")
    add("--json", type=Path, metavar="PATH", help="write the measured rows to this file")
    return parser


def layouts(word: str) -> tuple[str, ...]:
    """Return the layouts that a word stands for."""
    return LAYOUTS if word == BOTH else (word,)


def sizes(text: str) -> tuple[tuple[int, int], ...]:
    """Read ``4x40,1x10``: pairs of n_y and n_z."""
    found = []
    for word in words(text):
        match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", word)
        if match is None:
            raise argparse.ArgumentTypeError(f"{word!r} is not n_y x n_z; write 4x40, or several as 4x40,1x10")
        found.append((int(match[1]), int(match[2])))
    return tuple(dict.fromkeys(found))


def names(text: str) -> tuple[str, ...]:
    """Read names of sources; the error of an unknown one gives the nearest and all valid ones."""
    valid, found = source_names(), words(text)
    for name in found:
        if name not in valid:
            nearest = unknown_name("source of K and C", name, valid)
            raise argparse.ArgumentTypeError(f"{nearest} (valid: {', '.join(valid)})")
    return tuple(dict.fromkeys(found))


def words(text: str) -> list[str]:
    """Split at commas; an empty list is an error of argparse."""
    found = [word for word in text.replace(" ", "").split(",") if word]
    if not found:
        raise argparse.ArgumentTypeError("name at least one, several with commas between them")
    return found
