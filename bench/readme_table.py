"""Print the table of the README: ``python bench/readme_table.py``; each row is a run of ``python -m rtmbs.bench``."""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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
    "error of theta_1 [rad]": lambda d: f"{d['error_theta1']:.1e}",
    "loops [m, m/s]": lambda d: f"{d['max_position_violation']:.0e}, {d['max_velocity_violation']:.0e}",
    "energy [J]": lambda d: f"{d['energy_error']:.1e}",
}


def measure(options: list[str]) -> dict[str, Any]:
    """Return the JSON of one run of the bench at 4 x 40."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [sys.executable, "-m", "rtmbs.bench", "fourbar", "--ny", "4", "--nz", "40", "--json", str(path)]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        answer: dict[str, Any] = json.loads(path.read_text())
        return answer


def main() -> None:
    """Print the table in Markdown."""
    print(f"4 x 40: 361 bodies, 360 coordinates, 1 s in 200 steps of 5 ms; {platform.machine()}, one thread.\n")
    print("| layout | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name, options in RUNS.items():
        data = min((measure(options) for _ in range(3)), key=lambda d: d["wall_s"])
        print(f"| {name} | " + " | ".join(column(data) for column in COLUMNS.values()) + " |")


if __name__ == "__main__":
    main()
