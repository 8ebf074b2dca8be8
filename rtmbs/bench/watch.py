"""Step a Simulation by hand and keep what a report needs. The one place of the bench that knows a Simulation."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from rtmbs.simulation import Simulation

VIOLATIONS = (
    "position_violation",
    "velocity_violation",
    "acceleration_violation",
    "position_violation_rotation",
    "velocity_violation_rotation",
    "acceleration_violation_rotation",
)


@dataclass
class Watch:
    """Sums and largest values over the steps so far; looking happens outside the timed part."""

    seconds: list[float] = field(default_factory=list)  # wall time of every step
    newton_iterations: int = 0
    jacobians: int = 0
    factorisations: int = 0
    sweeps: int = 0
    dense_steps: int = 0
    phases: dict[str, float] = field(default_factory=dict)  # [s]
    violations: dict[str, float] = field(default_factory=lambda: dict.fromkeys(VIOLATIONS, 0.0))
    energy_error: float = 0.0  # largest |E - E0| [J]

    def run(self, sim: Simulation, steps: int, description: str) -> None:
        """Take ``steps`` steps, with a progress bar on a terminal and none in a pipe."""
        start = energy(sim)
        for _ in tqdm(range(steps), desc=description, unit="step", disable=None, leave=False):
            before = time.perf_counter()
            report = sim.step()
            self.seconds.append(time.perf_counter() - before)
            if not report.outcome.good:
                raise sim.error(report)
            self.look(report)
            self.energy_error = max(self.energy_error, abs(energy(sim) - start))

    def look(self, report: Any) -> None:
        """Add one StepReport."""
        self.newton_iterations += report.iterations
        self.jacobians += report.jacobians
        self.factorisations += report.factorisations
        self.sweeps += report.sweeps
        self.dense_steps += report.dense
        for phase, seconds in report.phases.items():
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds
        for name in VIOLATIONS:
            self.violations[name] = max(self.violations[name], getattr(report, name))

    def step_us(self) -> dict[str, float]:
        """Return the wall time of a step in microseconds: median, 99th percentile, largest."""
        times = 1e6 * np.array(self.seconds)
        p50, p99 = np.percentile(times, (50, 99))
        return {"p50": float(p50), "p99": float(p99), "max": float(times.max())}


def energy(sim: Simulation) -> float:
    """Return kinetic energy, energy of weight and elastic energy together [J]."""
    return float(sum(sim.equations.energies(sim.state.z, sim.state.zd, sim.state.R0)))
