"""The main job: the multiple four-bar 4 x 40, by the same path as ``python -m rtmbs.bench fourbar``."""

from typing import Any

from rtmbs.bench import fourbar

OPTIONS: dict[str, Any] = {
    "ny": 4,
    "nz": 40,
    "layout": "stacked",
    "closure": "revolute",
    "angle": 30.0,
    "rate": 0.1,
    "h": 5e-3,
    "t_end": 1.0,
    "penalty": 1e6,
    "alpha": None,
    "tol": 1e-9,
    "jacobian": "structured",
}


def measure(**changes: Any) -> fourbar.Record:
    """Return the record of a run of 4 x 40 with some options changed; keys as in ``rtmbs/bench/schema.json``."""
    return fourbar.measure(fourbar.Options(**{**OPTIONS, **changes}))
