"""Run one four-bar in every program, and write code and answers into docs/coming-from.md.

python -m bench.peers.side_by_side --write
python -m bench.peers.side_by_side --python peers/bin/python    # another environment has the other programs
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from bench.documents import DOCS, insert, table

HERE = Path(__file__).parent
PROGRAMS = {"rtmbs": "rtmbs", "exudyn": "Exudyn", "mujoco": "MuJoCo", "drake": "Drake"}
PAGE = DOCS / "coming-from.md"
COMMAND = "python -m bench.peers.side_by_side"


def main() -> None:
    """Print the answers; write them and the code with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python that has the other programs")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for program, name in PROGRAMS.items():
        x, y = answer(sys.executable if program == "rtmbs" else options.python, program)
        rows.append([name, f"{x:.6f}", f"{y:.6f}"])
    text = table(["program", "x of the pin after 1 s [m]", "y [m]"], rows)
    print(text)
    if options.write:
        insert(PAGE, COMMAND, text)


def answer(python: str, program: str) -> tuple[float, float]:
    """Return where a program says that the pin is."""
    file = HERE / f"four_bar_{program}.py"
    output = subprocess.run([python, str(file)], capture_output=True, text=True, check=True, cwd=HERE.parents[2]).stdout
    x, y, _ = (float(word) for word in re.findall(r"-?\d[\d.eE+-]*", output.splitlines()[-1]))
    return x, y


if __name__ == "__main__":
    main()
