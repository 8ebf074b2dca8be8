"""Cases of a test: a few of them in every run, all of them in the long runs."""

from collections.abc import Iterable
from typing import Any

import pytest


def spread(cases: Iterable[Any], few: int) -> list[Any]:
    """Return all cases; those beside ``few``, which are spread evenly from the first to the last, are marked slow."""
    given = [
        case if hasattr(case, "marks") else pytest.param(*(case if isinstance(case, tuple) else (case,)))
        for case in cases
    ]
    last = len(given) - 1
    kept = {round(k * last / max(few - 1, 1)) for k in range(few)}
    return [
        case if k in kept else pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
        for k, case in enumerate(given)
    ]
