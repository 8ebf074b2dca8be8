"""The pendulum for 100 s at h = 10 ms: largest violations by Runge-Kutta-Gill with each formulation, and two others.

``python -m bench.methods.drift PATH``
"""

import json
import sys
from pathlib import Path

from bench.methods.problems import pendulum_problem
from rtmbs.dae import HalfExplicit, Index3Lagrangian, RungeKutta, integrate
from rtmbs.formulations import FORMULATIONS

H, T_END = 1e-2, 100.0  # [s]


def main(path):
    problem, found = pendulum_problem(), {}
    methods = {name: RungeKutta(formulation=kind()) for name, kind in FORMULATIONS.items()}
    methods |= {"half-explicit": HalfExplicit(), "index-3-lagrangian": Index3Lagrangian()}
    for name, method in methods.items():
        run = integrate(problem.system, method, problem.q, problem.v, T_END, H)
        tenth = run.violations[: len(run.t) // 10 + 1]
        energies = [problem.energy(q, v) for q, v in zip(run.q, run.v, strict=True)]
        found[name] = {
            "Phi to 10 s": tenth[:, 0].max(),
            "Phi to 100 s": run.violations[:, 0].max(),
            "Phid to 100 s": run.violations[:, 1].max(),
            "energy": (max(energies) - min(energies)) / 4.5,  # of the kinetic energy at the start [J]
        }
        print(name, {key: f"{value:.1e}" for key, value in found[name].items()}, flush=True)
    Path(path).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
