"""Sources of K = -dQ/dz and C = -dQ/dzd by name; each answers ``source(z, zd, R0, u) -> (K, C)`` as dense (n, n).

``structured`` is not in this table: it is the closed form that the equations assemble straight into the sparse matrix.
The others differentiate the whole Q(z, zd) of the compiled kernels, which is what they are compared for (METHODS 1.19).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import unknown_name
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.system import System

Array = NDArray[np.float64]
Source = Callable[[Array, Array, Array, Array], tuple[Array, Array]]

FORWARD = 1e-8  # the paper's increment
CENTRAL = 6e-6
COMPLEX = 1e-30


class CompiledForce:
    """Q(z, zd) of the compiled kernels, for real or complex coordinates."""

    def __init__(self, system: System, dtype: type) -> None:
        self.tables, self.ws = system.tables, workspace(system.tables, dtype)
        self.alpha = np.zeros(len(system.row_names))

    def __call__(self, z: Array, zd: Array, R0: Array, u: Array) -> Array:
        """Return Q (n,)."""
        ws = self.ws
        ws.z[:], ws.zd[:], ws.zdd[:] = z, zd, 0.0
        evaluate_residual(self.tables, R0, u, self.alpha, ws)
        return -ws.tau


def forward_difference(system: System) -> Source:
    """Forward differences with the paper's increment 1e-8, re-formed as (z + s) - z."""
    Q = CompiledForce(system, np.float64)

    def source(z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        base = Q(z, zd, R0, u)
        K, C = np.empty((len(z), len(z))), np.empty((len(z), len(z)))
        for j in range(len(z)):
            moved, faster = z.copy(), zd.copy()
            moved[j] += FORWARD
            faster[j] += FORWARD
            K[:, j] = (base - Q(moved, zd, R0, u)) / (moved[j] - z[j])
            C[:, j] = (base - Q(z, faster, R0, u)) / (faster[j] - zd[j])
        return K, C

    return source


def central_difference(system: System) -> Source:
    """Central differences, 6e-6 of the typical size; rates at least of size one."""
    Q = CompiledForce(system, np.float64)

    def source(z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        K, C = np.empty((len(z), len(z))), np.empty((len(z), len(z)))
        for j in range(len(z)):
            s, sd = np.zeros(len(z)), np.zeros(len(z))
            s[j], sd[j] = CENTRAL * system.typical[j], CENTRAL * max(system.typical[j], abs(zd[j]))
            K[:, j] = (Q(z - s, zd, R0, u) - Q(z + s, zd, R0, u)) / ((z + s) - (z - s))[j]
            C[:, j] = (Q(z, zd - sd, R0, u) - Q(z, zd + sd, R0, u)) / ((zd + sd) - (zd - sd))[j]
        return K, C

    return source


def complex_step(system: System) -> Source:
    """Complex step 1e-30 through the same kernels in complex arithmetic: exact to rounding."""
    Q = CompiledForce(system, np.complex128)

    def source(z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        K, C = np.empty((len(z), len(z))), np.empty((len(z), len(z)))
        for j in range(len(z)):
            step = np.zeros(len(z), complex)
            step[j] = 1j * COMPLEX
            K[:, j] = -Q(z + step, zd, R0, u).imag / COMPLEX
            C[:, j] = -Q(z, zd + step, R0, u).imag / COMPLEX
        return K, C

    return source


SOURCES: dict[str, Callable[[System], Source]] = {
    "finite-difference": forward_difference,
    "central-difference": central_difference,
    "complex-step": complex_step,
}
STRUCTURED = "structured"


def source_names() -> list[str]:
    """Return every valid name."""
    return [STRUCTURED, *SOURCES]


def make_source(name: str, system: System) -> Source | None:
    """Return the source called ``name``, None for the closed form; the error lists the valid names."""
    if name == STRUCTURED:
        return None
    if name not in SOURCES:
        raise unknown_name("jacobian", name, source_names())
    return SOURCES[name](system)
