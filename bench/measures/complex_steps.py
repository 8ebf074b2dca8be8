"""Derivatives of runs against a complex step: ``python -m bench.measures.complex_steps`` prints the largest errors.

``--write`` writes them into docs/sensitivities.md.

A reference model of the step in NumPy: the equations of every step are solved anew in complex numbers by ``page.py``,
from a state and parameters with an imaginary part of 1e-30. The imaginary part of a whole run is its derivative. No
program, no factor and no derivative of rtmbs is in it; Newton's iteration takes the factor as its start only.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import rtmbs
from bench.documents import DOCS, table, told
from rtmbs.semirecursive import page
from rtmbs.studies.sensitivities.channels import CheckpointedRun
from rtmbs.studies.sensitivities.initial_state import FirstChange
from rtmbs.studies.sensitivities.parameters import parameters_of
from rtmbs.studies.sensitivities.sensitivity import direct_method, prepare, private_simulation
from rtmbs.studies.sensitivities.step_solver import solve_steps
from rtmbs.studies.sensitivities.steps import LinearSteps, RunRecorder, Steps

Array = np.ndarray[Any, np.dtype[np.float64]]
TINY = 1e-30  # the imaginary part
ITERATIONS = 6  # of Newton's iteration with the real matrix; the imaginary part follows linearly
# Of the unknowns of a kind: the last correction allowed, and one that is rounding. Rates behind a first step from rest
# are small differences: on Andrews' mechanism rounding alone corrects them by 2e-10.
SOLVED, ROUNDING = 1e-9, 1e-13
TIGHT = rtmbs.PenaltyTrapezoidal(tol=1e-12)
STEPS = 20
PAGE, NAME = DOCS / "sensitivities.md", "python -m bench.measures.complex_steps"
STILL = 1e-7  # of the largest component of a parameter: the others are rounding
UNMOVED = 1e-12  # largest derivative of a coordinate by a number that a locked mechanism does not feel: rounding
KINDS = ("z", "zd", "zdd", "force", "lam")  # force: P^T lam, which redundant equations do not leave open
CASES: dict[str, tuple[float, list[str]]] = {  # step [s] and parameters
    "crank_rocker": (4e-3, ["gravity", "crank_pivot.position", "crank_pivot.rate", "coupler.mass", "knee.point"]),
    "planar_slider_crank": (4e-3, ["gravity", "pivot.rate", "rod.mass", "rod.inertia", "pin.point"]),
    "slider_crank": (1e-3, ["gravity", "pivot.rate", "rod.mass", "rod.center_of_mass", "ball.point"]),
    "bricard": (5e-3, ["gravity", "rod_2.mass", "rod_3.inertia", "rod_4.center_of_mass"]),
    "windows": (4e-3, ["gravity", "pivot_0.rate", "post_1.mass", "post_2.inertia"]),
    "andrews": (1e-4, ["gravity", "body_3.mass", "body_5.inertia", "body_2.center_of_mass"]),
}


def linear_run(
    model: Any, by: Sequence[str], h: float, steps: int, at: Mapping[str, float], method: Any = TIGHT
) -> tuple[LinearSteps, FirstChange, tuple[str, ...]]:
    """Return the linear equations of a run, how its first state changes, and the names of the parameters.

    ``model`` is a Model, or a function that builds one from the arguments ``at``.
    """
    built = model if isinstance(model, rtmbs.Model) else model(**at)
    sim = private_simulation(rtmbs.Simulation(built.compile(), h=h, method=method))
    parameters, tape, first = prepare(sim, parameters_of(sim, by, model, at, CheckpointedRun(sim, steps).t))
    alpha, watch = tape.penalties(sim).copy(), RunRecorder()
    sim.run(steps * h, observers=[watch])
    return LinearSteps(tape, watch.recorded(), alpha), first, parameters.names


def complex_states(steps: LinearSteps, first: Array, j: int) -> Array:
    """Return the derivatives (K, nx + m) of states and multipliers of recorded steps by parameter ``j``.

    ``first`` (nx,) is the derivative of the first state.
    """
    tape, rate, found = steps.tape, first, []
    for k in range(steps.recorded.steps):
        chunk = steps.chunk(k, 1)
        q, known = chunk.point[0].astype(complex), chunk.known
        q[tape.inputs["p"].start + j] += 1j * TINY
        y = solved(tape, steps.cases[chunk.case[0]], q, rate, known[0], solve_with(steps, chunk))
        rate = behind(tape, y, rate)
        parts = tape.y.split(y)
        found.append(np.concatenate((rate, tape.multipliers(parts))))
    return np.array(found)


def solve_with(steps: LinearSteps, chunk: Steps) -> Callable[[Array], Array]:
    """Return what solves with the real matrix of one step."""
    values = chunk.evaluated(np.empty((1, chunk.size)))

    def solve(right: Array) -> Array:
        found = right.reshape(1, -1, 1).copy()
        solve_steps(steps.blocks(1), values, chunk.case, chunk.made, found)
        return np.asarray(found[0, :, 0])

    return solve


def solved(tape: Any, case: Any, q: Any, rate: Array, known: Array, solve: Callable[[Array], Array]) -> Array:
    """Return the imaginary part over TINY of the unknowns y with which the complex equations hold."""
    y, x = tape.inputs["y"], tape.inputs["x"]
    q[x] += 1j * TINY * rate
    real, kinds = tape.equations(case, q.real + 0j, known).real, [tape.y[name] for name in ("inc", "zd", "zdd")]
    share = np.inf
    for _ in range(ITERATIONS):
        left = tape.equations(case, q, known) - real  # what tolerances of the run left is no part of the derivative
        change = solve(left.imag)
        q[y] -= 1j * change
        share = max(float(np.abs(change[kind]).max() / max(np.abs(q[y].imag[kind]).max(), TINY**2)) for kind in kinds)
        if share < ROUNDING:
            break
    if not share < SOLVED:
        raise AssertionError(f"the complex equations of a step are solved to {share:.1g} only")
    return np.asarray(q[y].imag / TINY)


def behind(tape: Any, y: Array, rate: Array) -> Array:
    """Return the derivative (nx,) of the state behind a step."""
    parts = tape.y.split(y)
    z = parts["inc"] + tape.plain * rate[: tape.n]
    for e, i in enumerate(tape.first):
        z[i : i + 3] = parts["turn"][3 * e : 3 * e + 3]
    return np.concatenate((z, parts["zd"], parts["zdd"], parts["kept"], parts["ended"], parts["sd"]))


def errors(
    model: Any,
    by: Sequence[str],
    h: float,
    steps: int,
    at: Mapping[str, float] | None = None,
    method: Any = TIGHT,
) -> dict[str, float]:
    """Return the largest error by any parameter, of each kind of number, over the largest derivative of its kind.

    Components of a parameter that leave the motion where it is, but for rounding, are left out. ``model`` and ``at`` as
    in ``linear_run``.
    """
    run, first, names = linear_run(model, by, h, steps, at or {}, method)
    X, lam, _ = direct_method(run, first)
    tape = run.tape
    places = {name: tape.x[name] for name in ("z", "zd", "zdd", "s", "sd")}
    moved, of = np.abs(X[:, places["z"]]).max(axis=(0, 1)), np.array([name.split("[")[0] for name in names])
    worst: dict[str, float] = {}
    for j in range(len(names)):
        if moved[j] < max(STILL * moved[of == of[j]].max(), UNMOVED):
            continue
        found = complex_states(run, first.state[:, j], j)
        pairs = {name: (X[1:, place, j], found[:, place]) for name, place in places.items()}
        pairs["lam"] = lam[1:, :, j], found[:, tape.x.size :]
        pairs["force"] = pushed(run, pairs["lam"][0]), pushed(run, pairs["lam"][1])
        for name, (ours, wanted) in pairs.items():
            if wanted.size and np.any(wanted):
                least = STILL * np.abs(found[:, places["zd"]]).max() / h if name == "zdd" else 0.0  # rates may stay
                error = float(np.abs(ours - wanted).max() / max(np.abs(wanted).max(), least))
                worst[name] = max(worst.get(name, 0.0), error)
    return worst


def pushed(run: LinearSteps, lam: Array) -> Array:
    """Return the generalised forces (K, n) of changes of multipliers (K, m) at the recorded poses."""
    samples, tables = run.recorded.samples, run.tape.tables
    found = [
        page.loop_force(np, tables, u, R0, one[None], z[None])[0]
        for u, R0, z, one in zip(samples.u[1:], samples.R0[1:], samples.z[1:], lam, strict=True)
    ]
    return np.array(found)


def main() -> None:
    """Measure, print, and write on demand."""
    rows = []
    for name, (h, by) in CASES.items():
        found = errors(rtmbs.library.build(name), by, h, STEPS)
        rows.append([name, *(f"{found.get(kind, 0.0):.1e}" for kind in KINDS)])
    told(
        table(["mechanism", "positions", "rates", "accelerations", "forces of loops", "multipliers"], rows), PAGE, NAME
    )


if __name__ == "__main__":
    main()
