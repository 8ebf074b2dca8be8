"""Pictures of a page as plain data: poses, meshes, moving parts, reactions and meanings of colours.

The scene is that of the window. A mesh that a body carries is written once, and moves with the body in the browser. A
part that moves by itself, such as a spring, is written for each picture as the scene placed it. Numbers are whole
multiples of a quantum, or float32, compressed by zlib and written in base64; ``unpack.js`` reads both.
"""

import base64
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.rotations.quaternions import quaternions
from rtmbs.viewer.scene import arrows, meshes
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, reached
from rtmbs.viewer.scene.drawing import Batch, Lines
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.legend import meanings_of
from rtmbs.viewer.scene.scene import Scene
from rtmbs.viewer.scene.theme import THEMES
from rtmbs.viewer.session.commands import Seek
from rtmbs.viewer.session.playback import PlaybackConnection

Array = NDArray[np.float64]

MISSING = -(2**31)  # stands for a value that is not a number
LARGEST = 2**30  # multiples of the quantum: their differences fit into 32 bits
LEVEL = 9  # of the compression


def quantised(values: ArrayLike, quantum: float) -> dict[str, Any]:
    """Return values (S, ...) that change slowly along their first axis, as multiples of ``quantum``.

    Each number is off by at most half a quantum; the quantum grows where the largest number asks for it. A number is
    kept as the difference from the sample before, small ones in few bytes: the bytes of one weight stand together.
    """
    given = np.asarray(values, float)
    table = given.reshape(len(given), -1).T  # (columns, S)
    finite = np.isfinite(table)
    largest = float(np.max(np.abs(table), where=finite, initial=0.0))
    quantum = max(quantum, largest / LARGEST, 1e-300)
    whole = np.where(finite, np.rint(np.where(finite, table, 0.0) / quantum), MISSING).astype(np.int64)
    change = np.diff(whole, axis=1, prepend=0).astype(np.int32)  # modulo 2^32, as JavaScript adds
    folded = ((change << 1) ^ (change >> 31)).view(np.uint32)  # small ones of either sign become small
    planes = folded.astype("<u4").reshape(-1, 1).view(np.uint8).T  # bytes of one weight together
    return {"shape": given.shape, "quantum": quantum, "data": text(planes.tobytes())}


def floats(values: ArrayLike) -> dict[str, Any]:
    """Return values of any shape as float32."""
    given = np.asarray(values, float)
    return {"shape": given.shape, "data": text(np.ascontiguousarray(given, "<f4").tobytes())}


def text(data: bytes) -> str:
    """Return compressed bytes in letters."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode("ascii")


# ---- pictures --------------------------------------------------------------------------------------------------------

FINE = 2.0**-17  # of the size of the mechanism: the quantum of lengths, far below a pixel
TURN = 2.0**-15  # quantum of the four numbers of an orientation
EARLY = 1e-9  # of a time between pictures: a sample that comes this little early is in time


class Piece(NamedTuple):
    """A batch or a set of lines, and the part of the scene that it belongs to."""

    part: str
    drawn: Batch | Lines


@dataclass(frozen=True, eq=False)
class Pictures:
    """Content of S pictures."""

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


def sample_pictures(
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
    far = bool(np.max(np.ptp(seen, axis=0)) > MOTION_LIMIT * max(size, 1e-9))
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


def moving_content(pictures: Pictures) -> dict[str, Any]:
    """Return the content of one picture."""
    fine = FINE * pictures.size
    t = pictures.t
    return {
        "t": quantised(t, max(float(np.ptp(t)), 1e-9) * 2.0**-30),
        "r": quantised(pictures.r, fine),
        "q": quantised(pictures.q, TURN),
        "loose": {str(k): quantised(places, fine) for k, places in pictures.loose.items()},
    }


def static_content(drawn: Mapping[str, list[Piece]], loose: Mapping[int, Array]) -> dict[str, Any]:
    """Return meshes and pieces of one mechanism; ``drawn`` has them by the name of the theme."""
    numbered: dict[int, tuple[int, Any]] = {}
    found = []
    for number, same in enumerate(zip(*drawn.values(), strict=True)):
        colors = {name: floats(one.drawn.color) for name, one in zip(drawn, same, strict=True)}
        part, one = same[0]
        count = loose[number].shape[1] if number in loose else len(one)
        entry: dict[str, Any] = {"part": part, "colors": colors, "count": count, "loose": number in loose}
        if isinstance(one, Batch):
            place, _ = numbered.setdefault(id(one.mesh), (len(numbered), one.mesh))
            entry |= {"mesh": place, "body": one.body.tolist()}
        else:
            entry |= {"width": one.width}
        found.append(entry if number in loose else entry | {"places": floats(place_of_body(one))})
    shapes = [
        {"vertices": floats(mesh.vertices), "normals": floats(mesh.normals), "closed": mesh.closed}
        for _, mesh in numbered.values()
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


# ---- reactions and colours -------------------------------------------------------------------------------------------

ARROW_QUANTUM = 2.0**-10  # of a full arrow: the quantum of forces and moments

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
    joints, full = connection.describe().joints, ARROW_QUANTUM * arrows.FULL * scale.length
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
