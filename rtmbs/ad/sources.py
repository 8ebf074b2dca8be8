"""Derivative sources by name, and the check that all of them agree."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import operations as o
from rtmbs.ad.function_sources import CENTRAL, Array, Autograd, ComplexStep, Derivatives, FiniteDifference, FlatFunction
from rtmbs.ad.trace import Traced
from rtmbs.errors import DerivativeMismatchError, unknown_name

SOURCES: dict[str, Callable[..., Derivatives]] = {
    "finite-difference": FiniteDifference,
    "central-difference": partial(FiniteDifference, scheme="central"),
    "complex-step": ComplexStep,
    "autograd": Autograd,
    "autograd-forward": partial(Autograd, mode="forward"),
    "trace": Traced,
}


def derivatives(
    f: Callable[..., Array], n: int, m: int | None = None, source: str = "trace", **options: Any
) -> Derivatives:
    """Return the source called ``source`` for f: R^n -> R^m; an unknown name is an error that lists the known ones."""
    if source not in SOURCES:
        raise unknown_name("source of derivatives", source, SOURCES)
    return SOURCES[source](f, n, m, **options)


EXACT = 1e-10  # how far exact sources may be apart, relative to the sum of the sizes of what is added
DIFFERENCES = 1e-6  # the same for central differences
NOT_ANALYTIC = (
    *(o.ABS, o.SIGN, o.FLOOR, o.TRUTH, o.ARCTAN2, o.HYPOT, o.MINIMUM, o.MAXIMUM, o.LESS, o.LESS_EQUAL, o.EQUAL),
    o.SELECT,
)

Along = Callable[[Array], Array]  # directions (n, d) to df/dx V (m, d)


class SourceValue(NamedTuple):
    """Directional derivatives from one source."""

    name: str
    value: Array  # (m, d)
    tolerance: float


def check_derivatives(
    f: Callable[..., Array],
    x: Array,
    p: Array | None = None,
    *,
    batched: bool = False,
    directions: int = 4,
    seed: int = 0,
    leave_out: Iterable[str] = (),
) -> tuple[str, ...]:
    """Raise unless all sources agree about df/dx at x (n,) along random directions; return their names.

    Sources: ``forward``, ``reverse`` passes and the recorded Jacobian ``trace``, ``complex-step`` (where the tape
    holds analytic operations only), ``autograd-forward`` and ``autograd-reverse`` (where ``f`` takes a namespace
    ``xp``), and central ``differences``. The message names the output, the input and all values.
    """
    x = np.asarray(x, dtype=np.float64)
    sources = {name: along for name, along in applicable(f, x, p, batched).items() if name not in tuple(leave_out)}
    typical = np.maximum(1.0, np.abs(x))  # an input far from zero is moved in proportion
    V = typical[:, None] * np.random.default_rng(seed).uniform(-1.0, 1.0, (len(x), directions))
    wrong = disagreement(sources, V, sizes(sources, np.abs(V), f, x, p, batched))
    if wrong is not None:
        raise DerivativeMismatchError(message(getattr(f, "__name__", "the function"), sources, wrong, typical))
    return tuple(sources)


def applicable(f: Callable[..., Array], x: Array, p: Array | None, batched: bool) -> dict[str, Along]:
    """Return the sources that can differentiate f, by name."""
    n = len(x)
    traced = Traced(f, n, k=0 if p is None else len(p), batched=batched)
    sources: dict[str, Along] = {
        "trace": lambda V: traced.jacobian(x, p) @ V,
        "forward": lambda V: traced.forward(x, V, p),
        "reverse": lambda V: traced.reverse(x, np.eye(traced.m), p) @ V,
    }
    if not np.isin(traced.tape.op, NOT_ANALYTIC).any():
        sources["complex-step"] = lambda V: ComplexStep(f, n, batched=batched).directions(x, V, p)
    if FlatFunction(f, n).takes_namespace:
        sources["autograd-forward"] = lambda V: Autograd(f, n, batched=batched).directions(x, V, p)
        sources["autograd-reverse"] = lambda V: Autograd(f, n, batched=batched).jacobian(x, p) @ V
    sources["differences"] = lambda V: central(FlatFunction(f, n, batched=batched), x, V, p)
    return sources


def central(function: FlatFunction, x: Array, V: Array, p: Array | None) -> Array:
    """Return df/dx V by central differences along the columns of V."""
    return (function.rows(x + CENTRAL * V.T, p) - function.rows(x - CENTRAL * V.T, p)).T / (2 * CENTRAL)


def sizes(
    sources: dict[str, Along], V: Array, f: Callable[..., Array], x: Array, p: Array | None, batched: bool
) -> Array:
    """Return (m, 1): the sizes of the summands of every output, and of the output itself for the differences."""
    value = FlatFunction(f, len(x), batched=batched)(x, p)
    J = next(iter(sources.values()))(np.eye(len(x)))
    return np.abs(J) @ V + np.abs(value)[:, None] + np.finfo(float).tiny


def disagreement(sources: dict[str, Along], V: Array, size: Array) -> tuple[int, str] | None:
    """Return the output with the largest difference and the source that is farthest from the others, or None."""
    answers = [
        SourceValue(name, along(V), DIFFERENCES if name == "differences" else EXACT) for name, along in sources.items()
    ]
    middle = np.median([answer.value for answer in answers], axis=0)
    worst, where = 1.0, None
    for answer in answers:
        apart = np.abs(answer.value - middle) / (answer.tolerance * size)
        apart[~np.isfinite(answer.value) & ~np.isnan(middle)] = np.inf
        apart[np.isnan(apart)] = np.inf
        if apart.max(initial=0.0) > worst:
            worst = apart.max()
            where = int(np.argmax(apart.max(axis=1))), answer.name
    return where


def message(name: str, sources: dict[str, Along], wrong: tuple[int, str], typical: Array) -> str:
    """Return the message of a disagreement: output, input, and the values of every source."""
    output, odd_one = wrong
    rows = {source: along(np.diag(typical))[output] / typical for source, along in sources.items()}
    apart = np.abs(rows[odd_one] - np.median(list(rows.values()), axis=0)) * typical
    apart[np.isnan(apart)] = np.inf
    j = int(np.argmax(apart))
    said = ", ".join(f"{source} {row[j]:.12g}" for source, row in rows.items())
    return f"{name}: {odd_one} disagrees about output {output} by input {j}: {said}"
