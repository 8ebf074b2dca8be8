"""Page: one file of HTML with a recorded run, its scene and plots as plain data, and the program that plays it.

    from rtmbs.viewer.session.connect import playback
    from rtmbs.viewer.web.page import PageOptions, write_page

    write_page(playback("run.h5", model), "run.html", PageOptions(channels=("crank.angle",), traces=("tip",)))

Nothing is loaded from elsewhere: a policy of the page forbids it. Plots are what ``results/curves.py`` and ``Plotted``
decide, for ``curves.js`` to draw.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs import library
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, StepError
from rtmbs.results import figure
from rtmbs.results.channel import units_of
from rtmbs.results.curves import (
    BEYOND,
    CHOSEN,
    DASHES,
    DECADE,
    DEGREES,
    FEWEST_LINES,
    FREQUENCY,
    LOG_MARGIN,
    MARGIN,
    MARKED,
    NO_LEVER,
    OFFSET,
    OVER_TIME,
    ROUNDING,
    SEEN,
    SQUARE,
    TINIEST,
    TOGETHER,
    WINDOWS,
    Curve,
    Panel,
    bracketed,
    frequency_range,
    least_span,
    shown_lines,
    spectral,
    thinned,
)
from rtmbs.results.result import Result, load_result
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription, components
from rtmbs.viewer.scene.frame import ELASTIC, FIRST, KINETIC, Frame, T
from rtmbs.viewer.scene.shapes import Scale, typical_wrenches
from rtmbs.viewer.session.commands import Seek
from rtmbs.viewer.session.connect import is_result, origin_of, playback
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.session.plotted import ENERGY, VIOLATION, ComparedResult, Plotted
from rtmbs.viewer.web.content import (
    Array,
    PageOptions,
    around_followed,
    axes,
    check,
    colors,
    fixed_content,
    moving_content,
    page_text,
    pieces,
    quantised,
    reactions,
    sample_pictures,
    scenes_of,
    shadow,
    static_content,
    views_content,
)

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
            "spectra": {"seen": SEEN, "beyond": BEYOND, "fewest": FEWEST_LINES, "tiniest": TINIEST},
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
        rows = shown_lines(lines.over, lines.y[:, None], frequency_range([(lines.over, lines.y)]))
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


FEWEST = 2  # pictures: a page with fewer plays nothing
MOST = 200_000  # pictures of a page at most
MOVING = ("t", "r", "q", "loose", "channels", "curve_t", "reactions")  # content that grows with the pictures
SPARE = 0.92  # share of the limit that a second try aims at
TRIES = 6
ROWS, LEAST_ROWS = 4, 3000  # samples of a curve for each picture, and at least
EARLY = 1e-9  # of a time between pictures: a sample that comes this little early is in time


@dataclass(frozen=True)
class Page:
    """Report of a page: file, size, pictures and warnings."""

    path: Path
    bytes: int
    pictures: int
    rate: float  # pictures a second of the replay; lower than wanted where the limit asked for it
    warnings: tuple[str, ...] = ()  # what a damaged history, or a compared run, lacks


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
    scenes = scenes_of(description, frame_at(connection, 0))
    fixed = (
        fixed_content(description, paging) | colors(description) | axes(next(iter(scenes.values()))) | plot_settings()
    )
    fixed["facts"] |= {"recorded": connection.recording.result.name}
    drawn = {name: pieces(scene) for name, scene in scenes.items()}
    first = next(iter(scenes))
    around = around_followed(scenes[first], fixed["follow"])
    t, rate = connection.recording.t, paging.rate
    for _ in range(TRIES):
        samples = picture_samples(t, paging.speed / rate)
        if len(samples) > MOST:
            rate *= SPARE * MOST / len(samples)
            continue
        pictures = sample_pictures(
            (frame_at(connection, sample) for sample in samples.tolist()), scenes[first], drawn[first]
        )
        content = (
            fixed
            | static_content(drawn, pictures.loose)
            | moving_content(pictures)
            | curves(connection, paging, len(samples))
            | shadow(scenes[first])
        )
        if paging.reactions:
            wrenches = connection.reactions()
            content |= reactions(scenes[first], wrenches[samples], arrow_scale(connection, wrenches, paging.newtons))
        text = (form or page_text)(content | views_content(description, pictures, paging) | around)
        if len(text) <= paging.limit:
            return replace(save_page(path, text, len(samples), rate), warnings=lacking(description, paging))
        if len(samples) <= FEWEST:
            break
        rate *= SPARE * fitting_share(text, paging.limit, content)
    raise InputError(
        f"a page of {description.name!r} needs more than {paging.limit / 1e6:g} MB even with few pictures; raise the "
        "limit, or record a shorter run"
    )


def lacking(description: SceneDescription, paging: PageOptions) -> tuple[str, ...]:
    """Return a sentence about the plots that the compared run has nothing for."""
    other = other_run(paging.compared)
    names = [] if other is None else other.lacks(plotted_of(description, paging.channels))
    return (f"{other.name} has nothing for {', '.join(names)}",) if other is not None and names else ()


def fitting_share(text: bytes, limit: int, content: dict[str, Any]) -> float:
    """Return the share of the pictures that fits into ``limit`` bytes."""
    pictures = sum(len(json.dumps(content[name])) for name in MOVING if name in content)
    return max(min((limit - (len(text) - pictures)) / pictures, 1.0), 0.02)


def save_page(path: str | Path, text: bytes, pictures: int, rate: float) -> Page:
    """Write the file; InputError when the disk refuses it."""
    try:
        with replacing(path) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"page {str(path)!r} cannot be written: {error.strerror or error}") from error
    return Page(Path(path), len(text), pictures, rate)


def picture_samples(t: Array, every: float) -> NDArray[np.int64]:
    """Return the samples at times ``t`` (S,) of which pictures are made: one about ``every`` seconds, first and last.

    No sample is made up between two: a picture is always one of the result.
    """
    spans = np.floor((t - t[0]) / every + EARLY) if every > 0.0 else np.arange(len(t))
    return np.unique(np.append(np.flatnonzero(np.diff(spans, prepend=-1.0)), len(t) - 1))


def arrow_scale(connection: PlaybackConnection, wrenches: Array, newtons: float | None) -> Scale:
    """Return the scale of the arrows of reactions (S, nj, 6): one metre is ``newtons``, or fits the run."""
    scale = Scale(connection.describe())
    scale.fit(typical_wrenches(wrenches))
    if newtons is not None:
        scale.choose(newtons)
    return scale


def frame_at(connection: PlaybackConnection, sample: int) -> Frame:
    """Return the frame of a sample."""
    connection.send(Seek(sample))
    frame = connection.latest()
    assert frame is not None
    return frame


def curves(connection: PlaybackConnection, paging: PageOptions, pictures: int) -> dict[str, Any]:
    """Return the plotted channels; of a long run as many samples as a page of so many pictures has room for."""
    plotted, recording, other = (
        plotted_of(connection.describe(), paging.channels),
        connection.recording,
        other_run(paging.compared),
    )
    values = connection.columns(plotted.columns)
    rows, zero = recorded_rows(plotted, recording.result, recording.t, values)
    found = {
        name: plotted.curves(name, rows, zero)
        + ([] if other is None else plotted.other(name, other.result, other.name))
        for name in plotted.names
    }
    return recorded_curves(plotted, found, max(ROWS * pictures, LEAST_ROWS))


# ---- export of a result, or of a mechanism that is run for it --------------------------------------------------------

LENGTH = 10.0  # [s] of a replay unless given


def export(
    target: Any,
    path: str | Path,
    *,
    seconds: float | None = None,
    model: Any = None,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    shapes: Any = None,
    paging: PageOptions | None = None,
) -> Page:
    """Write a page that plays ``target`` in a browser, and return its size and pictures.

    target: a Result or its file, whose bodies and joints are those of ``model``; or what ``rtmbs.view`` takes, which is
    run for ``seconds`` (simulated; ten seconds of the replay unless given).
    parameters, options, shapes: as of ``rtmbs.view``.  paging: what is shown, and how large the file may be.

    A step that fails ends the run: the page holds the run so far, and the StepError is raised.
    Raises InputError and UnknownNameError as ``write_page`` and ``rtmbs.view`` do.

        export("run.h5", "run.html", model=model)
        export("fourbar", "fourbar.html", parameters={"ny": 2, "nz": 4}, seconds=5.0)
    """
    if is_result(target):
        if seconds is not None:
            raise InputError("seconds are for a mechanism that is run; a recorded result is shown as long as it is")
        recording = playback(target, model)
        warnings = tuple(message.text for message in recording.messages() if message.kind == "warning")
        page = write_page(recording, path, paging)
        return replace(page, warnings=warnings + page.warnings)
    paging = paging or PageOptions()
    if isinstance(target, str) and target in library.WATCHED_AT and paging.speed == PageOptions.speed:
        paging = replace(paging, speed=library.WATCHED_AT[target])
    return run_for_page(target, path, seconds, parameters, options, shapes, paging)


def run_for_page(
    target: Any,
    path: str | Path,
    seconds: float | None,
    parameters: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    shapes: Any,
    paging: PageOptions,
) -> Page:
    """Run a mechanism and write its page."""
    from rtmbs.simulation.observers.observer import (
        Every,  # these load the kernels, which a recorded result does not need
    )
    from rtmbs.viewer.session.describe import describe
    from rtmbs.viewer.session.playback import PlaybackConnection

    length = LENGTH * paging.speed if seconds is None else seconds
    if not (isinstance(length, int | float) and 0.0 < length < float("inf")):
        raise InputError(f"seconds is {seconds!r}; it must be a positive number")
    sim = origin_of(target, parameters, options).make({}, {})
    description = describe(sim, shapes=shapes)
    end, before = sim.t + max(round(length / sim.h), 1) * sim.h, sim.state.copy()
    try:
        result = sim.run(end, record=Every(paging.speed / paging.rate))
    except StepError as error:
        if error.result is not None:
            write_page(PlaybackConnection(error.result, description), path, paging)
        raise
    finally:
        sim.restore(before)  # a Simulation of the user stays as it was
    return write_page(PlaybackConnection(result, description), path, paging)
