"""Redundant loop equations that contradict each other: the stress they would cause, and assembly offsets (METHODS
1.13).
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.method import Method
from rtmbs.semirecursive.accelerations import first_accelerations
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.start.assembly import Assembly, check_closed
from rtmbs.start.effective_masses import effective_masses
from rtmbs.start.nearest import CLOSED, REFUSED, worst_of
from rtmbs.start.rank import Scaled, inconsistent_part

Array = NDArray[np.float64]

STRESS = 1e-2  # self-stress of an inconsistent redundant closure, relative to the typical reaction, that is refused
SHIMMED = 1e-3  # of the row scale: a larger contradiction is no tolerance but a wrong model
SHIM_ROUNDS = 4


def settle_redundant(
    equations: SemiRecursiveEquations,
    assembly: Assembly,
    z: Array,
    gap: Array,
    h: float,
    method: Method,
    assembly_offset: bool,
) -> Array:
    """Judge a gap that no motion removes: measure it from the pose when asked, refuse it when it would stress the
    mechanism.
    """
    system, offsets = equations.system, equations.tables.closures.assembly_offset
    masses = equations.masses = effective_masses(equations, assembly.jacobian)[0]
    equations.alpha = method.penalties(equations, h)
    pose = measure_assembly_offsets(equations, assembly, z, masses)
    stuck = np.zeros(equations.m)
    stuck[: len(offsets)] = offsets
    if worst_of(assembly.gap(pose)) > REFUSED or worst_of(stuck / assembly.scale) > SHIMMED:
        offsets[:] = 0.0
        check_closed(equations, gap, assembly.scale, system.pinned_z)
    if assembly_offset:
        return pose
    offsets[:] = 0.0
    equations.close(z, assembly.R0)
    _, lam = first_accelerations(equations, z, np.zeros(equations.n), assembly.R0, masses)
    refuse_stress(equations, stuck, lam, assembly.scale)
    return z


def refuse_stress(equations: SemiRecursiveEquations, stuck: Array, lam: Array, scale: Array) -> None:
    """Raise StartError when what is ``stuck`` (m,) would stress the mechanism; ``lam`` (m,) are typical reactions.

    Forces and moments are compared as what they do along ``scale`` (m,) of their row [J].
    """
    system = equations.system
    weight = float(np.sum(equations.tables.dofs.mass)) * float(np.linalg.norm(equations.u[:3]))
    stress = equations.alpha * np.abs(stuck) * scale
    typical = max(weight * system.length / max(equations.n, 1), float(np.max(np.abs(lam) * scale, initial=0.0)))
    worst = int(np.argmax(stress))
    if stress[worst] > STRESS * typical:
        length, force = ("", "N m") if system.row_is_rotation[worst] else (" m", "N")
        raise StartError(
            f"the redundant loop equations at {system.row_names[worst]!r} contradict each other by"
            f" {abs(stuck[worst]):.3g}{length} and would stress the mechanism with {stress[worst] / scale[worst]:.3g}"
            f" {force} (typical reaction {typical / scale[worst]:.3g} {force});"
            " correct the points of this closure, or use assembly_offset=True to measure lengths from the pose as it is"
        )


def measure_assembly_offsets(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array) -> Array:
    """Subtract from Phi what no motion removes, and return the pose that closes the rest.

    The part is that of METHODS 1.13, in the metric of the penalties. Unless all rows weigh the same, the gap at the
    nearest pose has another part, which motion does remove; so a few rounds of measuring and assembling are taken.
    """
    root, offsets = np.sqrt(masses), equations.tables.closures.assembly_offset
    for _ in range(SHIM_ROUNDS):
        Phi = equations.close(z, assembly.R0).copy()
        if worst_of(Phi / assembly.scale) <= CLOSED:
            break
        scaled = Scaled(equations, assembly.jacobian)
        for group in assembly.groups:
            rows = group.rows[group.rows < len(offsets)]
            part = inconsistent_part(scaled, group, root, Phi)
            offsets[rows] += part[group.rows < len(offsets)]
        z = assembly.solve(z, equations.system.pinned_z, equations.system.weights)
    return z
