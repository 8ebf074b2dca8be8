"""Draw the angles and lengths of docs/vehicle.md with their signs (extra ``plot``).

python -m bench.vehicle_angles docs

Wheels are drawn by the spin axis of an axle with that toe and camber.
"""

import sys
from pathlib import Path

import numpy as np

from rtmbs.vehicle.suspensions import spin_axis_of

ANGLE, RADIUS, HALF_WIDTH = np.radians(14.0), 0.33, 0.09
INK, ACCENT, SOFT = "#303030", "#d55e00", "#0072b2"


def wheel(axis, view):
    """Return the outline (k, 2) of a wheel with a spin axis, seen along a coordinate ``view``."""
    across = np.cross(axis, (0.0, 0.0, 1.0))
    ahead = across / np.linalg.norm(across)
    up = np.cross(ahead, axis)
    angles = np.linspace(0.0, 2.0 * np.pi, 41)
    ring = RADIUS * (np.cos(angles)[:, None] * ahead + np.sin(angles)[:, None] * up)
    points = np.concatenate([ring + side * HALF_WIDTH * axis for side in (-1.0, 1.0)])
    from scipy.spatial import ConvexHull

    flat = np.delete(points, view, axis=1)
    hull = flat[ConvexHull(flat).vertices]
    return np.vstack((hull, hull[:1]))


class Panel:
    """One drawing; ``flip`` is -1 for a coordinate that points to the left of the picture."""

    def __init__(self, axes, title, names, flip=(1.0, 1.0)):
        self.axes, self.flip = axes, np.array(flip)
        axes.set_title(title, fontsize=8.5)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_xlim(-0.75, 0.75)
        axes.set_ylim(-0.62, 0.62)
        corner = np.array((-0.7, -0.6))
        for k, name in enumerate(names):
            end = corner + 0.2 * np.eye(2)[k]
            head, tail = (end, corner) if self.flip[k] > 0.0 else (corner, end)
            axes.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.8})
            place = (corner[0] + 0.08, corner[1] + 0.04) if k == 0 else (head[0] + 0.03, head[1] + 0.02)
            axes.text(*place, name, fontsize=7.5, color=INK)

    def line(self, points, colour=INK, style="-", width=1.2):
        x, y = (self.flip * np.asarray(points)).T
        self.axes.plot(x, y, style, color=colour, lw=width)

    def arrow(self, start, end, colour=ACCENT, both=False):
        ends = self.flip * np.array((start, end))
        arrows = {"arrowstyle": "<->" if both else "->", "color": colour, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
        self.axes.annotate("", ends[1], ends[0], arrowprops=arrows)

    def arc(self, centre, start, end, radius):
        """Draw an arrow along an arc from one direction to another [rad]."""
        angles = np.linspace(start, end, 30)
        points = np.asarray(centre) + radius * np.stack((np.cos(angles), np.sin(angles)), axis=1)
        self.line(points, ACCENT)
        self.arrow(points[-2], points[-1])

    def text(self, at, words, colour=ACCENT):
        self.axes.text(*(self.flip * np.asarray(at)), words, color=colour, fontsize=8, ha="center", va="center")


def from_above(axes, angle, title, words):
    """Draw a wheel from above: x up, y to the left."""
    panel = Panel(axes, title, ("y", "x"), (-1.0, 1.0))
    panel.line(wheel(spin_axis_of(angle, 0.0), 2)[:, ::-1])
    panel.line(((0, -0.55), (0, 0.55)), SOFT, "--", 0.8)
    ahead = np.array((np.sin(angle), np.cos(angle)))
    panel.line((-0.55 * ahead, 0.55 * ahead), INK, "-.", 0.8)
    panel.arc((0, 0), 0.5 * np.pi, 0.5 * np.pi - angle, 0.48)
    panel.text((0.28, 0.5), words)
    return panel


def from_behind(axes, camber, title):
    """Draw a left wheel from behind: y to the left, z up."""
    panel = Panel(axes, title, ("y", "z"), (-1.0, 1.0))
    panel.line(((-0.6, -RADIUS), (0.6, -RADIUS)), SOFT, "-", 0.8)
    panel.line(wheel(spin_axis_of(0.0, camber), 0))
    return panel


def toe(axes):
    from_above(axes, ANGLE, "toe and steer angle > 0: to the left", "toe")


def camber(axes):
    panel = from_behind(axes, ANGLE, "camber > 0: top to the right")
    panel.line(((0, -0.5), (0, 0.55)), SOFT, "--", 0.8)
    up = np.array((-np.sin(ANGLE), np.cos(ANGLE)))
    panel.line((-0.5 * up, 0.55 * up), INK, "-.", 0.8)
    panel.arc((0, 0), 0.5 * np.pi, 0.5 * np.pi + ANGLE, 0.48)
    panel.text((-0.3, 0.5), "camber")


def inclination(axes):
    """Kingpin inclination and scrub radius of a left wheel, from behind."""
    low, top = np.array((0.0, -0.1, -0.15)), np.array((0.0, -0.2, 0.3))
    panel = from_behind(axes, 0.0, "kingpin inclination, scrub radius > 0")
    foot = low + (low - top) * (low[2] + RADIUS) / (top[2] - low[2])
    panel.line((foot[1:], (top + 0.4 * (top - low))[1:]), INK, "-.", 0.9)
    panel.line(((low[1], low[2]), (low[1], 0.5)), SOFT, "--", 0.8)
    panel.arc(low[1:], 0.5 * np.pi, 0.5 * np.pi + np.arctan2(0.1, 0.45), 0.55)
    panel.text((-0.42, 0.5), "inclination")
    panel.arrow((foot[1], -RADIUS - 0.1), (0.0, -RADIUS - 0.1), both=True)
    panel.text((0.03, -RADIUS - 0.18), "scrub radius")


def caster(axes):
    """Caster and trail, from the left: x to the left of the picture."""
    low, top = np.array((0.02, 0.0, -0.15)), np.array((-0.07, 0.0, 0.3))
    panel = Panel(axes, "caster, trail > 0", ("x", "z"), (-1.0, 1.0))
    panel.line(((-0.6, -RADIUS), (0.6, -RADIUS)), SOFT, "-", 0.8)
    panel.line(wheel(spin_axis_of(0.0, 0.0), 1))
    foot = low + (low - top) * (low[2] + RADIUS) / (top[2] - low[2])
    panel.line((foot[[0, 2]], (top + 0.4 * (top - low))[[0, 2]]), INK, "-.", 0.9)
    panel.line(((low[0], low[2]), (low[0], 0.52)), SOFT, "--", 0.8)
    panel.arc(low[[0, 2]], 0.5 * np.pi, 0.5 * np.pi + np.arctan2(0.09, 0.45), 0.58)
    panel.text((-0.32, 0.5), "caster")
    panel.arrow((0.0, -RADIUS - 0.1), (foot[0], -RADIUS - 0.1), both=True)
    panel.text((0.03, -RADIUS - 0.18), "trail")


def slip_angle(axes):
    panel = Panel(axes, "slip angle > 0: contact moves left, Fy < 0", ("y", "x"), (-1.0, 1.0))
    panel.line(wheel(spin_axis_of(0.0, 0.0), 2)[:, ::-1])
    velocity = 0.55 * np.array((np.sin(2 * ANGLE), np.cos(2 * ANGLE)))
    panel.arrow((0, 0), velocity, SOFT)
    panel.text((velocity[0] + 0.14, velocity[1]), "velocity", SOFT)
    panel.arc((0, 0), 0.5 * np.pi, 0.5 * np.pi - 2 * ANGLE, 0.45)
    panel.text((0.16, 0.55), "slip angle")
    panel.arrow((0, 0), (-0.4, 0))
    panel.text((-0.5, 0.0), "Fy")


def yaw(axes):
    panel = from_above(axes, 0.0, "yaw > 0, path curves to the left", "")
    panel.arc((0, 0), 0.0, -0.5 * np.pi - 0.5, 0.44)
    panel.text((0.5, -0.3), "yaw")


def pitch(axes):
    panel = Panel(axes, "pitch > 0: nose down", ("x", "z"), (-1.0, 1.0))
    body(panel, 0.65, 0.12, -0.5 * ANGLE, "pitch")


def roll(axes):
    panel = Panel(axes, "roll > 0: right side down", ("y", "z"), (-1.0, 1.0))
    body(panel, 0.45, 0.2, 0.5 * ANGLE, "roll")


def body(panel, long, high, angle, words):
    """Draw a chassis turned by an angle in the drawn plane."""
    R = np.array(((np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))))
    box = np.array(((-long, -high), (long, -high), (long, high), (-long, high), (-long, -high)))
    panel.line(box, SOFT, "--", 0.8)
    panel.line(box @ R.T)
    panel.arc((0, 0), 0.0, 4.0 * angle, 0.3)
    panel.text((0.0, 0.45), words)


def main(folder: str) -> None:
    """Draw the figure."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(10.0, 4.8), layout="constrained")
    for one, draw in zip(axes.flat, (toe, camber, caster, inclination, slip_angle, yaw, pitch, roll), strict=True):
        draw(one)
    figure.savefig(Path(folder) / "vehicle_angles.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["docs"])
