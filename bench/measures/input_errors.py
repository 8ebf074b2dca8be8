"""Accelerations that follow an input, beside a dense solution: ``python -m bench.measures.input_errors``.

The dense equations M zdd + Phi_z^T lam = Q, Phi_z zdd = -gamma are solved by a pseudo-inverse, and refined by residuals
in extended precision. Columns: error of the accelerations by the largest one, and the processor time of a step with an
input written before it, over that of a plain step; medians of pairs of blocks.
"""

import math
import time
from typing import Any

import numpy as np

import rtmbs
from bench.documents import table
from bench.inputs import MECHANISMS

H, MOVED = 1e-3, 0.05  # [s] step, and motion before the input changes
BLOCKS, STEPS = 12, 50
REFINED = 6  # times
LOST = 1e-11  # singular value that counts as zero, by the largest


def dense_accelerations(sim: rtmbs.Simulation) -> Any:
    """Return the accelerations (n,) of the constrained equations at the present state and inputs."""
    state, equations = sim.state, sim.equations
    n, m, units = equations.n, equations.m, np.eye(equations.n)

    def forces(zdd: Any) -> Any:
        equations.residual(state.z, state.zd, zdd, state.R0)
        return equations.ws.tau.copy()

    without = forces(np.zeros(n))
    gamma = np.array(equations.closure_accelerations(state.zd, np.zeros(n)))
    Phi_z = np.array([np.array(equations.apply_Phi_z(unit)) for unit in units]).T.reshape(m, n)
    M = np.array([forces(unit) - without for unit in units]).T
    matrix, right = np.block([[M, Phi_z.T], [Phi_z, np.zeros((m, m))]]), -np.concatenate([without, gamma])
    inverse, exact = np.linalg.pinv(matrix, rcond=LOST), matrix.astype(np.longdouble)
    found = np.zeros(n + m, np.longdouble)
    for _ in range(REFINED):
        found = found + inverse @ np.asarray(right - exact @ found, float)
    return np.asarray(found[:n], float)


def error_of(sim: rtmbs.Simulation, name: str, value: float) -> float:
    """Return the error of the accelerations that follow an input, by the largest of them."""
    sim.run(sim.t + MOVED)
    sim.inputs[name] = value
    wanted = dense_accelerations(sim)
    return float(np.max(np.abs(sim.state.zdd - wanted)) / np.max(np.abs(wanted)))


def ratio_of(system: Any, name: str, size: float, ramped: bool) -> float:
    """Return the processor time of a step with an input written before it, over that of a plain step."""
    plain, written, ratios = rtmbs.Simulation(system, h=H), rtmbs.Simulation(system, h=H), []
    plain.inputs[name] = size
    if ramped:
        written.inputs.ramp(name)
    for _ in range(BLOCKS):
        begun = time.process_time()
        for _ in range(STEPS):
            plain.step()
        between = time.process_time()
        for _ in range(STEPS):
            written.inputs[name] = size * math.sin(40.0 * written.t)
            written.step()
        ratios.append((time.process_time() - between) / (between - begun))
    return float(np.median(ratios))


def main() -> None:
    """Print the table."""
    rows = []
    for title, (build, name, size) in MECHANISMS.items():
        system = build().compile()
        error = error_of(rtmbs.Simulation(system, h=H), name, size)
        ratios = (ratio_of(system, name, size, ramped) for ramped in (False, True))
        rows.append([title, f"{error:.1e}", *(f"{ratio:.2f}" for ratio in ratios)])
    print(table(["mechanism", "error of accelerations", "held input, ratio", "ramped input, ratio"], rows))


if __name__ == "__main__":
    main()
