"""Films of a Simulation or a recorded result without a window or a display: a video, numbered images, or one image."""

import ctypes
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rtmbs.errors import InputError, unknown_name
from rtmbs.model import Model
from rtmbs.model.shapes import Shapes
from rtmbs.results.result import Result
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.camera import Camera, ground_axes, look_first
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import Batch, Drawing, Section
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.legend import caption_width, legend, legend_row, with_caption, with_legend
from rtmbs.viewer.scene.scene import PARTS, Following, Scene, named
from rtmbs.viewer.scene.shapes import Scale, typical_wrenches
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Play, SetSpeed, ShowReactions
from rtmbs.viewer.session.describe import describe_recorded
from rtmbs.viewer.session.playback import PlaybackConnection
from rtmbs.viewer.session.snapshot import Poses, motion_ahead
from rtmbs.viewer.session.worker import ManualConnection
from rtmbs.viewer.video import Video

# ---- painters: OpenGL off screen, and matplotlib ---------------------------------------------------------------------

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

EGL, SOFTWARE, OSMESA = "egl", "software", "osmesa"
PLATFORMS = {EGL: "egl", SOFTWARE: "egl", OSMESA: "osmesa"}  # of PyOpenGL
SURFACELESS = 0x31DD  # EGL_PLATFORM_SURFACELESS_MESA of the registry, which PyOpenGL does not name


class NoOpenGL(Exception):
    """No usable OpenGL; the message names the missing part."""


class Offscreen:
    """Painter by OpenGL 3.3 off screen; raises NoOpenGL where the wanted context or version is missing.

    way: EGL, SOFTWARE (EGL without a graphics card) or OSMESA.
    """

    def __init__(self, width: int, height: int, way: str = EGL) -> None:
        # PyOpenGL binds to one platform for good when it is first imported, and Mesa reads its variables once.
        if os.environ.setdefault("PYOPENGL_PLATFORM", PLATFORMS[way]) != PLATFORMS[way]:
            raise NoOpenGL(f"this process draws by {os.environ['PYOPENGL_PLATFORM']} already; start another one")
        if way == SOFTWARE:
            os.environ["LIBGL_ALWAYS_SOFTWARE"] = "1"
        try:
            self._context: Context = OsMesa(width, height) if way == OSMESA else Egl()
            from rtmbs.viewer.scene.renderer import SAMPLES, Framebuffer, Renderer, driver

            self.name = f"OpenGL by {driver()}"
            self._renderer = Renderer()
            self._smooth, self._plain = Framebuffer(width, height, SAMPLES), Framebuffer(width, height)
        except NoOpenGL:
            raise
        except Exception as error:  # a driver may raise anything, and a missing library does so on import
            raise NoOpenGL(f"OpenGL 3.3 is not usable here ({type(error).__name__}: {error})") from error

    def draw(self, drawing: Drawing, camera: Camera) -> Picture:
        """Return one picture (height, width, 3)."""
        self._smooth.bind()
        self._renderer.draw(drawing, camera)
        self._smooth.copy_to(self._plain.name)
        return self._plain.read()

    def close(self) -> None:
        """Release the OpenGL context."""
        self._context.close()


class Context(Protocol):
    """A current context of OpenGL 3.3."""

    def close(self) -> None:
        """Give it back."""


class Egl:
    """A context of EGL that needs no surface; raises NoOpenGL."""

    def __init__(self) -> None:
        from OpenGL import EGL

        self._egl: Any = EGL
        display = EGL.eglGetPlatformDisplay(SURFACELESS, EGL.EGL_DEFAULT_DISPLAY, None)
        major, minor = EGL.EGLint(), EGL.EGLint()
        if not EGL.eglInitialize(display, major, minor):
            raise NoOpenGL("EGL cannot be started")
        if not EGL.eglBindAPI(EGL.EGL_OPENGL_API):
            raise NoOpenGL("EGL offers no OpenGL")
        wanted = (EGL.EGL_SURFACE_TYPE, EGL.EGL_PBUFFER_BIT, EGL.EGL_RENDERABLE_TYPE, EGL.EGL_OPENGL_BIT, EGL.EGL_NONE)
        configs, count = (EGL.EGLConfig * 1)(), EGL.EGLint()
        EGL.eglChooseConfig(display, (EGL.EGLint * 5)(*wanted), configs, 1, count)
        if not count.value:
            raise NoOpenGL("EGL has no configuration for OpenGL")
        version = (EGL.EGL_CONTEXT_MAJOR_VERSION, 3, EGL.EGL_CONTEXT_MINOR_VERSION, 3)
        core = (EGL.EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL.EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL.EGL_NONE)
        context = EGL.eglCreateContext(display, configs[0], EGL.EGL_NO_CONTEXT, (EGL.EGLint * 7)(*version, *core))
        if not context or not EGL.eglMakeCurrent(display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, context):
            raise NoOpenGL("EGL gives no context of OpenGL 3.3")
        self._display, self._context = display, context

    def close(self) -> None:
        """Give it back."""
        egl = self._egl
        egl.eglMakeCurrent(self._display, egl.EGL_NO_SURFACE, egl.EGL_NO_SURFACE, egl.EGL_NO_CONTEXT)
        egl.eglDestroyContext(self._display, self._context)


class OsMesa:
    """A context of OSMesa, which draws into memory of ours; raises NoOpenGL."""

    def __init__(self, width: int, height: int) -> None:
        try:
            from OpenGL import GL, osmesa

            version = (osmesa.OSMESA_CONTEXT_MAJOR_VERSION, 3, osmesa.OSMESA_CONTEXT_MINOR_VERSION, 3)
            core = (osmesa.OSMESA_PROFILE, osmesa.OSMESA_CORE_PROFILE)
            wanted = (osmesa.OSMESA_FORMAT, GL.GL_RGBA, osmesa.OSMESA_DEPTH_BITS, 24, *core, *version, 0)
            self._context = osmesa.OSMesaCreateContextAttribs((ctypes.c_int * len(wanted))(*wanted), None)
        except Exception as error:  # a missing library shows as an attribute that is None, or fails on import
            raise NoOpenGL("OSMesa is not here (Debian: libosmesa6)") from error
        self._mesa: Any = osmesa
        self._memory = np.zeros((height, width, 4), np.uint8)
        bound = self._context and osmesa.OSMesaMakeCurrent(
            self._context, self._memory, GL.GL_UNSIGNED_BYTE, width, height
        )
        if not bound:
            raise NoOpenGL("OSMesa gives no context of OpenGL 3.3")

    def close(self) -> None:
        """Give it back."""
        self._mesa.OSMesaDestroyContext(self._context)


# ---- matplotlib ------------------------------------------------------------------------------------------------------

Array = NDArray[np.float64]

DPI = 100.0
POINTS_PER_INCH = 72.0
SLENDER = 3.0  # length of a cylinder that a line stands for, in radii at least
LIGHT = np.array([0.36, 0.62, 0.70])  # in eye axes, as the renderer has it


class Flat:
    """Painter by matplotlib; raises InputError where it is not installed."""

    name = "matplotlib"

    def __init__(self, width: int, height: int) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise InputError(
                "pictures need OpenGL or matplotlib, and neither is here; pip install 'rtmbs[plot]' brings matplotlib"
            ) from None
        self._figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        self._canvas: Any = FigureCanvasAgg(self._figure)
        self._axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))

    def draw(self, drawing: Drawing, camera: Camera) -> Picture:
        """Return one picture (height, width, 3), without the shadow on the floor."""
        axes = self._axes
        axes.clear()
        axes.set_axis_off()
        axes.set(xlim=(0, camera.width), ylim=(camera.height, 0))
        red, green, blue, *_ = drawing.background
        self._figure.set_facecolor((red, green, blue))
        section = drawing.section
        for line in drawing.lines:
            if line.visible and len(line):
                add_segments(axes, line.points, line.color, np.full(len(line), line.width), camera)
        shown = drawing.shown()
        for batch in shown:
            if section is not None or not is_slender(batch):
                add_triangles(axes, batch, camera, section)
        bars = [batch for batch in shown if section is None and is_slender(batch)]
        if bars:
            add_bars(axes, bars, camera)
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()

    def close(self) -> None:
        """Do nothing: matplotlib holds no context."""


def is_slender(batch: Batch) -> bool:
    """True for cylinders that a thick line stands for; a disc is none."""
    if batch.mesh.kind != "cylinder":
        return False
    radius, length = np.linalg.norm(batch.local[:, :, 0], axis=1), np.linalg.norm(batch.local[:, :, 2], axis=1)
    return bool(np.all(length >= SLENDER * radius))


def add_bars(axes: Any, batches: list[Batch], camera: Camera) -> None:
    """Draw cylinders as lines of their width, far ones first."""
    place = np.concatenate([batch.placement for batch in batches])
    color = np.concatenate([batch.color for batch in batches])
    ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
    depth = camera.project(ends.mean(axis=1))[:, 2]
    width = 2.0 * np.linalg.norm(place[:, :, 0], axis=1) * camera.focal_pixels() / np.maximum(depth, 1e-9)
    order = np.argsort(-depth)
    add_segments(axes, ends[order], color[order], width[order], camera)


def add_segments(axes: Any, points: Array, color: Any, width: Array, camera: Camera) -> None:
    """Draw segments (k, 2, 3) of ``width`` (k,) pixels; those that reach behind the eye are left out."""
    from matplotlib.collections import LineCollection

    pixels = camera.project(points.reshape(-1, 3)).reshape(-1, 2, 3)
    seen = np.all(pixels[:, :, 2] > 0.0, axis=1)
    thick = np.maximum(width[seen], 1.0) * POINTS_PER_INCH / DPI
    axes.add_collection(
        LineCollection(list(pixels[seen, :, :2]), colors=color[seen], linewidths=thick, capstyle="round")
    )


def add_triangles(axes: Any, batch: Batch, camera: Camera, section: Section | None) -> None:
    """Draw the triangles of a batch in flat shades, far ones first, cut by the section."""
    from matplotlib.collections import PolyCollection

    place = batch.placement
    triangles = (batch.mesh.vertices @ place[:, :, :3].transpose(0, 2, 1) + place[:, None, :, 3]).reshape(-1, 3, 3)
    color = np.repeat(batch.color, len(batch.mesh.vertices) // 3, axis=0).astype(float)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) @ camera.axes().T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    color[:, :3] *= 0.5 + 0.5 * np.abs(normals @ LIGHT)[:, None]
    if section is not None:
        triangles, kept = section.cut(triangles)
        color = color[kept]
    pixels = camera.project(triangles.reshape(-1, 3)).reshape(*triangles.shape)
    order = np.argsort(-pixels[:, :, 2].mean(axis=1))
    order = order[np.all(pixels[order, :, 2] > 0.0, axis=1)]
    axes.add_collection(PolyCollection(list(pixels[order, :, :2]), facecolors=np.clip(color[order], 0.0, 1.0)))


# ---- the choice of a painter -----------------------------------------------------------------------------------------

AUTO, MATPLOTLIB = "auto", "matplotlib"
# auto: EGL, and matplotlib without it.  egl: EGL, on a graphics card where there is one.  software: EGL without a
# graphics card.  osmesa: Mesa in memory, without EGL.
RENDERERS = (AUTO, EGL, SOFTWARE, OSMESA, MATPLOTLIB)


def make_painter(renderer: str, width: int, height: int) -> tuple[Offscreen | Flat, str]:
    """Return the painter of pictures of this size, and why it is not OpenGL.

    Raises UnknownNameError for a renderer that does not exist, InputError for one that is asked for and missing.
    """
    if renderer not in RENDERERS:
        raise unknown_name("renderer", renderer, RENDERERS)
    reason = ""
    if renderer != MATPLOTLIB:
        try:
            return Offscreen(width, height, EGL if renderer == AUTO else renderer), ""
        except NoOpenGL as error:
            reason = str(error)
        if renderer != AUTO:
            raise InputError(f"renderer {renderer!r} cannot draw here: {reason}; 'auto' takes another one")
    return Flat(width, height), reason


# ---- films -----------------------------------------------------------------------------------------------------------

MOST_COVERED = 0.4  # of the width, that the words of the overlay may take from the picture
WHOLE = 1e-9  # of a step: a picture that comes this little early is in time


@dataclass(frozen=True)
class FilmOptions:
    """Options of a film: number, size, camera and content of its pictures.

    frames: how many; or as many as ``seconds`` of the mechanism need, where those are given.
    rate: pictures a second of the video.  speed: simulated seconds a second of the video.
    camera: what ``Camera.look`` takes: a preset, angles, or a matrix; as a window begins unless given.
    parallel: lines stay parallel.
    follow: name of a body that the camera goes with, "" for none.
    overlay: name, time and speed are written on every picture.  scales: so are the names of the axes, a scale bar and
    that of arrows.  legend: so is what the colours mean.
    reactions: of all joints are drawn as arrows.  newtons: force that an arrow of one metre means; a round one unless
    given.
    traces: names of markers and bodies that leave trails.  all_traces: all markers do.
    hide: parts of ``scene.PARTS`` that are not drawn.
    renderer: one of ``painters.RENDERERS``.
    """

    frames: int = 200
    seconds: float | None = None
    rate: float = 30.0
    speed: float = 1.0
    width: int = 1200
    height: int = 700
    theme: str = "white"
    camera: str = ""
    parallel: bool = False
    follow: str = ""
    overlay: bool = False
    scales: bool = True
    legend: bool = False
    reactions: bool = False
    newtons: float | None = None
    traces: tuple[str, ...] = ()
    all_traces: bool = False
    hide: tuple[str, ...] = ()
    renderer: str = AUTO
    progress: bool = False

    @property
    def pictures(self) -> int:
        """Number of pictures."""
        if self.seconds is None:
            return self.frames
        return math.floor(self.seconds * self.rate / self.speed * (1.0 + WHOLE)) + 1


@dataclass(frozen=True)
class FilmReport:
    """Report of a film: pictures, renderer, times and warnings."""

    pictures: int
    renderer: str  # who drew: OpenGL with the name of the driver, or matplotlib
    reason: str  # why it was not OpenGL; "" otherwise
    t: float  # time of the last picture [s]
    seconds: float  # wall time
    stopped: str = ""  # the sentence of a step that failed
    ended: str = ""  # says that the run was shorter than the film
    warnings: tuple[str, ...] = ()  # about a recorded result beside its model


def film_simulation(
    sim: Simulation, out: str | Path, filming: FilmOptions, shapes: Mapping[str, Shapes] | None = None
) -> FilmReport:
    """Step ``sim`` and take pictures on the way, the first of the present state; no step is left out.

    Ends early, with what there is, when a step fails.
    Raises InputError for a file that cannot be written or a size or rate that cannot be, UnknownNameError for a theme
    or a camera that does not exist.
    """
    check(filming)
    connection, failures = ManualConnection(sim, shapes=shapes), list[str]()
    connection.send(ShowReactions(filming.reactions))
    description = with_motion_ahead(sim, connection.describe(), (filming.pictures - 1) * filming.speed / filming.rate)
    return replace(
        write_film(description, stepped_frames(sim, connection, filming, failures), out, filming),
        stopped="; ".join(failures),
    )


def with_motion_ahead(sim: Simulation, description: SceneDescription, seconds: float) -> SceneDescription:
    """Return the description with the reach of the motion of the first ``seconds``; ``sim`` keeps its state."""
    if sim.system.signals:  # functions of time are not asked about a future that may never come
        return description
    state = sim.state.copy()
    try:
        way = motion_ahead(sim, Poses(sim), description, seconds)
    except Exception:  # noqa: BLE001 (what fails here fails again in the film, and is reported then)
        return description
    finally:
        sim.restore(state)
    return replace(description, way=way[np.all(np.isfinite(way), axis=1)])


def stepped_frames(
    sim: Simulation, connection: ManualConnection, filming: FilmOptions, failures: list[str]
) -> Iterator[Frame]:
    """Yield a frame for each picture; a failed step appends its sentence to ``failures`` and ends the film."""
    start = sim.t
    for number in range(filming.pictures):
        target = start + number * filming.speed / filming.rate
        while sim.t < target - WHOLE * sim.h and connection.should_step():
            connection.sync(sim, sim.step())
        connection.should_step()  # publishes what is new
        frame = connection.latest()
        assert frame is not None
        yield frame
        failures.extend(message.text for message in connection.messages() if message.kind == "failure")
        if failures:
            return


def film_result(
    result: Result,
    out: str | Path,
    filming: FilmOptions,
    model: Model | None = None,
    scene: SceneDescription | None = None,
) -> FilmReport:
    """Take pictures of a recorded result, from its beginning to the first picture at or past its end.

    model: of the mechanism, for shapes and joints.  scene: the same of a history on disk, used without ``model``.
    Raises as ``film_simulation``.
    """
    now, wanted = [0.0], filming.pictures
    known = scene if scene is not None and model is None else describe_recorded(result, model)
    connection = PlaybackConnection(result, known, clock=lambda: now[0])  # refuses what cannot be played
    length = float(result.t[-1] - result.t[0])
    filming = replace(filming, seconds=None, frames=min(wanted, pictures_of(length, filming)))
    wrenches = shown_reactions(connection) if filming.reactions else None

    def played() -> Iterator[Frame]:
        connection.send(SetSpeed(filming.speed))
        connection.send(Play())
        for number in range(filming.pictures):
            now[0] = number / filming.rate
            frame = connection.latest()
            assert frame is not None
            yield frame

    description = connection.describe()
    filmed = replace(write_film(description, played(), out, filming, wrenches), warnings=description.warnings)
    if filming.frames == wanted:
        return filmed
    return replace(filmed, ended=f"the run ends at t = {result.t[-1]:g} s, and so does the film")


def pictures_of(length: float, filming: FilmOptions) -> int:
    """Return how many pictures a motion of ``length`` [s] fills, the one of its end included."""
    return math.ceil(length * filming.rate / filming.speed * (1.0 - WHOLE)) + 1


def shown_reactions(connection: PlaybackConnection) -> Array:
    """Show the reactions of a recorded result, and return those (nj, 6) of a sample that a scale of arrows fits.

    Raises InputError for a result that holds no reactions.
    """
    connection.send(ShowReactions(True))
    return typical_wrenches(connection.reactions())


def write_film(
    description: SceneDescription,
    frames: Iterator[Frame],
    out: str | Path,
    filming: FilmOptions,
    wrenches: Array | None = None,
) -> FilmReport:
    """Draw ``frames`` and write them to ``out``; arrows have the scale that fits ``wrenches`` (k, 6), or the first."""
    check(filming)
    theme, camera = theme_named(filming.theme), Camera()
    camera.parallel = filming.parallel
    camera.look(filming.camera or "isometric")  # raises at once for an unknown camera
    camera.resize(filming.width, filming.height)
    followed = body_number(description, filming.follow)
    named(description, filming.traces)  # raises at once for an unknown point
    left = covered_by_caption(description.name, filming)
    start, last, scene = time.perf_counter(), 0.0, None
    with Video(out, filming.rate) as video:
        painter, reason = make_painter(filming.renderer, filming.width, filming.height)
        quiet = None if filming.progress else True
        try:
            for frame in tqdm(frames, total=filming.pictures, disable=quiet, unit="picture"):
                if scene is None:
                    scene = styled_scene(Scene(description, theme, frame), filming, wrenches)
                    camera.ground = ground_axes(description.gravity)
                    look_first(camera, description, frame.A, filming.camera)
                    following = None if followed is None else Following(followed, scene)
                    if following is None:
                        camera.fit(scene.whole(), left)
                    else:
                        following.fit(camera, scene, left)
                scene.show(frame)
                scene.widen_floor()
                if following is not None:
                    following.carry(camera, scene)
                elif not camera.holds(scene.held(), left):
                    if scene.remember():
                        camera.fit(scene.whole(), left)
                    else:
                        camera.go_with(scene.held(), left)
                picture = painter.draw(scene.drawing(), camera)
                if filming.scales or filming.legend:
                    written = legend(scene, camera, legend_row(filming.height), filming.scales)
                    picture = with_legend(picture, written)
                if filming.overlay:
                    picture = with_caption(picture, description.name, frame.t, filming.speed, theme)
                video.add(picture)
                last = frame.t
        finally:
            painter.close()
    return FilmReport(video.pictures, painter.name, reason, last, time.perf_counter() - start)


def covered_by_caption(name: str, filming: FilmOptions) -> float:
    """Return how many pixels at the left the words of a film take."""
    words = min(caption_width(name, filming.height, filming.speed), MOST_COVERED * filming.width)
    return words if filming.overlay else 0.0


def styled_scene(scene: Scene, filming: FilmOptions, wrenches: Array | None) -> Scene:
    """Apply the options of a film to a scene."""
    scene.shown |= {"reactions": filming.reactions, "legend": filming.legend} | dict.fromkeys(filming.hide, False)
    if wrenches is not None:
        scene.scale = Scale(scene.description)
        scene.scale.fit(wrenches)
    if filming.newtons is not None:
        scene.scale.choose(filming.newtons)
    scene.follow(filming.traces)
    if filming.all_traces:
        scene.follow_markers(True)
    return scene


def film_speeds(
    speeds: Sequence[float], out: str | Path, film_one: Callable[[FilmOptions, Path], FilmReport], filming: FilmOptions
) -> list[FilmReport]:
    """Film the same motion at each of several speeds, each to a file of its own: ``film_1x.mp4``, ``film_0.1x.mp4``.

    A single speed keeps the name.  film_one: films once, from the start.
    """
    paths = [Path(out) if len(speeds) == 1 else name_of(Path(out), speed) for speed in speeds]
    return [film_one(replace(filming, speed=speed), path) for speed, path in zip(speeds, paths, strict=True)]


def name_of(path: Path, speed: float) -> Path:
    """Return the file of one speed: the speed stands before the number of a picture, or before the ending."""
    stem, number, rest = path.stem.partition("%")
    return path.with_name(f"{stem.rstrip('_')}_{speed:g}x{'_' if number else ''}{number}{rest}{path.suffix}")


def body_number(description: SceneDescription, name: str) -> int | None:
    """Return the number of a body, None for no name; UnknownNameError lists the nearest."""
    names = [body.name for body in description.bodies]
    if name and name not in names:
        raise unknown_name("body", name, names)
    return names.index(name) if name else None


def check(filming: FilmOptions) -> None:
    """Raise InputError for numbers that make no picture."""
    for name, least in (("frames", 1), ("width", 16), ("height", 16)):
        if getattr(filming, name) < least:
            raise InputError(f"{name} is {getattr(filming, name)}; it must be at least {least}")
    for part in filming.hide:
        if part not in PARTS:
            raise unknown_name("part of a picture", part, PARTS)
    for name in ("rate", "speed", "seconds", "newtons"):
        value = getattr(filming, name)
        if value is not None and not 0.0 < value < math.inf:
            raise InputError(f"{name} is {value!r}; it must be a positive number")
