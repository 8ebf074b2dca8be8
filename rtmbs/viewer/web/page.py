"""Page: one file of HTML with a recorded run, its scene, and the program that plays it.

    from rtmbs.viewer.session.connect import playback
    from rtmbs.viewer.web.page import PageOptions, write_page

    write_page(playback("run.h5", model), "run.html", PageOptions(channels=("crank.angle",), traces=("tip",)))

Nothing is loaded from elsewhere: a policy of the page forbids it.
"""

import base64
import html
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs import library
from rtmbs.core.atomic_file import replacing
from rtmbs.errors import InputError, StepError, unknown_name
from rtmbs.numerics.rotations.quaternions import quaternions, rotations
from rtmbs.results.channel import units_of
from rtmbs.viewer import keys
from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, PRESETS, Camera, ground_axes, reached
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_COLORS, Batch, Lines
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.legend import meanings_of
from rtmbs.viewer.scene.scene import MOST_TRAILS, Scene, named, traceable
from rtmbs.viewer.scene.shapes import (
    FULL,
    HEAD,
    HEAD_WIDTH,
    LONGEST,
    MOST_HEAD,
    MOST_SHAFT,
    NEXT,
    SECOND_HEAD,
    SHAFT,
    SHORTEST,
    STEPS,
    Scale,
    typical_wrenches,
)
from rtmbs.viewer.scene.theme import THEMES, theme_named
from rtmbs.viewer.session.commands import SPEEDS, Seek
from rtmbs.viewer.session.connect import is_result, origin_of, playback
from rtmbs.viewer.session.playback import PlaybackConnection

PLACE = re.compile("@([A-Z]+)@")  # of a template
LIMIT = 20_000_000  # bytes of a page unless given
FEWEST = 2  # pictures: a page with fewer plays nothing
MOST = 200_000  # pictures of a page at most
MOVING = ("t", "r", "q", "loose", "channels", "reactions")  # content that grows with the pictures
SPARE = 0.92  # share of the limit that a second try aims at
TRIES = 6
FINENESS = 2.0**-16  # quantum of a channel, in its range
SCRIPTS = ("unpack.js", "arrows.js", "names.js", "stage.js", "curves.js", "player.js", "controls.js")
TOUCH = ("One finger, two fingers", "turn; move and come closer")
ACTIONS = (  # of the window that a page has too
    "play_or_pause", "step_forward", "step_back", "ten_forward", "ten_back", "loop", "mark", "mark_before",
    "mark_after", "faster", "slower", "real_time", "reset", "fit", "look_isometric", "look_front", "look_side",
    "look_top", "parallel", "follow", "help", "plots", "full_screen", "theme", "labels", "joints", "forces", "grid",
    "trail", "marker_trails", "reactions", "longer_arrows", "shorter_arrows", "legend", "choose_nothing",
)  # fmt: skip


@dataclass(frozen=True)
class PageOptions:
    """Options of a page: content, camera, theme, and size of the file.

    rate: pictures a second of the replay; the page goes smoothly from one to the next.
    speed: simulated seconds a second of the replay, at first.
    limit: bytes of the file; a longer run has fewer pictures a second.
    theme: "white", "dark", or "" for that of the reader's system.  camera: a preset of ``camera.PRESETS``.
    channels: names of channels that are plotted, "name" or "name[axis]".
    traces: names of markers and bodies whose way is drawn.  follow: body that the camera goes with.
    playing: the replay begins by itself, over and over.
    reactions: the page holds those of all joints.  newtons: force that an arrow of one metre means at first; a round
    one unless given.
    all_traces: the ways of all markers are drawn.  legend: what the colours mean is shown at first.
    """

    rate: float = 60.0
    speed: float = 1.0
    limit: int = LIMIT
    theme: str = ""
    camera: str = "isometric"
    parallel: bool = False
    channels: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    follow: str = ""
    playing: bool = False
    reactions: bool = False
    newtons: float | None = None
    all_traces: bool = False
    legend: bool = False


@dataclass(frozen=True)
class Page:
    """Report of a page: file, size, pictures and warnings."""

    path: Path
    bytes: int
    pictures: int
    rate: float  # pictures a second of the replay; lower than wanted where the limit asked for it
    warnings: tuple[str, ...] = ()  # what a damaged history lacks


def write_page(
    connection: PlaybackConnection,
    path: str | Path,
    paging: PageOptions | None = None,
    form: Callable[[dict[str, Any]], bytes] | None = None,
) -> Page:
    """Write the recorded run of ``connection`` as a page.

    form: makes the bytes of the file of what it is to hold; ``page_text`` unless given. ``content_text`` writes no more
    than that, for a site that makes pages with one program of it.
    Raises InputError for a number out of range, a limit that no page keeps, and a file that cannot be written;
    UnknownNameError for a theme, camera, channel, marker or body that does not exist.
    """
    paging = paging or PageOptions()
    check(paging)
    description = connection.describe()
    scenes = dict(scenes_of(connection))
    fixed = fixed_content(connection, description, paging) | colors(connection) | axes(next(iter(scenes.values())))
    drawn = {name: pieces(scene) for name, scene in scenes.items()}
    first = next(iter(scenes))
    around = around_followed(scenes[first], fixed["follow"])
    t, rate = connection.recording.t, paging.rate
    for _ in range(TRIES):
        samples = picture_samples(t, paging.speed / rate)
        if len(samples) > MOST:
            rate *= SPARE * MOST / len(samples)
            continue
        pictures = sample_pictures(connection, scenes[first], drawn[first], samples)
        content = (
            fixed
            | static_content(drawn, pictures.loose)
            | moving_content(pictures)
            | curves(connection, paging, samples)
        )
        if paging.reactions:
            content |= reactions(connection, scenes[first], samples, paging.newtons)
        text = (form or page_text)(content | views_content(description, pictures, paging) | around)
        if len(text) <= paging.limit:
            return save_page(path, text, len(samples), rate)
        if len(samples) <= FEWEST:
            break
        rate *= SPARE * fitting_share(text, paging.limit, content)
    raise InputError(
        f"a page of {description.name!r} needs more than {paging.limit / 1e6:g} MB even with few pictures; raise the "
        "limit, or record a shorter run"
    )


def fitting_share(text: bytes, limit: int, content: dict[str, Any]) -> float:
    """Return the share of the pictures that fits into ``limit`` bytes."""
    pictures = sum(len(json.dumps(content[name])) for name in MOVING if name in content)
    return max(min((limit - (len(text) - pictures)) / pictures, 1.0), 0.02)


def save_page(path: str | Path, text: bytes, pictures: int, rate: float) -> Page:
    """Write the file; InputError when the disk refuses it."""
    try:
        with replacing(path) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"page {str(path)!r} cannot be written: {error.strerror or error}") from error
    return Page(Path(path), len(text), pictures, rate)


def check(paging: PageOptions) -> None:
    """Raise InputError for numbers that make no page."""
    for name in ("rate", "speed", "limit", "newtons"):
        value = getattr(paging, name)
        if name == "newtons" and value is None:
            continue
        if not (isinstance(value, int | float) and 0.0 < value < float("inf")):
            raise InputError(f"{name} is {value!r}; it must be a positive number")
    if paging.theme:
        theme_named(paging.theme)
    Camera().look(paging.camera)


# ---- pictures as plain data ------------------------------------------------------------------------------------------

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
    return {"shape": given.shape, "quantum": quantum, "data": compressed_text(planes.tobytes())}


def floats(values: ArrayLike) -> dict[str, Any]:
    """Return values of any shape as float32."""
    given = np.asarray(values, float)
    return {"shape": given.shape, "data": compressed_text(np.ascontiguousarray(given, "<f4").tobytes())}


def compressed_text(data: bytes) -> str:
    """Return bytes compressed, in base 64."""
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


def picture_samples(t: Array, every: float) -> NDArray[np.int64]:
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
    before = [piece_array(one.drawn) for one in drawn]
    places: list[list[Array]] = [[] for _ in drawn]
    times, origins, turns = [], [], []
    nowhere = np.full((len(DIRECTIONS), 3), np.nan)
    seen = nowhere
    for sample in samples.tolist():
        frame = frame_at(connection, sample)
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
    moved = [piece_array(one.drawn) is not old for one, old in zip(drawn, before, strict=True)]
    loose = {k: padded(places[k]) for k, by_itself in enumerate(moved) if by_itself}
    far = bool(np.max(np.ptp(seen, axis=0)) > MOTION_LIMIT * max(size, 1e-9))
    whole = first if far else reached(seen, scene.framing(), DIRECTIONS)
    A = np.array(turns)
    q = np.stack([quaternions(A[:, body]) for body in range(A.shape[1])], axis=1)
    return Pictures(np.array(times), np.array(origins), q, loose, whole, far, size)


def piece_array(drawn: Batch | Lines) -> Array:
    """Return the array of a piece that the scene replaces when the piece moves on its own."""
    return drawn.local if isinstance(drawn, Batch) else drawn.points


def frame_at(connection: PlaybackConnection, sample: int) -> Frame:
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
    return piece_array(drawn).reshape(len(drawn), -1)


def scenes_of(connection: PlaybackConnection) -> Iterator[tuple[str, Scene]]:
    """Yield the scene of the first sample in every theme."""
    frame = frame_at(connection, 0)
    for name, theme in THEMES.items():
        yield name, Scene(connection.describe(), theme, frame)


# ---- reactions and colours -------------------------------------------------------------------------------------------

ARROW_QUANTUM = 2.0**-10  # of a full arrow: the quantum of forces and moments

# What the window draws arrows by (``rtmbs/viewer/scene/shapes.py``).
LOOKS = {
    "shaft": SHAFT, "head": HEAD, "width": HEAD_WIDTH, "most_head": MOST_HEAD,
    "most_shaft": MOST_SHAFT, "second": SECOND_HEAD, "shortest": SHORTEST,
    "longest": LONGEST, "steps": [*STEPS, 10.0], "next": NEXT,
}  # fmt: skip


def reactions(
    connection: PlaybackConnection, scene: Scene, samples: NDArray[np.int64], newtons: float | None
) -> dict[str, Any]:
    """Return the reactions of all joints at some samples, with the scale of their arrows.

    newtons: force that an arrow of one metre means; a round one that fits the run unless given.
    Raises InputError for a result that holds no reactions.
    """
    wrenches = connection.reactions()
    scale = Scale(connection.describe())
    scale.fit(typical_wrenches(wrenches))
    if newtons is not None:
        scale.choose(newtons)
    joints, full = connection.describe().joints, ARROW_QUANTUM * FULL * scale.length
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
                for name, mesh in (("shaft", drawing.cylinder()), ("head", drawing.cone()))
            },
        }
    }


def colors(connection: PlaybackConnection) -> dict[str, Any]:
    """Return the rows of the legend: part, colours by theme, and words."""
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


# ---- content --------------------------------------------------------------------------------------------------------


def fixed_content(connection: PlaybackConnection, description: SceneDescription, paging: PageOptions) -> dict[str, Any]:
    """Return the constant content: names, traced points, themes, keys."""
    bodies = [body.name for body in description.bodies]
    points = traceable(description)
    names = [point.name for point in points]
    markers = [marker.name for marker in description.markers if marker.body > 0]
    wanted = [one.name for one in named(description, paging.traces)]
    traced = dict.fromkeys(wanted + (markers[:MOST_TRAILS] if paging.all_traces else []))
    if paging.follow and paging.follow not in bodies:
        raise unknown_name("body", paging.follow, bodies)
    return {
        "name": description.name,
        "facts": description.facts | {"recorded": connection.recording.result.name},
        "bodies": bodies,
        "centers": [body.center_of_mass.tolist() for body in description.bodies],
        "points": [{"name": one.name, "body": one.body, "at": one.point.tolist()} for one in points],
        "traces": [names.index(name) for name in traced],
        "follow": bodies.index(paging.follow) if paging.follow else -1,
        "speed": paging.speed,
        "theme": paging.theme,
        "playing": paging.playing,
        "markers": len(markers),
        "legend": paging.legend,
        "themes": {name: asdict(theme) for name, theme in THEMES.items()},
        "speeds": SPEEDS,
        "mouse": [*(row for row in keys.MOUSE if row[1] != "pull a body"), TOUCH],
        "keys": [(*key_row(keys.BY_ACTION[action]), action) for action in ACTIONS],
    }


def axes(scene: Scene) -> dict[str, Any]:
    """Return where the axes of the world end, and their colours."""
    return {"axes": {"tips": scene.axis_tips().tolist(), "colors": AXIS_COLORS}}


def key_row(key: keys.Key) -> tuple[tuple[str, ...], str, str]:
    """Return the keys of an action as Qt writes them, as users write them, and its description."""
    return key.keys, keys.shown(key.keys), key.text


def curves(connection: PlaybackConnection, paging: PageOptions, samples: NDArray[np.int64]) -> dict[str, Any]:
    """Return the plotted channels at some samples."""
    units: dict[str, str] = {}
    for channel in connection.describe().channels:
        own = units_of(channel.axes, channel.unit)
        units |= {channel.name: own[0]} | {
            f"{channel.name}[{axis}]": one for axis, one in zip(channel.axes, own, strict=False)
        }
    values = connection.columns(paging.channels)[samples]
    found = []
    for name, column in zip(paging.channels, values.T, strict=True):
        finite = column[np.isfinite(column)]
        span = float(np.ptp(finite)) if len(finite) else 0.0
        found.append({"name": name, "unit": units.get(name, ""), "values": quantised(column, FINENESS * (span or 1.0))})
    return {"channels": found}


def views_content(description: SceneDescription, pictures: Pictures, paging: PageOptions) -> dict[str, Any]:
    """Return the directions of the camera presets, and the points that a picture of everything holds."""
    camera, views = Camera(ground=ground_axes(description.gravity)), {}
    for name in PRESETS:
        camera.look(name)
        views[name] = camera.axes()[2].tolist()
    camera.look(paging.camera)
    return {
        "up": camera.ground[2].tolist(),
        "north": camera.ground[1].tolist(),
        "views": views,
        "view": camera.axes()[2].tolist(),
        "angle": camera.field_of_view,
        "parallel": paging.parallel,
        "whole": pictures.whole.tolist(),
        "size": pictures.size,
        "far": pictures.far,
        "middle": middle(description, pictures),
    }


def around_followed(scene: Scene, followed: int) -> dict[str, Any]:
    """Return how far the first picture reaches from the mass centre of a followed body, in some directions [m]."""
    if followed < 0:
        return {"around": []}
    points = scene.around(followed) - scene.center_of(followed)
    return {"around": reached(np.full((len(DIRECTIONS), 3), np.nan), points, DIRECTIONS).tolist()}


def middle(description: SceneDescription, pictures: Pictures) -> list[float]:
    """Return the mean of the mass centres in the first picture, without ground [m]."""
    centers = np.array([body.center_of_mass for body in description.bodies])
    world = pictures.r[0] + np.einsum("bij,bj->bi", rotations(pictures.q[0]), centers)
    return np.asarray(world[1:].mean(axis=0)).tolist()


# ---- text -----------------------------------------------------------------------------------------------------------


def content_text(content: dict[str, Any]) -> bytes:
    """Return the content of a page as JSON; "<" is escaped, so no name of a model ends an HTML element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c").encode("utf-8")


def page_text(content: dict[str, Any], program_at: str = "") -> bytes:
    """Return the page; ``program_at`` is the address of ``program()``, which the page holds unless given."""
    own = f'<script src="{html.escape(program_at)}"></script>' if program_at else f"<script>\n{program()}</script>"
    parts = {
        "TITLE": html.escape(content["name"]),
        "SOURCES": "'self'" if program_at else "",
        "STYLE": page_file("page.css"),
        "CONTENT": content_text(content).decode("utf-8"),
        "PROGRAM": own,
    }
    return filled(page_file("page.html"), parts).encode("utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a text with parts in the places @NAME@ of a template; a part that looks like a place stays as it is."""
    return PLACE.sub(lambda place: parts[place[1]], template)


def program() -> str:
    """Return the program of a page: three.js, compressed, and the scripts that play a run with it."""
    squeezed = base64.b64encode(zlib.compress(page_file("vendor/three.min.js").encode("utf-8"), 9)).decode("ascii")
    licence = page_file("vendor/three.LICENSE").replace("*/", "* /")
    return "\n".join((f"/*\n{licence}*/", f'const THREE_TEXT = "{squeezed}";', *map(page_file, SCRIPTS)))


def page_file(name: str) -> str:
    """Return a file of this folder."""
    return files("rtmbs.viewer.web").joinpath(name).read_text(encoding="utf-8")


# ---- export of a result, or of a mechanism that is run for it --------------------------------------------------------

LENGTH = 10.0  # [s] of a replay unless given


def export(
    target: Any,
    path: str | Path,
    *,
    seconds: float | None = None,
    model: Any = None,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    shapes: Any = None,
    paging: PageOptions | None = None,
) -> Page:
    """Write a page that plays ``target`` in a browser, and return its size and pictures.

    target: a Result or its file, whose bodies and joints are those of ``model``; or what ``rtmbs.view`` takes, which is
    run for ``seconds`` (simulated; ten seconds of the replay unless given).
    parameters, options, shapes: as of ``rtmbs.view``.  paging: what is shown, and how large the file may be.

    A step that fails ends the run: the page holds the run so far, and the StepError is raised.
    Raises InputError and UnknownNameError as ``write_page`` and ``rtmbs.view`` do.

        export("run.h5", "run.html", model=model)
        export("fourbar", "fourbar.html", parameters={"ny": 2, "nz": 4}, seconds=5.0)
    """
    if is_result(target):
        if seconds is not None:
            raise InputError("seconds are for a mechanism that is run; a recorded result is shown as long as it is")
        recording = playback(target, model)
        warnings = tuple(message.text for message in recording.messages())
        return replace(write_page(recording, path, paging), warnings=warnings)
    paging = paging or PageOptions()
    if isinstance(target, str) and target in library.WATCHED_AT and paging.speed == PageOptions.speed:
        paging = replace(paging, speed=library.WATCHED_AT[target])
    return run_for_page(target, path, seconds, parameters, options, shapes, paging)


def run_for_page(
    target: Any,
    path: str | Path,
    seconds: float | None,
    parameters: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    shapes: Any,
    paging: PageOptions,
) -> Page:
    """Run a mechanism and write its page."""
    from rtmbs.simulation.observers.observer import (
        Every,  # these load the kernels, which a recorded result does not need
    )
    from rtmbs.viewer.session.describe import describe
    from rtmbs.viewer.session.playback import PlaybackConnection

    length = LENGTH * paging.speed if seconds is None else seconds
    if not (isinstance(length, int | float) and 0.0 < length < float("inf")):
        raise InputError(f"seconds is {seconds!r}; it must be a positive number")
    sim = origin_of(target, parameters, options).make({}, {})
    description = describe(sim, shapes=shapes)
    end = sim.t + max(round(length / sim.h), 1) * sim.h
    try:
        result = sim.run(end, record=Every(paging.speed / paging.rate))
    except StepError as error:
        if error.result is not None:
            write_page(PlaybackConnection(error.result, description), path, paging)
        raise
    return write_page(PlaybackConnection(result, description), path, paging)
