"""Jansen's walking leg: eleven bars, one motor. Checked: the foot against intersections of circles."""

from itertools import pairwise

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.library.linkages import add_bar

START, RATE = 0.3, 2.0  # [rad, rad/s]
BARS = {  # pins of a bar, and its length [m]; O and B stand on ground
    "OM": 0.15, "MT": 0.50, "MU": 0.619, "BT": 0.415, "BU": 0.393, "BV": 0.401, "TV": 0.558, "VW": 0.394,
    "UW": 0.367, "WF": 0.657, "UF": 0.49,
}  # fmt: skip
TRIANGLES = ("T", "MT", "BT"), ("V", "TV", "BV"), ("U", "BU", "MU"), ("W", "VW", "UW"), ("F", "WF", "UF")


def pins(angle):
    """Return the pins for an angle of the crank."""
    at = {"O": np.zeros(2), "B": np.array([-0.38, -0.078])}
    at["M"] = BARS["OM"] * np.array([np.cos(angle), np.sin(angle)])
    for new, first, second in TRIANGLES:
        p, q = (at[bar.replace(new, "")] for bar in (first, second))
        d, r, s = q - p, BARS[first], BARS[second]
        gap = np.linalg.norm(d)
        along = (gap**2 + r**2 - s**2) / (2.0 * gap)
        at[new] = p + (along * d + np.sqrt(r**2 - along**2) * np.array([d[1], -d[0]])) / gap
    return {name: np.append(point, 0.0) for name, point in at.items()}


def main(t_end=np.pi):
    at, bars = pins(START), {"O": ["ground"], "B": ["ground"]}
    m = rtmbs.Model("Jansen's leg")
    for bar in BARS:
        add_bar(m, bar, at[bar[0]], at[bar[1]])
        for pin in bar:
            bars.setdefault(pin, []).append(bar)
    for pin, joined in bars.items():
        for one, other in pairwise(joined):
            m.add_joint(f"{one}-{other}", rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=at[pin])
    m.add_marker("foot", "WF", point=at["F"])
    m.add_driver("motor", rtmbs.ConstantRate(RATE), joint="ground-OM")
    result = rtmbs.Simulation(m.compile(), h=t_end / 800).run(t_end)
    closed = np.array([pins(START + RATE * t)["F"] for t in result.t])
    error = np.abs(result["foot.position"] - closed).max()
    return Shown(m, result, "largest distance of the foot from the closed form [m]", error, 1e-7, way="foot")


if __name__ == "__main__":
    finish(main())
