"""Differences: forward with the paper's fixed increment, forward with a scaled one, central.

    forward   (f(x + s e_j) - f(x)) / s         s = 1e-8
    scaled    the same                          s = 1.5e-8 * typ_j
    central   (f(x + s e_j) - f(x - s e_j)) / 2s     s = 6e-6 * typ_j

The increment is what is stored, ``(x + s) - x``: without this a coordinate that has travelled far gives wrong numbers
(METHODS 1.19). ``typ_j`` is the typical size of input j, never its momentary value: an array (n,), a number, or a
function of x that returns one. With a sparsity pattern all columns of one colour move together.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad.colouring import Compression, compress
from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.function import Array, Function, OfFunction

FIXED = 1e-8  # the paper's increment
SCALED = 1.5e-8  # square root of the rounding unit, per unit of typical size
CENTRAL = 6e-6  # its cube root
INCREMENTS = {"forward": FIXED, "scaled": SCALED, "central": CENTRAL}


class FiniteDifference(OfFunction):
    """Jacobian of ``f`` by differences: n + 1 calls, central 2 n; with a pattern colours in place of n."""

    def __init__(
        self,
        f: Callable[..., Array],
        n: int,
        m: int | None = None,
        *,
        scheme: str = "forward",
        typical: float | Array | Callable[[Array], Array] = 1.0,
        pattern: Any = None,
        batched: bool = False,
    ) -> None:
        if scheme not in INCREMENTS:
            raise DerivativeError(f"unknown difference scheme {scheme!r}; there are {', '.join(INCREMENTS)}")
        self.function = Function(f, n, m, batched=batched)
        self.n, self.scheme, self.typical = n, scheme, typical
        self.compression: Compression | None = None if pattern is None else compress(pattern, n, m)

    def increments(self, x: Array) -> Array:
        """Return the increments (n,) that x can hold: (x + s) - x."""
        size = 1.0
        if self.scheme != "forward":
            size = self.typical(x) if callable(self.typical) else self.typical
        s = np.broadcast_to(INCREMENTS[self.scheme] * np.asarray(size, dtype=np.float64), x.shape)
        s = (x + s) - x
        if not np.all(s):
            j = int(np.flatnonzero(s == 0)[0])
            raise DerivativeError(f"input {j} is {x[j]:g}: its increment is lost in rounding; give its typical size")
        return s

    def jacobian(self, x: Array, p: Array | None = None) -> Array:
        """Return df/dx (m, n) at x (n,)."""
        x = self.function.point(x)
        s = self.increments(x)
        moves = np.diag(s) if self.compression is None else s[:, None] * self.compression.seeds()
        if self.scheme == "central":
            rise = self.function.rows(x + moves.T, p) - self.function.rows(x - moves.T, p)
            s = (x + s) - (x - s)
        else:
            rise = self.function.rows(x + moves.T, p) - self.function(x, p)
        if self.compression is None:
            return rise.T / s
        return self.compression.expand(rise.T) / s
