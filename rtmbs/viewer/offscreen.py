"""OpenGL without a display: an EGL context, and pictures as arrays."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.batch import Batch, Lines
from rtmbs.viewer.camera import Camera
from rtmbs.viewer.grid import Floor

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

SURFACELESS = 0x31DD  # EGL_PLATFORM_SURFACELESS_MESA of the registry, which PyOpenGL does not name


class NoOpenGL(Exception):
    """There is no usable OpenGL here; the message says what was missing."""


class Offscreen:
    """Draws into memory. Raises NoOpenGL where EGL or OpenGL 3.3 is missing."""

    def __init__(self, width: int, height: int) -> None:
        # PyOpenGL binds to one platform for good when it is first imported.
        os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
        try:
            self._display, self._context = make_context()
            from rtmbs.viewer.framebuffer import SAMPLES, Framebuffer
            from rtmbs.viewer.renderer import Renderer

            self._renderer = Renderer()
            self._smooth, self._plain = Framebuffer(width, height, SAMPLES), Framebuffer(width, height)
        except NoOpenGL:
            raise
        except Exception as error:  # a driver may raise anything, and a missing library does so on import
            raise NoOpenGL(f"OpenGL 3.3 is not usable here ({type(error).__name__}: {error})") from error

    def draw(
        self,
        batches: Iterable[Batch],
        lines: Iterable[Lines],
        camera: Camera,
        background: tuple[float, ...],
        floor: Floor | None = None,
    ) -> Picture:
        """Return one picture (height, width, 3)."""
        self._smooth.bind()
        self._renderer.draw(batches, lines, camera, background, floor)
        self._smooth.copy_to(self._plain.name)
        return self._plain.read()

    def close(self) -> None:
        """Give the context back."""
        from OpenGL import EGL

        EGL.eglMakeCurrent(self._display, EGL.EGL_NO_SURFACE, EGL.EGL_NO_SURFACE, EGL.EGL_NO_CONTEXT)
        EGL.eglDestroyContext(self._display, self._context)


def make_context() -> tuple[Any, Any]:
    """Return an EGL display and a current context of OpenGL 3.3 that needs no surface; raises NoOpenGL."""
    from OpenGL import EGL

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
    return display, context
