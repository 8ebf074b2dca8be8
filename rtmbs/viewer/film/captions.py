"""Captions of pictures by Pillow: name, time, speed and the legend, without a window or OpenGL."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.viewer.scene.legend import Legend, Stroke, is_finite
from rtmbs.viewer.scene.theme import Theme

if TYPE_CHECKING:
    from PIL import ImageFont


Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

SHARE, LEAST = 0.026, 11  # height of a letter in heights of a picture, and in pixels
LEGEND_SHARE, ROW_IN_LETTERS = 0.019, 1.35  # the same of a legend; from one of its lines to the next
HALO = 0.75  # opacity of the ground behind the words


def with_caption(picture: Picture, name: str, t: float, speed: float, theme: Theme) -> Picture:
    """Return a picture with the name of a mechanism, the time [s] and the speed in its upper left corner.

    Raises InputError without Pillow.
    """
    Image, ImageDraw = pillow()
    image = Image.fromarray(picture)
    size, text = size_of(picture.shape[0]), words(name, t, speed)
    pad, font = size // 2, letters(size)
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
    pen, font = ImageDraw.Draw(image), letters(legend_size(picture.shape[0]))
    for one in filter(is_finite, legend):
        if isinstance(one, Stroke):
            pen.line((one.start, one.end), fill=one.color, width=max(round(one.width), 1))
        else:
            pen.text((one.x, one.y), one.text, fill=one.color, font=font, anchor=f"{one.anchor}m")
    return np.asarray(image)


def row_of(height: int) -> float:
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


def width_of(name: str, height: int, speed: float) -> int:
    """Return how many pixels at the left the words take from a picture of ``height``."""
    size = size_of(height)
    longest = max(words(name, 0.0, speed).splitlines(), key=len)
    return round(letters(size).getlength(longest)) + 2 * size


def words(name: str, t: float, speed: float) -> str:
    """Return what is written."""
    return f"{name}\nt = {t:.3f} s\nspeed {speed:g} x"  # Pillow's font has no sign for "times"


def size_of(height: int) -> int:
    """Return how large the letters are in a picture of ``height`` pixels."""
    return max(round(SHARE * height), LEAST)


def letters(size: int) -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    """Return Pillow's own font with letters of ``size`` pixels."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
