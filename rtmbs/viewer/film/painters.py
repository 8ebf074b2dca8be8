"""Painters without a window: OpenGL off screen by EGL or OSMesa, and matplotlib."""

import ctypes
import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Batch, Drawing, Section

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

EGL, SOFTWARE, OSMESA = "egl", "software", "osmesa"
PLATFORMS = {EGL: "egl", SOFTWARE: "egl", OSMESA: "osmesa"}  # of PyOpenGL
SURFACELESS = 0x31DD  # EGL_PLATFORM_SURFACELESS_MESA of the registry, which PyOpenGL does not name


class NoOpenGL(Exception):
    """No usable OpenGL; the message names the missing part."""


class Offscreen:
    """Draws into memory. Raises NoOpenGL where the way to OpenGL that is asked for, or OpenGL 3.3, is missing.

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
        """Give the context back."""
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
    """Draws into memory. Raises InputError without matplotlib."""

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
        """Nothing is held."""


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
    """Draw the triangles of a batch in flat shades, far ones first, or what a section leaves of them."""
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
