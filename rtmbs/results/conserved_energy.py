"""Warnings of runs that lost or gained energy though nothing in the System takes or gives any.

A System of gravity, ideal joints, springs and constant loads conserves its energy. A symplectic step swings about it. A
step that does not resolve a fast passage, such as the dead centre of a loop, changes it for good, and the motion behind
it is another one. Many small changes of that kind add up to a mean that wanders, which no single sample tells.

Steps of the variational midpoint rule keep a modified energy to h^4 (METHODS 6.12). It differs from the energy by h^2
times a function of the state, which is known in closed form. What is left tells a drift from a swing, however slow the
swing is.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.evaluation import Evaluation
from rtmbs.results.run_warnings import LOOKED_AT, momentum_drift
from rtmbs.results.sample_kernels import resample_loads
from rtmbs.results.samples import Samples, select_samples
from rtmbs.system.components import balance_of
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]


def energy_correction(system: System, tables: Tables, samples: Samples, h: float) -> Array:
    """Return what the modified energy of steps of ``h`` [s] has beside the energy at each sample (S,) [J].

    It is ``h^2/24 (D2 - 2 D1)``. D2 is the second derivative of the Lagrangian L along (zd, zdd), D1 the first along
    (zdd, w x wd), where rotations have body rates w. Differences over one step give h^2 times both, exact to h^4.
    """
    z, zd, zdd = samples.z, samples.zd, samples.zdd
    turned = np.zeros_like(zd)
    for i in np.flatnonzero(tables.dofs.reference >= 0):
        turned[:, i : i + 3] = np.cross(zd[:, i : i + 3], zdd[:, i : i + 3])

    def lagrangian(dz: Array, dzd: Array) -> Array:
        kinetic, potential = energies_of(system, tables, samples._replace(z=z + dz, zd=zd + dzd))
        return kinetic - potential

    still, half = np.zeros_like(z), 0.5 * h * h
    second = lagrangian(h * zd, h * zdd) + lagrangian(-h * zd, -h * zdd) - 2.0 * lagrangian(still, still)
    first = lagrangian(half * zdd, half * turned) - lagrangian(-half * zdd, -half * turned)
    return (second - 2.0 * first) / 24.0


def energies_of(system: System, tables: Tables, samples: Samples) -> tuple[Array, Array]:
    """Return kinetic energies (S,) of samples, and potentials of weight, springs and constant loads (S,) [J]."""
    kinetic, gravity, elastic = Evaluation(system, tables, samples).energies
    return kinetic, gravity + elastic + loads_of(system, tables, samples)[0]


def loads_of(system: System, tables: Tables, samples: Samples) -> Array:
    """Return potentials of constant loads [J], and what is not 0 where no potential tells the work (2, S)."""
    out = np.zeros((2, len(samples.t)))
    if acting(tables):
        one = tables._replace(balance=balance_of(np.zeros(system.n, np.int64), system.length))
        resample_loads(one, samples, Evaluation(system, one, samples).ws, out)
    return out


CHANGED = 0.01  # of the largest kinetic energy, or of the largest change of it
REST = 1e-9  # of the weights times the characteristic length: below it nothing moves
CHANGES = (
    "the energy changes by {share:.1%} of the kinetic energy beyond the work of all forces: steps of h = {h:g} s "
    "do not resolve the motion, and what follows may be wrong; compare with a run of h / 5"
)
WANDERS = (
    "the mean energy moves by {share:.2g} of the kinetic energy beyond the work of all forces: steps of "
    "h = {h:g} s do not resolve the fastest passages; compare with a run of h / 5"
)
PARTS, SWINGS = 16, 1  # of a record, whose means are compared, and the fewest swings in each of them
MANY, MOST = 128, 1024  # samples of a record: the fewest that tell of its mean, and the most that are looked at
SCATTER = 5.0  # standard deviations of a mean by chance: the means of parts scatter by less where the energy swings
NUMERIC = 3e-5  # of the kinetic energy: below it the mean is as good as at rest, and slow swings may look like it
MODIFIED = 1e-6  # the same for the modified energy, whose swings are of order h^4
JUMP, SPANS = 1e-3, 8  # of the kinetic energy: medians of that many spans of a record lie apart by less
FEW = 64  # samples of a record by a method that is not symmetric, whose medians are looked at
ABRUPT, CALM = 0.5, 0.1  # of the change of these: what two spans in a row make of it, and the swings beside it
NEXT = 10.0  # of the square of the first term of the modified energy: below it a mean may swing by the next term


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

    CHANGES: by more than CHANGED at LOOKED_AT samples; the first one tells what it should be. Or a single passage
    changes it for good. WANDERS: the steps are those of a ``symmetric`` method, whose energy swings, and its mean moves
    all the same.
    """
    if len(samples.t) < 2 or system.n == 0 or system.locks or system.rigid or not conservative(tables):
        return {}
    looked = LOOKED_AT if len(samples.t) < MANY else min(MOST, len(samples.t)) if symmetric else FEW
    few = select_samples(samples, np.unique(np.linspace(0, len(samples.t) - 1, looked).astype(np.int64)))
    if np.any(few.u != few.u[:1]) or loads_of(system, tables, select_samples(few, np.zeros(1, np.int64)))[1].any():
        return {}
    kinetic, potential = energies_of(system, tables, few)
    total = kinetic + potential
    if not np.all(np.isfinite(total)):
        return {}
    size = max(float(kinetic.max()), float(np.ptp(potential)), REST * float(np.abs(potential).max()), 1e-300)
    at = np.linspace(0, len(total) - 1, min(LOOKED_AT, len(total))).astype(np.int64)
    share = float(np.abs(total[at] - total[0]).max()) / size
    if share <= CHANGED and not symmetric:
        share = abrupt_change(total) / size
    if share > CHANGED or (share > JUMP and not symmetric):
        return {CHANGES.format(share=share, h=h): 1}
    wander = mean_wander(system, tables, few, h, total, size) if symmetric else 0.0
    return {WANDERS.format(share=wander, h=h): 1} if wander else {}


def mean_wander(system: System, tables: Tables, samples: Samples, h: float, energy: Array, size: float) -> float:
    """Return by what share of ``size`` [J] the mean of an energy (S,) wanders, and 0 where swings explain it.

    Steps of the midpoint rule keep their modified energy (METHODS 6.12), in which even slow swings are gone. It is
    judged where it swings less than the energy does within the parts of the record. Steps of another rule, or of
    another size, leave the energy itself to be judged.
    """
    raw = spread_of_means(energy)
    if jump := jump_of_medians(system, tables, samples, h, energy, size):
        return jump
    if not raw.moved:
        return 0.0
    correction = energy_correction(system, tables, samples, h)
    kept, found, least = spread_of_means(energy + correction), raw, NUMERIC
    if 0.0 < kept.by_chance < raw.by_chance:
        found, least = kept, max(MODIFIED, NEXT * (float(np.ptp(correction)) / size) ** 2)
    wanders = found.moved > least * size and found.deviation > SCATTER * found.by_chance
    return found.moved / size if wanders else 0.0


def jump_of_medians(system: System, tables: Tables, samples: Samples, h: float, energy: Array, size: float) -> float:
    """Return by what share of ``size`` [J] single passages change an energy (S,) for good; 0 below JUMP.

    Swings at passages are short, so medians of spans do not see them. What they see has to be in the modified energy
    too, and to be more than its first term in any span: then no swing explains it.
    """
    if len(energy) < MANY or apart(energy) <= JUMP * size:
        return 0.0
    correction = energy_correction(system, tables, samples, h)
    explained = max(float(np.median(np.abs(span))) for span in np.array_split(correction, SPANS))
    moved = min(apart(energy), apart(energy + correction))
    return moved / size if moved > max(JUMP * size, explained) else 0.0


def abrupt_change(energy: Array) -> float:
    """Return how far the median of the last span of an energy (S,) is from the first [J], where one passage makes most.

    Otherwise 0. Steps that lose a little everywhere change it evenly, and swings are larger than what they hide.
    """
    if len(energy) < FEW:
        return 0.0
    spans = np.array_split(energy, SPANS)
    medians = np.array([np.median(span) for span in spans])
    moved, swings = abs(float(medians[-1] - medians[0])), float(np.median([np.ptp(span) for span in spans]))
    return moved if np.abs(np.diff(medians)).max() > ABRUPT * moved and swings < CALM * moved else 0.0


def apart(energy: Array) -> float:
    """Return how far the medians of SPANS of an energy (S,) lie apart [J]."""
    return float(np.ptp([np.median(span) for span in np.array_split(energy, SPANS)]))


class Spread(NamedTuple):
    """Spread of the means of PARTS of an energy [J]."""

    moved: float = 0.0  # how far they lie apart
    deviation: float = 0.0  # their standard deviation
    by_chance: float = 0.0  # the same of means of as many samples that scatter as those within the parts do


def spread_of_means(energy: Array) -> Spread:
    """Return how far the means of PARTS of an energy (S,) lie apart, and how far they would by chance [J].

    The swings within the parts tell of chance, as in an analysis of variance. All is zero where the record is too
    short, or where the energy swings less than SWINGS times in a part of it.
    """
    if len(energy) < MANY:
        return Spread()
    parts = np.array_split(energy, PARTS)
    means = np.array([part.mean() for part in parts])
    passed = [np.count_nonzero(np.diff(part > mean)) for part, mean in zip(parts, means, strict=True)]
    if np.mean(passed) < 2 * SWINGS:
        return Spread()
    by_chance = np.sqrt(np.mean([part.var() / len(part) for part in parts]))
    return Spread(float(np.ptp(means)), float(means.std()), max(float(by_chance), 1e-300))


def conservative(tables: Tables) -> bool:
    """Return True for a System without drivers, without laws, and without rows that depend on time."""
    kinds = sum(len(one.connector) for one in tables.forces)
    others = len(tables.connectors.a) > len(tables.closures.connector) + kinds
    return not (others or len(tables.laws.row) or len(tables.drivers.dof))


def acting(tables: Tables) -> bool:
    """Return True for a System with springs, bushings, wrenches or forces of joints."""
    return bool(len(tables.joint_forces.dof)) or any(len(one.connector) for one in tables.forces)
