"""What rtmbs wants to reach beside its peers at 4 x 40, and whether a campaign shows it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from bench.documents import table
from bench.peers.campaign import STEP
from bench.peers.registry import RTMBS, THREADED

Record = dict[str, Any]
Measured = Callable[[Record], float]


class Target(NamedTuple):
    """One line: ``measured`` raises LookupError for what the campaign did not measure."""

    name: str
    wanted: float  # at most
    unit: str  # empty for a ratio
    measured: Measured


def run(record: Record, module: str, layout: str) -> Record:
    """Return the run of a program in steps of the table."""
    return first(r for r in record["runs"] if (r["module"], r["layout"], r["h"]) == (module, layout, STEP))


def values(record: Record, group: str, module: str, layout: str = "stacked") -> dict[str, float]:
    """Return the medians of a worker of another group."""
    found: dict[str, float] = first(
        entry for entry in record[group] if (entry["module"], entry["layout"]) == (module, layout)
    )["values"]
    return found


def first(found: Any) -> Record:
    """Return the first of those found, or raise LookupError."""
    for one in found:
        return dict(one)
    raise LookupError("not measured")


def beside(module: str, layout: str) -> Measured:
    """Return time of rtmbs / time of the program."""
    return lambda record: run(record, RTMBS.module, layout)["seconds"] / run(record, module, layout)["seconds"]


def own(layout: str, key: str) -> Measured:
    """Return a number of the run of rtmbs."""
    return lambda record: float(run(record, RTMBS.module, layout)[key])


def kernel(layout: str, name: str) -> Measured:
    """Return microseconds of a kernel of rtmbs."""
    return lambda record: values(record, "kernels", "kernels_rtmbs", layout)[name]


def kernel_beside(layout: str, name: str, peer: str) -> Measured:
    """Return time of a kernel of rtmbs / time of the kernel of Pinocchio that answers the same question."""
    return lambda record: kernel(layout, name)(record) / values(record, "kernels", "kernels_pinocchio", layout)[peer]


def small(name: str) -> Measured:
    """Return microseconds a step of a small mechanism."""
    return lambda record: values(record, "small", "small_rtmbs")[name]


def trace_beside_casadi(layout: str) -> Measured:
    """Return time of a K, C pair by trace / by CasADi."""
    return lambda record: (
        values(record, "jacobians", "jacobian_trace", layout)["pair_ms"]
        / values(record, "jacobians", "jacobian_casadi", layout)["pair_ms"]
    )


def two_threads(record: Record) -> float:
    """Return time of rtmbs on two threads / time of MuJoCo on one."""
    threaded, other = (run(record, module, "parallel") for module in (THREADED.module, "mujoco_connect"))
    return float(threaded["seconds"] / other["seconds"])


TARGETS = (
    Target("stacked: largest error", 2e-4, "rad", own("stacked", "error_max")),
    Target("stacked: run", 0.35, "s", own("stacked", "seconds")),
    Target("stacked: run, over Exudyn spatial", 0.1, "", beside("exudyn_spatial", "stacked")),
    Target("stacked: run, over MuJoCo", 0.5, "", beside("mujoco_connect", "stacked")),
    Target("parallel: largest error", 1e-6, "rad", own("parallel", "error_max")),
    Target("parallel: run, over Exudyn planar", 0.15, "", beside("exudyn_planar", "parallel")),
    Target("parallel: run, over MuJoCo", 1.5, "", beside("mujoco_connect", "parallel")),
    Target("parallel: run on two threads, over MuJoCo on one", 1.0, "", two_threads),
    *(
        Target(f"{layout}: {name}, over Pinocchio", wanted, "", kernel_beside(layout, name, peer))
        for name, peer, wanted in (
            ("residual, tree", "residual, tree", 1.0),
            ("residual, loops", "residual, tree", 1.5),
            ("tangent, tree", "tangent, tree", 0.7),
        )
        for layout in ("stacked", "parallel")
    ),
    Target("stacked: one factorisation", 400.0, "us", kernel("stacked", "factor, loops")),
    Target("A02 with two windows: a step inside run", 25.0, "us", small("A02")),
    Target("A01: a step inside run", 10.0, "us", small("A01")),
    Target("stacked: K, C by trace, over CasADi", 1.5, "", trace_beside_casadi("stacked")),
    Target("parallel: K, C by trace, over CasADi", 1.5, "", trace_beside_casadi("parallel")),
)


def verdicts(record: Record) -> str:
    """Return the table of all targets."""
    return table(["wanted at 4 x 40", "at most", "measured", ""], [line(target, record) for target in TARGETS])


def line(target: Target, record: Record) -> list[str]:
    """Return the cells of one target."""
    wanted = f"{target.wanted:g} {target.unit}".strip()
    try:
        measured = target.measured(record)
    except LookupError:
        return [target.name, wanted, "", "not measured"]
    verdict = "reached" if measured <= target.wanted else "not reached"
    slower = ", rtmbs is slower" if not target.unit and measured > 1.0 else ""
    return [target.name, wanted, f"{measured:.2g} {target.unit}".strip(), verdict + slower]
