"""Energy of four-bars near Grashof change points, whose dead centres are crossed within one step.

All four bars nearly lie in one line there, by a defect of 1e-7 to 1e-2 of the longest bar. Gravity and ideal joints
keep the energy. A run has falsified it when nine tenths of the last quarter of its samples are off by more than LOST of
the largest kinetic energy: a swing comes back, so it does not count. A warning must tell, or the run must end.
"""

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import Model, PenaltyTrapezoidal, Revolute, Simulation, VariationalMidpoint
from rtmbs.errors import StepError
from rtmbs.library.linkages import add_bar

LOST = 1e-3  # of the largest kinetic energy
KEPT = 0.1  # of the samples of the last quarter that may be nearer
STEPS = 1e-3, 2e-3, 5e-3  # [s]
METHODS = PenaltyTrapezoidal, VariationalMidpoint
SPAN = 4.0  # [s], several turns of the crank
POSES, AWAY = 50, 0.9  # poses that are tried, and the cosine between coupler and gap that is far enough from a line

Array = NDArray[np.float64]


def lengths(rng: np.random.Generator) -> Array:
    """Return crank, coupler, rocker and ground of a four-bar that nearly folds into a line.

    Coupler and rocker are stretched where the crank points away from the far pivot, or folded where it points to it.
    """
    crank, coupler, ground = rng.uniform(0.2, 1.0, 3)
    if rng.random() < 0.5:
        coupler = rng.uniform(0.3, 0.7) * (rocker := crank + ground)
        rocker -= coupler
    else:
        rocker = coupler + abs(ground - crank)
    found = np.array([crank, coupler, rocker, ground])
    found[2] += rng.choice([1.0, -1.0]) * 10.0 ** rng.uniform(-7.0, -2.0) * found.max()
    return found


def pose(rng: np.random.Generator, bars: Array) -> tuple[Array, Array]:
    """Return the tip of the crank and the knee of a random pose away from dead centres, (2,) each."""
    crank, coupler, rocker, ground = bars
    best, share = (np.zeros(2), np.zeros(2)), 1.0
    for angle in rng.uniform(0.0, 2.0 * np.pi, POSES):
        tip = crank * np.array([np.cos(angle), np.sin(angle)])
        gap = np.array([ground, 0.0]) - tip
        reach = float(np.linalg.norm(gap))
        along = (reach**2 + coupler**2 - rocker**2) / (2.0 * reach)
        if abs(along) < share * coupler:
            side = rng.choice([1.0, -1.0]) * np.sqrt(coupler**2 - along**2)
            best, share = (tip, tip + (along * gap + side * np.array([-gap[1], gap[0]])) / reach), abs(along) / coupler
        if share < AWAY:
            break
    return best


def linkage(seed: int) -> Model:
    """Return a four-bar in a random plane, closed at a random angle of its crank."""
    rng = np.random.default_rng((seed, 331))
    bars = lengths(rng)
    tip, knee = pose(rng, bars)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    across, y, z = turn.T
    axis, unit = Revolute(axis=tuple(across)), 10.0 ** rng.uniform(-1.0, 1.0)
    foot, tip_at, knee_at, pivot = (
        tuple(unit * (p[0] * y + p[1] * z)) for p in (np.zeros(2), tip, knee, (bars[3], 0.0))
    )
    model = Model(f"four-bar {seed}", gravity=tuple(unit * 3.0 * rng.normal(size=3)))
    masses = np.sort(10.0 ** rng.uniform(-0.7, 0.7, 3))[::-1]
    ends = {"crank": (foot, tip_at), "coupler": (tip_at, knee_at), "rocker": (pivot, knee_at)}
    for (name, (start, end)), mass in zip(ends.items(), masses, strict=True):
        add_bar(model, name, start, end, float(mass), axial=1e-3 * float(mass) * unit**2)
    model.add_joint("O", axis, "ground", "crank", point=foot)
    model.add_joint("A", axis, "crank", "coupler", point=tip_at)
    model.add_joint("C", axis, "ground", "rocker", point=pivot)
    model.add_joint("B", axis, "coupler", "rocker", point=knee_at, cut=True)
    model.set_initial("O", position=0.0, rate=float(rng.choice([1.0, -1.0]) * rng.uniform(4.0, 10.0)))
    return model


def falsified(energy: Array, kinetic: Array) -> float:
    """Return how far the energy is off at the end, of the largest kinetic energy."""
    last = np.abs(energy[-(len(energy) // 4) :] - energy[0])
    return float(np.quantile(last, KEPT) / kinetic.max())


def judged(seed: int, tally: Tally) -> str:
    """Return which runs of a four-bar falsify their energy and are not told."""
    system, wrong = linkage(seed).compile(), []
    for method in METHODS:
        for h in STEPS:
            run = f"{method.__name__} at {1e3 * h:g} ms"
            try:
                result = Simulation(system, h, method()).run(SPAN, channels=["energy.total", "energy.kinetic"])
            except StepError:
                count(tally, f"{run}: ended")
                continue
            off = falsified(np.asarray(result["energy.total"]), np.asarray(result["energy.kinetic"]))
            if off > LOST:
                count(tally, f"{run}: falsified")
                if not result.warnings:
                    count(tally, f"{run}: not told")
                    wrong.append(f"{run} is off by {off:.1e}, untold")
            elif result.warnings:
                count(tally, f"{run}: told, not falsified")
    return "; ".join(wrong)


def count(tally: Tally, what: str) -> None:
    """Count a run."""
    tally.largest(what, tally.worst.get(what, 0.0) + 1.0)


def run(cases: int, seed: int) -> Tally:
    """Run every four-bar with both methods and all steps."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "dead centres",
    f"four-bars that pass dead centres within a step keep their energy to {LOST:g} of the largest kinetic energy, or a"
    " warning tells",
    full=300,
    bounded=6,
    run=run,
    allowed=0.1,  # the trapezoidal rule is told from 1 % on
)
