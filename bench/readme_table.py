"""Print the table of the README: ``python -m bench.readme_table --docs`` writes it.

Each row is a run of ``python -m rtmbs.bench``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.documents import insert, table

README = Path(__file__).parent.parent / "README.md"
NAME = "python -m bench.readme_table"

RUNS = {
    "stacked": [],
    "stacked, one alpha = 1e9": ["--alpha", "1e9"],
    "stacked, cuts closed as points": ["--closure", "point"],
    "parallel": ["--layout", "parallel"],
}
COLUMNS = {
    "run [s]": lambda d: f"{d['wall_s']:.3f}",
    "real-time factor": lambda d: f"{d['real_time_factor']:.1f}",
    "step p50, p99 [us]": lambda d: f"{d['step_us']['p50']:.0f}, {d['step_us']['p99']:.0f}",
    "Newton a step": lambda d: f"{d['newton_iterations'] / d['steps']:.2f}",
    "largest error of the 40 angles [rad]": lambda d: f"{d['error_theta_max']:.1e}",
    "loops [m, m/s]": lambda d: f"{d['max_position_violation']:.0e}, {d['max_velocity_violation']:.0e}",
    "largest change of E [J]": lambda d: f"{d['energy_error']:.1e}",
}


def measure(options: list[str]) -> dict[str, Any]:
    """Return the JSON of one run of the bench at 4 x 40."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [sys.executable, "-m", "rtmbs.bench", "fourbar", "--ny", "4", "--nz", "40", "--json", str(path)]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        answer: dict[str, Any] = json.loads(path.read_text())
        return answer


def main() -> int:
    """Print the table in Markdown, and write it into the README with its option."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--docs", action="store_true", help="write the table into README.md")
    options = parser.parse_args()
    rows = []
    for name, words in RUNS.items():
        data = min((measure(words) for _ in range(3)), key=lambda d: d["wall_s"])
        rows.append([name, *(column(data) for column in COLUMNS.values())])
    text = table(["layout", *COLUMNS], rows)
    print(text)
    if options.docs:
        insert(README, NAME, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
