"""Growth of energy of contacts without dissipation, by the step: is it the order of the method, or a defect?

    python -m bench.contact_growth [9047] [9037]
    python -m bench.contact_growth bounces

Seeds are those of scenes of the campaign ``contacts``. A step of fixed size meets the begin and the end of a contact
somewhere within it, so one run is one sample of that place. PHASES runs with steps that differ by a share of 1e-3 and
less sample it. The largest change of energy, up or down, falls with the square of the step where it is the order.

With ``bounces`` a point meets a spring: steps written by hand beside the change of energy that METHODS 8.1 derives from
where in a step the contact begins and ends.
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


GAMMA = 2.0 - np.sqrt(2.0)
NEWER, OLDER = 1.0 / (GAMMA * (2.0 - GAMMA)), (1.0 - GAMMA) ** 2 / (GAMMA * (2.0 - GAMMA))
RULES = {  # nodes in a step, and weights
    "TR-BDF2": ((0.0, GAMMA, 1.0), (8.0**-0.5, 8.0**-0.5, 0.5 * GAMMA)),
    "trapezoidal": ((0.0, 1.0), (0.5, 0.5)),
}


def settled(x: float, v: float, c: float, k: float, exponent: float) -> tuple[float, float]:
    """Return y = x + c u and u = v + c k max(-y, 0)^exponent."""
    free = x + c * v
    if free >= 0.0:
        return free, v
    y = free / (1.0 + c * c * k)
    for _ in range(60):
        deep = max(-y, 0.0)
        wrong = y - free - c * c * k * deep**exponent
        change = wrong / (1.0 + c * c * k * exponent * deep ** (exponent - 1.0))
        y = min(y - change, 0.0)
        if abs(change) <= 1e-17:
            break
    return y, v + c * k * max(-y, 0.0) ** exponent


def step_of(rule: str, x: float, v: float, h: float, k: float, exponent: float) -> tuple[float, float]:
    """Return place and speed of a point of mass 1 behind a step."""
    c = 0.5 * h * (GAMMA if rule == "TR-BDF2" else 1.0)
    y, u = settled(x + c * v, v + c * k * max(-x, 0.0) ** exponent, c, k, exponent)
    if rule == "TR-BDF2":
        return settled(NEWER * y - OLDER * x, NEWER * u - OLDER * v, c, k, exponent)
    return y, u


def kinks(rule: str, begin: float, end: float) -> float:
    """Return the impulses beyond the exact ones where a contact ends, less those where it begins, over k v h^2."""
    nodes, weights = (np.array(one) for one in RULES[rule])
    of_begin = weights @ np.maximum(nodes - begin, 0.0) - 0.5 * (1.0 - begin) ** 2
    return float(weights @ np.maximum(end - nodes, 0.0) - 0.5 * end**2 - of_begin)


def bounce(rule: str, h: float, k: float, exponent: float, gap: float) -> tuple[float, float, int]:
    """Return the change of energy of a bounce at speed 1 over its energy, that derived, and the steps in contact."""
    x, v, n, places = gap, -1.0, 0, list[float]()
    while len(places) < 2 and n < 100_000:
        y, u = step_of(rule, x, v, h, k, exponent)
        if (y < 0.0) != (x < 0.0):
            places.append(x / (x - y))
        x, v, n = y, u, n + (y < 0.0)
    _, u = step_of(rule, x, v, h, k, exponent)
    return u * u - 1.0, 2.0 * k * h * h * kinks(rule, *places), n


def bounces() -> None:
    """Print a row for every rule, exponent and step."""
    print("| rule | exponent | steps of a bounce | largest gain, loss | their n^2 | largest derived | derivation off |")
    print("|---|---|---|---|---|---|---|")
    for rule in RULES:
        for exponent, h, k in [(1.0, wh, 1.0) for wh in (0.3, 0.1, 0.02, 0.006)] + [(1.5, 1e-2, k) for k in (1e4, 1e3)]:
            gaps = h * np.random.default_rng(1).uniform(2.0, 3.0, 60)
            found = np.array([bounce(rule, h, k, exponent, float(gap)) for gap in gaps])
            n, up, down = float(found[:, 2].mean()), float(found[:, 0].max()), float(found[:, 0].min())
            row = f"| {rule} | {exponent} | {n:.0f} | {up:.1e}, {down:.1e} | {n * n * up:.2f}, {n * n * down:.2f} |"
            off = f" {np.abs(found[:, 1]).max():.1e} | {np.abs(found[:, 0] - found[:, 1]).max():.1e} |"
            print(row + (off if exponent == 1.0 else " | |"), flush=True)


def main(arguments: list[str]) -> int:
    """Print a row for every step of every seed given, or of both; or of the bounces."""
    if "bounces" in arguments:
        bounces()
        return 0
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
