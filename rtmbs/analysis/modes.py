"""Natural frequencies, damping and shapes of small motions beside a state."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.analysis.linearisation import Linearisation, linearise
from rtmbs.errors import InputError, shown
from rtmbs.simulation.simulation import Simulation

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

GROWING = 1e-6  # of the largest eigenvalue: rounding splits a double zero by its root
REAL = 1e-9  # of the size of an eigenvalue, or of the largest times 1e-6: an imaginary part that counts as none


@dataclass(frozen=True)
class Modes:
    """Solutions exp(s t) of the linear equations, the slowest first; one of each conjugate pair.

    Attributes
    ----------
    eigenvalues : (k,) s [1/s]
    frequencies : (k,) natural frequencies |s| / 2 pi [Hz]
    damped_frequencies : (k,) of the oscillation itself [Hz]; 0 where there is none
    damping : (k,) ratios -Re(s) / |s|; 1 for a decay without oscillation, negative where motion grows
    shapes : (n, k) complex variations of all joint coordinates, the largest of them 1
    left : (nx, k) left eigenvectors of A, left[:, i]^H A = s_i left[:, i]^H, with left^H right = 1
    right : (nx, k) right eigenvectors of A
    coordinates : names of the joint coordinates (n,)
    """

    eigenvalues: Complex
    shapes: Complex
    left: Complex
    right: Complex
    coordinates: tuple[str, ...]
    linearisation: Linearisation

    @property
    def frequencies(self) -> Array:
        return np.abs(self.eigenvalues) / (2.0 * np.pi)

    @property
    def damped_frequencies(self) -> Array:
        return np.abs(self.eigenvalues.imag) / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0.0)

    @property
    def stable(self) -> bool:
        """Whether no mode grows, to rounding."""
        return bool(np.all(self.eigenvalues.real <= GROWING * np.abs(self.eigenvalues).max(initial=0.0)))

    def table(self) -> str:
        """Return the modes as text: number, frequency, damping, eigenvalue, and the coordinates that move most."""
        lines = [f"{'':>4} {'Hz':>12} {'damping':>10} {'s [1/s]':>28}  moves most"]
        for i, s in enumerate(self.eigenvalues):
            order = np.argsort(-np.abs(self.shapes[:, i]))[:3]
            most = ", ".join(f"{self.coordinates[j]} {abs(self.shapes[j, i]):.2g}" for j in order)
            value = f"{s.real:+.5g} {s.imag:+.5g}i"
            lines.append(f"{i:>4} {self.frequencies[i]:>12.6g} {self.damping[i]:>10.4g} {value:>28}  {most}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def modes(of: Simulation | Linearisation) -> Modes:
    """Return the modes of small motions beside the present state of a Simulation, or of a Linearisation.

    At a state that moves the equations are those of that instant: the modes are those of a steady motion, as of a
    governor in its turn, and no more than a hint for others. Raises InputError, and the errors of ``linearise``.

        found = rtmbs.modes(sim)
        print(found.table())
    """
    if not isinstance(of, Simulation | Linearisation):
        raise InputError(f"modes takes a Simulation or a Linearisation, not {shown(of)}")
    lin = of if isinstance(of, Linearisation) else linearise(of)
    values, left, right = eigenvectors(lin.A)
    real = np.abs(values.imag) <= REAL * np.maximum(np.abs(values), 1e-6 * np.abs(values).max(initial=0.0))
    kept = np.flatnonzero(real | (values.imag > 0.0))
    kept = kept[np.argsort(np.abs(values[kept]), kind="stable")]
    values, left, right = values[kept], left[:, kept], right[:, kept]
    shapes = lin.basis @ right[: lin.basis.shape[1]]
    for i in range(shapes.shape[1]):
        largest = shapes[np.argmax(np.abs(shapes[:, i])), i] if len(shapes) else 0.0
        if abs(largest) > 0.0:
            shapes[:, i] /= largest
            right[:, i] /= largest
        overlap = np.vdot(left[:, i], right[:, i])
        if abs(overlap) > 0.0:
            left[:, i] /= np.conj(overlap)
    return Modes(values, shapes, left, right, lin.names_of_all, lin)


def eigenvectors(A: Array) -> tuple[Complex, Complex, Complex]:
    """Return eigenvalues, left and right eigenvectors of A (nx, nx); none of an empty one."""
    none = np.zeros((0, 0), np.complex128)
    if not len(A):
        return none.ravel(), none, none
    values, left, right = scipy.linalg.eig(A, left=True, right=True)
    return values.astype(np.complex128), left.astype(np.complex128), right.astype(np.complex128)
