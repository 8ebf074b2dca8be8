"""How a body looks in pictures: its shapes, colour, opacity and edges. No mechanics reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rtmbs.errors import ModelError, UnknownNameError, shown, unknown_name
from rtmbs.model.checks import Numbers, number, switch
from rtmbs.model.shapes import Shape, checked_shapes

Shapes = Shape | Sequence[Shape]

# Colours by name. They keep some distance from black and white, so that both themes show them.
COLORS = {
    "aluminium": "#b8bec6",
    "black": "#2a2d31",
    "blue": "#2f6fd0",
    "brass": "#c9a84c",
    "brown": "#8a5a35",
    "copper": "#c07848",
    "cyan": "#2aa5b5",
    "gray": "#8a929b",
    "green": "#2e9a58",
    "grey": "#8a929b",
    "magenta": "#c0459f",
    "orange": "#e0812c",
    "pink": "#e38fa8",
    "purple": "#8258a8",
    "red": "#c8382c",
    "steel": "#7f8b98",
    "white": "#eef0f2",
    "yellow": "#e3b92e",
}


@dataclass(frozen=True, eq=False)
class Looks:
    """What the user said; nothing: the viewer draws bars between joints, in a colour of the theme."""

    shapes: tuple[Shape, ...] = ()
    color: str = ""  # "#rrggbb", "" for the theme's
    opacity: float = 1.0
    edges: bool = True  # sharp edges are drawn as lines


def make_looks(what: str, shape: Any, color: Any, opacity: Numbers, edges: Any) -> Looks:
    """Return checked looks; ModelError naming ``what``."""
    seen = number(opacity, f"{what}: opacity")
    if not 0.0 < seen <= 1.0:
        raise ModelError(f"{what}: opacity is {seen:g}; it must be above 0 and at most 1")
    if isinstance(shape, list | tuple) and not shape:
        raise ModelError(f"{what}: shape is {shown(shape)}; give at least one, or None for a bar between the joints")
    return Looks(
        () if shape is None else checked_shapes(what, shape),
        checked_color(what, color),
        seen,
        switch(edges, f"{what}: edges"),
    )


def checked_color(what: str, color: Any) -> str:
    """Return a colour as "#rrggbb", "" for none; ModelError for anything else."""
    if color is None or color == "":
        return ""
    if isinstance(color, str):
        text = color.strip().lower()
        if text in COLORS:
            return COLORS[text]
        if len(text) == 7 and text[0] == "#" and set(text[1:]) <= set("0123456789abcdef"):
            return text
        if text and text[0] != "#":
            raise UnknownNameError(f"{what}: {unknown_name('color', color, COLORS)}")
    raise ModelError(f"{what}: color is {shown(color)}; it must be '#rrggbb' or a name such as 'steel'")
