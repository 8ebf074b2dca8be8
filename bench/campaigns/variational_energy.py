"""Energy of free loops over very many steps of the variational midpoint rule, which balances nothing.

Loops with one freedom repeat themselves, and the energy of all steps swings as that of the first ones. Rings of six
bars have three freedoms. They are chaotic: the largest swing comes with the fastest motion, whenever that is. What
tells is the drift, the slope over time by least squares, beside the one that as many swings without memory would have
by chance. It is that of the modified energy (METHODS 6.12), for a chaotic motion swings slower than the record too.
Steps that do not resolve the dead centres of a ring may drift, but a warning must tell (``bench.measures.ring_drift``
has the cause). A warning is false where no tenth of the modified energy stays apart from another one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.energy import linkage
from rtmbs import Model, Revolute, Simulation, VariationalMidpoint
from rtmbs.errors import StepError
from rtmbs.library.linkages import add_bar
from rtmbs.results.run_warnings import energies_of, energy_correction
from rtmbs.simulation.observers.recorder import Recorder

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
STAYS = 1e-6  # of the largest kinetic energy: medians of tenths of the modified energy that lie less apart stay
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


class Drift(NamedTuple):
    """What becomes of the energy in a run, and whether a warning tells."""

    share: float  # change by least squares, of the swing of the energy
    deviations: float  # the same in standard deviations of it
    stays: float  # how far medians of tenths lie apart, of the largest kinetic energy
    told: bool

    @property
    def wrong(self) -> str:
        """What is wrong: a drift that nothing tells, or one that is told where there is none."""
        if self.told:
            return "" if self.stays > STAYS else f"a drift is told where there is none ({self.stays:.1e})"
        return f"drift {self.share:.1e} of the swing, {self.deviations:.1f} deviations, untold" if self.drifts else ""

    @property
    def drifts(self) -> bool:
        """True where chance explains no such change."""
        return self.share > SHIFT and self.deviations > CHANCE


def drift(sim: Simulation, steps: int) -> Drift:
    """Return what becomes of the energy of a conservative Simulation in a number of steps.

    Judged is the modified energy of all samples, or the energy where that swings less: steps may be too large for a
    modified energy. The deviation is that of means of blocks, so swings that last for many steps count once.
    """
    recorder, system, h = Recorder(), sim.system, sim.h
    warnings = sim.run(steps * h, channels=["energy.total"], observers=[recorder]).warnings
    kinetic, potential = energies_of(system, system.tables, recorder.samples)
    energy = kinetic + potential
    modified = energy + energy_correction(system, system.tables, recorder.samples, h)
    judged = modified if np.ptp(modified) < np.ptp(energy) else energy
    means = judged[: len(judged) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)
    t = (np.arange(BLOCKS) + 0.5) / BLOCKS - 0.5
    slope = float(t @ means / (t @ t))
    scatter = np.sqrt(float(np.sum((means - means.mean() - slope * t) ** 2)) / (BLOCKS - 2) / float(t @ t))
    return Drift(
        abs(slope) / float(np.ptp(energy)),
        abs(slope) / max(scatter, 1e-300),
        float(np.ptp([np.median(tenth) for tenth in np.array_split(judged, 10)]) / kinetic.max()),
        any(words.startswith(TOLD) for words in warnings),
    )


def judged_ring(seed: int, tally: Tally) -> str:
    """Return what is wrong with the energy of one ring."""
    sim = Simulation(ring(seed).compile(), H, VariationalMidpoint())
    try:
        found = drift(sim, STEPS)
    except StepError as error:
        turn = H * float(np.abs(sim.state.zd).max())
        tally.largest("rings that stop", tally.worst.get("rings that stop", 0.0) + 1.0)
        return "" if turn > WHIP else f"ring: {error} at {turn:.2f} rad a step"
    tally.largest("rings that are told", tally.worst.get("rings that are told", 0.0) + float(found.told))
    if not found.told:
        tally.largest("drift of a ring that is not told, of its swing", found.share)
        tally.largest("what stays of a ring that is not told, of its kinetic energy", found.stays)
    return f"ring: {found.wrong}" if found.wrong else coarse_ring(seed, tally)


def coarse_ring(seed: int, tally: Tally) -> str:
    """Return what is wrong with coarse steps of one ring."""
    sim = Simulation(ring(seed).compile(), COARSE, VariationalMidpoint())
    try:
        found = drift(sim, STEPS)
    except StepError:
        tally.largest("coarse rings that stop", tally.worst.get("coarse rings that stop", 0.0) + 1.0)
        return ""
    for key, happens in (("coarse rings that drift", found.drifts), ("coarse rings that are told", found.told)):
        tally.largest(key, tally.worst.get(key, 0.0) + float(happens))
    tally.largest("drift of a coarse ring, of its swing", found.share)
    if not found.told:
        tally.largest("drift of a coarse ring that is not told, of its swing", found.share)
    return f"coarse ring: {found.wrong}" if found.wrong else ""


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
    moved = abs(float(energy[-tenth:].mean() - energy[:tenth].mean())) / swing
    tally.largest("swing of all steps, of that of the first", grown)
    tally.largest("drift of the mean, of the swing", moved)
    return "" if grown <= GROWS and moved <= DRIFTS else f"swing {grown:.3f}, drift {moved:.1e}"


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
