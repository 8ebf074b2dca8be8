"""Take the pictures of docs/gallery.md: driven mechanisms, each by its kinematic motion, drawn by matplotlib.

    python bench/gallery.py docs            every picture
    python bench/gallery.py docs leg cam    some of them

A picture shows the mechanism at a few times of its motion, the later the darker, and the way of one point. Nothing is
drawn by hand: poses and ways are channels of the result.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from numpy.typing import NDArray

from bench.measures import driven
from rtmbs import Model
from rtmbs.kinematics import Analysis, Motion
from rtmbs.kinematics.coordinates import rotations

matplotlib.use("agg")
from matplotlib import pyplot

Array = NDArray[np.float64]

POSES = 4
FAINTEST, BEFORE = 0.15, 0.4  # opacity of the first pose, and of the last but one
COLOUR, WAY = "#0072b2", "#d55e00"


class Shown(NamedTuple):
    """A mechanism and what is seen of it."""

    motion: Motion
    model: Model
    way: str  # the marker or body whose way is drawn
    flat: bool = True  # a planar mechanism, seen along z


def main(folder: str, *names: str) -> None:
    """Take the pictures of these names, or all."""
    for name in names or PICTURES:
        path = Path(folder) / f"gallery_{name}.png"
        draw(PICTURES[name](), path)
        print(path)


def slider_crank() -> Shown:
    """The slider-crank of the paper."""
    model = driven.paper_slider_crank()
    return Shown(Analysis(model).run(0.0, 1.6, 0.01), model, "pend2")


def four_bar() -> Shown:
    """A crank-rocker; the point of the coupler goes round a bean."""
    model = driven.four_bar()
    model.add_marker("bean", "coupler", point=(0.9, 1.2, 0.0))
    return Shown(Analysis(model).run(0.0, np.pi, 0.01), model, "bean")


def leg() -> Shown:
    """Jansen's walking leg, eleven bars."""
    model = driven.walking_leg()
    return Shown(Analysis(model).run(0.0, np.pi, 0.01), model, "foot")


def cam() -> Shown:
    """A cam and its follower."""
    model, contact = driven.cam()
    for k, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)):
        radius = driven.cam_radius(angle)
        model.add_marker(f"rim{k}", "cam", point=(radius * np.cos(angle), radius * np.sin(angle), 0.0))
    model.add_marker("top", "follower", point=(0.0, 2.2, 0.0))
    return Shown(Analysis(model, [contact]).run(0.0, 1.5, 0.01), model, "tip")


def hooke() -> Shown:
    """Four shafts joined by Hooke joints."""
    model = driven.hooke_chain()
    for k, body in enumerate(list(model.bodies.values())[1:]):  # a fin on each shaft shows its turn
        model.add_marker(f"fin{k}", body, point=body.position + np.array((0.0, 0.4, 0.0)))
    return Shown(Analysis(model).run(0.0, 2.0, 0.01), model, "", flat=False)


def bennett() -> Shown:
    """The linkage of Bennett: four hinges, none parallel, and yet it moves."""
    model = driven.bennett()[0]
    return Shown(Analysis(model).run(0.0, 2.0, 0.01), model, "link2", flat=False)


def stewart() -> Shown:
    """A platform on six driven distances."""
    model = driven.stewart()[0]
    return Shown(Analysis(model).run(0.0, 6.0, 0.02), model, "platform", flat=False)


def arm() -> Shown:
    """Three links of which only the tip's x is driven: the motion of least velocity."""
    model = driven.free_arm()
    return Shown(Analysis(model).run(0.0, 3.1, 0.01), model, "link2", flat=False)


PICTURES: dict[str, Callable[[], Shown]] = {
    kind.__name__: kind for kind in (slider_crank, four_bar, leg, cam, hooke, bennett, stewart, arm)
}


def draw(shown: Shown, path: Path) -> None:
    """Draw a mechanism at a few times."""
    figure = pyplot.figure(figsize=(5.2, 4.2), layout="constrained")
    panel: Any = figure.add_subplot(projection=None if shown.flat else "3d")
    times = np.linspace(0, len(shown.motion) - 1, POSES + 1).astype(int)[:-1]
    for number, sample in enumerate(times):
        last = number == len(times) - 1
        opacity = 1.0 if last else FAINTEST + (BEFORE - FAINTEST) * number / max(len(times) - 2, 1)
        for line in sticks(shown, int(sample)):
            ends = line.T[:2] if shown.flat else line.T
            panel.plot(*ends, color=COLOUR, alpha=opacity, linewidth=2.2 if last else 1.4, marker="o", markersize=2.5)
    if shown.way:
        way = shown.motion[f"{shown.way}.position"].T
        panel.plot(*(way[:2] if shown.flat else way), color=WAY, linewidth=1.0)
    panel.set_aspect("equal")
    panel.tick_params(labelsize=7)
    panel.set_xlabel("[m]", fontsize=7)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def sticks(shown: Shown, sample: int) -> list[Array]:
    """Return the lines (2, 3) of the mechanism: from the middle of each body's points to each of them, and legs."""
    at, turn = {"ground": np.zeros(3)}, {"ground": np.eye(3)}
    for name in list(shown.model.bodies)[1:]:
        at[name] = shown.motion[f"{name}.position"][sample]
        turn[name] = rotations(shown.motion[f"{name}.orientation"][sample][None])[0]
    found = []
    for name, points in body_points(shown.model).items():
        if name == "ground" or not len(points):
            continue
        if name == "cam":  # its rim, point by point
            rim = points[np.linalg.norm(points, axis=1) > 0.0]
            round_it = rim[np.argsort(np.arctan2(rim[:, 1], rim[:, 0]))]
            found.append(at[name] + np.vstack((round_it, round_it[:1])) @ turn[name].T)
            continue
        world = at[name] + points @ turn[name].T
        if len(world) == 2:
            found.append(world)
        else:
            middle = world.mean(axis=0)
            found += [np.stack((middle, point)) for point in world]
    for driver in shown.model.drivers.values():
        if driver.between:
            found.append(np.array([at[m.body.name] + turn[m.body.name] @ m.point for m in driver.between]))
    return found


def body_points(model: Model) -> dict[str, Array]:
    """Return where joints and markers stand on every body, in its axes; its origin where there is only one."""
    points: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        points[joint.a.name].append(joint.point_a)
        points[joint.b.name].append(joint.point_b)
    for marker in model.markers.values():
        points[marker.body.name].append(marker.point)
    unique = {name: np.unique(np.round(np.array(own).reshape(-1, 3), 9), axis=0) for name, own in points.items()}
    return {name: np.vstack((own, np.zeros(3))) if len(own) == 1 else own for name, own in unique.items()}


if __name__ == "__main__":
    main(*sys.argv[1:] or ["docs"])
