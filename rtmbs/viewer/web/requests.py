"""Requests of a browser as commands of a session, checked as those of a stranger.

A request is a JSON object ``{"do": "seek", "step": 120}``. Nothing that reads or writes a file can be asked for.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rtmbs.errors import InputError, unknown_name
from rtmbs.results.curves import Window, checked_window
from rtmbs.viewer.scene.description import SceneDescription, components
from rtmbs.viewer.scene.frame import OPTIONS, PLOTS
from rtmbs.viewer.session.commands import (
    Command,
    Drag,
    Grab,
    Loop,
    MoveGrab,
    Pause,
    Play,
    Rebuild,
    Redo,
    Release,
    Reload,
    Reset,
    Seek,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    StepBack,
    StepForward,
    Subscribe,
    Undo,
    Vector,
)
from rtmbs.viewer.session.describe import parameter_words
from rtmbs.viewer.session.plotted import Plotted, built_in_plots
from rtmbs.viewer.web.page import plotted_of


class ShowWindow(NamedTuple):
    """A browser shows another window of time in its plots; no command of the session."""

    window: Window


class ShowSpectrum(NamedTuple):
    """A browser shows spectra in its plots, or no longer; no command of the session."""

    on: bool


class GoTo(NamedTuple):
    """Go to the step that is nearest to a time [s]."""

    t: float


class Drawn(NamedTuple):
    """A browser has drawn a picture; no command of the session."""

    picture: int


Asked = Command | ShowWindow | ShowSpectrum | GoTo | Drawn

LONGEST = 8192  # bytes of a request
LONGEST_WORD = 300  # letters of a name
MOST_STEPS = 1000  # of one request
LARGEST = 1e12  # numbers beyond are no input
FARTHEST = 2**53  # steps
MOST_BUILT = 100  # bodies in a row, or what else a whole number of a factory counts


class RequestReader:
    """Reader of the requests to a session that shows ``description``."""

    def __init__(self, description: SceneDescription) -> None:
        self.description = description
        self._ticket = 0
        self.plotted = Plotted()  # plots of the last subscription

    @property
    def ticket(self) -> int:
        """Ticket of the last subscription."""
        return self._ticket

    def read(self, text: str | bytes) -> Asked:
        """Return the command of a request; InputError or UnknownNameError with a sentence for anything else."""
        if not isinstance(text, str) or len(text) > LONGEST:
            raise InputError(f"a request is text of at most {LONGEST} letters")
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("a request is a JSON object") from None
        if not isinstance(given, dict):
            raise InputError(f"a request is a JSON object, not {type(given).__name__}")
        name = word(given, "do")
        if name not in REQUESTS:
            raise unknown_name("request", name, REQUESTS)
        wanted, make = REQUESTS[name]
        if {*given} - {"do"} != {*wanted}:
            raise InputError(f"a request to {name!r} takes {', '.join(wanted) or 'nothing else'}")
        return make(self, given)

    # ---- commands with arguments ------------------------------------------------------------------------------------

    def step(self, given: Mapping[str, Any]) -> Command:
        """Return the command for ``count`` steps on, or back when it is negative."""
        count = whole(given, "count", MOST_STEPS)
        return StepForward(count) if count > 0 else StepBack(max(-count, 1))

    def input(self, given: Mapping[str, Any]) -> Command:
        """Return the command that sets an input which the user may set."""
        known = {one.name: one for one in self.description.inputs if one.settable}
        name = word(given, "name")
        if name not in known:
            raise unknown_name("input", name, known)
        value, size = given["value"], len(known[name].default)
        if size == 1 and not isinstance(value, list):
            return SetInput(name, number(given, "value"))
        return SetInput(name, vector(given, "value", size))

    def option(self, given: Mapping[str, Any]) -> Command:
        """Return the command that sets an option of the simulation, a word or a number."""
        name = word(given, "name")
        if name not in OPTIONS:
            raise unknown_name("option", name, OPTIONS)
        if choices := self.description.choices.get(name):
            value = word(given, "value")
            if value not in choices:
                raise unknown_name(f"{name}", value, choices)
            return SetOption(name, value)
        return SetOption(name, None if given["value"] is None else number(given, "value"))

    def grab(self, given: Mapping[str, Any]) -> Command:
        """Return the command that pulls a body at a point of it towards a point of the world [m]."""
        bodies = [body.name for body in self.description.bodies[1:]]
        name = word(given, "body")
        if name not in bodies:
            raise unknown_name("body", name, bodies)
        return Grab(name, point(given, "point"), point(given, "target"))

    def drag(self, given: Mapping[str, Any]) -> Command:
        """Return the command that moves a body with the loops kept; drags of one gesture are undone together."""
        grabbed = self.grab({**given})
        assert isinstance(grabbed, Grab)
        return Drag(grabbed.body, grabbed.point, grabbed.target, whole(given, "gesture", FARTHEST))

    def rebuild(self, given: Mapping[str, Any]) -> Command:
        """Return the command that builds the mechanism with other parameters of its function.

        A parameter keeps its kind. A text is one of the known words: another one could name a file.
        """
        known, values = self.description.parameters, given["parameters"]
        if not isinstance(values, dict):
            raise InputError("parameters is an object of names and values")
        if strange := next((name for name in values if name not in known), None):
            raise unknown_name("parameter", strange[:LONGEST_WORD], known)
        return Rebuild({name: like(values, name, known[name]) for name in values})

    def change_description(self, description: SceneDescription) -> Command | None:
        """Read for another mechanism, or for more of the same; return the command that plots the same channels again.

        None when nothing was plotted, or nothing of it is left.
        """
        self.description = description
        known = self._plottable()
        names = [name for name in self.plotted.names if name in known]
        self.plotted = Plotted()
        return self.subscribe({"names": names}) if names else None

    def _plottable(self) -> set[str]:
        channels = self.description.channels
        return {name for channel in channels for name in components(channel)} | {*built_in_plots(self.description)}

    def subscribe(self, given: Mapping[str, Any]) -> Command:
        """Return the command that plots channels by name."""
        names = given["names"]
        if not isinstance(names, list) or len(names) > PLOTS + len(built_in_plots(self.description)):
            raise InputError(f"names is a list of at most {PLOTS} channels")
        known = self._plottable()
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise unknown_name("channel", str(name)[:LONGEST_WORD], known)
        plotted = plotted_of(self.description, names)
        if len(plotted.columns) > PLOTS:
            raise InputError(f"names is a list of at most {PLOTS} channels")
        self._ticket += 1
        self.plotted = plotted
        return Subscribe(plotted.columns, self._ticket)


# ---- values ----------------------------------------------------------------------------------------------------------


def word(given: Mapping[str, Any], name: str) -> str:
    """Return a word of a request."""
    value = given.get(name)
    if not isinstance(value, str) or len(value) > LONGEST_WORD:
        raise InputError(f"{name} is a word of at most {LONGEST_WORD} letters")
    return value


def number(given: Mapping[str, Any], name: str) -> float:
    """Return a finite number of a request."""
    return finite(given[name], name)


def finite(value: Any, name: str) -> float:
    """Return a value that is a finite number; InputError names it otherwise."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or abs(value) > LARGEST or not math.isfinite(value):
        raise InputError(f"{name} is a number of at most {LARGEST:g}")
    return float(value)


def whole(given: Mapping[str, Any], name: str, most: int) -> int:
    """Return a whole number of a request, of a size of at most ``most``."""
    value = given[name]
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > most:
        raise InputError(f"{name} is a whole number of at most {most}")
    return value


def vector(given: Mapping[str, Any], name: str, size: int) -> tuple[float, ...]:
    """Return ``size`` finite numbers of a request."""
    values = given[name]
    if not isinstance(values, list) or len(values) != size:
        raise InputError(f"a request needs {size} numbers for {name}")
    return tuple(finite(value, name) for value in values)


def point(given: Mapping[str, Any], name: str) -> Vector:
    """Return a point of three numbers [m]."""
    x, y, z = vector(given, name, 3)
    return x, y, z


def switch(given: Mapping[str, Any], name: str) -> bool:
    """Return a truth value of a request."""
    if not isinstance(given[name], bool):
        raise InputError(f"{name} is true or false")
    return bool(given[name])


def like(given: Mapping[str, Any], name: str, before: Any) -> Any:
    """Return a value of the kind of ``before``: a switch, a whole number, a number, a known word."""
    if isinstance(before, bool):
        return switch(given, name)
    if isinstance(before, int):
        return whole(given, name, max(MOST_BUILT, 2 * abs(before)))
    if isinstance(before, float):
        return number(given, name)
    if not (words := parameter_words(name, before)):
        raise InputError(f"{name} is a text, which is set where the session was started")
    if (value := word(given, name)) not in words:
        raise unknown_name(name, value, words)
    return value


def speed(given: Mapping[str, Any]) -> Command:
    """Return the command for simulated seconds a second."""
    factor = number(given, "factor")
    if factor <= 0.0:
        raise InputError("factor is above zero")
    return SetSpeed(factor)


def window_of(value: Any) -> Window:
    """Return a window of time: nothing for the whole run, the last seconds, or two times [s]."""
    if isinstance(value, list):
        return checked_window(tuple(finite(one, "window") for one in value))
    return None if value is None else checked_window(finite(value, "window"))


Make = Callable[[RequestReader, Mapping[str, Any]], Asked]

REQUESTS: dict[str, tuple[tuple[str, ...], Make]] = {  # arguments, and the command that they make
    "play": ((), lambda _, given: Play()),
    "pause": ((), lambda _, given: Pause()),
    "reset": ((), lambda _, given: Reset()),
    "reload": ((), lambda _, given: Reload()),
    "rebuild": (("parameters",), RequestReader.rebuild),
    "undo": ((), lambda _, given: Undo()),
    "redo": ((), lambda _, given: Redo()),
    "release": ((), lambda _, given: Release()),
    "step": (("count",), RequestReader.step),
    "seek": (("step",), lambda _, given: Seek(whole(given, "step", FARTHEST))),
    "loop": (("on",), lambda _, given: Loop(switch(given, "on"))),
    "speed": (("factor",), lambda _, given: speed(given)),
    "reactions": (("on",), lambda _, given: ShowReactions(switch(given, "on"))),
    "input": (("name", "value"), RequestReader.input),
    "option": (("name", "value"), RequestReader.option),
    "grab": (("body", "point", "target"), RequestReader.grab),
    "drag": (("body", "point", "target", "gesture"), RequestReader.drag),
    "move": (("target",), lambda _, given: MoveGrab(point(given, "target"))),
    "subscribe": (("names",), RequestReader.subscribe),
    "window": (("window",), lambda _, given: ShowWindow(window_of(given["window"]))),
    "spectrum": (("on",), lambda _, given: ShowSpectrum(switch(given, "on"))),
    "drawn": (("picture",), lambda _, given: Drawn(whole(given, "picture", FARTHEST))),
    "time": (("t",), lambda _, given: GoTo(number(given, "t"))),
}
