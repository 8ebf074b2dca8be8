"""Reactions of joints for a page: numbers for each picture, of which ``arrows.js`` makes the arrows of the window."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene import arrows, meshes
from rtmbs.viewer.scene.legend import meanings_of
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.theme import THEMES
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.web.packing import floats, quantised

FINE = 2.0**-10  # of a full arrow: the quantum of forces and moments

# What the window draws arrows by (``rtmbs/viewer/scene/arrows.py``).
LOOKS = {
    "shaft": arrows.SHAFT, "head": arrows.HEAD, "width": arrows.HEAD_WIDTH, "most_head": arrows.MOST_HEAD,
    "most_shaft": arrows.MOST_SHAFT, "second": arrows.SECOND_HEAD, "shortest": arrows.SHORTEST,
    "longest": arrows.LONGEST, "steps": [*arrows.STEPS, 10.0], "next": arrows.NEXT,
}  # fmt: skip


def reactions(
    connection: PlaybackConnection, scene: Scene, samples: NDArray[np.int64], newtons: float | None
) -> dict[str, Any]:
    """Return the reactions of all joints at some samples, with the scale of their arrows.

    newtons: force that an arrow of one metre means; a round one that fits the run unless given.
    Raises InputError for a result that holds no reactions.
    """
    wrenches = connection.reactions()
    scale = arrows.Scale(connection.describe())
    scale.fit(arrows.typical(wrenches))
    if newtons is not None:
        scale.choose(newtons)
    joints, full = connection.describe().joints, FINE * arrows.FULL * scale.length
    return {
        "reactions": {
            "b": [joint.b for joint in joints],
            "at": [joint.point_b.tolist() for joint in joints],
            "forces": quantised(wrenches[samples, :, :3], full * scale.newtons),
            "moments": quantised(wrenches[samples, :, 3:], full * scale.moments),
            "newtons": scale.newtons,
            "moment": scale.moments,
            "length": scale.length,
            "radius": scene.radius,
            "looks": LOOKS,
            "meshes": {
                name: {"vertices": floats(mesh.vertices), "normals": floats(mesh.normals)}
                for name, mesh in (("shaft", meshes.cylinder()), ("head", meshes.cone()))
            },
        }
    }


def colors(connection: PlaybackConnection) -> dict[str, Any]:
    """Return what colours mean: part, colours by theme, and words."""
    themes = {name: meanings_of(connection.describe(), theme) for name, theme in THEMES.items()}
    rows = [
        {
            "part": same[0].part,
            "words": same[0].words,
            "colors": dict(zip(themes, (one.color for one in same), strict=True)),
        }
        for same in zip(*themes.values(), strict=True)
    ]
    return {"meanings": rows}
