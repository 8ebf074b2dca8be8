"""Sources of derivatives by name, all made and called in the same way."""

from collections.abc import Callable
from typing import Any

from rtmbs.ad.function import Array, Derivatives
from rtmbs.errors import unknown_name


def forward_difference(f: Callable[..., Array], n: int, m: int | None, **options: Any) -> Derivatives:
    from rtmbs.ad.finite_difference import FiniteDifference

    return FiniteDifference(f, n, m, **options)


def central_difference(f: Callable[..., Array], n: int, m: int | None, **options: Any) -> Derivatives:
    return forward_difference(f, n, m, **{"scheme": "central", **options})


def complex_step(f: Callable[..., Array], n: int, m: int | None, **options: Any) -> Derivatives:
    from rtmbs.ad.complex_step import ComplexStep

    return ComplexStep(f, n, m, **options)


def autograd(f: Callable[..., Array], n: int, m: int | None, **options: Any) -> Derivatives:
    from rtmbs.ad.autograd_source import Autograd

    return Autograd(f, n, m, **options)


def trace(f: Callable[..., Array], n: int, m: int | None, **options: Any) -> Derivatives:
    from rtmbs.ad.trace import Traced

    return Traced(f, n, m, **options)


SOURCES: dict[str, Callable[..., Derivatives]] = {
    "finite-difference": forward_difference,
    "central-difference": central_difference,
    "complex-step": complex_step,
    "autograd": autograd,
    "trace": trace,
}


def derivatives(
    f: Callable[..., Array], n: int, m: int | None = None, source: str = "trace", **options: Any
) -> Derivatives:
    """Return the source called ``source`` for f: R^n -> R^m; an unknown name is an error that lists the known ones."""
    if source not in SOURCES:
        raise unknown_name("source of derivatives", source, SOURCES)
    return SOURCES[source](f, n, m, **options)
