"""Cases of a test: a few of them in every run, all of them in the long runs."""

from collections.abc import Iterable
from typing import Any

import pytest


def spread(cases: Iterable[Any], few: int) -> list[Any]:
    """Return all cases; those beside ``few``, which are spread evenly from the first to the last, are marked slow."""
    given = list(cases)
    last = len(given) - 1
    kept = {round(k * last / max(few - 1, 1)) for k in range(few)}
    return [case if k in kept else slow(case) for k, case in enumerate(given)]


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return all cases; those that are not ``chosen`` for every run are marked slow."""
    return [case if case in chosen else slow(case) for case in cases]


def slow(case: Any) -> Any:
    """Return a case as one of the long runs."""
    if not hasattr(case, "marks"):
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
    return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
