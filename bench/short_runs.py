"""What a short run costs beside its steps, with and without ``channels=``: medians in turns.

python -m bench.short_runs
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import rtmbs

ROUNDS = 400
STEPS = (1, 200)
H = 5e-3


def cart_pole() -> rtmbs.Model:
    """Return a cart with a pole."""
    model = rtmbs.Model("cart_pole", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("pole", mass=0.2, inertia=(0.006, 0.006, 0.006), center_of_mass=(0.0, 0.0, 0.3))
    model.add_joint("x", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("th", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    return model


def medians(sim: rtmbs.Simulation, steps: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median time [us] of a run of so many steps, without channels, with one, and with one that is read."""

    def read(**options: Any) -> Any:
        return sim.run(sim.t + steps * H, **options)["th.angle"][-1]

    calls: dict[str, Callable[[], Any]] = {
        "run": lambda: sim.run(sim.t + steps * H),
        "channels": lambda: sim.run(sim.t + steps * H, channels=["th.angle"]),
        "run, read": read,
        "channels, read": lambda: read(channels=["th.angle"]),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    start = sim.state.copy()
    for turn in range(rounds + 5):
        sim.restore(start)
        sim.run(sim.t + H)  # a run behind a restore takes longer
        for name, call in sorted(calls.items(), reverse=turn % 2 == 1):
            begin = time.perf_counter()
            call()
            if turn >= 5:
                times[name].append(1e6 * (time.perf_counter() - begin))
    return {name: median(values) for name, values in times.items()}


def main() -> None:
    """Print the medians and their ratios."""
    sim = rtmbs.Simulation(cart_pole().compile(), h=H)
    for steps in STEPS:
        found = medians(sim, steps)
        said = ", ".join(f"{name} {value:.0f} us" for name, value in found.items())
        print(f"{steps:4d} steps: {said}; ratio {found['channels'] / found['run']:.2f}, "
              f"read {found['channels, read'] / found['run, read']:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
