"""Derivative sources that call the function: finite differences, complex steps and autograd, with column compression.

The function is ``f(x)`` or, with parameters, ``f(x, p)``: x (n,) and p (k,) to (m,), or to a number. A *batched*
function takes x (B, n) to (B, m) and never mixes rows. When it has an argument named ``xp``, it receives the array
namespace of the source (numpy, autograd's, the recorder's); without one it uses plain numpy, which every source but
autograd follows.

Finite differences:

    forward   (f(x + s e_j) - f(x)) / s         s = 1e-8
    scaled    the same                          s = 1.5e-8 * typ_j
    central   (f(x + s e_j) - f(x - s e_j)) / 2s     s = 6e-6 * typ_j

The increment is what is stored, ``(x + s) - x``: without this a coordinate that has travelled far gives wrong numbers
(METHODS 1.19). ``typ_j`` is the typical size of input j, never its momentary value: an array (n,), a number, or a
function of x that returns one. With a sparsity pattern all columns of one colour move together.

Complex steps take the imaginary part of f(x + i s e_j) over s, exact to rounding because nothing is subtracted. ``f``
has to be analytic code: no abs, norm, maximum, comparison, conj, arctan2 or array of floats written into (Squire, Trapp
1998; METHODS 1.19). Other code often gives a silent zero; ``check_derivatives`` finds it.

Autograd is operator overloading, forward or reverse. A batched function gives the whole Jacobian in one pass: x is
repeated, one row of the batch for every row (reverse) or column (forward) of the Jacobian. ``f`` must take autograd's
namespace as ``xp`` or use ``autograd.numpy`` itself: plain numpy on autograd's boxes falls to object arrays, where a
scalar ``np.where`` gives a derivative of zero with no error.

Column compression: columns that share no row get one colour, and one difference serves all of a colour. A pattern is a
boolean array (m, n) or a scipy sparse matrix. Source: Curtis, Powell, Reid 1974; greedy colouring with the columns of
most neighbours first (Welsh, Powell 1967).
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import DerivativeError

Array = Any  # arrays of numpy, autograd and the recorder pass through the same lines
CHUNK = 64  # rows handed to a batched function at once: larger arrays fall out of cache


class Derivatives(Protocol):
    """Interface of derivative sources, made from ``f`` and ``n``."""

    n: int

    @property
    def m(self) -> int:
        """Number of outputs; known after the first call when it was not given."""

    def value(self, x: Array, p: Array | None = None) -> Array:
        """Return f (m,) at x (n,) with parameters p (k,)."""

    def jacobian(self, x: Array, p: Array | None = None) -> Array:
        """Return df/dx (m, n) at x (n,) with parameters p (k,)."""


class FlatFunction:
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
        """Call ``f`` with x as its own shape (n,) or (B, n), and check the returned array."""
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


class FunctionSource:
    """Base class of sources that call a function."""

    n: int
    function: FlatFunction

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


FIXED = 1e-8  # the paper's increment
SCALED = 1.5e-8  # square root of the rounding unit, per unit of typical size
CENTRAL = 6e-6  # its cube root
INCREMENTS = {"forward": FIXED, "scaled": SCALED, "central": CENTRAL}


class FiniteDifference(FunctionSource):
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
        self.function = FlatFunction(f, n, m, batched=batched)
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


STEP = 1e-30  # small enough that its square vanishes beside one


class ComplexStep(FunctionSource):
    """Jacobian of ``f`` by complex steps: n complex calls, colours in place of n with a pattern."""

    def __init__(
        self, f: Callable[..., Array], n: int, m: int | None = None, *, pattern: Any = None, batched: bool = False
    ) -> None:
        self.function = FlatFunction(f, n, m, batched=batched)
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


MODES = ("reverse", "forward")


class Autograd(FunctionSource):
    """Jacobian of ``f`` by autograd, ``mode`` reverse or forward; one pass if ``batched``, else one a row or column."""

    def __init__(
        self, f: Callable[..., Array], n: int, m: int | None = None, *, mode: str = "reverse", batched: bool = False
    ) -> None:
        import autograd.numpy as xp

        if mode not in MODES:
            raise DerivativeError(f"unknown autograd mode {mode!r}; there are {', '.join(MODES)}")
        self.function = FlatFunction(f, n, m, batched=batched, xp=xp)
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


class Compression(NamedTuple):
    """Coloured sparsity pattern: seed directions, and places of the compressed entries."""

    colour: NDArray[np.int64]  # (n,) colour of a column
    colours: int
    row: NDArray[np.int64]  # (entries,) of the pattern
    column: NDArray[np.int64]  # (entries,)
    shape: tuple[int, int]  # (m, n)

    def seeds(self) -> NDArray[np.float64]:
        """Return (n, colours): ones where a column has the colour."""
        seed = np.zeros((self.shape[1], self.colours))
        seed[np.arange(self.shape[1]), self.colour] = 1.0
        return seed

    def expand(self, compressed: NDArray[Any]) -> NDArray[Any]:
        """Return the dense (m, n) of which ``compressed`` (m, colours) is the product with the seeds."""
        dense = np.zeros(self.shape, dtype=compressed.dtype)
        dense[self.row, self.column] = compressed[self.row, self.colour[self.column]]
        return dense


def compress(pattern: Any, n: int, m: int | None = None) -> Compression:
    """Colour the columns of ``pattern`` (m, n); raises when it has another shape."""
    import scipy.sparse as sparse

    S = sparse.csc_array(sparse.csc_array(pattern) != 0, dtype=np.int32)
    shape = (S.shape[0] if m is None else m, n)
    if S.shape != shape:
        raise DerivativeError(f"the sparsity pattern has the shape {S.shape}; the Jacobian has {shape}")
    neighbours = sparse.csr_array(S.T @ S)  # columns that meet in a row
    colour = np.full(shape[1], -1, dtype=np.int64)
    for j in np.argsort(-np.diff(neighbours.indptr), kind="stable"):
        taken = colour[neighbours.indices[neighbours.indptr[j] : neighbours.indptr[j + 1]]]
        free = np.ones(len(taken) + 1, dtype=bool)
        free[taken[(taken >= 0) & (taken < len(free))]] = False
        colour[j] = np.argmax(free)
    row, column = S.nonzero()
    colours = int(colour.max(initial=-1)) + 1
    return Compression(colour, colours, row.astype(np.int64), column.astype(np.int64), shape)
