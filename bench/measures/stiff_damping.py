"""TR-BDF2 beside the trapezoidal method: processor time of a step, and a brake that is set while running.

python -m bench.measures.stiff_damping
"""

import statistics
import time
from typing import Any

import rtmbs
from rtmbs import TRBDF2, PenaltyTrapezoidal, Simulation, library

MACHINES: tuple[tuple[str, dict[str, Any], float, int], ...] = (  # name, options, step [s], steps of a run
    ("crank_rocker", {}, 5e-3, 2000),
    ("crank_rocker", {}, 1e-3, 2000),
    ("slider_crank", {}, 5e-3, 2000),
    ("slider_crank", {}, 1e-3, 2000),
    ("fourbar", {"ny": 4, "nz": 40}, 5e-3, 40),
    ("fourbar", {"ny": 4, "nz": 40}, 1e-3, 40),
)
PAIRS = 9
BRAKES = 1e3, 1e5, 1e7, 1e9  # [N m s/rad]
RIGHT = -2.94208  # [rad] of the shoulder at 0.8 s with an elbow that is locked at 0.4 s


def step_times(name: str, options: dict[str, Any], h: float, steps: int) -> tuple[float, float]:
    """Return the processor time of a step of TR-BDF2 [us], and its ratio to the trapezoidal one, of pairs in turns."""
    system = library.build(name, **options).compile()
    pair = [Simulation(system, h, method) for method in (TRBDF2(), PenaltyTrapezoidal())]
    for sim in pair:
        sim.run(10 * h)
    times: list[list[float]] = [[], []]
    for _ in range(PAIRS):
        for sim, found in zip(pair, times, strict=True):
            start = time.process_time()
            sim.run(sim.t + steps * h, record=rtmbs.Every(steps * h))
            found.append((time.process_time() - start) / steps * 1e6)
    return statistics.median(times[0]), statistics.median(a / b for a, b in zip(*times, strict=True))


def braked(c: float) -> tuple[float, float, float]:
    """Return the error of the shoulder [rad], the rate of the elbow [rad/s] and the energy lost [J] after a step."""
    model = rtmbs.Model("brake", gravity=(0, 0, -9.81))
    hinge = rtmbs.Revolute(axis=(0, -1, 0))
    for name, x in (("upper", 0.0), ("lower", 0.5)):
        inertia = (1e-3, 0.5**2 / 12, 0.5**2 / 12)
        model.add_body(name, mass=1.0, center_of_mass=(0.25, 0, 0), inertia=inertia, position=(x, 0, 0))
    model.add_joint("s", hinge, model.ground, "upper", point=(0, 0, 0))
    model.add_joint("e", hinge, "upper", "lower", point=(0.5, 0, 0))
    model.set_initial("e", position=0.5)
    model.add_force("lock", rtmbs.TorsionSpring(stiffness=0.0, damping=0.0), joint="e")
    sim = Simulation(model.compile(), 1e-3, TRBDF2())
    sim.run(0.4)
    sim.inputs["lock.damping"] = c
    result = sim.run(0.8)
    energy = result["energy.total"]
    return result["s.angle"][-1] - RIGHT, result["e.rate"][1], energy[0] - energy[1]


def main() -> None:
    """Print both tables."""
    for name, options, h, steps in MACHINES:
        spent, ratio = step_times(name, options, h, steps)
        print(f"{name} {options or ''} {h * 1e3:g} ms: {spent:.1f} us a step, {ratio:.2f} times the trapezoidal method")
    for c in BRAKES:
        error, rate, lost = braked(c)
        print(
            f"brake {c:.0e}: shoulder {error:+.1e} rad, elbow {rate:+.1e} rad/s after a step, {lost:.4f} J lost in it"
        )


if __name__ == "__main__":
    main()
