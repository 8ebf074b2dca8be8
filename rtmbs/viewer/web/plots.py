"""Plots of a page as plain data: what ``results/curves.py`` decides, for ``curves.js`` to draw."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.channel import units_of
from rtmbs.results.curves import (
    DASHES,
    DEGREES,
    MARGIN,
    MARKED,
    OFFSET,
    ROUNDING,
    SQUARE,
    TOGETHER,
    WINDOWS,
    Curve,
    Panel,
    bracketed,
    panels_of,
    thinned,
)
from rtmbs.viewer.scene.description import SceneDescription, components
from rtmbs.viewer.web.content import quantised

Array = NDArray[np.float64]

FINENESS = 2.0**-16  # quantum of a channel, in its range


def plot_settings() -> dict[str, Any]:
    """Return windows of time, dashes, and the rules of axes."""
    return {
        "plots": {
            "windows": list(WINDOWS.items()),
            "dashes": DASHES,
            "margin": MARGIN,
            "marked": MARKED,
            "offset": OFFSET,
            "rounding": ROUNDING,
            "square": SQUARE,
            "degrees": {unit_words(unit): unit_words(turned) for unit, turned in DEGREES.items()},
        }
    }


def units(description: SceneDescription) -> dict[str, str]:
    """Return the unit of every number of every channel."""
    return {
        part: unit
        for channel in description.channels
        for part, unit in zip(components(channel), units_of(channel.axes, channel.unit), strict=True)
    }


def unit_words(unit: str) -> str:
    """Return a unit as a heading writes it: "[m/s]", and nothing for a pure number."""
    return bracketed(unit).strip()


def all_components(description: SceneDescription, names: Sequence[str]) -> tuple[str, ...]:
    """Return the numbers of channels: "name[axis]" as it is, and every component of a whole channel."""
    known = {channel.name: components(channel) for channel in description.channels}
    return tuple(dict.fromkeys(part for name in names for part in known.get(name, (name,))))


def panel_content(names: Sequence[str], unit_of: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the panels of some numbers, for everything that may share a panel."""
    nothing = np.zeros(0)
    curves = [Curve(name, unit_of.get(name, ""), nothing, nothing) for name in names]
    places = {name: place for place, name in enumerate(names)}
    return {together: [panel_data(panel, places) for panel in panels_of(curves, together)] for together in TOGETHER}


def panel_data(panel: Panel, places: dict[str, int]) -> dict[str, Any]:
    """Return one panel: title, unit, and for each curve the place of its number, its name and its colour."""
    title, names = panel.heading
    rows = [[places[curve.label], word, color] for curve, (word, color) in zip(panel.curves, names, strict=True)]
    return {"title": title, "unit": panel.unit_words.strip(), "curves": rows}


def recorded_curves(
    description: SceneDescription, names: Sequence[str], t: Array, values: Array, most: int
) -> dict[str, Any]:
    """Return times and values (S, len(names)) of a run, thinned to about ``most`` rows without loss of a peak."""
    if not names:
        return {"channels": []}
    rows, unit_of = thinned(values, most), units(description)
    found = []
    for name, column in zip(names, values[rows].T, strict=True):
        finite = column[np.isfinite(column)]
        span = float(np.ptp(finite)) if len(finite) else 0.0
        base = float(finite[0]) if len(finite) else 0.0  # small changes of a large number keep their digits
        packed = quantised(column - base, FINENESS * (span or 1.0))
        unit = unit_of.get(name, "")
        found.append({"name": name, "unit": unit, "words": unit_words(unit), "base": base, "values": packed})
    return {
        "channels": found,
        "curve_t": quantised(t[rows], max(float(np.ptp(t)), 1e-9) * 2.0**-30),
        "panels": panel_content(names, unit_of),
    }
