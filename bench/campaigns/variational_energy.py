"""Energy of free loops over very many steps of the variational midpoint rule, which balances nothing.

Loops with one freedom repeat themselves, and the energy of all steps swings as that of the first ones. Rings of six
bars have three freedoms. They are chaotic: the largest swing comes with the fastest motion, whenever that is. What
tells is the drift, the slope of the energy over time by least squares, beside the one that as many swings without
memory would have by chance. Steps that do not resolve the dead centres of a ring may drift, but a warning must tell
(``bench.measures.ring_drift`` has the cause).
"""

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.energy import linkage
from rtmbs import Model, Revolute, Simulation, VariationalMidpoint
from rtmbs.errors import StepError
from rtmbs.library.shapes import add_bar

STEPS, FIRST = 100_000, 1_000
GROWS = 1.05  # times the swing of the energy in the first steps is that of all steps
DRIFTS = 0.01  # of that swing, the mean of the last tenth from that of the first
RINGS = 3  # every third case is a ring
H = 1e-3  # [s] of a ring
COARSE = 5e-3  # [s] steps that do not resolve its dead centres: a drift must be told, and runs may end
BARS = 6
BLOCKS = 50  # parts of a run, whose means scatter as the swings do
CHANCE = 4.0  # standard deviations of the slope that chance explains
SHIFT = 0.05  # of the swing, what a drift over the whole run may be where chance explains less
TOLD = "the energy changes by", "the mean energy moves by"  # words of a run whose steps are too large
WHIP = 1.0  # [rad] that a bar turns in a step behind which a step need not have a solution

Array = NDArray[np.float64]


def ring(seed: int) -> Model:
    """Return a closed ring of six uneven bars in a random plane, two of its pins on ground, three freedoms."""
    rng = np.random.default_rng((seed, 3310))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    across, y, z = turn.T
    count = BARS
    angles = 2.0 * np.pi * (np.arange(count) + rng.uniform(-0.25, 0.25, count)) / count
    reach = rng.uniform(0.6, 1.0, count)
    points = [float(r) * (np.cos(a) * y + np.sin(a) * z) for r, a in zip(reach, angles, strict=True)]
    model = Model(f"ring {seed}", gravity=tuple(9.81 * rng.normal(size=3) / np.sqrt(3.0)))
    axis = Revolute(axis=tuple(across))
    bodies = ["ground", *(f"bar{k}" for k in range(count - 1))]
    for k in range(count - 1):
        mass = float(10.0 ** rng.uniform(-0.5, 0.5))
        add_bar(model, f"bar{k}", tuple(points[k]), tuple(points[k + 1]), mass, axial=1e-2 * mass)
    for k in range(count - 1):
        model.add_joint(f"pin{k}", axis, bodies[k], bodies[k + 1], point=tuple(points[k]))
    model.add_joint("last", axis, "ground", bodies[-1], point=tuple(points[-1]), cut=True)
    model.set_initial("pin0", rate=float(rng.uniform(-2.0, 2.0)))
    return model


def drift(energy: Array) -> tuple[float, float]:
    """Return the change of the energy over a run by least squares, of its swing, and in standard deviations of it.

    The deviation is that of means of blocks, so swings that last for many steps count once.
    """
    means = energy[: len(energy) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)
    t = (np.arange(BLOCKS) + 0.5) / BLOCKS - 0.5
    slope = float(t @ means / (t @ t))
    scatter = np.sqrt(float(np.sum((means - means.mean() - slope * t) ** 2)) / (BLOCKS - 2) / float(t @ t))
    return abs(slope) / float(np.ptp(energy)), abs(slope) / max(scatter, 1e-300)


def judged_ring(seed: int, tally: Tally) -> str:
    """Return what is wrong with the energy of one ring."""
    sim = Simulation(ring(seed).compile(), H, VariationalMidpoint())
    try:
        result = sim.run(STEPS * H, channels=["energy.total"])
    except StepError as error:
        turn = H * float(np.abs(sim.state.zd).max())
        tally.largest("rings that stop", tally.worst.get("rings that stop", 0.0) + 1.0)
        return "" if turn > WHIP else f"ring: {error} at {turn:.2f} rad a step"
    if any(words.startswith(TOLD) for words in result.warnings):
        return "ring: a drift is told where there is none"
    share, deviations = drift(np.asarray(result["energy.total"]))
    tally.largest("drift of a ring, of its swing", share)
    tally.largest("drift of a ring, in standard deviations", deviations)
    if share > SHIFT and deviations > CHANCE:
        return f"ring: drift {share:.1e} of the swing, {deviations:.1f} deviations"
    return coarse_ring(seed, tally)


def coarse_ring(seed: int, tally: Tally) -> str:
    """Return what is wrong with coarse steps of one ring: a drift that nothing tells."""
    sim = Simulation(ring(seed).compile(), COARSE, VariationalMidpoint())
    try:
        result = sim.run(STEPS * COARSE, channels=["energy.total"])
    except StepError:
        tally.largest("coarse rings that stop", tally.worst.get("coarse rings that stop", 0.0) + 1.0)
        return ""
    share, deviations = drift(np.asarray(result["energy.total"]))
    drifts = share > SHIFT and deviations > CHANCE
    told = any(words.startswith(TOLD) for words in result.warnings)
    for key, happens in (("coarse rings that drift", drifts), ("coarse rings that are told", told)):
        tally.largest(key, tally.worst.get(key, 0.0) + float(happens))
    tally.largest("drift of a coarse ring, of its swing", share)
    if not told:
        tally.largest("drift of a coarse ring that is not told, of its swing", share)
    return (
        f"coarse ring: drift {share:.1e} of the swing, {deviations:.1f} deviations, untold"
        if drifts and not told
        else ""
    )


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the energy of one loop."""
    if seed % RINGS == RINGS - 1:
        return judged_ring(seed, tally)
    model, h = linkage(seed)
    result = Simulation(model.compile(), h, VariationalMidpoint()).run(STEPS * h, channels=["energy.total"])
    if any(words.startswith(TOLD) for words in result.warnings):
        return "a drift is told where there is none"
    energy = np.asarray(result["energy.total"])
    swing, tenth = float(np.ptp(energy[:FIRST])), len(energy) // 10
    grown = float(np.ptp(energy)) / swing
    drift = abs(float(energy[-tenth:].mean() - energy[:tenth].mean())) / swing
    tally.largest("swing of all steps, of that of the first", grown)
    tally.largest("drift of the mean, of the swing", drift)
    return "" if grown <= GROWS and drift <= DRIFTS else f"swing {grown:.3f}, drift {drift:.1e}"


def run(cases: int, seed: int) -> Tally:
    """Step every loop."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "variational energy",
    f"the energy of free loops swings over {STEPS} steps of the variational midpoint rule by at most {GROWS} times what"
    f" it does in the first {FIRST}, and its mean stays within {DRIFTS:g} of that; that of rings does not drift, or a"
    " warning tells",
    full=300,
    bounded=8,
    run=run,
)
