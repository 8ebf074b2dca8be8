"""Recursion over random closed chains: kernels against the readable page, both against the dense augmented solve.

Two chains of (2, 2) to (25, 25) bodies, base fixed or free, with and without repeated rows, and random mechanisms under
every force, coupler, driver and constraint. Errors are those of sqrt(M_ii) a_i, in terms of the largest.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.measures.forced import consistent, forced_model
from bench.measures.two_chains import T, state_of, two_chains
from rtmbs.formulations import FormulationError, JointCoordinates, Recursive
from rtmbs.formulations.augmented_system import solve_parts
from rtmbs.formulations.contract import terms_at
from rtmbs.recursive.page import recursive_accelerations

SAME = 1e-11  # kernels and page, which sums over its bodies in another order
EXACT = 1e-10  # both, against the augmented system


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` systems from ``seed`` on; every fourth is a mechanism under every force."""
    tally = Tally()
    singular = repeated = free = 0
    for case in range(seed, seed + cases):
        chains = case % 4 < 3
        try:
            system, q, v, t, drawn = chain_case(case) if chains else forced_case(case)
        except FormulationError:
            singular += 1
            tally.survive()  # no regular state, or drivers and loops that contradict each other
            continue
        try:
            errors = compared(system, q, v, t)
        except FormulationError as error:
            tally.fail(f"seed {case}: {error}")
            continue
        for name, value in errors.items():
            tally.largest(f"{name}, {'chains' if chains else 'every force'}", value)
        repeated, free = repeated + drawn.get("repeated", False), free + drawn.get("free", False)
        wrong = {name: value for name, value in errors.items() if not value <= (SAME if "page and" in name else EXACT)}
        if wrong:
            tally.fail(f"seed {case}: {drawn} {', '.join(f'{name} {value:.2g}' for name, value in wrong.items())}")
        else:
            tally.survive()
    for name, count in (("without a state", singular), ("with repeated rows", repeated), ("on a free base", free)):
        tally.largest(name, count)
    return tally


def chain_case(seed: int) -> tuple[Any, ...]:
    """Return a pair of chains as a system, with a state."""
    model, unit, drawn = two_chains(seed)
    system = JointCoordinates(model.compile())
    return system, *state_of(system, unit, seed), T * unit.time, drawn


def forced_case(seed: int) -> tuple[Any, ...]:
    """Return a mechanism under every force, with a state."""
    model, unit = forced_model(seed)
    system, t = JointCoordinates(model.compile()), 0.3 * unit.time
    return system, *consistent(system, unit, seed, t), t, {}


def compared(system: JointCoordinates, q: Any, v: Any, t: float) -> dict[str, float]:
    """Return relative differences of accelerations and of Phi_q^T lam."""
    terms = terms_at(system, q, v, t)
    right, right_lam = solve_parts(terms)
    a, lam = Recursive().accelerations(system, q, v, t)
    system.force(q, v, t)  # leaves the state evaluated
    page = recursive_accelerations(system.equations)
    T, bends = system.vectors.turning(q), system.vectors.rate_terms(q, v)
    b = np.linalg.solve(T, page.zdd - bends)
    root = np.sqrt(np.maximum(np.diag(terms.M), 1e-14 * np.diag(terms.M).max()))
    size = np.abs(root * right).max()
    pushed = [terms.Phi_q.T @ x / root for x in (lam, page.lam, right_lam)]
    load = max(np.abs(pushed[2]).max(initial=0.0), size)
    norm: Callable[[Any], float] = lambda x: float(np.abs(x).max(initial=0.0))  # noqa: E731
    return {
        "page and kernels": norm(root * (a - b)) / size,
        "page and kernels, loads": norm(pushed[0] - pushed[1]) / load,
        "kernels": norm(root * (a - right)) / size,
        "page": norm(root * (b - right)) / size,
        "loads of kernels": norm(pushed[0] - pushed[2]) / load,
    }


CAMPAIGN = Campaign(
    name="recursion",
    claim="recursion gives the accelerations of the augmented system, and its page those of its kernels",
    full=200,
    bounded=40,
    run=run,
)
