"""What the window asks of OpenGL."""

from PySide6.QtGui import QSurfaceFormat


def surface_format() -> QSurfaceFormat:
    """Return OpenGL 3.3, core profile, one sample: smooth edges come from a framebuffer of our own."""
    wanted = QSurfaceFormat()
    wanted.setVersion(3, 3)
    wanted.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    wanted.setDepthBufferSize(24)
    wanted.setSamples(0)
    wanted.setSwapInterval(0)
    return wanted
