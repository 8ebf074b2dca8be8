"""200 random linkages and gains: the share whose loops stay closed for 10 s.

``python bench/methods/robustness.py PATH [NAMES]``. Closed: the run reaches its end, and no loop opens by 1 cm. Gains
are log-uniform in 1 to 200 1/s, alpha and beta apart. The method is Runge-Kutta 4 at h = 10 ms for all formulations.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from rtmbs.bench.random_linkages import random_linkage
from rtmbs.dae import RK4, MotionError, RungeKutta, integrate
from rtmbs.formulations import QR, SVD, Baumgarte, Direct, NullSpace, Partitioning, gains_for_step

COUNT, H, T_END, OPEN = 200, 1e-2, 10.0, 1e-2  # [s], [s], [m]


def forms(seed):
    """Return the formulations of one linkage; gains of the first are random."""
    rng = np.random.default_rng(10_000 + seed)
    alpha, beta = 10.0 ** rng.uniform(0.0, np.log10(200.0), 2)
    return {
        "Baumgarte, random gains": Baumgarte(float(alpha), float(beta)),
        "Baumgarte, gains_for_step": Baumgarte(*gains_for_step(H)),
        "Direct": Direct(),
        "Partitioning": Partitioning(),
        "QR": QR(),
        "SVD": SVD(),
        "NullSpace": NullSpace(),
    }


def bounded(seed, form):
    """Return whether the loops stay closed to the end."""
    system, q, v = random_linkage(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = integrate(system, RungeKutta(RK4, form), q, v, T_END, H)
    except MotionError:
        return False
    return bool(found.violations[:, 0].max() < OPEN)


def main(path, names):
    found, began = {}, time.time()
    for name in names or forms(0):
        found[name] = [bounded(seed, forms(seed)[name]) for seed in range(COUNT)]
        share = float(np.mean(found[name]))
        print(f"{name}: {100 * share:.1f} % of {COUNT} stay bounded; {time.time() - began:.0f} s", flush=True)
        Path(path).write_text(json.dumps({key: float(np.mean(value)) for key, value in found.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
