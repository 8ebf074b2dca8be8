"""The pictures of a page: poses of the bodies, and whatever else of the scene moves.

The scene is the one that the window draws. What a body carries is written once, and moves with the body in the browser.
What moves by itself, such as a spring, is written for each picture as the scene placed it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.rotations.quaternions import quaternions
from rtmbs.viewer.batch import Batch, Lines
from rtmbs.viewer.commands import Seek
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.playback_connection import PlaybackConnection
from rtmbs.viewer.reach import DIRECTIONS, FAR, reached
from rtmbs.viewer.scene import Scene
from rtmbs.viewer.theme import THEMES
from rtmbs.viewer.web.packing import floats, quantised

Array = NDArray[np.float64]

FINE = 2.0**-17  # of the size of the mechanism: the quantum of lengths, far below a pixel
TURN = 2.0**-15  # quantum of the four numbers of an orientation
EARLY = 1e-9  # of a time between pictures: a sample that comes this little early is in time


class Piece(NamedTuple):
    """A batch or a set of lines, and the part of the scene that it belongs to."""

    part: str
    drawn: Batch | Lines


@dataclass(frozen=True, eq=False)
class Pictures:
    """What S pictures show."""

    t: Array  # (S,) [s]
    r: Array  # (S, nb, 3) origins of the bodies, ground first [m]
    q: Array  # (S, nb, 4) their orientations (w, x, y, z), without a jump of sign
    loose: dict[int, Array]  # places (S, ...) of pieces that move by themselves, by their number
    whole: Array  # (k, 3) points that the first picture must hold: all there is, and where the motion takes it [m]
    far: bool  # True: the motion goes so far that ``whole`` is the first pose alone, and the eye goes with the bodies
    size: float  # of the mechanism [m]


def chosen(t: Array, every: float) -> NDArray[np.int64]:
    """Return the samples at times ``t`` (S,) of which pictures are made: one about ``every`` seconds, first and last.

    No sample is made up between two: a picture is always one of the result.
    """
    spans = np.floor((t - t[0]) / every + EARLY) if every > 0.0 else np.arange(len(t))
    return np.unique(np.append(np.flatnonzero(np.diff(spans, prepend=-1.0)), len(t) - 1))


def pieces(scene: Scene) -> list[Piece]:
    """Return everything that the scene draws, with the part by which it is hidden."""
    found, shown = [], dict(scene.shown)
    everywhere = [id(batch) for batch in with_only(scene, "").batches()]
    for part in shown:
        only = with_only(scene, part)
        found += [Piece(part, batch) for batch in only.batches() if id(batch) not in everywhere and len(batch)]
        found += [Piece(part, lines) for lines in only.lines() if len(lines)]
    scene.shown = shown
    return found


def with_only(scene: Scene, part: str) -> Scene:
    """Return the scene with one part shown."""
    scene.shown = {name: name == part for name in scene.shown}
    return scene


def place_of(drawn: Batch | Lines) -> Array:
    """Return where a piece is now: placements (k, 12) or ends (k, 6)."""
    places = drawn.placement if isinstance(drawn, Batch) else drawn.points
    return places.reshape(len(places), -1)


def photograph(
    connection: PlaybackConnection, scene: Scene, drawn: list[Piece], samples: NDArray[np.int64]
) -> Pictures:
    """Return the pictures of some samples, of the pieces ``drawn`` of ``scene``, which is left at the last."""
    before = [owned(one.drawn) for one in drawn]
    places: list[list[Array]] = [[] for _ in drawn]
    times, origins, turns = [], [], []
    nowhere = np.full((len(DIRECTIONS), 3), np.nan)
    seen = nowhere
    for sample in samples.tolist():
        frame = at(connection, sample)
        scene.show(frame)
        for one, own in zip(drawn, places, strict=True):
            own.append(place_of(one.drawn))
        times.append(frame.t)
        origins.append(frame.r)
        turns.append(frame.A)
        here = scene.points()
        seen = reached(seen, here, DIRECTIONS)
        if sample == samples[0]:
            first, size = seen, float(np.max(np.ptp(here, axis=0)))
    moved = [owned(one.drawn) is not old for one, old in zip(drawn, before, strict=True)]
    loose = {k: padded(places[k]) for k, by_itself in enumerate(moved) if by_itself}
    far = bool(np.max(np.ptp(seen, axis=0)) > FAR * max(size, 1e-9))
    whole = first if far else reached(seen, scene.framing(), DIRECTIONS)
    A = np.array(turns)
    q = np.stack([quaternions(A[:, body]) for body in range(A.shape[1])], axis=1)
    return Pictures(np.array(times), np.array(origins), q, loose, whole, far, size)


def owned(drawn: Batch | Lines) -> Array:
    """Return the array of a piece that is another one once the scene has put the piece elsewhere."""
    return drawn.local if isinstance(drawn, Batch) else drawn.points


def at(connection: PlaybackConnection, sample: int) -> Frame:
    """Return the frame of a sample."""
    connection.send(Seek(sample))
    frame = connection.latest()
    assert frame is not None
    return frame


def padded(places: list[Array]) -> Array:
    """Return places (S, k, n) of a number that changes; those that are missing have no size."""
    most = max(len(one) for one in places)
    found = np.zeros((len(places), most, places[0].shape[1]))
    for row, one in zip(found, places, strict=True):
        row[: len(one)] = one
    return found


# ---- as plain data --------------------------------------------------------------------------------------------------


def moving(pictures: Pictures) -> dict[str, Any]:
    """Return what changes from picture to picture."""
    fine = FINE * pictures.size
    t = pictures.t
    return {
        "t": quantised(t, max(float(np.ptp(t)), 1e-9) * 2.0**-30),
        "r": quantised(pictures.r, fine),
        "q": quantised(pictures.q, TURN),
        "loose": {str(k): quantised(places, fine) for k, places in pictures.loose.items()},
    }


def standing(drawn: Mapping[str, list[Piece]], loose: Mapping[int, Array]) -> dict[str, Any]:
    """Return meshes and pieces of one mechanism; ``drawn`` has them by the name of the theme."""
    meshes: dict[int, tuple[int, Any]] = {}
    found = []
    for number, same in enumerate(zip(*drawn.values(), strict=True)):
        colors = {name: floats(one.drawn.color) for name, one in zip(drawn, same, strict=True)}
        part, one = same[0]
        count = loose[number].shape[1] if number in loose else len(one)
        entry: dict[str, Any] = {"part": part, "colors": colors, "count": count, "loose": number in loose}
        if isinstance(one, Batch):
            place, _ = meshes.setdefault(id(one.mesh), (len(meshes), one.mesh))
            entry |= {"mesh": place, "body": one.body.tolist()}
        else:
            entry |= {"width": one.width}
        found.append(entry if number in loose else entry | {"places": floats(place_of_body(one))})
    shapes = [
        {"vertices": floats(mesh.vertices), "normals": floats(mesh.normals), "closed": mesh.closed}
        for _, mesh in meshes.values()
    ]
    return {"meshes": shapes, "pieces": found}


def place_of_body(drawn: Batch | Lines) -> Array:
    """Return where a piece is in the axes of its bodies: placements (k, 12), or ends (k, 6) in the world."""
    return owned(drawn).reshape(len(drawn), -1)


def scenes_of(connection: PlaybackConnection) -> Iterator[tuple[str, Scene]]:
    """Yield the scene of the first sample in every theme."""
    frame = at(connection, 0)
    for name, theme in THEMES.items():
        yield name, Scene(connection.describe(), theme, frame)
