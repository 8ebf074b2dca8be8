"""Warnings of runs that lost or gained energy though nothing in the System takes or gives any.

A System of gravity and ideal joints alone conserves its energy. A symplectic step swings about it. A step that does not
resolve a fast passage, such as the dead centre of a loop, changes it for good, and the motion behind it is another one.
"""

import numpy as np

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


def drifts(system: System, tables: Tables, samples: Samples, h: float, acted: bool = False) -> dict[str, int]:
    """Return a sentence, with count 1, for everything that the System conserves and steps of ``h`` [s] do not.

    ``acted``: events happened, whose actions may have changed the energy.
    """
    energy = {} if acted else energy_drift(system, tables, samples, h)
    return {**momentum_drift(system, tables, samples), **energy}


def energy_drift(system: System, tables: Tables, samples: Samples, h: float) -> dict[str, int]:
    """Return the sentence CHANGES, with count 1, when the energy of a conservative System changes by more than CHANGED.

    At LOOKED_AT samples; the first one tells what it should be.
    """
    if len(samples.t) < 2 or system.n == 0 or system.locks or system.rigid or not conservative(tables):
        return {}
    few = select_samples(samples, np.unique(np.linspace(0, len(samples.t) - 1, LOOKED_AT).astype(np.int64)))
    if np.any(few.u != few.u[:1]):
        return {}
    energies = Evaluation(system, tables, few).energies
    kinetic, potential, total = energies[0], energies[1], energies[:3].sum(axis=0)
    size = max(float(kinetic.max()), float(np.ptp(potential)))
    share = float(np.abs(total - total[0]).max()) / max(size, REST * float(np.abs(potential).max()), 1e-300)
    return {CHANGES.format(share=share, h=h): 1} if np.isfinite(share) and share > CHANGED else {}


def conservative(tables: Tables) -> bool:
    """Return True for a System without drivers, without rows that depend on time, and without forces but gravity."""
    forces = len(tables.connectors.a) > len(tables.closures.connector)
    return not (forces or len(tables.joint_forces.dof) or len(tables.laws.row) or len(tables.drivers.dof))
