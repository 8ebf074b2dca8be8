"""Name, time and speed on a picture. Pillow writes the words, so neither a window nor OpenGL is needed."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.viewer.theme import Theme

if TYPE_CHECKING:
    from PIL import ImageFont

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

SHARE, LEAST = 0.026, 11  # height of a letter in heights of a picture, and in pixels
HALO = 0.75  # opacity of the ground behind the words


def stamped(picture: Picture, name: str, t: float, speed: float, theme: Theme) -> Picture:
    """Return a picture with the name of a mechanism, the time [s] and the speed in its upper left corner.

    Raises InputError without Pillow.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise InputError("words on pictures need Pillow; pip install 'rtmbs[viewer]' brings it") from None
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
