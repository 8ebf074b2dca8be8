"""Colours: the white and the dark theme, and the colours of bodies in a theme."""

import re
from dataclasses import dataclass

from rtmbs.errors import unknown_name
from rtmbs.results.curves import COLORS
from rtmbs.viewer.scene.description import SceneDescription

Color = tuple[float, float, float, float]  # red, green, blue, opacity from 0 to 1


def rgba(text: str, opacity: float = 1.0) -> Color:
    """Return the colour written as ``#rrggbb``."""
    red, green, blue = (int(text[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return (red, green, blue, opacity)


@dataclass(frozen=True)
class Theme:
    """Colours as ``#rrggbb``."""

    name: str
    background: str  # of the scene
    panel: str  # of docks and tables
    field: str  # of what can be edited
    border: str
    text: str
    muted: str  # labels, units
    accent: str  # selections, the desired value
    good: str
    warning: str
    bad: str
    grid: str
    bodies: tuple[str, ...]  # one a family of bodies
    joint: str
    cut: str  # joints that are closed by equations
    ground: str
    spring: str
    force: str
    moment: str
    reaction: str
    reaction_moment: str
    shadow: float  # opacity where nothing but a shadow is
    grab: str
    selected: str
    plots: tuple[str, ...]  # curves


WHITE = Theme(
    name="white",
    background="#f6f7f9",
    panel="#ffffff",
    field="#f2f4f7",
    border="#d5dae1",
    text="#1f2933",
    muted="#66727f",
    accent="#1f6fb8",
    good="#2e8b57",
    warning="#b7791f",
    bad="#c0392b",
    grid="#b8c1cc",
    bodies=("#3b78b5", "#c98236", "#5a9471", "#a993d6", "#71808f", "#7d3346"),
    joint="#8a96a3",
    cut="#d1453b",
    ground="#4f5a66",
    spring="#3d33c9",
    force="#b0303c",
    moment="#0f8a93",
    reaction="#7a3fb5",
    reaction_moment="#cf4a9b",
    shadow=0.3,
    grab="#d99000",
    selected="#ffb400",
    plots=COLORS["white"],
)
DARK = Theme(
    name="dark",
    background="#1b1f25",
    panel="#23282f",
    field="#2c323a",
    border="#3a424c",
    text="#e4e8ec",
    muted="#97a3af",
    accent="#5aa7e8",
    good="#5bbf86",
    warning="#e0ab4f",
    bad="#ef6f63",
    grid="#46505b",
    bodies=("#5f9fd8", "#dca25c", "#77b790", "#cdbcf2", "#8592a0", "#b3566a"),
    joint="#aab5c0",
    cut="#f26d5f",
    ground="#8d98a4",
    spring="#8478ff",
    force="#f0707b",
    moment="#46c6cf",
    reaction="#c08bf0",
    reaction_moment="#f28ccb",
    shadow=0.65,
    grab="#ffc145",
    selected="#ffd24d",
    plots=COLORS["dark"],
)
THEMES = {theme.name: theme for theme in (WHITE, DARK)}


def theme_named(name: str) -> Theme:
    """Return a theme; UnknownNameError lists them."""
    if name not in THEMES:
        raise unknown_name("theme", name, THEMES)
    return THEMES[name]


def stem(name: str) -> str:
    """Return a name without its numbers."""
    return re.sub(r"[\W\d_]+", " ", name).strip()


def families(description: SceneDescription) -> list[int]:
    """Return a number for each body; bodies whose names differ only in digits share one, and so a colour."""
    stems = [stem(body.name) for body in description.bodies]
    known = {one: number for number, one in enumerate(dict.fromkeys(stems[1:]))}
    return [known.get(one, 0) for one in stems]


def body_colors(description: SceneDescription, theme: Theme) -> list[str]:
    """Return the colour of every body: the user's, or that of its family in the theme."""
    numbers = zip(description.bodies, families(description), strict=True)
    return [body.color or theme.bodies[number % len(theme.bodies)] for body, number in numbers]
