"""Growth of energy of contacts without dissipation, by the step: is it the order of the method, or a defect?

    python -m bench.contact_growth [9047] [9037]

Seeds are those of scenes of the campaign ``contacts``. A step of fixed size meets the begin and the end of a contact
somewhere within it, so one run is one sample of that place. PHASES runs with steps that differ by a share of 1e-3 and
less sample it. The largest change of energy, up or down, falls with the square of the step where it is the order.
"""

import sys

import numpy as np

import rtmbs
from bench.campaigns.contacts import STEPS, Scene, energies, scene

PHASES, PARTS = 8, (1, 2, 4)  # runs of a size; parts of the campaign's step
BESIDE = 1e-3  # of a step: how far those of one size lie beside each other
UNTIL = {9047: 0.14, 9037: 0.06}  # of the campaign's run: behind the first bounce, which has no friction


def changes(own: Scene, end: float, h: float) -> tuple[float, float]:
    """Return the largest energy in a run, and the energy at its end, above that of its start over that exchanged."""
    sim = rtmbs.Simulation(own.system, h, method=rtmbs.TRBDF2())
    result = sim.run(round(end / h) * h, on_failure="halve")
    moving, weight, _ = energies(result, own)
    energy = moving + weight
    exchanged = own.exchanged + float(moving.max())
    return float((energy - energy[0]).max()) / exchanged, float(energy[-1] - energy[0]) / exchanged


def main(arguments: list[str]) -> int:
    """Print a row for every step of every seed given, or of both."""
    print("| seed | step | largest growth | mean size of the change | largest size |")
    print("|---|---|---|---|---|")
    for seed in [int(one) for one in arguments] or list(UNTIL):
        own = scene(np.random.default_rng(seed))
        for parts in PARTS:
            shares = 1.0 + BESIDE * np.arange(PHASES) / PHASES
            found = [changes(own, UNTIL[seed] * STEPS * own.h, share * own.h / parts) for share in shares]
            most, size = max(one for one, _ in found), np.abs([end for _, end in found])
            print(f"| {seed} | h / {parts} | {most:.1e} | {size.mean():.1e} | {size.max():.1e} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
