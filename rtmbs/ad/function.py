"""The user's function as every source of derivatives calls it: flat arrays, checked shapes, a namespace.

The function is ``f(x)`` or, with parameters, ``f(x, p)``: x (n,) and p (k,) to (m,), or to a number. A *batched*
function takes x (B, n) to (B, m) and never mixes rows. When it has an argument named ``xp``, it receives the array
namespace of the source (numpy, autograd's, the recorder's); without one it uses plain numpy, which every source but
autograd follows.
"""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rtmbs.ad.errors import DerivativeError

Array = Any  # arrays of numpy, autograd and the recorder pass through the same lines
CHUNK = 64  # rows handed to a batched function at once: larger arrays fall out of cache


class Derivatives(Protocol):
    """What every source answers, made once from ``f`` and ``n``."""

    n: int

    @property
    def m(self) -> int:
        """Number of outputs; known after the first call when it was not given."""

    def value(self, x: Array, p: Array | None = None) -> Array:
        """Return f (m,) at x (n,) with parameters p (k,)."""

    def jacobian(self, x: Array, p: Array | None = None) -> Array:
        """Return df/dx (m, n) at x (n,) with parameters p (k,)."""


class Function:
    """``f`` with its number of inputs and outputs, called row by row or in batches.

    ``m`` may be left out: it is found at the first call.
    """

    def __init__(
        self, f: Callable[..., Array], n: int, m: int | None = None, *, batched: bool = False, xp: Any = np
    ) -> None:
        self.f, self.n, self.batched, self.xp = f, n, batched, xp
        self.takes_namespace = takes_namespace(f)
        self._m = m

    @property
    def name(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    @property
    def m(self) -> int:
        if self._m is None:
            raise DerivativeError(f"the number of outputs of {self.name} is known after its first call; give it as m")
        return self._m

    def measure(self, x: Array, p: Array | None) -> int:
        """Return m, from a call when it is not known yet."""
        if self._m is None:
            self(x, p)
        return self.m

    def point(self, x: Array) -> Array:
        """Return x (n,) as floats, or raise."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (self.n,):
            raise DerivativeError(f"{self.name} takes {self.n} inputs as an array ({self.n},), not {x.shape}")
        return x

    def __call__(self, x: Array, p: Array | None = None) -> Array:
        """Return f (m,) at x (n,), in whatever kind of array x is."""
        if self.batched:
            return self.raw(x[None, :], p)[0]
        return self.raw(x, p)

    def rows(self, x: Array, p: Array | None = None) -> Array:
        """Return f (B, m) at the rows of x (B, n): in batches where the function takes them, one by one elsewhere."""
        if not self.batched:
            return np.stack([self.raw(row, p) for row in x]) if len(x) else np.zeros((0, self.m))
        return np.concatenate([self.raw(x[k : k + CHUNK], p) for k in range(0, len(x), CHUNK)])

    def raw(self, x: Array, p: Array | None = None) -> Array:
        """Call ``f`` with x as its own shape (n,) or (B, n), and check what comes back."""
        arguments = (x,) if p is None else (x, p)
        y = self.f(*arguments, xp=self.xp) if self.takes_namespace else self.f(*arguments)
        if isinstance(y, list | tuple):
            y = self.xp.stack([*y])
        if not self.batched and np.shape(y) == ():
            y = self.xp.reshape(y, (1,))
        return self.checked(y, x)

    def checked(self, y: Array, x: Array) -> Array:
        """Return y when it is (m,) for x (n,), or (B, m) for x (B, n)."""
        shape, lead = tuple(np.shape(y)), tuple(np.shape(x)[:-1])
        if len(shape) != len(lead) + 1 or shape[:-1] != lead:
            wanted = "(B, m)" if self.batched else "(m,)"
            raise DerivativeError(
                f"{self.name} returned an array {shape} for an input {np.shape(x)}; {wanted} is wanted"
            )
        if self._m is None:
            self._m = shape[-1]
        if shape[-1] != self._m:
            raise DerivativeError(f"{self.name} returned {shape[-1]} outputs, {self._m} are expected")
        return y


class OfFunction:
    """What sources that call a function answer alike."""

    n: int
    function: Function

    @property
    def m(self) -> int:
        """Number of outputs."""
        return self.function.m

    def value(self, x: Array, p: Array | None = None) -> Array:
        """Return f (m,) at x (n,)."""
        return self.function(self.function.point(x), p)


def takes_namespace(f: Callable[..., Array]) -> bool:
    """Return whether ``f`` has an argument named ``xp``."""
    try:
        return "xp" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        return False
