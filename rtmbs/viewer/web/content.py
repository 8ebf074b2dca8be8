"""Content of a page as plain data: scenes of all themes, pictures, arrows, legend, keys, and the text around it.

A recorded run has many pictures (``page.py``), a live page one that every frame replaces (``live.py``).
"""

import base64
import html
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.numerics.rotations.quaternions import quaternions, rotations
from rtmbs.viewer import keys
from rtmbs.viewer.scene import camera as cameras
from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, PRESETS, Camera, ground_axes, look_first, reached
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import (
    AXIS_COLORS,
    BLUR_FRAGMENT,
    FLOOR_FRAGMENT,
    SHADOW_CROWD,
    SHADOW_FADE,
    SHADOW_PIXELS,
    Batch,
    Lines,
    Mesh,
)
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
)
from rtmbs.viewer.scene.theme import THEMES, theme_named
from rtmbs.viewer.session.commands import SPEEDS
from rtmbs.viewer.text import metric

Array = NDArray[np.float64]

PLACE = re.compile("@([A-Z]+)@")  # of a template
LIMIT = 20_000_000  # bytes of a page unless given
SCRIPTS = (
    "unpack.js", "arrows.js", "names.js", "shadow.js", "cube.js", "light.js", "stage.js", "curves.js", "pens.js",
    "figure.js", "player.js", "controls.js",
)  # fmt: skip
LIVE = "live.js"
TOUCH = ("One finger, two fingers", "turn; move and come closer")
ACTIONS = (  # of the window that a page has too
    "play_or_pause", "step_forward", "step_back", "ten_forward", "ten_back", "loop", "mark", "mark_before",
    "mark_after", "faster", "slower", "real_time", "reset", "fit", "look_isometric", "look_front", "look_side",
    "look_top", "parallel", "follow", "help", "plots", "theme", "labels", "joints", "forces", "grid",
    "trail", "marker_trails", "reactions", "longer_arrows", "shorter_arrows", "legend", "choose_nothing",
)  # fmt: skip
LIVE_ACTIONS = ("undo", "redo")  # that a live page has beside these


@dataclass(frozen=True)
class PageOptions:
    """Options of a page: content, camera, theme, and size of the file.

    rate: pictures a second of the replay; the page goes smoothly from one to the next.
    speed: simulated seconds a second of the replay, at first.
    limit: bytes of the file; a longer run has fewer pictures a second.
    theme: "white", "dark", or "" for that of the reader's system.  camera: a preset of ``camera.PRESETS``, or "" for
        the common axis of the joints of a planar mechanism, and the corner of another one.
    channels: names of channels that are plotted, "name" or "name[axis]"; "energy" for the energy balance.
    compared: a Result, or its file, whose channels are drawn dashed beside them.
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
    camera: str = ""
    parallel: bool = False
    channels: tuple[str, ...] = ()
    compared: Any = None
    traces: tuple[str, ...] = ()
    follow: str = ""
    playing: bool = False
    reactions: bool = False
    newtons: float | None = None
    all_traces: bool = False
    legend: bool = False


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
    Camera().look(paging.camera or "isometric")


# ---- numbers in few bytes --------------------------------------------------------------------------------------------

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
    return rows_of(places)


def rows_of(places: Array) -> Array:
    """Return places (k, ...) as rows (k, n), also where there are none."""
    return places.reshape(len(places), math.prod(places.shape[1:]))


def sample_pictures(frames: Iterable[Frame], scene: Scene, drawn: list[Piece]) -> Pictures:
    """Return the pictures of frames, of the pieces ``drawn`` of ``scene``, which is left at the last."""
    before = [piece_array(one.drawn) for one in drawn]
    places: list[list[Array]] = [[] for _ in drawn]
    times, origins, turns = [], [], []
    nowhere = np.full((len(DIRECTIONS), 3), np.nan)
    seen = nowhere
    for frame in frames:
        scene.show(frame)
        for one, own in zip(drawn, places, strict=True):
            own.append(place_of(one.drawn))
        times.append(frame.t)
        origins.append(frame.r)
        turns.append(frame.A)
        here = scene.points()
        seen = reached(seen, here, DIRECTIONS)
        if len(times) == 1:
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


def padded(places: list[Array]) -> Array:
    """Return places (S, k, n) of a number that changes; those that are missing have no size."""
    most = max(len(one) for one in places)
    found = np.zeros((len(places), most, places[0].shape[1]))
    for row, one in zip(found, places, strict=True):
        row[: len(one)] = one
    return found


# ---- as plain data ---------------------------------------------------------------------------------------------------


def scenes_of(description: SceneDescription, frame: Frame) -> dict[str, Scene]:
    """Return the scene of a frame in every theme, by its name."""
    return {name: Scene(description, theme, frame) for name, theme in THEMES.items()}


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
            entry |= {"mesh": place, "body": one.body.tolist(), "casts": one.casts}
        else:
            entry |= {"width": one.width}
        found.append(entry if number in loose else entry | {"places": floats(place_of_body(one))})
    shapes = [mesh_content(mesh) for _, mesh in numbered.values()]
    return {"meshes": shapes, "pieces": found}


def mesh_content(mesh: Mesh) -> dict[str, Any]:
    """Return a mesh, with one of fewer sides for a crowd of small round parts without a graphics card."""
    found: dict[str, Any] = {"vertices": floats(mesh.vertices), "normals": floats(mesh.normals), "closed": mesh.closed}
    few = drawing.cylinder(6) if mesh.kind == "cylinder" else drawing.sphere(8) if mesh.kind == "sphere" else mesh
    if len(few.vertices) < len(mesh.vertices):
        found["few"] = {"vertices": floats(few.vertices), "normals": floats(few.normals)}
    return found


def place_of_body(drawn: Batch | Lines) -> Array:
    """Return where a piece is in the axes of its bodies: placements (k, 12), or ends (k, 6) in the world."""
    return rows_of(piece_array(drawn))


# ---- reactions and colours -------------------------------------------------------------------------------------------

ARROW_QUANTUM = 2.0**-10  # of a full arrow: the quantum of forces and moments

# What the window draws arrows by (``rtmbs/viewer/scene/shapes.py``).
LOOKS = {
    "shaft": SHAFT, "head": HEAD, "width": HEAD_WIDTH, "most_head": MOST_HEAD,
    "most_shaft": MOST_SHAFT, "second": SECOND_HEAD, "shortest": SHORTEST,
    "longest": LONGEST, "steps": [*STEPS, 10.0], "next": NEXT,
}  # fmt: skip


def reactions(scene: Scene, wrenches: Array, scale: Scale) -> dict[str, Any]:
    """Return the reactions (S, nj, 6) of all joints in S pictures, with the scale of their arrows [N, N m]."""
    joints, full = scene.description.joints, ARROW_QUANTUM * FULL * scale.length
    return {
        "reactions": {
            "b": [joint.b for joint in joints],
            "at": [joint.point_b.tolist() for joint in joints],
            "forces": quantised(wrenches[:, :, :3], full * scale.newtons),
            "moments": quantised(wrenches[:, :, 3:], full * scale.moments),
            "newtons": scale.newtons,
            "moment": scale.moments,
            "length": scale.length,
            "unit": [scale.unit, metric(scale.unit)],
            "radius": scene.radius,
            "looks": LOOKS,
            "meshes": {
                name: {"vertices": floats(mesh.vertices), "normals": floats(mesh.normals)}
                for name, mesh in (("shaft", drawing.cylinder()), ("head", drawing.cone()))
            },
        }
    }


def colors(description: SceneDescription) -> dict[str, Any]:
    """Return the rows of the legend: part, colours by theme, and words."""
    themes = {name: meanings_of(description, theme) for name, theme in THEMES.items()}
    rows = [
        {
            "part": same[0].part,
            "words": same[0].words,
            "colors": dict(zip(themes, (one.color for one in same), strict=True)),
        }
        for same in zip(*themes.values(), strict=True)
    ]
    return {"meanings": rows}


# ---- names, views, keys ----------------------------------------------------------------------------------------------


def fixed_content(description: SceneDescription, paging: PageOptions) -> dict[str, Any]:
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
        "facts": description.facts,
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
        "mouse": [*(row for row in keys.MOUSE if "Ctrl" not in row[0] and row[0] != "Drop a file"), TOUCH],
        "keys": [(*key_row(keys.BY_ACTION[action]), action) for action in ACTIONS],
    }


def axes(scene: Scene) -> dict[str, Any]:
    """Return where the axes of the world end, and their colours."""
    return {"axes": {"tips": scene.axis_tips().tolist(), "colors": AXIS_COLORS}} | cube()


def cube() -> dict[str, Any]:
    """Return the view cube."""
    return {
        "cube": {
            "faces": cameras.CUBE_FACES,
            "half": cameras.HALF_EDGE,
            "reach": cameras.CUBE_REACH,
            "inset": cameras.CUBE_INSET,
            "least": cameras.CUBE_LEAST,
            "edge_on": cameras.EDGE_ON,
        }
    }


def shadow(scene: Scene) -> dict[str, Any]:
    """Return the floor below a scene, and the programs that lay a shadow on it."""
    floor = scene.drawing().floor
    if floor is None:
        return {}
    return {
        "shadow": {
            **{name: getattr(floor, name).tolist() for name in ("corner", "east", "north")},
            "down": floor.from_above().ravel().tolist(),
            "pixels": SHADOW_PIXELS,
            "crowd": SHADOW_CROWD,
            "fade": SHADOW_FADE,
            "blur": BLUR_FRAGMENT,
            "lay": FLOOR_FRAGMENT,
        }
    }


def key_row(key: keys.Key) -> tuple[tuple[str, ...], str, str]:
    """Return the keys of an action as Qt writes them, as users write them, and its description."""
    return key.keys, keys.shown(key.keys), key.text


def views_content(description: SceneDescription, pictures: Pictures, paging: PageOptions) -> dict[str, Any]:
    """Return the directions of the camera presets, and the points that a picture of everything holds."""
    camera, views = Camera(ground=ground_axes(description.gravity)), {}
    for name in PRESETS:
        camera.look(name)
        views[name] = camera.axes()[2].tolist()
    look_first(camera, description, rotations(pictures.q[0]), paging.camera)
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


# ---- text ------------------------------------------------------------------------------------------------------------


def content_text(content: dict[str, Any]) -> bytes:
    """Return the content of a page as JSON; "<" is escaped, so no name of a model ends an HTML element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c").encode("utf-8")


def page_text(content: dict[str, Any], program_at: str = "") -> bytes:
    """Return the page; ``program_at`` is the address of ``program()``, which the page holds unless given."""
    live = "live" in content
    own = f'<script src="{html.escape(program_at)}"></script>' if program_at else f"<script>\n{program(live)}</script>"
    parts = {
        "TITLE": html.escape(content["name"]),
        "SOURCES": "'self'" if program_at else "",
        "CONNECT": "; connect-src 'self'" if live else "",
        "STYLE": page_file("page.css"),
        "CONTENT": content_text(content).decode("utf-8"),
        "PROGRAM": own,
    }
    return filled(page_file("page.html"), parts).encode("utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a text with parts in the places @NAME@ of a template; a part that looks like a place stays as it is."""
    return PLACE.sub(lambda place: parts[place[1]], template)


def program(live: bool = False) -> str:
    """Return the program of a page: three.js, compressed, and the scripts that play a run, or show a session."""
    scripts = (*SCRIPTS[:-1], LIVE, SCRIPTS[-1]) if live else SCRIPTS
    squeezed = base64.b64encode(zlib.compress(page_file("vendor/three.min.js").encode("utf-8"), 9)).decode("ascii")
    licence = page_file("vendor/three.LICENSE").replace("*/", "* /")
    return "\n".join(
        (
            f"/*\n{licence}*/",
            f'const THREE_TEXT = "{squeezed}";',
            *map(page_file, scripts),
        )
    )


def page_file(name: str) -> str:
    """Return a file of this folder."""
    return files("rtmbs.viewer.web").joinpath(name).read_text(encoding="utf-8")
