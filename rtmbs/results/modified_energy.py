"""Energy that steps of the variational midpoint rule keep to h^4, beside the energy of the System (METHODS 6.12).

A symmetric symplectic step keeps a modified energy. That of this rule differs from the energy by h^2 times a function
of the state, which is known in closed form. What is left tells a drift from a swing, however slow the swing is.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import Samples
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
        kinetic, gravity, elastic = Evaluation(system, tables, samples._replace(z=z + dz, zd=zd + dzd)).energies
        return np.asarray(kinetic - gravity - elastic)

    still, half = np.zeros_like(z), 0.5 * h * h
    second = lagrangian(h * zd, h * zdd) + lagrangian(-h * zd, -h * zdd) - 2.0 * lagrangian(still, still)
    first = lagrangian(half * zdd, half * turned) - lagrangian(-half * zdd, -half * turned)
    return (second - 2.0 * first) / 24.0
