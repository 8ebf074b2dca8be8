"""What is written into a picture: names of the axes, a scale bar, what arrows and colours mean. Words, no painter.

A window writes the legend by Qt (``legend_qt.py``), a film by Pillow (``stamp.py``).
"""

from typing import NamedTuple

import numpy as np

from rtmbs.viewer.camera import Camera
from rtmbs.viewer.colors import Meaning, meanings
from rtmbs.viewer.grid import AXES, round_spacing
from rtmbs.viewer.scene import Scene

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
    """Return the names of the axes, a scale bar, and what the length of an arrow means."""
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
    places = zip(camera.project(OUT * scene.axis_tips()), "xyz", AXES, strict=True)
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


def metric(length: float) -> str:
    """Return a length in the unit that needs no zeros: 0.005 is "5 mm"."""
    for least, unit, factor in ((1.0, "m", 1.0), (0.01, "cm", 1e2), (0.001, "mm", 1e3)):
        if length >= least * (1.0 - 1e-9):
            return f"{factor * length:g} {unit}"
    return f"{1e6 * length:g} µm"


def is_finite(one: Word | Stroke) -> bool:
    """True for what has a place that a painter can take."""
    numbers = (one.x, one.y) if isinstance(one, Word) else (*one.start, *one.end)
    return bool(np.all(np.abs(numbers) < 1e6))
