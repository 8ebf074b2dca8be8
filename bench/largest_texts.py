"""Measure the largest model files that are taken: processor time and memory of whole commands.

python -m bench.largest_texts [--write]    prints the table, or writes it to docs/language.md
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.documents import LANGUAGE, table, told
from rtmbs.language.parse import MARKS, ORDINARY

BODIES = int(ORDINARY.bodies)
OPERATIONS = int(ORDINARY.operations)
STATEMENTS = int(ORDINARY.statements)
ROWS = int(ORDINARY.rows)
WORDS, ROOM = int(ORDINARY.words), 20  # words of the lines around
KINEMATIC = "SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = {dt});"
DYNAMIC = "SYSTEM (DYNAMIC ANALYSIS, ending time = 1, print interval = {dt}, step = {h});"
HINGE = "revolute joint {name} (body = {a}, body = {b}, axis = (0, {skew}, 1), point = ({x}, {y}, 0));"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # an installed package has its bytecode, a source tree after one run
TRIES = 3
MEASURE = """
import sys
from rtmbs.commands.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file:
    print(file.read())
sys.exit(code)
"""


class Cost(NamedTuple):
    """What a command took."""

    code: int
    seconds: float  # of the processor
    megabytes: float  # at most
    error: str  # the first line


def body(k: int) -> str:
    return f"BODY b{k} (mass = 1, inertia = (1, 1, 1), position = ({k}, 0, 0));"


def hinge(name: str, a: str, b: str, x: float, y: float = 0.0, skew: float = 0.0) -> str:
    return HINGE.format(name=name, a=a, b=b, x=x, y=y, skew=skew)


def chain(system: str, bodies: int = BODIES) -> list[str]:
    """Return a chain of hinges, every other one askew."""
    before = ["ground", *(f"b{k}" for k in range(bodies - 1))]
    hinges = [hinge(f"j{k}", a, f"b{k}", k - 0.5, skew=0.1 * (k % 2)) for k, a in enumerate(before)]
    return [system, *(body(k) for k in range(bodies)), *hinges]


def parallel(system: str) -> list[str]:
    """Return a table on as many legs as may be: all but three are redundant."""
    legs = range(BODIES - 1)
    hinges = [
        line for k in legs for line in (hinge(f"j{k}", "ground", f"b{k}", k), hinge(f"k{k}", f"b{k}", "top", k, 1.0))
    ]
    return [system, "BODY top (mass = 1, inertia = (1, 1, 1));", *(body(k) for k in legs), *hinges]


def wordy(system: str) -> list[str]:
    """Return the table on legs with as many words as allowed: the others are in an unused constant."""
    lines = parallel(system)
    left = WORDS - sum(len(MARKS.findall(line)) for line in lines) - ROOM
    return [*lines, f"constant c = 1{' + 1' * (left // 2)};"]


def contradictory(system: str) -> list[str]:
    """Return bodies that are held in two places at once."""
    held = "fixed joint {name} (body = ground, body = b{k}, point a = ({k}, 0, 0), point b = (0, {y}, 0));"
    joints = [held.format(name=f"{name}{k}", k=k, y=y) for k in range(BODIES) for name, y in (("j", 1), ("k", 2))]
    return [system, *(body(k) for k in range(BODIES)), *joints]


def springs(system: str) -> list[str]:
    """Return as many springs as may be, between two points."""
    ends = ["triad a (body = ground, origin = (0, 1, 0));", "triad b (body = b0, origin = (1, 2, 0));"]
    count = STATEMENTS - 5
    return chain(system, 1) + ends + [f"spring s{k} (triad = a, triad = b, stiffness = 1);" for k in range(count)]


def long_expression(system: str, statement: str) -> list[str]:
    """Return one body that is moved by as long a function of time as may be."""
    return [*chain(system, 1), statement.format(" + ".join(["sin(TIME)"] * (OPERATIONS // 2 - 1)))]


FEW, MANY = KINEMATIC.format(dt=0.1), KINEMATIC.format(dt=1 / (ROWS // BODIES))
STEPS = DYNAMIC.format(dt=0.1, h=0.01)
TEXTS: dict[str, Callable[[], list[str]]] = {
    "chain, kinematic": lambda: chain(FEW),
    "chain, kinematic, as many rows as may be": lambda: chain(MANY),
    "redundant legs, kinematic": lambda: parallel(FEW),
    "redundant legs, kinematic, as many words as may be": lambda: wordy(FEW),
    "bodies held twice, kinematic": lambda: contradictory(FEW),
    "chain, dynamic, 100 steps": lambda: chain(STEPS),
    "redundant legs, dynamic, 100 steps": lambda: parallel(STEPS),
    "bodies held twice, dynamic": lambda: contradictory(STEPS),
    "springs, dynamic, 100 steps": lambda: springs(STEPS),
    "one body, dynamic, as many rows as may be": lambda: chain(DYNAMIC.format(dt=1 / ROWS, h=1 / ROWS), 1),
    "a long function of time, kinematic": lambda: long_expression(FEW, "driver d (j0 = {});"),
    "a long function of time, kinematic, as many rows as may be": lambda: long_expression(
        KINEMATIC.format(dt=1 / ROWS), "driver d (j0 = {});"
    ),
    "a long function of time, dynamic, 100 steps": lambda: long_expression(STEPS, "motor m (joint = j0, torque = {});"),
}


def text(name: str) -> str:
    """Return one of the texts."""
    return "\n".join([f'MODEL "{name}"', *TEXTS[name](), "ENDMODEL", ""])


def cost(words: list[str]) -> Cost:
    """Run ``rtmbs`` with these words in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    command = [sys.executable, "-c", MEASURE, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("VmHWM"))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(done.returncode, seconds, int(peak) / 1024, (done.stderr.splitlines() or [""])[0])


def rows(folder: Path) -> list[list[str]]:
    """Return the table: each text with what ``rtmbs run`` took, the middle one of three."""
    found = []
    for name in TEXTS:
        path = folder / "text.mks"
        path.write_text(text(name), encoding="utf-8")
        tries = [cost(["run", str(path), "--out", str(folder / "result.npz")]) for _ in range(TRIES)]
        middle = sorted(tries, key=lambda one: one.seconds)[TRIES // 2]
        ending = "refused" if middle.code else "run"
        found.append(
            [name, f"{path.stat().st_size / 1000:.0f}", ending, f"{middle.seconds:.1f}", f"{middle.megabytes:.0f}"]
        )
    return found


def main() -> None:
    """Print the table, or write it."""
    with tempfile.TemporaryDirectory() as folder:
        head = ["text", "kB", "", "processor [s]", "memory [MB]"]
        told(table(head, rows(Path(folder))), LANGUAGE, "python -m bench.largest_texts")


if __name__ == "__main__":
    main()
