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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.files.atomic_file import replacing
from rtmbs.results.channel import units_of
from rtmbs.rotations.quaternions import rotations
from rtmbs.viewer import keys
from rtmbs.viewer.scene.camera import DIRECTIONS, PRESETS, Camera, ground_axes, reached
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_COLORS
from rtmbs.viewer.scene.scene import MOST_TRAILS, Scene
from rtmbs.viewer.scene.theme import THEMES, theme_named
from rtmbs.viewer.scene.trails import named, traceable
from rtmbs.viewer.session.commands import SPEEDS
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.web.pictures import (
    Pictures,
    chosen,
    colors,
    moving_content,
    pieces,
    quantised,
    reactions,
    sample_pictures,
    scenes_of,
    static_content,
)

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
        samples = chosen(t, paging.speed / rate)
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
            return written(path, text, len(samples), rate)
        if len(samples) <= FEWEST:
            break
        rate *= SPARE * room(text, paging.limit, content)
    raise InputError(
        f"a page of {description.name!r} needs more than {paging.limit / 1e6:g} MB even with few pictures; raise the "
        "limit, or record a shorter run"
    )


def room(text: bytes, limit: int, content: dict[str, Any]) -> float:
    """Return the share of the pictures for which ``limit`` has room."""
    pictures = sum(len(json.dumps(content[name])) for name in MOVING if name in content)
    return max(min((limit - (len(text) - pictures)) / pictures, 1.0), 0.02)


def written(path: str | Path, text: bytes, pictures: int, rate: float) -> Page:
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
        "keys": [(*described(keys.BY_ACTION[action]), action) for action in ACTIONS],
    }


def axes(scene: Scene) -> dict[str, Any]:
    """Return where the axes of the world end, and their colours."""
    return {"axes": {"tips": scene.axis_tips().tolist(), "colors": AXIS_COLORS}}


def described(key: keys.Key) -> tuple[tuple[str, ...], str, str]:
    """Return the keys of an action as Qt writes them, as users write them, and what it does."""
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
    """Return what a page holds as JSON; no word of a model can end an element of HTML."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c").encode("utf-8")


def page_text(content: dict[str, Any], program_at: str = "") -> bytes:
    """Return the page; ``program_at`` is the address of ``program()``, which the page holds unless given."""
    own = f'<script src="{html.escape(program_at)}"></script>' if program_at else f"<script>\n{program()}</script>"
    parts = {
        "TITLE": html.escape(content["name"]),
        "SOURCES": "'self'" if program_at else "",
        "STYLE": part("page.css"),
        "CONTENT": content_text(content).decode("utf-8"),
        "PROGRAM": own,
    }
    return filled(part("page.html"), parts).encode("utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a text with parts in the places @NAME@ of a template; a part that looks like a place stays as it is."""
    return PLACE.sub(lambda place: parts[place[1]], template)


def program() -> str:
    """Return the program of a page: three.js, compressed, and the scripts that play a run with it."""
    squeezed = base64.b64encode(zlib.compress(part("vendor/three.min.js").encode("utf-8"), 9)).decode("ascii")
    licence = part("vendor/three.LICENSE").replace("*/", "* /")
    return "\n".join((f"/*\n{licence}*/", f'const THREE_TEXT = "{squeezed}";', *map(part, SCRIPTS)))


def part(name: str) -> str:
    """Return a file of this folder."""
    return files("rtmbs.viewer.web").joinpath(name).read_text(encoding="utf-8")
