"""OpenGL without a display: a context of EGL or OSMesa, and pictures as arrays."""

import ctypes
import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Drawing

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

EGL, SOFTWARE, OSMESA = "egl", "software", "osmesa"
PLATFORMS = {EGL: "egl", SOFTWARE: "egl", OSMESA: "osmesa"}  # of PyOpenGL
SURFACELESS = 0x31DD  # EGL_PLATFORM_SURFACELESS_MESA of the registry, which PyOpenGL does not name


class NoOpenGL(Exception):
    """There is no usable OpenGL here; the message says what was missing."""


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
