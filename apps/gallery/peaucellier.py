"""The inversor of Peaucellier and Lipkin: a turn becomes an exact straight line. Checked: the line."""

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.library.linkages import add_bar

LONG, SHORT, CRANK = 1.0, 0.4, 0.4  # [m]; the crank's pivot stands CRANK from the pole, so its circle meets the pole


def main(t_end=2.0):
    pole, pivot = np.zeros(3), np.array([CRANK, 0.0, 0.0])
    near = np.array([2.0 * CRANK, 0.0, 0.0])  # joins crank and rhombus
    far = np.array([(LONG**2 - SHORT**2) / (2.0 * CRANK), 0.0, 0.0])  # |near| |far| = LONG^2 - SHORT^2
    x = (near + far)[0] / 2.0
    up, down = np.array([x, np.sqrt(LONG**2 - x**2), 0.0]), np.array([x, -np.sqrt(LONG**2 - x**2), 0.0])
    ends = {
        "crank": (pivot, near), "upper": (pole, up), "lower": (pole, down), "near_up": (near, up),
        "near_down": (near, down), "far_up": (far, up), "far_down": (far, down),
    }  # fmt: skip
    m = rtmbs.Model("Peaucellier's inversor")
    for name, (p, q) in ends.items():
        add_bar(m, name, p, q)
    pins = (
        ("ground", "crank", pivot), ("ground", "upper", pole), ("ground", "lower", pole), ("crank", "near_up", near),
        ("near_up", "near_down", near), ("upper", "near_up", up), ("upper", "far_up", up), ("lower", "near_down", down),
        ("lower", "far_down", down), ("far_up", "far_down", far),
    )  # fmt: skip
    for one, other, point in pins:
        m.add_joint(f"{one}-{other}", rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=point)
    m.add_marker("pen", "far_up", point=far)
    m.add_driver("motor", rtmbs.Sine(amplitude=0.9, frequency_rad_s=np.pi), joint="ground-crank")
    result = rtmbs.Simulation(m.compile(), h=2e-3).run(t_end)
    error = np.abs(result["pen.position"][:, 0] - far[0]).max()
    return Shown(m, result, "largest distance of the pen from its line [m]", error, 1e-9, way="pen")


if __name__ == "__main__":
    finish(main())
