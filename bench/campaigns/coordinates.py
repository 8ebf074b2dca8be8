"""Random mechanisms under every force, in odd units: reference-point coordinates against joint coordinates.

Trees and closed loops of three to six bodies with drivers, couplers and constraints. Each formulation answers in both
coordinates at a consistent state. A refusal of dependent rows or of a penalty is an answer, and is counted.
"""

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.measures.forced import as_bodies, both_systems, consistent, sizes
from rtmbs.formulations import FORMULATIONS, FormulationError

ALLOWED = {"penalty": 1e-7, "baumgarte": 1e-9, "augmented-lagrangian": 1e-9}  # of the largest acceleration
EXACT = 1e-10  # other forms


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    tally, refused, open_ = Tally(), dict.fromkeys(FORMULATIONS, 0), 0
    for case in range(seed, seed + cases):
        model, unit, joints, bodies = both_systems(case)
        t = 0.3 * unit.time
        try:
            q, v = consistent(joints, unit, case, t)
        except FormulationError:
            open_ += 1
            tally.survive()  # drivers and loops contradict each other
            continue
        wrong = []
        for name, kind in FORMULATIONS.items():
            try:
                error = difference(model, unit, joints, bodies, kind(), (q, v, t))
            except FormulationError:
                refused[name] += 1
                continue
            tally.largest(name, error)
            if not error < ALLOWED.get(name, EXACT):
                wrong.append(f"{name} {error:.2g}")
        if wrong:
            tally.fail(f"seed {case}: {', '.join(wrong)}")
        else:
            tally.survive()
    tally.largest("mechanisms that do not close", open_)
    for name, count in refused.items():
        tally.largest(f"{name} refused", count)
    return tally


def difference(model, unit, joints, bodies, form, state):
    """Return the largest difference of accelerations in both coordinates, in terms of the largest acceleration."""
    q, v, t = state
    a = form.accelerations(joints, q, v, t)[0]
    x, xd, expected = as_bodies(model, joints, bodies, q, v, a, t)
    found, size = form.accelerations(bodies, x, xd, t)[0], sizes(bodies, unit)
    return float(np.abs((found - expected) / size).max() / np.abs(expected / size).max())


CAMPAIGN = Campaign(
    name="coordinates",
    claim="bodies have the same accelerations in reference-point and in joint coordinates, under every force",
    full=400,
    bounded=40,
    run=run,
)
