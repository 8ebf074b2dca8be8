"""The 3R arm of METHODS 4: one prescribed coordinate, two free directions; how smooth each method's motion is.

    python -m bench.smoothness [--write]    prints the table of docs/kinematics.md, or writes it there

Three links of one metre in a plane; x of the tip goes from its start by 2.2 m towards the base and back, once, as
(1 - cos) / 2, in 400 steps of ``Analysis``.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.documents import KINEMATICS, table, told
from rtmbs.kinematics import Analysis
from rtmbs.model import Model, Revolute, Sine

Array = NDArray[np.float64]

START = np.array([-0.1, 0.5, -1.0])  # [rad] each from the link before
STEPS, WAY = 400, 2.2
METHODS: dict[str, dict[str, Any]] = {
    '`method="freeze"`, `pivot="row"`': {"method": "freeze", "pivot": "row"},
    '`method="freeze"`, `pivot="full"`': {"method": "freeze", "pivot": "full"},
    '`method="freeze"`, `pivot="row"`, kept': {"method": "freeze", "pivot": "row", "keep_pivots": True},
    '`method="min_norm"`': {"method": "min_norm"},
}


def arm() -> Model:
    """Return three links whose last body has its origin at the tip, which is driven along x."""
    model = Model("3R arm")
    headings = list(accumulate(START.tolist()))
    ends = np.cumsum([np.zeros(3), *((np.cos(a), np.sin(a), 0.0) for a in headings)], axis=0)
    before = "ground"
    for k, heading in enumerate(headings):
        c, s = np.cos(heading), np.sin(heading)
        model.add_body(f"link_{k}", mass=0.0, position=ends[k + 1], orientation=[[c, -s, 0], [s, c, 0], [0, 0, 1]])
        model.add_joint(f"j{k}", Revolute(axis=(0, 0, 1)), before, f"link_{k}", point=ends[k])
        before = f"link_{k}"
    way = Sine(0.5 * WAY, 2.0 * np.pi, phase=0.5 * np.pi, offset=float(ends[-1, 0]) - 0.5 * WAY)
    model.add_driver("tip", way, body=(before, "x"))
    return model


def path(**options: Any) -> Array:
    """Return the angles of the joints (STEPS + 1, 3)."""
    motion = Analysis(arm(), **options).run_at(np.linspace(0.0, 1.0, STEPS + 1))
    return np.stack([motion[f"j{k}.angle"] for k in range(3)], axis=1)


def measured() -> list[list[str]]:
    """Return a row for each method: length of the path, largest second difference, drift after the cycle [rad]."""
    rows = []
    for name, options in METHODS.items():
        q = path(**options)
        length = np.linalg.norm(np.diff(q, axis=0), axis=1).sum()
        bend, drift = np.abs(np.diff(q, 2, axis=0)).max(), np.linalg.norm(q[-1] - q[0])
        rows.append([name, f"{length:.2f}", f"{bend:.1e}", f"{drift:.2g}"])
    return rows


if __name__ == "__main__":
    head = ["method", "length of the path [rad]", "largest second difference [rad]", "drift [rad]"]
    told(table(head, measured()), KINEMATICS, "python -m bench.smoothness")
