"""Combinations of a solver that chooses its own steps, a formulation, a tolerance and a motion of 10 to 50 s.

Case k is the k-th of all combinations in a fixed random order: solvers of SciPy and SUNDIALS, every formulation by name
and the compiled one, tolerances 1e-3 to 1e-8, and the motions of ``reduced_motions``, with dependent rows, turns and
rate constraints. The reference is the equation of the reduced coordinates by DOP853, without rtmbs. A case fails when
it ends in an error, or is further off than allowed: the error of the same solver over the reduced equations and the
growth of a small change say how much that is. A formulation without correction and feedback drifts. It may be off by
what it reports: the largest violation of the solver's own state.
"""

from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.reduced_motions import MOTIONS
from bench.reduced_motions import ReducedMotion
from rtmbs.dae import CVODE, SolveIVP, integrate
from rtmbs.errors import RtmbsError
from rtmbs.formulations import FORMULATIONS, Compiled

Array = NDArray[np.float64]
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "cvode adams", "cvode bdf")
TOLERANCES = (-3, -4, -5, -6, -7, -8)  # powers of ten
LEAST = {"RK23": -5, "BDF": -6, "Radau": -6}  # of solvers of low order, or that make many matrices
FORMS = {name: FORMULATIONS[name] for name in FORMULATIONS if name != "recursive"} | {"compiled": Compiled}
DRIFTING = ("direct", "least-squares-completion")  # neither correction nor feedback
SLOW = ("wampler", "least-squares-completion")
SPANS = (*[10.0] * 7, 20.0, 20.0, 50.0)  # [s], drawn
WORST = 30.0  # times the error of the same solver over the reduced equations
FLOOR = 300.0  # tolerances times the growth of a small change, beside that; or one tolerance a step
DRIFT = 5.0  # reported violations times the growth, beside that, for a formulation that drifts


class Combination(NamedTuple):
    """One case."""

    solver: str
    form: str
    power: int
    motion: str


@cache
def combinations() -> list[Combination]:
    """Return all combinations in a fixed random order; a formulation that needs full rank takes no dependent rows."""
    found = [
        Combination(*parts)
        for parts in product(SOLVERS, FORMS, TOLERANCES, MOTIONS)
        if parts[2] >= LEAST.get(parts[0], -9) and (FORMS[parts[1]]().redundant or "twice" not in parts[3])
    ]
    return [found[k] for k in np.random.default_rng(3405).permutation(len(found))]


def over_reduced(motion: ReducedMotion, span: float, solver: str, tolerance: float) -> Array:
    """Return the end by the same solver over the reduced equations, without rtmbs."""
    if not solver.startswith("cvode"):
        found = solve_ivp(motion.rates, (0.0, span), motion.start, solver, rtol=tolerance, atol=tolerance)
        return np.asarray(found.y[:, -1])
    from sksundae.cvode import CVODE as Sundials

    def rhs(t: float, y: Array, out: Array) -> None:
        out[:] = motion.rates(t, y)

    formula = "Adams" if solver.endswith("adams") else "BDF"
    own = Sundials(rhs, method=formula, rtol=tolerance, atol=tolerance, max_num_steps=10**6)
    own.init_step(0.0, motion.start)
    return np.asarray(own.step(span).y).ravel()


def method_of(one: Combination, size: float) -> Any:
    """Return the method of time."""
    tolerance, form = 10.0**one.power, FORMS[one.form]()
    if one.solver.startswith("cvode"):
        return CVODE(one.solver.split()[1], form, rtol=tolerance, atol=tolerance * size)
    return SolveIVP(one.solver, form, tolerance, tolerance * size)


def case_of(seed: int) -> tuple[dict[str, float], str]:
    """Return the errors over the allowed ones by what they are of, and what describes the case."""
    one, rng = combinations()[seed % len(combinations())], np.random.default_rng((seed, 3405))
    tolerance, motion = 10.0**one.power, MOTIONS[one.motion](rng)
    dear = one.form in SLOW or one.solver == "RK23" or (one.solver == "Radau" and one.power < -4)
    span = SPANS[0] if dear else float(rng.choice(SPANS))
    size = float(motion.size.max())
    what = f"seed {seed}: {one.motion}, {one.solver}, {one.form}, 1e{one.power}, {span:.0f} s"
    if one.solver.startswith("cvode") and find_spec("sksundae") is None:
        return {}, what
    wanted, growth = motion.place(motion.end(span), span), motion.growth(span)
    usual = motion.place(over_reduced(motion, span, one.solver, tolerance), span)
    try:
        found = integrate(motion.system, method_of(one, size), motion.q, motion.v, span, span / 10)
    except RtmbsError as error:
        return {"error over the allowed one": np.inf}, f"{what}: {error}"
    error = float(np.abs((found.q[-1] - wanted) / motion.size).max())
    other = float(np.abs((usual - wanted) / motion.size).max())
    left = float(found.violations[:, 0].max(initial=0.0)) / size
    local = max(FLOOR, found.counts.steps) * tolerance + (DRIFT * left if one.form in DRIFTING else 0.0)
    allowed = WORST * other + local * growth
    group = "drifts" if one.form in DRIFTING else "holds the constraints"
    errors = {
        "error over the allowed one": error / allowed,
        f"error in tolerances times growth, a form that {group}": error / (tolerance * growth),
        f"violation of the solver's own state in tolerances, a form that {group}": left / tolerance,
    }
    return errors, f"{what}: error {error:.1e}, allowed {allowed:.1e}, left {left:.1e}"


def run(cases: int, seed: int) -> Tally:
    """Run every case."""
    tally = Tally()
    for k in range(seed, seed + cases):
        errors, what = case_of(k)
        for name, value in errors.items():
            tally.largest(name, value)
        if errors.get("error over the allowed one", 0.0) <= 1.0:
            tally.survive()
        else:
            tally.fail(what)
    return tally


CAMPAIGN = Campaign(
    "adaptive-solvers",
    "combinations of solver, formulation, tolerance and motion of 10 to 50 s follow reduced equations",
    full=500,
    bounded=15,
    run=run,
)
