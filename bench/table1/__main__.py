"""``python -m bench.table1``: measure the paper's table, print every mechanism as it is done, write the JSON file."""

import sys
from collections.abc import Sequence

from tqdm import tqdm

from bench.table1 import measure, options, text
from rtmbs.bench.command import check_folder, write
from rtmbs.commands.arguments import answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure with these arguments (those of the process by default) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return answer(lambda: run(words))


def run(words: list[str]) -> int:
    """Measure the table."""
    chosen = options.table1_parser("python -m bench.table1").read(words)
    check_folder(chosen.json)
    layouts = options.layouts(chosen.layout)
    print(text.heading(chosen.budget))
    rows: list[measure.Row] = []
    alpha = chosen.alpha if chosen.paper else None
    for done in measure.measure(measure.Options(layouts, chosen.rows, chosen.sources, chosen.budget, alpha)):
        tqdm.write(text.block(done))  # above the progress bar
        rows += done
    for name in dict.fromkeys(row.get("method") for row in rows):
        print(text.summary([row for row in rows if row.get("method") == name]))
    write(chosen.json, {"rows": rows} | ({} if alpha is None else {"alpha": alpha}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
