"""Late steps of a C host at 1 kHz beside those of an empty loop, in one run: ``python -m bench.late_steps``.

    python -m bench.late_steps --seconds 600 [--real-time] [--mechanism fourbar]

``--seconds`` goes to each of the two loops, in turns of 0.1 s. ``--real-time`` asks for SCHED_FIFO and locked memory.
Take a quiet machine. docs/embedding.md has the settings of the system.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from bench.embedding import H, host
from rtmbs.export.packages import HOST, exported
from rtmbs.library import build

MECHANISMS = {
    "slider_crank": ("slider_crank", {}, "slider.position[x]"),
    "fourbar": ("fourbar", {"ny": 4, "nz": 10}, "energy.total"),
}


def late_steps(name: str, seconds: float, real_time: bool) -> str:
    """Return what the C host prints after ``seconds`` [s] of each loop."""
    built, options, output = MECHANISMS[name]
    found = exported(build(built, **options).compile(), ["gravity"], [output], H, None)
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder) / "late", Path(folder) / "mechanism.rtm"
        file.write_bytes(found.file)
        host(found, HOST, "late_steps.c", program, ["-O2", "-std=gnu11", "-ffp-contract=off"])
        words = [str(program), str(file), str(seconds), str(int(real_time))]
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    """Print the counts of both loops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each loop")
    parser.add_argument("--real-time", action="store_true", help="SCHED_FIFO and locked memory")
    parser.add_argument("--mechanism", choices=MECHANISMS, default="slider_crank")
    given = parser.parse_args()
    print(late_steps(given.mechanism, given.seconds, given.real_time), end="")


if __name__ == "__main__":
    main()
