"""Drive forces of a motion, and the distribution of the load over redundant drives (METHODS 1.38)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.analysis.prescribed_motion import plain_dofs, prescribable_names, turning_joints
from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.results.force_channels import driven_distances
from rtmbs.simulation.set_coordinate import no_coordinate, turning_joint
from rtmbs.system.system import System

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BALANCED = 1e-8  # of the largest generalised force: what drives may miss
RANK = 1e-9  # of the largest singular value


@dataclass(frozen=True)
class Drives:
    """Drives of a motion: coordinates, and drivers that the user named among them."""

    labels: list[str]  # (k,)
    weights: Array  # (k,)
    dofs: list[int]  # (k,) of coordinates; -1 for a driver
    rows: list[int]  # (k,) equations of drivers; -1 for a coordinate
    replaced: Mask  # (m,) equations of drivers that say the motion while drives make it
    wrenches: dict[int, str]  # joint that turns freely of each dof whose drive is a part of a wrench

    def columns(self, system: System, Phi_z: Array, u: Array) -> Array:
        """Return the generalised forces (n, k) of unit forces of the drives at a closed pose with inputs ``u``."""
        B = np.zeros((system.n, len(self.labels)))
        for k, (dof, row) in enumerate(zip(self.dofs, self.rows, strict=True)):
            if row < 0:
                B[dof, k] = 1.0
            else:
                B[:, k] = Phi_z[row] / stretch(system, row, u)
        return B

    def multipliers(self, system: System, tau: Array, u: Array) -> Array:
        """Return the forces (k,) of named drivers as multipliers (m,); zero elsewhere."""
        lam = np.zeros(system.m)
        for row, force in zip(self.rows, tau, strict=True):
            if row >= 0:
                lam[row] -= force / stretch(system, row, u)
        return lam


def drives_of(system: System, drives: Any, names: Mapping[int, str]) -> Drives:
    """Return the drives that the user named, or those of the given coordinates ``names`` by dof.

    Drivers of the model carry what they say unless drives are named. Raises UnknownNameError, InputError.
    """
    if drives is None:
        none = np.zeros(system.m, np.bool_)
        ones, no_rows = np.ones(len(names)), [-1] * len(names)
        return Drives(list(names.values()), ones, list(names), no_rows, none, wrench_dofs(system))
    if isinstance(drives, str) or not isinstance(drives, Mapping | Sequence):
        raise InputError(f"drives is {shown(drives)}; it must be a list of joints and drivers, or map them to weights")
    weighted = dict(drives) if isinstance(drives, Mapping) else dict.fromkeys(drives, 1.0)
    known, drivers, turning = prescribable_names(system), driver_rows(system), turning_joints(system)
    labels, weights, dofs, rows = [], [], [], []
    for name, weight in weighted.items():
        if not (isinstance(name, str) and (name in known or name in drivers or name in turning)):
            offered = [*known, *drivers, *turning]
            raise no_coordinate(
                system, name, offered, "cannot have a drive", f"name the joint, {turning_joint(system, name)!r}"
            )
        if not (is_number(weight) and weight > 0.0):
            raise InputError(f"the weight of drive {name!r} is {shown(weight)}; it must be above zero")
        own = [known.get(name, -1)] if name in known or name in drivers else list(turning[name].dofs)
        labels += [name] * len(own)
        weights += [float(weight)] * len(own)
        dofs += own
        rows += [drivers[name] if dof < 0 else -1 for dof in own]
    replaced = np.zeros(system.m, np.bool_)
    replaced[list(drivers.values())] = True
    return Drives(labels, np.array(weights), dofs, rows, replaced, wrench_dofs(system))


def wrench_dofs(system: System) -> dict[int, str]:
    """Return the freely turning joint of each of its dofs, but for slides along a line, by dof."""
    found = {}
    for name, info in turning_joints(system).items():
        alone = [] if info.kind.free else plain_dofs(system, info)
        found.update({dof: name for dof in info.dofs if dof not in alone})
    return found


def driver_rows(system: System) -> dict[str, int]:
    """Return the equation of every driver of the model, of a coordinate or of a distance, by name."""
    closures = system.tables.closures
    first = len(closures.kind)
    found = {system.row_names[first + k]: first + k for k in range(len(system.tables.drivers.dof))}
    for name in driven_distances(system):
        found[name] = int(closures.row_pointer[system.closure_names.index(name)])
    return found


def replaced(system: System, drives: Drives, dof: int) -> list[str]:
    """Return the drivers that prescribe a motion which drives produce, that of ``dof`` first."""
    first, driven = len(system.tables.closures.kind), system.tables.drivers.dof
    rows = {name: row for name, row in driver_rows(system).items() if drives.replaced[row] and row not in drives.rows}
    return sorted(rows, key=lambda name: rows[name] < first or driven[rows[name] - first] != dof)


def stretch(system: System, row: int, u: Array) -> float:
    """Return the derivative of a driver's equation by its driven quantity: 1, or |d| / length of a driven distance."""
    closures = system.tables.closures
    return 1.0 if row >= len(closures.kind) else float(u[closures.slot[row]] / closures.length[row])


def least_forces(system: System, drives: Drives, B: Array, N: Array, wanted: Array, t: float) -> Array:
    """Return the forces (k,) with N^T B tau = N^T wanted and the least sum of tau^2 / weight.

    ``B`` (n, k) and ``wanted`` (n,) are in typical sizes, N (n, f) spans the motions that drives must make. Raises
    InputError for a motion that they cannot make.
    """
    asked, root = N.T @ wanted, np.sqrt(drives.weights)
    tau = np.zeros(len(root))
    if len(root) and N.shape[1]:
        tau = root * scipy.linalg.lstsq((N.T @ B) * root, asked, cond=RANK)[0]
    left = asked - N.T @ B @ tau
    size = float(np.abs(N.T).max(initial=0.0) * np.abs(wanted).max(initial=0.0)) or 1.0
    if np.abs(left).max(initial=0.0) > BALANCED * size:
        place = int(np.argmax(np.abs(N @ left)))
        hint = f", or name driver {others[0]!r} among the drives" if (others := replaced(system, drives, place)) else ""
        raise InputError(
            f"drives {', '.join(map(repr, drives.labels)) or 'none'} cannot make this motion at t = {t:g} s: "
            f"{system.coordinate_names[place]!r} misses {np.abs(left).max() / system.typical[place]:.3g}; add a drive "
            f"there{hint}"
        )
    return np.asarray(tau)
