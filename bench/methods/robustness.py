"""200 random linkages: the share whose loops stay closed for 10 s at h = 10 ms, and with shorter steps.

``python -m bench.methods.robustness PATH [NAMES]`` adds to PATH after each linkage, and goes on where PATH ends.
Closed: the run reaches its end, and no loop opens by 1 cm. Gains of the first form are log-uniform in 1 to 200 1/s,
alpha and beta apart. The method is Runge-Kutta 4. A formulation that corrects states runs again at half the step where
a run fails. Energy is kept where its largest change stays below a tenth of the largest kinetic energy.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from bench.methods.problems import random_linkage
from rtmbs.dae import RK4, MotionError, RungeKutta, integrate
from rtmbs.formulations import QR, SVD, Baumgarte, Correcting, Direct, NullSpace, Partitioning, gains_for_step

COUNT, STEPS, T_END, OPEN = 200, (1e-2, 5e-3, 2.5e-3, 1.25e-3), 10.0, 1e-2  # [s], [s], [m]


def forms(seed):
    """Return the formulations of one linkage; gains of the first are random."""
    rng = np.random.default_rng(10_000 + seed)
    alpha, beta = 10.0 ** rng.uniform(0.0, np.log10(200.0), 2)
    return {
        "Baumgarte, random gains": Baumgarte(float(alpha), float(beta)),
        "Baumgarte, gains_for_step": Baumgarte(*gains_for_step(STEPS[0])),
        "Direct": Direct(),
        "Partitioning": Partitioning(),
        "QR": QR(),
        "SVD": SVD(),
        "NullSpace": NullSpace(),
    }


def closed_run(system, q, v, form, h):
    """Return the motion whose loops stay closed to the end, or None, and the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = integrate(system, RungeKutta(RK4, form), q, v, T_END, h)
    except MotionError as error:
        return None, str(error)
    largest = found.violations[:, 0].max()
    return (found, "") if largest < OPEN else (None, f"a loop opened by {largest:.2g}")


def energy_change(system, found):
    """Return the largest change of energy, in terms of the largest kinetic energy or 1e-9 J."""
    links = slice(len(system.masses))
    kinetic = np.array([0.5 * v @ system.mass(q, 0.0) @ v for q, v in zip(found.q, found.v, strict=True)])
    potential = [-system.masses @ system.positions(q)[links] @ system.gravity for q in found.q]
    return float(np.ptp(kinetic + potential) / max(kinetic.max(), 1e-9))


def measured(seed, form):
    """Return the largest step that keeps the loops closed [s] or None, the change of energy there, and the reasons."""
    system, q, v = random_linkage(seed)
    reasons = []
    for h in STEPS if isinstance(form, Correcting) else STEPS[:1]:
        found, reason = closed_run(system, q, v, form, h)
        if found is not None:
            return {"seed": seed, "h": h, "energy": energy_change(system, found), "reasons": reasons}
        reasons.append(reason)
    return {"seed": seed, "h": None, "energy": None, "reasons": reasons}


def main(path, names):
    path, began = Path(path), time.time()
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for seed in range(COUNT):
        for name, form in forms(seed).items():
            rows = found.setdefault(name, []) if not names or name in names else None
            if rows is not None and len(rows) == seed:
                rows.append(measured(seed, form))
                path.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
    for name, rows in found.items():
        share = np.mean([row["h"] == STEPS[0] for row in rows])
        print(f"{name}: {100 * share:.1f} % of {COUNT} stay closed; {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
