"""What the examples of the gallery share: the check at the end, and a picture made of channels.

    python apps/gallery/watt.py --picture watt.png

A picture shows the mechanism at a few times, the later the darker, and the way of one point. Nothing is drawn by hand:
poses and ways are channels of the result.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rtmbs
from rtmbs.library.linkages import add_bar
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]

POSES = 4
RIM = 12  # points of a body from which on they are its rim
FAINTEST, BEFORE = 0.15, 0.4  # opacity of the first pose, and of the last but one
COLOUR, WAY = "#0072b2", "#d55e00"
AXES = "xyz"


def add_four_bar(model: rtmbs.Model, names: tuple[str, str, str], pins: tuple[Array, ...]) -> None:
    """Add bars from A to B, from B to C and from D to C, and their pins about Z; A and D stand on ground."""
    a, b, c, d = pins
    first, coupler, last = names
    for name, ends in {first: (a, b), coupler: (b, c), last: (d, c)}.items():
        add_bar(model, name, *ends)
    for name, one, other, point in (
        ("A", "ground", first, a), ("B", first, coupler, b), ("C", coupler, last, c), ("D", "ground", last, d),
    ):  # fmt: skip
        model.add_joint(name, rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=point)


class Shown(NamedTuple):
    """A mechanism, its motion, and what of it was checked."""

    model: rtmbs.Model
    result: rtmbs.Result
    told: str  # what ``error`` is
    error: float
    bound: float  # that a right answer stays below
    way: str = ""  # the marker or body whose way is drawn
    plane: tuple[int, int] | None = (0, 1)  # axes of the picture; None draws in space
    until: float = 1.0  # share of the motion that is drawn


def finish(shown: Shown) -> None:
    """Print the check, write the picture where a path is given, and end with an error when the check fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--picture", metavar="FILE", help="draw the motion (.png, .pdf, .svg)")
    options = parser.parse_args()
    print(f"{shown.model.name}: {shown.told} {shown.error:.3g} (below {shown.bound:g})")
    if options.picture:
        draw(shown, options.picture)
    sys.exit(0 if shown.error < shown.bound else 1)


def draw(shown: Shown, path: str | Path) -> None:
    """Draw a mechanism at a few times."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(5.2, 4.2), layout="constrained")
    panel: Any = figure.add_subplot(projection="3d" if shown.plane is None else None)
    axes = (0, 1, 2) if shown.plane is None else shown.plane
    samples = round(shown.until * len(shown.result))
    for number, sample in enumerate(np.linspace(0, samples - 1, POSES + 1).astype(int)[:-1]):
        last = number == POSES - 1
        opacity = 1.0 if last else FAINTEST + (BEFORE - FAINTEST) * number / (POSES - 2)
        for line in sticks(shown, int(sample)):
            ends = [line[:, axis] for axis in axes]
            panel.plot(*ends, color=COLOUR, alpha=opacity, linewidth=2.2 if last else 1.4, marker="o", markersize=2.5)
    if shown.way:
        way = shown.result[f"{shown.way}.position"][:samples]
        panel.plot(*(way[:, axis] for axis in axes), color=WAY, linewidth=1.0)
    panel.set_aspect("equal")
    panel.tick_params(labelsize=7)
    panel.set_xlabel(f"{AXES[axes[0]]} [m]", fontsize=7)
    panel.set_ylabel(f"{AXES[axes[1]]} [m]", fontsize=7)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def sticks(shown: Shown, sample: int) -> list[Array]:
    """Return the lines (k, 3) of the mechanism: between the points of each body, rods, and driven distances."""
    at, turn = {"ground": np.zeros(3)}, {"ground": np.eye(3)}
    for name in list(shown.model.bodies)[1:]:
        at[name] = shown.result[f"{name}.position"][sample]
        turn[name] = rotations(shown.result[f"{name}.orientation"][sample][None])[0]
    found = []
    for name, points in body_points(shown.model).items():
        if name != "ground" and len(points):
            world = at[name] + points @ turn[name].T
            middle = world.mean(axis=0)
            if len(world) > RIM:
                found.append(rim(world, at[name]))
                continue
            found += [world] if len(world) == 2 else [np.stack((middle, point)) for point in world]
    model = shown.model
    pairs = [rod.between for rod in model.rods.values()]
    pairs += [driver.between for driver in model.drivers.values() if driver.between]
    for a, b in pairs:
        found.append(np.array([at[m.body.name] + turn[m.body.name] @ m.point for m in (a, b)]))
    return found


def rim(points: Array, middle: Array) -> Array:
    """Return the points (k, 3) around a middle in their order, closed, without those in the middle."""
    out = points - middle
    far = out[np.linalg.norm(out, axis=1) > 1e-6]
    round_it = far[np.argsort(np.arctan2(far[:, 1], far[:, 0]))]
    return middle + np.vstack((round_it, round_it[:1]))


def body_points(model: rtmbs.Model) -> dict[str, Array]:
    """Return where joints and markers stand on every body, in its axes; its mass centre too where there is only one."""
    points: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        points[joint.a.name].append(joint.point_a)
        points[joint.b.name].append(joint.point_b)
    for marker in model.markers.values():
        points[marker.body.name].append(marker.point)
    found = {}
    for name, own in points.items():
        unique = np.unique(np.round(np.array(own).reshape(-1, 3), 9), axis=0)
        alone = len(unique) == 1 and name != "ground"
        found[name] = np.vstack((unique, model.bodies[name].center_of_mass)) if alone else unique
    return found
