"""The printed report of a run."""

from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
Lines = Iterable[tuple[str, str]]
LABEL = 26  # columns of a label
MANY = 10**9

DEFINITION = "simulated time / wall time of the steps; above 1 is faster than real time"


def text(record: Record) -> str:
    """Return the report of a four-bar run, one aligned line a value."""
    head = f"multiple four-bar, {record['layout']} {record['ny']} x {record['nz']}, rtmbs {record['version']}"
    sections = (
        ("mechanism", mechanism(record)),
        ("method", method_rows(record)),
        ("time", times(record)),
        ("work", work(record)),
        ("errors", errors(record)),
        ("end", end(record)),
    )
    blocks = [head] + ["\n".join([title, *aligned(lines)]) for title, lines in sections]
    return "\n\n".join(blocks)


def aligned(lines: Lines) -> list[str]:
    return [f"  {label:<{LABEL}}{value}".rstrip() for label, value in lines]


def mechanism(r: Record) -> Lines:
    yield "bodies", f"{r['bodies']} with ground"
    yield "coordinates", f"{r['coordinates']}"
    yield "loop equations", f"{r['loop_equations']} (cuts closed as {r['closure']})"
    yield "degrees of freedom", f"{r['degrees_of_freedom']}"
    yield "start", f"{r['angle_deg']:g} degrees, first row at {r['rate']:g} rad/s"


def method_rows(r: Record) -> Lines:
    yield "steps", f"{r['steps']} of {1e3 * r['h']:g} ms to t = {r['t_end']:g} s"
    chosen = f"c = {r['penalty']:g}" if r["penalty"] is not None else "fixed"
    yield "penalty", f"{chosen}, alpha {spread(r['alpha_min'], r['alpha_max'])}"
    yield "tolerance, Jacobian", f"{r['tol']:g}, {r['jacobian']}, Newton matrix {r['refactor']}"


def times(r: Record) -> Lines:
    yield "load and compile kernels", f"{r['compile_s']:.3f} s"
    yield "set up the mechanism", f"{r['setup_s']:.3f} s"
    yield "run", f"{r['wall_s']:.3f} s wall for {r['t_end']:g} s simulated"
    yield "run in one call", "steps ask Python" if r["run_s"] is None else f"{r['run_s']:.3f} s"
    yield "threads in one call", threads(r)
    yield "real-time factor", f"{r['real_time_factor']:.2f} ({DEFINITION})"
    step = r["step_us"]
    yield "one step", f"p50 {duration(step['p50'])}, p99 {duration(step['p99'])}, max {duration(step['max'])}"
    yield "phases", split(r["phases_s"])


def threads(r: Record) -> str:
    """Return how many threads a run in one call has, and why not as many as it might."""
    groups = r["groups"]
    if len(groups) > 1:
        return f"{len(groups)}, for {', '.join(map(str, groups[:-1]))} and {groups[-1]} coordinates"
    if r["threads"] == 1:
        return "1"
    return "1 (one component: nothing to share)" if r["run_s"] is not None else "1 (steps ask Python)"


def work(r: Record) -> Lines:
    steps = r["steps"]
    yield "Newton iterations", f"{r['newton_iterations']} ({r['newton_iterations'] / steps:.2f} a step)"
    if r["fixed_iterations"] is not None:
        yield "enough would have been", ", ".join(enough(r["enough"]))
    yield "Jacobians, factorisations", f"{r['jacobians']}, {r['factorisations']}"
    yield "projection iterations", f"{r['sweeps']} ({r['sweeps'] / steps:.2f} a step)"
    if r["dense_steps"]:
        yield "dense factors", f"{r['dense_steps']} steps met a pivot that was too small"


def enough(steps: dict[str, int]) -> Iterable[str]:
    """Yield how many steps would have been done after how many iterations, more than the fixed number last."""
    for count in sorted(steps, key=lambda count: int(count) or MANY):
        yield f"{count} iterations in {steps[count]} steps" if int(count) else f"more in {steps[count]} steps"


def errors(r: Record) -> Lines:
    for name, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2")):
        translation, rotation = r[f"max_{name}_violation"], r[f"max_{name}_violation_rad"]
        yield f"loop {name}", f"{translation:.2e} {unit}, rotation {rotation:.2e} {unit.replace('m', 'rad', 1)}"
    yield "energy", f"{r['energy_error']:.2e} J, largest |E - E0|, {r['energy_given']:.2e} J given back to the loops"
    yield "largest over all angles", f"{r['error_theta_max']:.2e} rad from the exact reference"
    yield "angle of row 1", f"{r['error_theta1']:.2e} rad"


def end(r: Record) -> Lines:
    """The angles and rates of the first rods: all of a few rows, the outer ones of many."""
    nz = r["nz"]
    shown = range(nz) if nz <= 6 else (0, 1, 2, nz - 2, nz - 1)
    for k in shown:
        if nz > 6 and k == nz - 2:
            yield "...", ""
        yield f"rod of row {k + 1}", f"{r['theta'][k]: .8f} rad {r['thetad'][k]: .8f} rad/s"


def spread(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def duration(microseconds: float) -> str:
    return f"{microseconds:.0f} us" if microseconds < 1e4 else f"{microseconds / 1e3:.1f} ms"


def split(phases: dict[str, float]) -> str:
    """Return the share of every phase of the time that was measured inside the steps."""
    total = sum(phases.values())
    if not total:
        return "not measured"
    return ", ".join(f"{name} {100.0 * seconds / total:.0f} %" for name, seconds in phases.items())
