"""Pictures of a mechanism without a window and without a display: a video, images, or one image."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from rtmbs.errors import InputError, unknown_name
from rtmbs.model import Model
from rtmbs.model.looks import Shapes
from rtmbs.results.result import Result
from rtmbs.simulation import Simulation
from rtmbs.viewer.camera import Camera, ground_axes
from rtmbs.viewer.commands import Play, SetSpeed
from rtmbs.viewer.describe import describe_recorded
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.flat import Flat
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.manual import ManualConnection
from rtmbs.viewer.offscreen import NoOpenGL, Offscreen
from rtmbs.viewer.playback_connection import PlaybackConnection
from rtmbs.viewer.scene import Scene
from rtmbs.viewer.snapshot import Poses
from rtmbs.viewer.theme import theme_named
from rtmbs.viewer.video import Video
from rtmbs.viewer.way import way_ahead

WHOLE = 1e-9  # of a step: a picture that comes this little early is in time


@dataclass(frozen=True)
class Filming:
    """What pictures are taken.

    frames: how many.  rate: pictures a second of the video.  speed: simulated seconds a second of the video.
    camera: a preset of ``camera.PRESETS``, or "azimuth,elevation" of the eye [degrees].  parallel: lines stay parallel.
    follow: name of a body that the camera goes with, "" for none.
    opengl: False takes matplotlib without trying OpenGL first.
    """

    frames: int = 200
    rate: float = 30.0
    speed: float = 1.0
    width: int = 1200
    height: int = 700
    theme: str = "white"
    camera: str = "isometric"
    parallel: bool = False
    follow: str = ""
    opengl: bool = True
    progress: bool = False


@dataclass(frozen=True)
class Filmed:
    """What came of it."""

    pictures: int
    renderer: str  # OpenGL or matplotlib
    reason: str  # why it was not OpenGL; "" otherwise
    t: float  # time of the last picture [s]
    seconds: float  # wall time
    stopped: str = ""  # the sentence of a step that failed


def film_simulation(
    sim: Simulation, out: str | Path, filming: Filming, shapes: Mapping[str, Shapes] | None = None
) -> Filmed:
    """Step ``sim`` and take pictures on the way, the first of the present state; no step is left out.

    Ends early, with what there is, when a step fails.
    Raises InputError for a file that cannot be written or a size or rate that cannot be, UnknownNameError for a theme
    or a camera that does not exist.
    """
    check(filming)
    connection, told = ManualConnection(sim, shapes=shapes), list[str]()
    description = with_way(sim, connection.describe(), filming.frames * filming.speed / filming.rate)
    return replace(film(description, stepped(sim, connection, filming, told), out, filming), stopped="; ".join(told))


def with_way(sim: Simulation, description: SceneDescription, seconds: float) -> SceneDescription:
    """Return the description with the way of the first ``seconds``, where it is soon known; ``sim`` stays as it is."""
    if sim.system.signals:  # functions of time are not asked about a future that may never come
        return description
    state = sim.state.copy()
    try:
        way = way_ahead(sim, Poses(sim), description, seconds)
    except Exception:  # noqa: BLE001 (what fails here fails again on the way, and is told then)
        return description
    finally:
        sim.restore(state)
    return replace(description, way=way[np.all(np.isfinite(way), axis=1)])


def stepped(sim: Simulation, connection: ManualConnection, filming: Filming, told: list[str]) -> Iterator[Frame]:
    """Yield a frame for each picture; the sentence of a step that fails goes to ``told``, and ends it."""
    start = sim.t
    for number in range(filming.frames):
        target = start + number * filming.speed / filming.rate
        while sim.t < target - WHOLE * sim.h and connection.should_step():
            connection.sync(sim, sim.step())
        connection.should_step()  # publishes what is new
        frame = connection.latest()
        assert frame is not None
        yield frame
        told.extend(message.text for message in connection.messages() if message.kind == "failure")
        if told:
            return


def film_result(result: Result, out: str | Path, filming: Filming, model: Model | None = None) -> Filmed:
    """Take pictures of a recorded result, from its beginning; past its end it stands still.

    model: of the mechanism, for shapes and joints.  Raises as ``film_simulation``.
    """
    now = [0.0]
    connection = PlaybackConnection(result, describe_recorded(result, model), clock=lambda: now[0])

    def played() -> Iterator[Frame]:
        connection.send(SetSpeed(filming.speed))
        connection.send(Play())
        for number in range(filming.frames):
            now[0] = number / filming.rate
            frame = connection.latest()
            assert frame is not None
            yield frame

    return film(connection.describe(), played(), out, filming)


def film(description: SceneDescription, frames: Iterator[Frame], out: str | Path, filming: Filming) -> Filmed:
    """Draw ``frames`` and write them to ``out``."""
    check(filming)
    theme, camera = theme_named(filming.theme), Camera()
    camera.parallel = filming.parallel
    camera.look(filming.camera)  # tells at once of a camera that does not exist
    camera.resize(filming.width, filming.height)
    followed = body_number(description, filming.follow)
    start, last, scene = time.perf_counter(), 0.0, None
    with Video(out, filming.rate) as video:
        painter, reason = make_painter(filming)
        try:
            for frame in tqdm(frames, total=filming.frames, disable=None if filming.progress else True, unit="picture"):
                if scene is None:
                    scene = Scene(description, theme, frame)
                    camera.ground = ground_axes(description.gravity)
                    camera.look(filming.camera)
                    camera.fit(scene.whole())
                before = None if followed is None else scene.center_of(followed)
                scene.show(frame)
                if followed is not None and before is not None:
                    camera.center = camera.center + scene.center_of(followed) - before
                elif not camera.holds(scene.points()):
                    if scene.remember():
                        camera.fit(scene.whole())
                    else:
                        camera.go_with(scene.points())
                video.add(painter.draw(scene.batches(), scene.lines(), camera, scene.background(), scene.floor()))
                last = frame.t
        finally:
            painter.close()
    renderer = "matplotlib" if isinstance(painter, Flat) else "OpenGL"
    return Filmed(video.pictures, renderer, reason, last, time.perf_counter() - start)


def body_number(description: SceneDescription, name: str) -> int | None:
    """Return the number of a body, None for no name; UnknownNameError lists the nearest."""
    names = [body.name for body in description.bodies]
    if name and name not in names:
        raise unknown_name("body", name, names)
    return names.index(name) if name else None


def make_painter(filming: Filming) -> tuple[Offscreen | Flat, str]:
    """Return whoever can draw here, and why it is not OpenGL."""
    reason = "it was not asked for"
    if filming.opengl:
        try:
            return Offscreen(filming.width, filming.height), ""
        except NoOpenGL as error:
            reason = str(error)
    return Flat(filming.width, filming.height), reason


def check(filming: Filming) -> None:
    """Raise InputError for numbers that make no picture."""
    for name, least in (("frames", 1), ("width", 16), ("height", 16)):
        if getattr(filming, name) < least:
            raise InputError(f"{name} is {getattr(filming, name)}; it must be at least {least}")
    for name in ("rate", "speed"):
        if not 0.0 < getattr(filming, name) < float("inf"):
            raise InputError(f"{name} is {getattr(filming, name)!r}; it must be a positive number")
