"""Frequencies and damping ratios of eigenvalues."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Oscillations:
    """Whatever has ``eigenvalues`` s [1/s], in an array of any shape."""

    eigenvalues: Any

    @property
    def frequencies(self) -> Array:
        """Natural frequencies |s| / 2 pi [Hz]; NaN where there is no eigenvalue."""
        return np.asarray(np.abs(self.eigenvalues) / (2.0 * np.pi))

    @property
    def damped_frequencies(self) -> Array:
        """Frequencies of the oscillation itself [Hz]; 0 where there is none."""
        return np.asarray(np.abs(self.eigenvalues.imag) / (2.0 * np.pi))

    @property
    def damping(self) -> Array:
        """Damping ratios -Re(s) / |s|; 0 for s = 0."""
        size = np.abs(self.eigenvalues)
        return np.asarray(np.divide(-self.eigenvalues.real, size, out=np.zeros(size.shape), where=size != 0.0))
