"""One evaluation of the accelerations of hanging chains by each linear solver: ``python bench/methods/solvers.py``.

A chain of skew hinges closed by a ball joint, in frames (seven coordinates a body) and in joint coordinates. Writes
solvers.json; ``page.py`` puts the table into docs/methods-compared.md.
"""

import json
import time
from pathlib import Path

import numpy as np

import rtmbs
from rtmbs.formulations import Direct, JointCoordinates, ReferencePointCoordinates
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import DenseSolver, SuperLUSolver

COUNTS = (5, 10, 20, 50, 100, 200)
SOLVERS = {"dense": DenseSolver, "superlu": SuperLUSolver, "kkt": KKTSolver}
LONGEST = 1.0  # [s] of an evaluation: beyond, longer chains are left out
RUNS = 7
HERE = Path(__file__).parent


def chain(count, seed=4):
    """A hanging chain of skew hinges whose last body is held by a ball joint."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("chain", gravity=(0.3, -1.0, -9.5))
    last = model.ground
    for k in range(count):
        a, b, c = rng.uniform(0.1, 1.0, 3)
        body = model.add_body(f"b{k}", mass=10.0 ** rng.uniform(-1, 1), inertia=(b + c, c + a, a + b))
        model.add_joint(
            f"j{k}", rtmbs.Revolute(axis=tuple(rng.normal(size=3))), last, body, point=(0.5 * k, 0.1 * k, 0.0)
        )
        last = body
    model.add_joint("end", rtmbs.Spherical(), last, model.ground, point=(0.5 * count, 0.0, 0.2), cut=True)
    return model


def seconds(call):
    """Return the median time of a call [s]."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
        if times[0] > LONGEST:
            break
    return float(np.median(times))


def measured():
    """Yield a row for each chain, form and solver."""
    stopped = set()
    for count in COUNTS:
        frames, joints = ReferencePointCoordinates(chain(count)), JointCoordinates(chain(count).compile())
        for form, system, q in (("frames", frames, frames.start), ("joints", joints, joints.equations.compiled.z0)):
            v, right = np.zeros(system.n), None
            for name, solver in SOLVERS.items():
                if (form, name) in stopped:
                    continue
                method = Direct(solver=solver)
                a = method.accelerations(system, q, v, 0.0)[0]
                right = a if right is None else right
                took = seconds(lambda m=method, s=system, x=q, y=v: m.accelerations(s, x, y, 0.0))
                if took > LONGEST:
                    stopped.add((form, name))
                difference = float(np.abs(a - right).max() / np.abs(right).max())
                yield {"bodies": count, "form": form, "unknowns": system.n + system.m, "solver": name} | {
                    "seconds": took,
                    "difference": difference,
                }


if __name__ == "__main__":
    rows = []
    for row in measured():
        rows.append(row)
        name = f"{row['bodies']:4d} {row['form']:7s} {row['unknowns']:5d} {row['solver']:8s}"
        print(f"{name} {1e3 * row['seconds']:9.2f} ms {row['difference']:.1e}", flush=True)
    (HERE / "solvers.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
