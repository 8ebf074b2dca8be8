"""HIPS autograd: operator overloading, forward or reverse, the paper's t_AD.

A batched function gives the whole Jacobian in one pass: x is repeated, one row of the batch for every row (reverse) or
column (forward) of the Jacobian, and as rows never mix, one pass with a unit seed in each row returns them all.

``f`` must take autograd's namespace as ``xp`` or use ``autograd.numpy`` itself: plain numpy on autograd's boxes falls
to object arrays, where a scalar ``np.where`` gives a derivative of zero with no error.
"""

from collections.abc import Callable

import numpy as np

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.function import Array, Function, OfFunction

MODES = ("reverse", "forward")


class Autograd(OfFunction):
    """Jacobian of ``f`` by autograd, ``mode`` reverse or forward; one pass if ``batched``, else one a row or column."""

    def __init__(
        self,
        f: Callable[..., Array],
        n: int,
        m: int | None = None,
        *,
        mode: str = "reverse",
        batched: bool = False,
    ) -> None:
        import autograd.numpy as xp

        if mode not in MODES:
            raise DerivativeError(f"unknown autograd mode {mode!r}; there are {', '.join(MODES)}")
        self.function = Function(f, n, m, batched=batched, xp=xp)
        self.n, self.mode = n, mode

    def directions(self, x: Array, V: Array, p: Array | None = None) -> Array:
        """Return df/dx V (m, k) at x (n,) along the columns of V (n, k), in forward mode."""
        from autograd import make_jvp

        x = self.function.point(x)
        if self.function.batched:
            rows = np.broadcast_to(x, (V.shape[1], self.n))
            return make_jvp(lambda X: self.function.raw(X, p))(rows)(V.T)[1].T
        push = make_jvp(lambda point: self.function.raw(point, p))(x)
        return np.stack([push(v)[1] for v in V.T], axis=1)

    def adjoints(self, x: Array, W: Array, p: Array | None = None) -> Array:
        """Return W df/dx (k, n) at x (n,) for the rows of W (k, m), in reverse mode."""
        from autograd.core import make_vjp

        x = self.function.point(x)
        if self.function.batched:
            pull, _ = make_vjp(lambda X: self.function.raw(X, p), np.broadcast_to(x, (W.shape[0], self.n)))
            return pull(W)
        pull, _ = make_vjp(lambda point: self.function.raw(point, p), x)
        return np.stack([pull(w) for w in W])

    def jacobian(self, x: Array, p: Array | None = None) -> Array:
        """Return df/dx (m, n) at x (n,)."""
        if self.mode == "forward":
            return self.directions(x, np.eye(self.n), p)
        return self.adjoints(x, np.eye(self.function.measure(x, p)), p)
