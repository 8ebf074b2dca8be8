"""Legend and caption of pictures: colours, axes, scale bar, scale of arrows; name, time and speed by Pillow."""

from collections import Counter
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_COLORS, round_spacing
from rtmbs.viewer.scene.frame import LINGERS
from rtmbs.viewer.scene.scene import Scene, trail_color
from rtmbs.viewer.scene.theme import Theme, body_colors, families, stem
from rtmbs.viewer.text import metric

if TYPE_CHECKING:
    from PIL import ImageFont

MOST, NAMES = 8, 3  # rows of bodies, and of trails; names in one row
BODIES, JOINTS, SPRINGS, FORCES, REACTIONS, TRAILS = "bodies", "joints", "springs", "forces", "reactions", "trails"
Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

SHARE, LEAST = 0.026, 11  # height of a letter in heights of a picture, and in pixels
LEGEND_SHARE, ROW_IN_LETTERS = 0.019, 1.35  # the same of a legend; from one of its lines to the next
FONT = files("rtmbs.viewer.scene").joinpath("font/words.ttf")  # DejaVu Sans: Latin, Greek, Cyrillic, signs
HALO = 0.75  # opacity of the ground behind the words


class Meaning(NamedTuple):
    """One row of a legend."""

    part: str  # of the scene; the row is shown while the part is
    color: str  # "#rrggbb"; "" for a row that only counts
    words: str


def meanings(scene: Scene) -> list[Meaning]:
    """Return the rows of everything that is shown now, the trails of points too."""
    rows = [row for row in meanings_of(scene.description, scene.theme) if scene.shown[row.part]]
    if not (scene.shown[TRAILS] and len(scene.trails)):
        return rows
    names = [body.name for body in scene.description.bodies]
    trails = [
        Meaning(TRAILS, trail_color(scene.description, scene.theme, body, name), f"trail of {name or names[body]}")
        for body, name in scene.trails.names()
    ]
    return [*rows, *shortened(trails, "trails")]


def meanings_of(description: SceneDescription, theme: Theme) -> list[Meaning]:
    """Return the rows of a mechanism in the colours of a theme, hidden parts too."""
    joints = [joint for joint in description.joints if joint.holds]
    springs = any(one.shape != "bar" for one in description.connectors)
    offered = (
        (any(not joint.cut for joint in joints), Meaning(JOINTS, theme.joint, "joint")),
        (any(joint.cut for joint in joints), Meaning(JOINTS, theme.cut, "cut joint, closed by equations")),
        (any(0 in (joint.a, joint.b) for joint in joints), Meaning(JOINTS, theme.ground, "support on ground")),
        (springs, Meaning(SPRINGS, theme.spring, "spring")),
        (bool(description.wrenches), Meaning(FORCES, theme.force, "given force")),
        (bool(description.wrenches), Meaning(FORCES, theme.moment, "given torque, two heads")),
        (
            bool(description.contacts),
            Meaning(FORCES, theme.reaction, "contact: point, normal, force on the second body"),
        ),
        (any(one.friction for one in description.contacts), Meaning(FORCES, theme.accent, "cone of friction")),
        (
            any(one.rigid for one in description.contacts),
            Meaning(FORCES, theme.accent, f"impulse of an impact: its mean force in {LINGERS:g} s"),
        ),
        (bool(joints), Meaning(REACTIONS, theme.reaction, "joint reaction: force on the second body")),
        (bool(joints), Meaning(REACTIONS, theme.reaction_moment, "joint reaction: moment, two heads")),
    )
    return [*shortened(bodies(description, theme), "bodies"), *(row for there, row in offered if there)]


def bodies(description: SceneDescription, theme: Theme) -> list[Meaning]:
    """Return a row for each colour of bodies; those whose names differ only in numbers share one."""
    count = Counter(stem(body.name) for body in description.bodies[1:])
    named: dict[str | int, list[str]] = {}  # by the user's colour, or the place of one in the theme
    colors: dict[str | int, str] = {}
    numbers = [number % len(theme.bodies) for number in families(description)]
    for body, number, color in list(zip(description.bodies, numbers, body_colors(description, theme), strict=True))[1:]:
        family, place = stem(body.name), body.color or number
        name = family if family and count[family] > 1 else body.name
        if body.shapes and name not in named.setdefault(place, []):
            named[place].append(name)
        colors[place] = color
    return [Meaning(BODIES, colors[place], listed(names)) for place, names in named.items() if names]


def listed(names: list[str]) -> str:
    """Return some names, and how many more there are."""
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more


def shortened(rows: list[Meaning], what: str) -> list[Meaning]:
    """Return the first rows, and how many more there are."""
    if len(rows) <= MOST:
        return rows
    return [*rows[: MOST - 1], Meaning(rows[0].part, "", f"and {len(rows) - MOST + 1} more {what}")]


# ---- placement in a picture ------------------------------------------------------------------------------------------

ROW = 18.0  # pixels from one line to the next in a window; everything else follows it
WIDE = 140.0  # pixels that the scale bar has at most, in a window
INSET, TICK = 0.78, 0.22  # from the edge of the picture, and half the ends of the scale bar, in rows
SWATCH, GAP = 0.9, 0.5  # width of a patch of colour, and from there to its words, in rows
OUT = 1.12  # where the name of an axis stands, in lengths of the axis
LETTER = 0.5  # width of one of the words, in rows
LEFT, MIDDLE, RIGHT = "l", "m", "r"


class Word(NamedTuple):
    """A line of text; ``anchor`` says whether x is its left end, its middle or its right end, and y is its middle."""

    text: str
    x: float
    y: float
    anchor: str
    color: str


class Stroke(NamedTuple):
    """A straight line from one pixel to another."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float  # [pixels]
    color: str


Legend = list[Word | Stroke]


def legend(
    scene: Scene, camera: Camera, row: float = ROW, scales: bool = True, taken: tuple[float, float] = (0.0, 0.0)
) -> Legend:
    """Return the legend of a picture: axes at their tips, scales in the lower right corner, colours in the lower left.

    row: from one line to the next [pixels].  scales: False leaves colours alone.
    taken: width and height of what lies in the upper left corner [pixels]; colours go beside it.
    """
    corner = drawn_scales(scene, camera, row) if scales else []
    if not scene.shown["legend"]:
        return corner
    rows = meanings(scene)
    return drawn_meanings(rows, scene, row, taken, lowest(rows, corner, camera, row)) + corner


def lowest(rows: list[Meaning], corner: Legend, camera: Camera, row: float) -> float:
    """Return the pixel under the last colour: over the scales where the picture is too narrow for both."""
    scales = [one for one in corner if isinstance(one, Word) and one.anchor == RIGHT]
    longest = max((len(one.words) for one in rows), default=0), max((len(one.text) for one in scales), default=0)
    if scales and (2.0 * INSET + SWATCH + 2.0 * GAP + LETTER * sum(longest)) * row > camera.width:
        return min(one.y for one in scales) - row
    return camera.height - INSET * row


def drawn_scales(scene: Scene, camera: Camera, row: float) -> Legend:
    """Return the names of the axes, a scale bar, and the scale of arrows."""
    found: Legend = axis_names(scene, camera) if scene.shown["axes"] else []
    bottom = camera.height - INSET * row
    if scene.shown["grid"]:
        found += drawn_bar(scene, camera, row, bottom)
        bottom -= (1.0 + TICK) * row
    if scene.has_arrows():
        right = camera.width - INSET * row
        found.append(Word(scene.scale.sentence(), right, bottom - 0.5 * row, RIGHT, scene.theme.muted))
    return found


def axis_names(scene: Scene, camera: Camera) -> Legend:
    """Return x, y and z beyond the tips of the axes."""
    places = zip(camera.project(OUT * scene.axis_tips()), "xyz", AXIS_COLORS, strict=True)
    return [Word(name, x, y, MIDDLE, color) for (x, y, depth), name, color in places if depth > 0.0]


def scale_bar(camera: Camera, most: float = WIDE) -> tuple[float, float]:
    """Return a round length [m], and its pixels at the depth that the camera turns about; ``most`` pixels at most."""
    metres = camera.metres_per_pixel()
    length = round_spacing(most * metres)
    return length, length / metres


def drawn_bar(scene: Scene, camera: Camera, row: float, bottom: float) -> Legend:
    """Return a bar of a round length; in perspective it holds at the depth of the middle."""
    length, pixels = scale_bar(camera, WIDE * row / ROW)
    right, color, width = camera.width - INSET * row, scene.theme.muted, 1.5 * row / ROW
    left, end = right - pixels, TICK * row
    bar: Legend = [Stroke((left, bottom), (right, bottom), width, color)]
    bar += [Stroke((x, bottom - end), (x, bottom + end), width, color) for x in (left, right)]
    return [*bar, Word(metric(length), right, bottom - 0.5 * row, RIGHT, color)]


def drawn_meanings(rows: list[Meaning], scene: Scene, row: float, taken: tuple[float, float], bottom: float) -> Legend:
    """Return patches of colour with their words, from ``bottom`` [pixels] at the left upwards."""
    found: Legend = []
    under = bottom - len(rows) * row < taken[1]
    left = INSET * row + (taken[0] if under else 0.0)
    for number, one in enumerate(reversed(rows)):
        y = bottom - (number + 0.5) * row
        if y < row:
            break
        if one.color:
            found.append(Stroke((left, y), (left + SWATCH * row, y), 0.5 * row, one.color))
        found.append(Word(one.words, left + (SWATCH + GAP) * row, y, LEFT, scene.theme.text))
    return found


def is_finite(one: Word | Stroke) -> bool:
    """True for coordinates that a painter can take."""
    numbers = (one.x, one.y) if isinstance(one, Word) else (*one.start, *one.end)
    return bool(np.all(np.abs(numbers) < 1e6))


def with_caption(picture: Picture, name: str, t: float, speed: float, theme: Theme) -> Picture:
    """Return a picture with the name of a mechanism, the time [s] and the speed in its upper left corner.

    Raises InputError without Pillow.
    """
    Image, ImageDraw = pillow()
    image = Image.fromarray(picture)
    size, text = caption_size(picture.shape[0]), caption_text(name, t, speed)
    pad, font = size // 2, font_of_size(size)
    corners = ImageDraw.Draw(image).multiline_textbbox((2 * pad, 2 * pad), text, font=font)
    left, top, right, bottom = (round(side) for side in corners)
    box = (left - pad, top - pad, right + pad, bottom + pad)
    ground = Image.new("RGB", (box[2] - box[0], box[3] - box[1]), theme.background)
    image.paste(Image.blend(image.crop(box), ground, HALO), box[:2])
    ImageDraw.Draw(image).multiline_text((2 * pad, 2 * pad), text, fill=theme.text, font=font)
    return np.asarray(image)


def with_legend(picture: Picture, legend: Legend) -> Picture:
    """Return a picture with a legend written over it; raises InputError without Pillow."""
    if not legend:
        return picture
    Image, ImageDraw = pillow()
    image = Image.fromarray(picture)
    pen, font = ImageDraw.Draw(image), font_of_size(legend_size(picture.shape[0]))
    for one in filter(is_finite, legend):
        if isinstance(one, Stroke):
            pen.line((one.start, one.end), fill=one.color, width=max(round(one.width), 1))
        else:
            pen.text((one.x, one.y), one.text, fill=one.color, font=font, anchor=f"{one.anchor}m")
    return np.asarray(image)


def legend_row(height: int) -> float:
    """Return how far the lines of a legend are apart in a picture of ``height`` pixels."""
    return ROW_IN_LETTERS * legend_size(height)


def legend_size(height: int) -> int:
    """Return how large the letters of a legend are in a picture of ``height`` pixels."""
    return max(round(LEGEND_SHARE * height), LEAST)


def pillow() -> Any:
    """Return Pillow's images and pens; raises InputError without it."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise InputError("words on pictures need Pillow; pip install 'rtmbs[viewer]' brings it") from None
    return Image, ImageDraw


def caption_width(name: str, height: int, speed: float) -> int:
    """Return how many pixels at the left the words take from a picture of ``height``."""
    size = caption_size(height)
    longest = max(caption_text(name, 0.0, speed).splitlines(), key=len)
    return round(font_of_size(size).getlength(longest)) + 2 * size


def caption_text(name: str, t: float, speed: float) -> str:
    """Return the text of the caption."""
    return f"{name}\nt = {t:.3f} s\nspeed {speed:g} \N{MULTIPLICATION SIGN}"


def caption_size(height: int) -> int:
    """Return how large the letters are in a picture of ``height`` pixels."""
    return max(round(SHARE * height), LEAST)


def font_of_size(size: int) -> "ImageFont.FreeTypeFont":
    """Return the font of words with letters of ``size`` pixels; Pillow's own lacks the signs of units."""
    from PIL import ImageFont

    with as_file(FONT) as path:
        return ImageFont.truetype(path, size)
