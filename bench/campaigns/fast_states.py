"""Random linear states of force laws: a warning exactly where the step is too long for the fastest time constant.

The reference has no part of rtmbs: eigenvalues by scipy, and the run beside the exponential of the matrix. Without
a warning, a run from the first values is right within the promised error.
"""

import warnings
from typing import Any

import numpy as np
import scipy.linalg

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import RtmbsWarning

Array = Any
TOO_FAST = 0.5  # h |lambda| of a warning
PROMISED = 0.03  # of the first values: what half a time constant a step makes of a decay


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one law."""
    rng = np.random.default_rng([seed, 33])
    k, h = int(rng.integers(1, 5)), 1e-3
    rates = -(10.0 ** rng.uniform(1.0, 4.0, k))
    basis = np.linalg.qr(rng.normal(size=(k, k)))[0]  # normal: its first values do not grow
    A = basis @ np.diag(rates) @ basis.T
    first = basis @ rng.normal(size=k)

    def law(t: Any, kinematics: Any, parameters: Any, states: Any) -> Any:
        x = np.stack([states[f"x{i}"] for i in range(k)])
        return 0.0 * kinematics.z, parameters["A"] @ x

    model = rtmbs.Model("states", gravity=(0, 0, 0))
    model.add_body("b", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("j", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "b")
    states = {f"x{i}": float(value) for i, value in enumerate(first)}
    model.add_force("law", law, joint="j", parameters={"A": A}, states=states)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", RtmbsWarning)
        result = rtmbs.Simulation(model.compile(), h=h).run(0.05)
    told = [str(one.message) for one in said]
    constant = 1.0 / float(np.max(np.abs(scipy.linalg.eigvals(A))))
    found = np.column_stack([result[f"law.x{i}"] for i in range(k)])
    exact = np.array([scipy.linalg.expm(A * t) @ first for t in result["t"]])
    error = float(np.max(np.linalg.norm(found - exact, axis=1)) / np.linalg.norm(first))
    tally.largest(f"error, {'told' if told else 'not told'}", error)
    if bool(told) != (h / constant > TOO_FAST):
        return f"h / constant = {h / constant:g}, told {told}"
    if told and f"a time constant of {constant:.3g} s" not in told[0]:
        return f"constant {constant:g}: {told}"
    return f"error {error:g} and nothing told" if not told and error > PROMISED else ""


CAMPAIGN = Campaign(
    name="fast_states",
    claim="states of laws that steps do not resolve are told with their time constant; others are right within 3 %",
    full=400,
    bounded=40,
    run=lambda count, seed: each(judged, count, seed),
)
