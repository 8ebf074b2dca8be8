"""Export of a page from a recorded result, or from a mechanism that is run for it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rtmbs import library
from rtmbs.errors import InputError, StepError
from rtmbs.viewer.session.connect import is_result, origin_of, playback
from rtmbs.viewer.web.page import Page, PageOptions, write_page

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
        warnings = tuple(message.text for message in recording.messages())
        return replace(write_page(recording, path, paging), warnings=warnings)
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
    from rtmbs.observers.observer import Every  # these load the kernels, which a recorded result does not need
    from rtmbs.viewer.session.describe import describe
    from rtmbs.viewer.session.playback import PlaybackConnection

    length = LENGTH * paging.speed if seconds is None else seconds
    if not (isinstance(length, int | float) and 0.0 < length < float("inf")):
        raise InputError(f"seconds is {seconds!r}; it must be a positive number")
    sim = origin_of(target, parameters, options).make({}, {})
    description = describe(sim, shapes=shapes)
    end = sim.t + max(round(length / sim.h), 1) * sim.h
    try:
        result = sim.run(end, record=Every(paging.speed / paging.rate))
    except StepError as error:
        if error.result is not None:
            write_page(PlaybackConnection(error.result, description), path, paging)
        raise
    return write_page(PlaybackConnection(result, description), path, paging)
