"""Complex step: the imaginary part of f(x + i s e_j) over s, exact to rounding because nothing is subtracted.

``f`` has to be analytic code: no abs, norm, maximum, comparison, conj, arctan2 or array of floats written into
(Squire, Trapp 1998; METHODS 1.19). What is not so is often a silent zero; ``check_derivatives`` finds it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad.colouring import Compression, compress
from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.function import Array, Function, OfFunction

STEP = 1e-30  # small enough that its square vanishes beside one


class ComplexStep(OfFunction):
    """Jacobian of ``f`` by complex steps: n complex calls, colours in place of n with a pattern."""

    def __init__(
        self,
        f: Callable[..., Array],
        n: int,
        m: int | None = None,
        *,
        pattern: Any = None,
        batched: bool = False,
    ) -> None:
        self.function = Function(f, n, m, batched=batched)
        self.n = n
        self.compression: Compression | None = None if pattern is None else compress(pattern, n, m)

    def directions(self, x: Array, V: Array, p: Array | None = None) -> Array:
        """Return df/dx V (m, k) at x (n,) along the columns of V (n, k)."""
        y = self.function.rows(self.function.point(x) + 1j * STEP * V.T, p)
        if not np.iscomplexobj(y):
            raise DerivativeError(
                f"{self.function.name} returns real numbers for complex ones: it drops the derivative"
            )
        return y.imag.T / STEP

    def jacobian(self, x: Array, p: Array | None = None) -> Array:
        """Return df/dx (m, n) at x (n,)."""
        if self.compression is None:
            return self.directions(x, np.eye(self.n), p)
        return self.compression.expand(self.directions(x, self.compression.seeds(), p))
