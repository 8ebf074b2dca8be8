"""What ``rtmbs.refined`` reaches: ``python -m bench.measures.refined`` prints both tables.

Orders are slopes of least squares over steps h, h/2, h/4 of the error at the end, against a finer run of three levels.
Time is that of the multiple four-bar of 4 x 40, parallel, over 1 s at 5 ms: plain and refined, the start aside.
"""

import math
import time

import numpy as np
from numpy.typing import NDArray

from rtmbs import Model, PenaltyTrapezoidal, Prismatic, Simulation, library
from rtmbs.library import references
from rtmbs.simulation.refined import RefinedResult, refined, refined_from

CASES = (  # mechanism, coarsest step [s], end [s]
    ("pendulum", 8e-2, 0.8),
    ("governor", 2.5e-3, 0.1),
    ("top", 2e-2, 0.4),
    ("maxwell", 1e-2, 0.4),
    ("fourbar", 4e-2, 0.8),
    ("windows", 4e-2, 0.8),
    ("crank_rocker", 2e-2, 0.4),
    ("planar_slider_crank", 1e-2, 0.2),
    ("slider_crank", 8e-3, 0.16),
    ("bricard", 4e-2, 0.8),
)
KINDS = {"positions": ("position", "angle", "orientation"), "rates": ("rate", "velocity"), "accelerations": (
    "acceleration",), "reactions": ("reaction",)}  # fmt: skip
LEVELS, FINER = 3, 8
RUNS = (  # name, runs, threads
    ("plain", 0, 1),
    ("two runs, one thread", 2, 1),
    ("two runs, two threads", 2, 2),
    ("three runs, one thread", 3, 1),
    ("three runs, two threads", 3, 2),
)
H, T_END, REPEATS = 5e-3, 1.0, 12  # [s]

Array = NDArray[np.float64]


def maxwell() -> Model:
    """Return a mass on a rail with a spring, and a spring and damper in series whose way is a force state."""

    def law(t, kinematics, parameters, states):  # type: ignore[no-untyped-def]
        pull = 300.0 * (kinematics.z - states["way"])
        return -200.0 * kinematics.z - pull, pull / 20.0

    model = Model("maxwell", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", Prismatic(axis=(1, 0, 0)), "ground", body)
    model.add_force("law", law, joint="rail", states={"way": 0.1})
    model.set_initial("rail", position=0.3, rate=-1.0)
    return model


def channels(result: RefinedResult) -> dict[str, list[str]]:
    """Return the names of the channels of each kind; a name ends in its quantity."""
    return {kind: [name for name in result.names() if name.split(".")[-1] in ends] for kind, ends in KINDS.items()}


def orders(name: str, h: float, t_end: float, runs: int) -> tuple[int, dict[str, tuple[float, float]]]:
    """Return the stated order, and by kind of channel the slope and the relative error of the coarsest step."""
    system = (maxwell() if name == "maxwell" else library.build(name)).compile()
    exact = refined(system, h / 2 ** (LEVELS - 1) / FINER, t_end, runs=3)
    results = [refined(system, h / 2**k, t_end, runs=runs) for k in range(LEVELS)]
    found = {}
    for kind, names in channels(exact).items():
        if not names:
            continue
        size = max(float(np.max(np.abs(exact[one]))) for one in names)
        errors = [max(float(np.max(np.abs(one[k][-1] - exact[k][-1]))) for k in names) / size for one in results]
        slope = -np.polyfit(np.arange(LEVELS), np.log2(errors), 1)[0]
        found[kind] = float(slope), errors[0]
    return results[-1].order, found


def fourbar() -> list[tuple[str, float, float, float, float]]:
    """Return of plain and refined runs: name, wall and processor time [s], errors of theta_1 and of all.

    The runs take turns, and the least time of each counts: other work of the machine disturbs all alike.
    """
    system = library.build("fourbar", ny=4, nz=40, layout="parallel").compile()
    exact = references.fourbar(4, 40, T_END, "parallel", math.radians(30.0), 0.1).q
    pins = [f"pin_{k}_0.angle" for k in range(1, 41)]
    times: dict[str, tuple[list[float], list[float]]] = {label: ([], []) for label, _, _ in RUNS}
    off: dict[str, Array] = {}
    for _ in range(REPEATS):
        for label, runs, threads in RUNS:
            sim = Simulation(system, H, PenaltyTrapezoidal(hold_energy=False))
            wall, processor = time.perf_counter(), time.process_time()
            result = refined_from(sim, T_END, runs, threads) if runs else sim.run(T_END)
            times[label][0].append(time.perf_counter() - wall)
            times[label][1].append(time.process_time() - processor)
            off[label] = np.abs(np.array([result[pin][-1] for pin in pins]) - exact)
    return [(label, *map(min, times[label]), float(off[label][0]), float(off[label].max())) for label, _, _ in RUNS]


def main() -> None:
    """Print both tables."""
    errors = "largest error of 40 angles | error of theta_1"
    print(f"| 4 x 40, parallel, 1 s at 5 ms | {errors} | ms | processor, ms | times plain |")
    print("|---|---|---|---|---|---|")
    rows = fourbar()
    for label, wall, processor, first, largest in rows:
        ratio = processor / rows[0][2]
        print(
            f"| {label} | {largest:.1e} | {first:.1e} | {1e3 * wall:.0f} | {1e3 * processor:.0f} | {ratio:.2f} |",
            flush=True,
        )
    print("\n| mechanism | h, ms | runs | order told | slopes: positions | rates | accelerations | reactions |")
    print("|---|---|---|---|---|---|---|---|")
    for name, h, t_end in CASES:
        for runs in (2, 3):
            told, found = orders(name, h, t_end, runs)
            cells = [f"{found[kind][0]:.2f} ({found[kind][1]:.0e})" if kind in found else "-" for kind in KINDS]
            print(f"| {name} | {1e3 * h:g} | {runs} | {told} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
