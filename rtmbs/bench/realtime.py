"""Steps of the multiple four-bar by the wall clock: their lateness, beside that of an empty loop.

Both loops run in turns of TURN seconds in one process, so that whatever else the machine does meets both alike.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs import __version__
from rtmbs.bench import fourbar
from rtmbs.bench.fourbar import aligned
from rtmbs.errors import InputError
from rtmbs.simulation import Simulation
from rtmbs.simulation.pacing import Pacer, Punctuality, paced
from rtmbs.simulation.running import error_of

Array = NDArray[np.float64]
Record = dict[str, Any]

TURN = 0.5  # [s]
BINS = 10 ** np.arange(-6.5, 0.01, 0.25)  # [s] edges of the histogram
WIDTH = 40  # columns of its longest bar
MICRO = 1e6
PERCENTILES = {"p50": "p50", "p99": "p99", "p99.9": "p999", "max": "max"}  # label: key of a record


def measure(options: fourbar.Options, seconds: float) -> Record:
    """Step for ``seconds`` of wall time, one step a period h, in turns with an empty loop; statistics of both."""
    periods = round(seconds / options.h)
    if periods < 1:
        raise InputError(f"--seconds {seconds:g} is less than one step of {options.h:g} s")
    fourbar.warm(options)
    sim = options.simulation(options.ny, options.nz)
    sim.step()
    stepping, empty = Pacer(options.h), Pacer(options.h)
    durations: list[Array] = []
    turn = max(round(TURN / options.h), 1)
    for start in range(0, periods, turn):
        count = min(turn, periods - start)
        durations.append(paced(lambda: step(sim), stepping, count))
        paced(nothing, empty, count)
    record: Record = {"version": __version__, "layout": options.layout, "ny": options.ny, "nz": options.nz}
    record |= {"h": options.h, "seconds": seconds, "periods": periods, "fixed_iterations": options.fixed_iterations}
    record["step_us"] = percentiles(np.concatenate(durations))
    return (
        record
        | {"stepping": punctual(stepping), "empty": punctual(empty)}
        | {
            "histogram": {
                "edges_us": (MICRO * BINS).tolist(),
                "step": counts(np.concatenate(durations)),
                "late_stepping": counts(stepping.lateness()),
                "late_empty": counts(empty.lateness()),
            }
        }
    )


def step(sim: Simulation) -> None:
    """Take one step; raises StepError when it fails."""
    report = sim.step()
    if not report.outcome.accepted:
        raise error_of(sim, report)


def nothing() -> None:
    """Do nothing, as the body of the empty loop."""


def percentiles(seconds: Array) -> dict[str, float]:
    """Return p50, p99, p99.9 and the largest [us]."""
    p50, p99, p999 = np.percentile(MICRO * seconds, (50.0, 99.0, 99.9)).tolist()
    return {"p50": p50, "p99": p99, "p999": p999, "max": float(MICRO * seconds.max())}


def punctual(pacer: Pacer) -> dict[str, float]:
    """Return the number of deadlines, of missed ones, and the lateness of ``wait`` [us]."""
    found: Punctuality = pacer.punctuality()
    late = {"p50": found.p50, "p99": found.p99, "p999": found.p999, "max": found.max_lateness}
    return {"deadlines": found.deadlines, "missed": found.missed, "moved": found.moved} | {
        name: MICRO * value for name, value in late.items()
    }


def counts(seconds: Array) -> list[int]:
    """Return how many values fall between the edges; those beyond count at the ends."""
    found: list[int] = np.histogram(np.clip(seconds, BINS[0], BINS[-1]), BINS)[0].tolist()
    return found


def text(record: Record) -> str:
    """Return the statistics of both loops and their histograms."""
    head = (
        f"real time, multiple four-bar, {record['layout']} {record['ny']} x {record['nz']}, rtmbs {record['version']}"
    )
    lines = [
        ("period", f"{1e3 * record['h']:g} ms, one step each, {record['periods']} periods in turns with an empty loop"),
        ("one step", spread(record["step_us"])),
        *loop("stepping", record["stepping"]),
        *loop("empty loop", record["empty"]),
    ]
    histogram = record["histogram"]
    rows = list(zip(histogram["edges_us"], histogram["edges_us"][1:], strict=False))
    columns = [histogram[name] for name in ("step", "late_stepping", "late_empty")]
    used = [k for k in range(len(rows)) if any(column[k] for column in columns)]
    table = ["  from [us]    to [us]       step  late, stepping  late, empty"]
    for k in range(used[0], used[-1] + 1):
        low, high = rows[k]
        step, late, empty = (column[k] for column in columns)
        bar = "#" * round(WIDTH * step / max(columns[0]))
        table.append(f"  {low:9.3g}  {high:9.3g}  {step:9d}  {late:14d}  {empty:11d}  {bar}".rstrip())
    return "\n".join([head, *aligned(lines), "", *table])


def loop(name: str, found: dict[str, float]) -> list[tuple[str, str]]:
    """Return the lines of one loop."""
    told = f"{found['missed']} of {found['deadlines']} missed, deadlines moved {found['moved']} times"
    return [(f"{name}: deadlines", told), (f"{name}: late by", spread(found))]


def spread(found: dict[str, float]) -> str:
    """Write percentiles and the largest value."""
    return ", ".join(f"{label} {found[key]:.1f} us" for label, key in PERCENTILES.items())
