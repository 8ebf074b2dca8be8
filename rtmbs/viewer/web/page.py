"""Page: one file of HTML with a recorded run, its scene, and the program that plays it.

    from rtmbs.viewer.session.connect import playback
    from rtmbs.viewer.web.page import PageOptions, write_page

    write_page(playback("run.h5", model), "run.html", PageOptions(channels=("crank.angle",), traces=("tip",)))

Nothing is loaded from elsewhere: a policy of the page forbids it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs import library
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, StepError
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.shapes import Scale, typical_wrenches
from rtmbs.viewer.session.commands import Seek
from rtmbs.viewer.session.connect import is_result, origin_of, playback
from rtmbs.viewer.session.playback import PlaybackConnection
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
    reactions,
    sample_pictures,
    scenes_of,
    shadow,
    static_content,
    views_content,
)
from rtmbs.viewer.web.plots import other_run, plot_settings, plotted_of, recorded_curves, recorded_rows

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
