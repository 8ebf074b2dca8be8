"""Live page: a session in any browser. A server sends the page once and its pictures over a WebSocket.

The page is that of a recorded run with one picture, which every frame replaces. The address holds a secret, and only
this computer is listened to unless told otherwise.
"""

import asyncio
import hmac
import json
import math
import secrets
import struct
import time
import webbrowser
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError
from rtmbs.numerics.rotations.quaternions import quaternions
from rtmbs.results.curves import LIVE_WINDOW, Curve, Span, Window, shown_unit, span_of, visible
from rtmbs.viewer import keys
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT
from rtmbs.viewer.scene.description import SceneDescription, slider_range
from rtmbs.viewer.scene.elements import second_names
from rtmbs.viewer.scene.frame import FIRST, OPTIONS, Frame, Strip, T
from rtmbs.viewer.scene.shapes import Scale
from rtmbs.viewer.session.commands import BUILD_TIP, OPTION_TIPS, Seek, ShowReactions, option_title
from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.session.describe import parameter_unit, parameter_words
from rtmbs.viewer.session.plotted import Plotted, built_in_plots, step_at
from rtmbs.viewer.text import error_sentence
from rtmbs.viewer.web.content import (
    LIVE_ACTIONS,
    PageOptions,
    around_followed,
    axes,
    check,
    colors,
    fixed_content,
    key_row,
    moving_content,
    page_text,
    piece_array,
    pieces,
    place_of,
    reactions,
    sample_pictures,
    scenes_of,
    shadow,
    static_content,
    views_content,
    with_only,
)
from rtmbs.viewer.web.page import (
    OtherRun,
    channel_content,
    in_runs,
    other_run,
    panel_content,
    plot_settings,
    plotted_of,
    spectra,
    tables,
    unit_words,
    units,
)
from rtmbs.viewer.web.requests import LONGEST, Drawn, GoTo, RequestReader, ShowSpectrum, ShowWindow

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

Array = NDArray[np.float64]

RATE = 30.0  # pictures a second
CURVES, SPECTRA = 0.2, 1.0  # [s] between curves, and between spectra
FIRST_FRAME = 60.0  # [s] that a first frame is waited for
WAITING, PATIENCE = 2, 0.5  # pictures that wait to be drawn; [s] between pictures to a page that draws none
GOODBYE = 0.5  # [s] that viewers have to close
MOST_VIEWERS = 32
MOST_WORDS = 64  # texts that wait for one viewer
MOST_REFUSED = 50  # requests of one viewer, after which it is sent away


# ---- page and pictures -----------------------------------------------------------------------------------------------


class LiveScene:
    """Page of one mechanism, and messages that replace its picture.

    A body carries what is drawn on it. Springs, arrows and pulls move by themselves: a picture has their places. A page
    has room for those that its first frame has; ``fits`` tells when a frame has more.
    """

    def __init__(self, description: SceneDescription, frame: Frame, paging: PageOptions) -> None:
        self.description, self._scale = description, Scale(description)
        self._scale.grows = True
        self._knows_way = knows_way(frame)
        scenes = scenes_of(description, frame)
        self._scene = next(iter(scenes.values()))
        drawn = {name: pieces(scene) for name, scene in scenes.items()}
        self._pieces = next(iter(drawn.values()))
        shown = dict(self._scene.shown)
        self._pull = {id(batch) for batch in with_only(self._scene, "").batches()}  # the page draws it by itself
        self._scene.shown = shown
        self._offered = self._filled()
        pictures = sample_pictures([frame, frame], self._scene, self._pieces)
        self._loose = {number: places.shape[1] for number, places in pictures.loose.items()}
        fixed = fixed_content(description, paging)
        fixed["keys"] += [(*key_row(keys.BY_ACTION[action]), action) for action in LIVE_ACTIONS]
        fixed["mouse"] += [row for row in keys.MOUSE if "Ctrl" in row[0]]
        self.content = (
            fixed
            | colors(description)
            | axes(self._scene)
            | static_content(drawn, pictures.loose)
            | moving_content(pictures)
            | plot_settings()
            | {"channels": [], "panels": {}, "live": live_content(description, frame)}
            | views_content(description, pictures, paging)
            | around_followed(self._scene, fixed["follow"])
            | shadow(self._scene)
        )
        if description.joints and description.live:
            nothing = np.zeros((1, len(description.joints), 6))
            self.content |= reactions(self._scene, nothing, self._scale)

    def _filled(self) -> list[bool]:
        """Return which batches hold something: a page lacks those that do not."""
        return [len(batch) > 0 for batch in self._scene.batches() if id(batch) not in self._pull]

    def fits(self, frame: Frame) -> bool:
        """Show a frame; False when a new page is needed: the frame has more parts, or knows where the motion goes."""
        if frame.generation != self.description.generation or self.lacks_way(frame):
            return False
        self._scene.show(frame)
        if any(now and not before for now, before in zip(self._filled(), self._offered, strict=True)):
            return False
        return all(len(piece_array(self._pieces[k].drawn)) <= count for k, count in self._loose.items())

    def lacks_way(self, frame: Frame) -> bool:
        """True for a frame that knows where the motion goes, which this page did not: its floor may lie too high."""
        return knows_way(frame) and not self._knows_way

    def picture(self, frame: Frame, curves: tuple[dict[str, Any], Array] | None) -> bytes:
        """Return a message: the length of its head, the head as JSON, and numbers as float32.

        Numbers: origins and orientations of the bodies, places of what moves by itself, reactions, curves.
        """
        places = [np.ravel(place_of(self._pieces[k].drawn)) for k in self._loose]
        numbers = [frame.r.ravel(), quaternions(frame.A).ravel(), *places]
        head = picture_head(frame, self.description) | {"loose": [len(one) for one in places]}
        if "reactions" in self.content and np.any(np.isfinite(frame.reactions)):
            self._scale.fit(frame.reactions)
            head["arrows"] = [self._scale.newtons, self._scale.moments]
            numbers += [frame.reactions[:, :3].ravel(), frame.reactions[:, 3:].ravel()]
        if curves is not None:
            head["curves"], table = curves
            numbers.append(table)
        text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode("utf-8")
        text += b" " * (-len(text) % 4)  # float32 begin at a multiple of four
        return struct.pack("<I", len(text)) + text + np.concatenate(numbers).astype("<f4").tobytes()


def knows_way(frame: Frame) -> bool:
    """True when a frame tells where the mechanism will be in the first seconds: floor and picture hold that."""
    return bool(np.isfinite(frame.way[0, 0]))


def live_content(description: SceneDescription, frame: Frame) -> dict[str, Any]:
    """Return inputs, options, parameters and channels of a page, with the ends of their sliders."""
    inputs = [
        {
            "name": one.name,
            "unit": shown_unit(one.unit),
            "value": frame.inputs[one.place].tolist(),
            "ends": [slider_range(float(value)) for value in one.default],
        }
        for one in description.inputs
        if one.settable
    ]
    twice = second_names(description)
    return {
        "inputs": inputs,
        "parameters": [*parameter_content(description)] if description.live else [],
        "choices": {name: list(words) for name, words in description.choices.items()},
        "words": {name: [option_title(name), OPTION_TIPS[name]] for name in ("h", *description.choices)},
        "channels": [
            *([name, ""] for name in built_in_plots(description)),
            *([name, unit_words(unit)] for name, unit in units(description).items() if name not in twice),
        ],
        "settable": description.live,
        "window": LIVE_WINDOW if description.live else None,
        "directions": np.round(DIRECTIONS, 4).tolist(),
        "reach": MOTION_LIMIT,
    }


def parameter_content(description: SceneDescription) -> Iterator[dict[str, Any]]:
    """Yield the parameters of the function of a mechanism; no texts but known words."""
    for name, value in description.parameters.items():
        words, note = parameter_words(name, value), description.notes.get(name, "")
        if words or not isinstance(value, str):
            tip = f"{note} ({BUILD_TIP})" if note else BUILD_TIP
            yield {
                "name": name,
                "value": value,
                "whole": isinstance(value, int),
                "words": list(words),
                "unit": shown_unit(parameter_unit(note)),
                "tip": tip,
            }


def picture_head(frame: Frame, description: SceneDescription) -> dict[str, Any]:
    """Return what a message says of a frame in words and single numbers; None for what is no number."""
    grab = None
    if frame.grabbed >= 0:
        grab = {"point": frame.grab_point.tolist(), "target": frame.grab_target.tolist(), "force": frame.grab_force}
    options = {name: frame.option(name, description.choices.get(name, ())) for name in OPTIONS}
    told = {
        "number": frame.number,
        "t": frame.t,
        "step": frame.step,
        "oldest": frame.oldest,
        "newest": frame.newest,
        "h": frame.h,
        "playing": frame.playing,
        "looping": frame.looping,
        "speed": frame.desired_speed,
        "actual": frame.actual_speed,
        "p50": frame.p50,
        "missed": frame.missed,
        "outcome": frame.outcome.name,
        "energy": frame.energy,
        "violation": frame.position_violation,
        "inputs": [frame.inputs[one.place].tolist() for one in description.inputs if one.settable],
        "options": options,
        "grab": grab,
    }
    found: dict[str, Any] = finite_only(told)
    return found


def finite_only(value: Any) -> Any:
    """Return a value for JSON, None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite_only(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite_only(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- curves of a page: rows of the strip in the window of time of one browser, or their spectra ----------------------

SAMPLES = 1600  # rows of the curves that are sent, about; a plot is rarely wider in pixels


class View(NamedTuple):
    """What the plots of one browser show."""

    window: Window = None
    spectrum: bool = False


def curves_state(strip: Strip | None, reader: RequestReader, frame: Frame, view: View) -> tuple[Any, ...] | None:
    """Return a value that changes with the curves of a view; None while there are none."""
    if strip is None or not reader.plotted.names or strip.ticket != reader.ticket:
        return None
    return strip.stamp, reader.ticket, view, frame.t if isinstance(view.window, float) else 0.0


def curves_of_view(
    strip: Strip | None, plotted: Plotted, frame: Frame, view: View, other: OtherRun | None
) -> tuple[dict[str, Any], Array] | None:
    """Return what a message says of the curves, and their numbers; None where there are none.

    Numbers: of each run the times before its last one, and values relative to a number of each channel, since a message
    has single precision; then frequencies and amplitudes of every number, where spectra are wanted.
    """
    rows = None if strip is None else strip.read(range(FIRST + len(plotted.columns)))
    if strip is None or rows is None or not len(rows):
        return None
    ends = float(rows[0, T]), float(rows[-1, T])
    span = span_of(view.window, *ends, frame.t) if view.spectrum else reach(view.window, frame.t, *ends)
    curves = {name: curves_in(plotted, name, rows, strip.start_energy, span, other) for name in plotted.names}
    ordered = in_runs(curves)
    made = tables(ordered, SAMPLES)
    values = [column for table in made for column in table[:, 1:].T]
    bases = [float(column[known][0]) if (known := np.isfinite(column)).any() else 0.0 for column in values]
    last = [float(table[-1, 0]) if len(table) else 0.0 for table in made]
    found = spectra(ordered) if view.spectrum else []
    head = {
        "channels": [channel_content(plotted, curve) for curve in ordered],
        "names": [curve.label for curve in ordered],
        "rows": [len(table) for table in made],
        "last": last,
        "ends": ends,
        "bases": bases,
        "spectra": [len(f) for f, _ in found],
        "panels": panel_content(plotted, curves),
    }
    return head, np.concatenate([*relative(made, last, bases), *(part for pair in found for part in pair)])


def curves_in(
    plotted: Plotted, name: str, rows: Array, zero: float, span: Span, other: OtherRun | None
) -> Sequence[Curve]:
    """Return the curves of a name in a span of time, with those of the other run."""
    own = plotted.curves(name, rows[visible(rows[:, T], span)], zero)
    if other is None:
        return own
    return own + plotted.other(name, other.result, other.name, visible(other.result.t, span))


def relative(made: Sequence[Array], last: Sequence[float], bases: Sequence[float]) -> list[Array]:
    """Return the columns of all tables one after another, relative to the last times and to the bases."""
    found, number = [np.zeros(0)], 0
    for table, end in zip(made, last, strict=True):
        found.append(table[:, 0] - end)
        for column in table[:, 1:].T:
            found.append(column - bases[number])
            number += 1
    return found


def reach(window: Window, now: float, first: float, last: float) -> Span:
    """Return the times that a window may show: one of the last seconds stays while the present time is in it."""
    if window is None:
        return first, last
    if isinstance(window, tuple):
        return window
    return min(now, last) - window, max(now, first) + window


# ---- server ----------------------------------------------------------------------------------------------------------


Made = dict[View | None, bytes]  # pictures with the curves of a view, and one without


@dataclass
class Seen:
    """What one browser has been sent, and what its plots show."""

    view: View = field(default_factory=View)
    frame: Frame | None = None
    curves: tuple[Any, ...] | None = None  # state of the curves that were sent
    curves_at: float = 0.0
    words: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_WORDS))  # that wait to be sent
    reactions: bool = False  # asked for
    saying: asyncio.Task[None] | None = None
    sending: asyncio.Task[None] | None = None
    waiting: deque[int] = field(default_factory=lambda: deque(maxlen=MOST_WORDS))  # pictures that were sent, not drawn
    sent_at: float = 0.0
    tells: bool = False  # it says what it has drawn

    def note_drawn(self, picture: int) -> None:
        """Forget pictures up to one that was drawn."""
        self.tells = True
        for _ in range(max((k for k, one in enumerate(self.waiting, 1) if one == picture), default=0)):
            self.waiting.popleft()

    def lags(self, now: float) -> bool:
        """True for a page that has pictures to draw; one that draws none, as a hidden tab, gets a few all the same."""
        if now - self.sent_at > PATIENCE:
            self.waiting.clear()
        return self.tells and len(self.waiting) >= WAITING


class LiveServer:
    """Server of one Connection to any number of browsers.

    Parameters
    ----------
    connection : Connection
        Session, or recorded result.
    paging : PageOptions, optional
        Theme, camera, and what is shown at first.
    framed : bool, default False
        Let a page of another address, such as a notebook, show this one in a frame.
    """

    def __init__(self, connection: Connection, paging: PageOptions | None = None, framed: bool = False) -> None:
        self.connection, self.paging, self.framed = connection, paging or PageOptions(), framed
        check(self.paging)
        self.secret = secrets.token_urlsafe(16)
        self._scene = LiveScene(connection.describe(), first_frame(connection), self.paging)
        self._page: bytes | None = None
        self._reader = RequestReader(self._scene.description)
        if self.paging.channels:
            description = self._scene.description
            names, twice = plotted_of(description, self.paging.channels).names, second_names(description)
            first = dict.fromkeys(twice.get(name, name) for name in names)
            connection.send(self._reader.subscribe({"names": [*first]}))
        self._viewers: dict[ServerConnection, Seen] = {}
        self._other = other_run(self.paging.compared)
        self.pictures = 0  # that were made

    async def run(self, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Serve until the session ends; ``ready`` is called with the address of the page.

        Raises InputError when the address cannot be listened to.
        """
        from websockets.asyncio.server import serve

        try:
            server = await serve(
                self._viewer, host, port, process_request=self._answer, max_size=LONGEST, max_queue=8,
                compression=None, close_timeout=GOODBYE,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"{host}:{port} cannot be listened to: {error.strerror or error}") from error
        try:
            known = server.sockets[0].getsockname()
            shown = f"[{known[0]}]" if ":" in known[0] else known[0]
            ready(f"http://{shown}:{known[1]}/{self.secret}/")
            while not self.connection.ended:
                begin = time.perf_counter()
                await self._publish()
                await asyncio.sleep(max(1.0 / RATE - (time.perf_counter() - begin), 0.001))
            await self._farewell()
        finally:
            server.close()
            with suppress(TimeoutError):  # browsers keep spare connections, which never say a word
                await asyncio.wait_for(server.wait_closed(), GOODBYE)

    # ---- pictures ---------------------------------------------------------------------------------------------------

    async def _publish(self) -> None:
        """Send new messages of the session, and its latest frame, to every viewer that is ready for one."""
        told = [{"kind": one.kind, "text": one.text} for one in self.connection.messages()]
        if told:
            self._tell(told)
        frame = self.connection.latest()
        if frame is None or not (self._viewers or self._scene.lacks_way(frame)):
            return
        if not self._scene.fits(frame):
            await self._renew(frame)
        made: Made = {}  # one picture with the curves of a view serves all viewers of it
        for viewer, seen in self._viewers.items():
            self._serve(viewer, seen, frame, made)
        self.pictures += len(made)

    def _serve(self, viewer: "ServerConnection", seen: Seen, frame: Frame, made: Made) -> None:
        """Send a frame to one viewer, with curves where they are due and new; a slow viewer gets fewer."""
        now = time.perf_counter()
        if (seen.sending is not None and not seen.sending.done()) or seen.lags(now):
            return
        strip, reader = self.connection.strip(), self._reader
        due = now - seen.curves_at >= (SPECTRA if seen.view.spectrum else CURVES)
        state = curves_state(strip, reader, frame, seen.view) if due else None
        anew = state is not None and state != seen.curves
        if frame is seen.frame and not anew:
            return
        key = seen.view if anew else None
        if key not in made:
            curves = curves_of_view(strip, reader.plotted, frame, seen.view, self._other) if anew else None
            made[key] = self._scene.picture(frame, curves)
        seen.frame, seen.sent_at = frame, now
        seen.waiting.append(frame.number)
        if anew:
            seen.curves, seen.curves_at = state, now
        seen.sending = asyncio.create_task(self._send_quietly(viewer, made[key]))

    async def _send_quietly(self, viewer: "ServerConnection", message: bytes | str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await viewer.send(message)
        except ConnectionClosed:
            self._viewers.pop(viewer, None)

    def _tell(self, messages: list[dict[str, str]]) -> None:
        self._say(json.dumps({"messages": messages}))

    def _say(self, text: str) -> None:
        """Send a text to every viewer; nobody waits for one who does not listen, who loses the oldest texts."""
        for viewer, seen in self._viewers.items():
            seen.words.append(text)
            if seen.saying is None or seen.saying.done():
                seen.saying = asyncio.create_task(self._send_words(viewer, seen.words))

    async def _send_words(self, viewer: "ServerConnection", words: deque[str]) -> None:
        while words and viewer in self._viewers:
            await self._send_quietly(viewer, words.popleft())

    async def _farewell(self) -> None:
        """Tell every viewer that the session has ended."""
        self._tell([{"kind": "failure", "text": "the session has ended"}])
        if saying := [seen.saying for seen in self._viewers.values() if seen.saying is not None]:
            await asyncio.wait(saying, timeout=GOODBYE)

    async def _renew(self, frame: Frame) -> None:
        """Make the page of another mechanism, or of more parts, and let viewers load it."""
        description = await asyncio.to_thread(self.connection.describe)
        if description.generation != frame.generation:
            return
        self._scene, self._page = LiveScene(description, frame, self.paging), None
        if (command := self._reader.change_description(description)) is not None:
            self.connection.send(command)  # the curves of a viewer stay while its page is loaded anew
        self._say(json.dumps({"reload": True}))

    def _seek(self, t: float) -> Seek:
        """Return the command that goes to a time of the curves."""
        frame, strip = self.connection.latest(), self.connection.strip()
        rows = None if strip is None else strip.read([T])
        if frame is None or rows is None or not len(rows):
            return Seek(0)
        return Seek(step_at(rows[:, 0], t, frame.t, frame.step))

    # ---- requests ---------------------------------------------------------------------------------------------------

    def _answer(self, connection: "ServerConnection", request: "Request") -> "Response | None":
        """Return the page, nothing for a WebSocket of that page, and a refusal for everything else."""
        _, secret, rest = (*request.path.split("/", 2), "", "")[:3]
        if not hmac.compare_digest(secret.encode("utf-8", "replace"), self.secret.encode()):
            return connection.respond(HTTPStatus.NOT_FOUND, "")
        host = request.headers.get("Host", "")
        if rest == "live":
            if urlsplit(request.headers.get("Origin", f"//{host}")).netloc != host:
                return connection.respond(HTTPStatus.FORBIDDEN, "this page is of another origin\n")
            if len(self._viewers) >= MOST_VIEWERS:
                return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_VIEWERS} viewers look already\n")
            return None
        if rest:
            return connection.respond(HTTPStatus.NOT_FOUND, "")
        if self._page is None:
            self._page = page_text(self._scene.content)
        response = connection.respond(HTTPStatus.OK, "")
        response.body = self._page
        for name in ("Content-Length", "Content-Type"):
            del response.headers[name]
        response.headers["Content-Length"] = str(len(self._page))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "no-referrer"
        if not self.framed:
            response.headers["X-Frame-Options"] = "DENY"
        return response

    async def _viewer(self, viewer: "ServerConnection") -> None:
        """Serve one browser: its requests become commands, and a refused one is answered by a sentence."""
        from websockets.exceptions import ConnectionClosed

        seen = self._viewers[viewer] = Seen()  # the next frame is sent, also when the session is paused
        refused = 0
        try:
            async for text in viewer:
                try:
                    asked = self._reader.read(text)
                    if isinstance(asked, ShowWindow):
                        seen.view, seen.curves = seen.view._replace(window=asked.window), None
                    elif isinstance(asked, ShowSpectrum):
                        seen.view, seen.curves, seen.curves_at = seen.view._replace(spectrum=asked.on), None, 0.0
                    elif isinstance(asked, Drawn):
                        seen.note_drawn(asked.picture)
                    elif isinstance(asked, ShowReactions):
                        seen.reactions = asked.on
                        self._show_reactions()
                    else:
                        self.connection.send(self._seek(asked.t) if isinstance(asked, GoTo) else asked)
                except RtmbsError as error:
                    refused += 1
                    await viewer.send(json.dumps({"messages": [{"kind": "warning", "text": error_sentence(error)}]}))
                    if refused >= MOST_REFUSED:
                        await viewer.close(1008, "too many requests were refused")
        except ConnectionClosed:
            pass
        finally:
            self._viewers.pop(viewer, None)
            if seen.reactions:
                self._show_reactions()

    def _show_reactions(self) -> None:
        """Let the session work reactions out while any viewer shows them."""
        self.connection.send(ShowReactions(any(seen.reactions for seen in self._viewers.values())))


def first_frame(connection: Connection) -> Frame:
    """Return the first frame of a session; InputError with its failure when none comes."""
    until = time.perf_counter() + FIRST_FRAME
    while (frame := connection.latest()) is None:
        if connection.ended or time.perf_counter() > until:
            told = "; ".join(one.text for one in connection.messages() if one.kind == "failure")
            raise InputError(f"the session shows nothing: {told or 'no frame came'}")
        time.sleep(0.01)
    return frame


def check_websockets() -> None:
    """Raise InputError when the package websockets is missing."""
    try:
        import websockets  # noqa: F401
    except ImportError:
        raise InputError("a live page needs the package websockets; pip install 'rtmbs[serve]' brings it") from None


def serve_live(
    connection: Connection, *, host: str = "127.0.0.1", port: int = 0, paging: PageOptions | None = None,
    browser: bool = True,
) -> int:  # fmt: skip
    """Serve a connection to browsers until the session ends or Ctrl+C is pressed, and close it.

    Parameters
    ----------
    connection : Connection
        Session, or recorded result.
    host : str, default "127.0.0.1"
        Address that is listened to. Others than this computer reach the page by any other address than the default,
        and steer the session when they know the secret.
    port : int, default 0
        Port, a free one for 0.
    paging : PageOptions, optional
        Theme, camera, and what is shown at first.
    browser : bool, default True
        Open the page in the browser of this computer.

    Returns
    -------
    int
        Exit code 0.

    Raises
    ------
    InputError
        Without the package websockets, for a session that shows nothing, or an address that cannot be listened to.
    """
    check_websockets()

    def ready(address: str) -> None:
        print(f"live at {address} (Ctrl+C ends it)", flush=True)
        if host not in ("127.0.0.1", "::1", "localhost"):
            print("other computers reach this page; whoever has its address steers the session", flush=True)
        if browser:
            webbrowser.open(address)

    try:
        asyncio.run(LiveServer(connection, paging).run(host, port, ready))
    except KeyboardInterrupt:
        pass
    finally:
        connection.close()
    return 0
