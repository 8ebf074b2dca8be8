"""Plots of a page as plain data: what ``results/curves.py`` and ``Plotted`` decide, for ``curves.js`` to draw."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.results import figure
from rtmbs.results.channel import units_of
from rtmbs.results.curves import (
    CHOSEN,
    DASHES,
    DECADE,
    DEGREES,
    FREQUENCY,
    LOG_MARGIN,
    MARGIN,
    MARKED,
    NO_LEVER,
    OFFSET,
    OVER_TIME,
    ROUNDING,
    SQUARE,
    TOGETHER,
    WINDOWS,
    Curve,
    Panel,
    bracketed,
    least_span,
    spectral,
    thinned,
)
from rtmbs.results.result import Result, load_result
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription, components
from rtmbs.viewer.scene.frame import ELASTIC, FIRST, KINETIC, T
from rtmbs.viewer.session.plotted import ENERGY, VIOLATION, ComparedResult, Plotted
from rtmbs.viewer.web.content import quantised

Array = NDArray[np.float64]
Curves = Mapping[str, Sequence[Curve]]  # by the name of the channel or built-in plot

FINENESS = 2.0**-16  # quantum of a channel, in its range
BUILT_IN = {"energy": ENERGY, "violation": VIOLATION}  # words for plots that need no channel


def plot_settings() -> dict[str, Any]:
    """Return windows of time, dashes, the rules of axes, and sizes and styles of figures."""
    return {
        "plots": {
            "windows": list(WINDOWS.items()),
            "chosen": CHOSEN,
            "time": OVER_TIME,
            "frequency": FREQUENCY,
            "dashes": DASHES,
            "margin": MARGIN,
            "decade": DECADE,
            "log_margin": LOG_MARGIN,
            "marked": MARKED,
            "offset": OFFSET,
            "rounding": ROUNDING,
            "no_lever": NO_LEVER,
            "square": SQUARE,
            "degrees": {unit_words(unit): unit_words(turned) for unit, turned in DEGREES.items()},
            "figure": {
                "sizes": figure.SIZES,
                "styles": figure.STYLES,
                "grey": figure.GREY,
                "least": figure.LEAST,
                "most": figure.MOST,
                "dots": figure.DOTS,
                "letters": figure.LETTERS,
            },
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


# ---- what is plotted -------------------------------------------------------------------------------------------------


class OtherRun(NamedTuple):
    """A recorded result that is compared, and its name."""

    name: str
    result: ComparedResult

    def lacks(self, plotted: Plotted) -> list[str]:
        """Return the plots that it has nothing for."""
        return [name for name in plotted.names if not plotted.other(name, self.result, self.name, slice(0, 0))]


def other_run(compared: Any) -> OtherRun | None:
    """Return the compared run of a Result or of its file; None for none.

    Raises ResultError or InputError for a file that cannot be read.
    """
    if compared is None:
        return None
    if isinstance(compared, Result):
        return OtherRun(f"{compared.name}, compared", ComparedResult(compared))
    return OtherRun(Path(compared).name, ComparedResult(load_result(Path(compared))))


def plotted_of(description: SceneDescription, names: Iterable[str]) -> Plotted:
    """Return the plots of numbers "name[axis]", whole channels, and built-in plots or their words."""
    known = {channel.name: components(channel) for channel in description.channels}
    asked = (BUILT_IN.get(name, name) for name in names)
    parts = dict.fromkeys(part for name in asked for part in known.get(name, (name,)))
    unit_of = units(description)
    channels = {
        part: ChannelDescription(part, (), unit_of.get(part, "")) for part in parts if part not in BUILT_IN.values()
    }
    return Plotted(tuple(parts), channels)


def recorded_rows(plotted: Plotted, result: Result, t: Array, values: Array) -> tuple[Array, float]:
    """Return rows as of the strip of a session from a recorded result, and its first energy [J].

    Raises InputError for a built-in plot that the result has no numbers for.
    """
    rows = np.full((len(t), FIRST + values.shape[1]), np.nan)
    rows[:, T], rows[:, FIRST:] = t, values
    if VIOLATION in plotted.names:
        raise InputError("a recorded result has no loop violation of the whole; plot JOINT.violation of a cut joint")
    if ENERGY not in plotted.names:
        return rows, 0.0
    energies = ComparedResult(result).energies()
    if energies is None:
        raise InputError(f"result {result.name!r} holds no energies, so 'energy' cannot be plotted")
    rows[:, KINETIC : ELASTIC + 1] = energies[:, :3]
    return rows, float(energies[0, :3].sum()) if len(energies) else 0.0


# ---- as plain data ---------------------------------------------------------------------------------------------------


def in_runs(curves: Curves) -> list[Curve]:
    """Return all curves, those of the first run before those of the other."""
    return sorted((curve for same in curves.values() for curve in same), key=lambda curve: curve.run)


def panel_content(plotted: Plotted, curves: Curves) -> dict[str, list[dict[str, Any]]]:
    """Return the panels of some curves, for everything that may share a panel."""
    places = {(curve.run, curve.label): place for place, curve in enumerate(in_runs(curves))}
    return {
        together: [panel_data(panel, places) for panel in replace(plotted, together=together).panels(curves)]
        for together in TOGETHER
    }


def panel_data(panel: Panel, places: Mapping[tuple[int, str], int]) -> dict[str, Any]:
    """Return one panel: its words, and for each curve the place of its number, its names, its colour and its run."""
    title, names = panel.heading
    words = dict(zip(dict.fromkeys(curve.label for curve in panel.curves), names, strict=True))
    rows = [[places[curve.run, curve.label], *words[curve.label], curve.run, curve.said] for curve in panel.curves]
    return {
        "title": title,
        "unit": panel.unit_words.strip(),
        "least": least_span(panel.unit),
        "forces": [places[curve.run, curve.label] for curve in panel.forces],
        "label": panel.y_label,
        "log": panel.log,
        "runs": list(panel.runs.items()),
        "curves": rows,
    }


def channel_content(plotted: Plotted, curve: Curve) -> dict[str, Any]:
    """Return what a page knows of a number: name, unit, run, and whether others can be drawn over it."""
    return {
        "name": curve.label,
        "unit": curve.unit,
        "words": unit_words(curve.unit),
        "run": curve.run,
        "over": curve.label in plotted.channels,
    }


def tables(curves: Sequence[Curve], most: int) -> list[Array]:
    """Return time and values (k, 1 + c) of the curves of every run, thinned to about ``most`` rows without a lost peak.

    A run without curves has a table without rows.
    """
    found = []
    for run in range(1 + max((curve.run for curve in curves), default=-1)):
        own = [curve for curve in curves if curve.run == run]
        if not own:
            found.append(np.zeros((0, 1)))
            continue
        values = np.stack([curve.y for curve in own], axis=1)
        rows = thinned(values, most)
        found.append(np.column_stack([own[0].t[rows], values[rows]]))
    return found


def spectra(curves: Sequence[Curve]) -> list[tuple[Array, Array]]:
    """Return frequencies [Hz] and amplitudes of curves over time, thinned."""
    found = []
    for curve in curves:
        lines = spectral(curve)
        rows = thinned(lines.y[:, None])
        found.append((lines.over[rows], lines.y[rows]))
    return found


def recorded_curves(plotted: Plotted, curves: Curves, most: int) -> dict[str, Any]:
    """Return the curves of a recorded run, and of one that is compared, as content of a page."""
    ordered = in_runs(curves)
    if not ordered:
        return {"channels": []}
    made = tables(ordered, most)
    channels = []
    for run, table in enumerate(made):
        own = [curve for curve in ordered if curve.run == run]
        for curve, column in zip(own, table[:, 1:].T, strict=True):
            channels.append(channel_content(plotted, curve) | packed(column))
    return {
        "channels": channels,
        "curve_t": [
            quantised(table[:, 0], max(float(np.ptp(table[:, 0])) if len(table) else 0.0, 1e-9) * 2.0**-30)
            for table in made
        ],
        "spectra": [[packed(f, 2.0**-30), packed(amplitudes)] for f, amplitudes in spectra(ordered)],
        "panels": panel_content(plotted, curves),
    }


def packed(column: Array, fineness: float = FINENESS) -> dict[str, Any]:
    """Return numbers (k,) as those beside the first one: small changes of a large number keep their digits."""
    finite = column[np.isfinite(column)]
    span = float(np.ptp(finite)) if len(finite) else 0.0
    base = float(finite[0]) if len(finite) else 0.0
    return {"base": base, "values": quantised(column - base, fineness * (span or 1.0))}
