"""Who draws pictures where there is no window, by name."""

from rtmbs.errors import InputError, unknown_name
from rtmbs.viewer.flat import Flat
from rtmbs.viewer.offscreen import EGL, OSMESA, SOFTWARE, NoOpenGL, Offscreen

AUTO, MATPLOTLIB = "auto", "matplotlib"
# auto: EGL, and matplotlib without it.  egl: EGL, on a graphics card where there is one.  software: EGL without a
# graphics card.  osmesa: Mesa in memory, without EGL.
RENDERERS = (AUTO, EGL, SOFTWARE, OSMESA, MATPLOTLIB)


def make_painter(renderer: str, width: int, height: int) -> tuple[Offscreen | Flat, str]:
    """Return whoever draws pictures of this size, and why it is not OpenGL.

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
