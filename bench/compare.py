"""Tell a slowdown beyond noise: ``python -m bench.compare OLD.json NEW.json``; ends with 1 when there is one.

Both files are what pytest-benchmark writes with ``--benchmark-json``. A benchmark is slower when two things hold: the
rounds of the new file are larger than those of the old one by the Mann-Whitney test, and both their median and their
first decile have grown by more than ``--least``. The test alone would call every trifle of a long series a slowdown,
the growth alone every hiccup of a short one; other programs make rounds slower and never faster, so a slowdown that the
fast rounds do not show is theirs. The p-values of all benchmarks are judged together (Benjamini, Hochberg 1995), so
that many benchmarks do not make a false alarm likely. Noise that lasts as long as a run is no noise to a test: measure
both files on a quiet machine, one right after the other.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, mannwhitneyu

LEAST = 0.10  # growth that counts, of the median and of the fast rounds
FAST = 0.1  # quantile
ALPHA = 0.01  # false alarms among the slowdowns that are told
FEWEST = 5  # rounds in both files: with fewer the test cannot reach ALPHA
SLOWER, FINE, MISUSED = 1, 0, 2  # exit codes

Array = NDArray[np.float64]


class FileError(ValueError):
    """A file that is not what pytest-benchmark writes; the message names it."""


class Measured(NamedTuple):
    """A file of measurements."""

    machine: str
    seconds: dict[str, Array]  # every round of a benchmark, by its full name


class Verdict(NamedTuple):
    """What became of one benchmark."""

    name: str
    old: float  # median [s]
    new: float
    growth_of_fast: float  # of the first decile, new over old
    p: float  # adjusted, of both series of rounds being alike; nan with too few of them
    words: str  # empty when nothing has changed beyond noise

    @property
    def ratio(self) -> float:
        """Median of the new rounds over that of the old ones."""
        return self.new / self.old


def read(path: Path) -> Measured:
    """Read what pytest-benchmark wrote; FileError for anything else."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        found = {entry["fullname"]: rounds(path, entry) for entry in record["benchmarks"]}
        info = record["machine_info"]
        return Measured(f"{info['cpu'].get('brand_raw', info['machine'])}, {info['node']}", found)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}; name a file of pytest-benchmark") from error
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise FileError(f"{path} is not what `pytest --benchmark-json PATH` writes: {error!r}") from error


def rounds(path: Path, entry: dict[str, Any]) -> Array:
    """Return the seconds of all rounds of one benchmark; FileError when they are missing, negative or not finite."""
    values = np.asarray(entry["stats"]["data"], dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values) & (values > 0.0)):
        raise FileError(f"{path}: the rounds of {entry['fullname']} are not positive times; measure again")
    return values


def compare(old: Measured, new: Measured, least: float = LEAST) -> list[Verdict]:
    """Return a verdict for every benchmark that is in both files, in the order of the new one."""
    names = [name for name in new.seconds if name in old.seconds]
    enough = [name for name in names if min(len(old.seconds[name]), len(new.seconds[name])) >= FEWEST]
    alike = [float(mannwhitneyu(new.seconds[name], old.seconds[name]).pvalue) for name in enough]
    p = dict(zip(enough, adjusted(alike), strict=True))
    verdicts = []
    for name in names:
        before, after = (np.quantile(each.seconds[name], (0.5, FAST)) for each in (old, new))
        chance = p.get(name, np.nan)
        said = words(after / before, chance, least)
        verdicts.append(Verdict(name, float(before[0]), float(after[0]), float(after[1] / before[1]), chance, said))
    return verdicts


def adjusted(p: list[float]) -> list[float]:
    """Return p-values that hold for all of them together."""
    return [float(value) for value in false_discovery_control(p)] if p else []


def words(growth: Array, p: float, least: float) -> str:
    """Return the verdict in words; ``growth`` of the median and of the fast rounds."""
    if np.isnan(p):
        return f"fewer than {FEWEST} rounds: cannot be told"
    if p >= ALPHA:
        return ""
    if np.all(growth > 1.0 + least):
        return "SLOWER"
    return "faster" if np.all(growth < 1.0 / (1.0 + least)) else ""


def table(verdicts: list[Verdict]) -> str:
    """Return one line a benchmark, slowest first."""
    lines = [f"{'benchmark':60} {'old':>10} {'new':>10} {'ratio':>7} {'fast':>7} {'p':>8}"]
    for v in sorted(verdicts, key=lambda v: -v.ratio):
        name = v.name if len(v.name) <= 60 else f"...{v.name[-57:]}"
        numbers = f"{v.ratio:7.3f} {v.growth_of_fast:7.3f} {v.p:8.1e}"
        lines.append(f"{name:60} {time(v.old):>10} {time(v.new):>10} {numbers}  {v.words}".rstrip())
    return "\n".join(lines)


def time(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} us"


def main(arguments: list[str] | None = None) -> int:
    """Read both files, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description="Tell a slowdown beyond noise between two files of pytest-benchmark"
    )
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    parser.add_argument("--least", type=float, default=LEAST, help="growth that counts (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        old, new = read(options.old), read(options.new)
    except FileError as error:
        print(error, file=sys.stderr)
        return MISUSED
    verdicts = compare(old, new, options.least)
    if not verdicts:
        print(f"{options.old} and {options.new} have no benchmark in common", file=sys.stderr)
        return MISUSED
    print(table(verdicts))
    for name in sorted(old.seconds.keys() ^ new.seconds.keys()):
        print(f"only in {options.old if name in old.seconds else options.new}: {name}")
    if old.machine != new.machine:
        print(f"measured on different machines: {old.machine}; {new.machine}")
    slower = sum(verdict.words == "SLOWER" for verdict in verdicts)
    print(f"{slower} of {len(verdicts)} slower by more than {100 * options.least:g} %")
    return SLOWER if slower else FINE


if __name__ == "__main__":
    sys.exit(main())
