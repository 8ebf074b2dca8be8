"""Loops with and without their balance of energy (METHODS 1.7): ``python -m bench.measures.energy`` prints the table.

Positions are compared with the rule alone at steps 16 and 32 times as small, extrapolated; both cost the same a step.
"""

import numpy as np
from numpy.typing import NDArray

from bench.measures.mechanisms import rssr
from rtmbs import Model, PenaltyTrapezoidal, Revolute, Simulation, library
from rtmbs.library.linkages import add_bar
from rtmbs.system.tables import ROTATION

CASES = (  # mechanism, time of the positions, time of the energy [s]
    ("crank_rocker", 2.0, 200.0),
    ("planar_slider_crank", 2.0, 200.0),
    ("slider_crank", 1.0, 50.0),
    ("bricard", 2.0, 50.0),
    ("rssr", 1.0, 200.0),
    ("windows", 1.0, 20.0),
)
H = 5e-3  # [s]
RINGS = 40

Array = NDArray[np.float64]


def positions(model: Model, t_end: float, h: float = H) -> tuple[float, float]:
    """Return the largest error of a coordinate at ``t_end``, without and with the balance."""
    system = model.compile()

    def end(parts: int, hold: bool) -> Array:
        sim = Simulation(system, h=h / parts, method=PenaltyTrapezoidal(hold_energy=hold))
        sim.run(t_end)
        return np.asarray(sim.state.z[system.tables.dofs.kind != ROTATION])

    coarse, fine = end(16, False), end(32, False)
    exact = fine + (fine - coarse) / 3.0
    without, held = (float(np.abs(end(1, hold) - exact).max()) for hold in (False, True))
    return without, held


def losses(model: Model, t_end: float, h: float = H) -> tuple[float, float]:
    """Return how much the mean of E falls from the first to the last tenth, of the exchanged, without and with."""
    found = []
    for hold in (False, True):
        result = Simulation(model.compile(), h=h, method=PenaltyTrapezoidal(hold_energy=hold)).run(t_end)
        energy, tenth = result["energy.total"], len(result) // 10
        found.append(float(energy[:tenth].mean() - energy[-tenth:].mean()) / float(np.ptp(result["energy.kinetic"])))
    return found[0], found[1]


def ring(seed: int) -> Model:
    """Return 4 to 6 bars of uneven masses in a ring with ground, in a skew plane: two to four degrees of freedom."""
    rng = np.random.default_rng((seed, 81))
    bars, unit = int(rng.integers(4, 7)), 10.0 ** rng.uniform(-2, 2)
    across, y, z = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
    angles = np.linspace(0.0, 2.0 * np.pi, bars + 1, endpoint=False) + rng.uniform(-0.3, 0.3, bars + 1)
    radii = unit * rng.uniform(0.7, 1.3, bars + 1)
    pins = (radii * np.cos(angles))[:, None] * y + (radii * np.sin(angles))[:, None] * z
    model = Model(f"ring {seed}", gravity=tuple(unit * 9.81 * rng.normal(size=3) / np.sqrt(3.0)))
    axis, masses = Revolute(axis=tuple(across)), 10.0 ** rng.uniform(-1, 1, bars)
    for k, mass in enumerate(masses):
        add_bar(model, f"bar_{k}", pins[k], pins[k + 1], mass, axial=1e-2 * mass * unit**2)
        model.add_joint(f"pin_{k}", axis, f"bar_{k - 1}" if k else "ground", f"bar_{k}", point=pins[k])
    model.add_joint("cut", axis, f"bar_{bars - 1}", "ground", point=pins[bars], cut=True)
    model.set_initial("pin_0", position=0.0, rate=float(rng.choice((-1.0, 1.0)) * rng.uniform(2.0, 5.0)))
    return model


def main() -> None:
    """Print the table, and how rings of several degrees of freedom fare."""
    print("| mechanism | positions after | without | with | mean energy lost in | without | with |")
    print("|---|---|---|---|---|---|---|")
    for name, short, long in CASES:
        model = rssr() if name == "rssr" else library.build(name)
        one, other = positions(model, short), losses(model, long)
        print(f"| {name} | {short:g} s | {one[0]:.1e} | {one[1]:.1e} | {long:g} s | {other[0]:.1e} | {other[1]:.1e} |")
    ratios = [held / without for without, held in (positions(ring(seed), 1.0) for seed in range(RINGS))]
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(
        f"\n{RINGS} rings of 4 to 6 bars, 1 s: positions {min(ratios):.2g} to {max(ratios):.2g} times as far as "
        f"without, {mean:.2g} in the geometric mean"
    )


if __name__ == "__main__":
    main()
