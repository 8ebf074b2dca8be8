"""Cases of a test: a few of them in every run, all of them in the long runs."""

from collections.abc import Iterable
from typing import Any

import pytest


def spread(cases: Iterable[Any], few: int) -> list[Any]:
    """Return all cases; those beside ``few``, which are spread evenly from the first to the last, are marked slow."""
    given = list(cases)
    last = len(given) - 1
    kept = {round(k * last / max(few - 1, 1)) for k in range(few)}
    return [marked(case, slow=k not in kept) for k, case in enumerate(given)]


def quick(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return all cases; those that are not ``chosen`` for every run are marked slow."""
    return [marked(case, slow=case not in chosen) for case in cases]


def marked(case: Any, *, slow: bool) -> Any:
    """Return a case of one or, as a tuple, of several arguments; ``slow`` makes it one of the long runs."""
    marks = [pytest.mark.slow] * slow
    if not hasattr(case, "marks"):
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
    return pytest.param(*case.values, marks=[*case.marks, *marks], id=case.id)
