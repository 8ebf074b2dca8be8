"""Warnings of runs that lost or gained energy though nothing in the System takes or gives any.

A System of gravity and ideal joints alone conserves its energy. A symplectic step swings about it. A step that does not
resolve a fast passage, such as the dead centre of a loop, changes it for good, and the motion behind it is another one.
Many small changes of that kind add up to a mean that wanders, which no single sample tells.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.evaluation import Evaluation
from rtmbs.results.run_warnings import LOOKED_AT, momentum_drift
from rtmbs.results.samples import Samples, select_samples
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

CHANGED = 0.01  # of the largest kinetic energy, or of the largest change of it
REST = 1e-9  # of the weights times the characteristic length: below it nothing moves
CHANGES = (
    "the energy changes by {share:.1%} of the kinetic energy, though no force takes or gives any: steps of h = {h:g} s "
    "do not resolve the motion, and what follows may be wrong; compare with a run of h / 5"
)
WANDERS = (
    "the mean energy moves by {share:.2g} of the kinetic energy, though no force takes or gives any: steps of "
    "h = {h:g} s do not resolve the fastest passages; compare with a run of h / 5"
)
PARTS, SWINGS = 16, 1  # of a record, whose means are compared, and the fewest swings in each of them
MANY, MOST = 128, 1024  # samples of a record: the fewest that tell of its mean, and the most that are looked at
SCATTER = 5.0  # standard deviations of a mean by chance: the means of parts scatter by less where the energy swings
NUMERIC = 3e-5  # of the kinetic energy: below it the mean is as good as at rest, and slow swings may look like it

Array = NDArray[np.float64]


def drifts(
    system: System, tables: Tables, samples: Samples, h: float, method: Any = None, acted: bool = False
) -> dict[str, int]:
    """Return a sentence, with count 1, for everything that the System conserves and steps of ``h`` [s] do not.

    ``method``: that of the run. ``acted``: events happened, whose actions may have changed the energy.
    """
    symmetric = bool(getattr(method, "symmetric", False))
    energy = {} if acted else energy_drift(system, tables, samples, h, symmetric)
    return {**momentum_drift(system, tables, samples), **energy}


def energy_drift(system: System, tables: Tables, samples: Samples, h: float, symmetric: bool = False) -> dict[str, int]:
    """Return CHANGES or WANDERS, with count 1, when steps change the energy of a conservative System.

    CHANGES: by more than CHANGED at LOOKED_AT samples; the first one tells what it should be. WANDERS: the steps are
    those of a ``symmetric`` method, whose energy swings, and its mean moves all the same.
    """
    if len(samples.t) < 2 or system.n == 0 or system.locks or system.rigid or not conservative(tables):
        return {}
    looked = min(MOST, len(samples.t)) if symmetric and len(samples.t) >= MANY else LOOKED_AT
    few = select_samples(samples, np.unique(np.linspace(0, len(samples.t) - 1, looked).astype(np.int64)))
    if np.any(few.u != few.u[:1]):
        return {}
    energies = Evaluation(system, tables, few).energies
    kinetic, potential, total = energies[0], energies[1], energies[:3].sum(axis=0)
    if not np.all(np.isfinite(total)):
        return {}
    size = max(float(kinetic.max()), float(np.ptp(potential)), REST * float(np.abs(potential).max()), 1e-300)
    at = np.linspace(0, len(total) - 1, min(LOOKED_AT, len(total))).astype(np.int64)
    share = float(np.abs(total[at] - total[0]).max()) / size
    if share > CHANGED:
        return {CHANGES.format(share=share, h=h): 1}
    moved, chance = spread_of_means(total) if symmetric else (0.0, np.inf)
    wanders = moved > NUMERIC * size and chance > SCATTER
    return {WANDERS.format(share=moved / size, h=h): 1} if wanders else {}


def spread_of_means(energy: Array) -> tuple[float, float]:
    """Return how far the means of PARTS of an energy (S,) lie apart [J], and how many times as far as by chance.

    The swings within the parts tell of chance, as in an analysis of variance. Both are zero where the record is too
    short, or where the energy swings less than SWINGS times in a part of it.
    """
    if len(energy) < MANY:
        return 0.0, 0.0
    parts = np.array_split(energy, PARTS)
    means = np.array([part.mean() for part in parts])
    passed = [np.count_nonzero(np.diff(part > mean)) for part, mean in zip(parts, means, strict=True)]
    if np.mean(passed) < 2 * SWINGS:
        return 0.0, 0.0
    by_chance = np.sqrt(np.mean([part.var() / len(part) for part in parts]))
    return float(np.ptp(means)), float(means.std()) / max(float(by_chance), 1e-300)


def conservative(tables: Tables) -> bool:
    """Return True for a System without drivers, without rows that depend on time, and without forces but gravity."""
    forces = len(tables.connectors.a) > len(tables.closures.connector)
    return not (forces or len(tables.joint_forces.dof) or len(tables.laws.row) or len(tables.drivers.dof))
