"""Framebuffers of our own: smooth edges on demand, and pictures as arrays."""

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

SAMPLES = 4  # a pixel, for smooth edges


class Framebuffer:
    """Colour and depth of ``width`` x ``height`` pixels; needs a current context whenever it is called.

    Raises RuntimeError when the driver refuses it.
    """

    def __init__(self, width: int, height: int, samples: int = 0) -> None:
        self.width, self.height = width, height
        self.name = int(GL.glGenFramebuffers(1))
        self._storage = [int(GL.glGenRenderbuffers(1)) for _ in range(2)]
        self.bind()
        for storage, kind, place in zip(
            self._storage,
            (GL.GL_RGBA8, GL.GL_DEPTH_COMPONENT24),
            (GL.GL_COLOR_ATTACHMENT0, GL.GL_DEPTH_ATTACHMENT),
            strict=True,
        ):
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, storage)
            GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, samples, kind, width, height)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, storage)
        if GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER) != GL.GL_FRAMEBUFFER_COMPLETE:
            raise RuntimeError(f"OpenGL refuses a framebuffer of {width} x {height} with {samples} samples")

    def bind(self) -> None:
        """Draw into this one from now on."""
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self.name)
        GL.glViewport(0, 0, self.width, self.height)

    def copy_to(self, other: int) -> None:
        """Copy the colours to the framebuffer of name ``other``, several samples to their mean, and bind that."""
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, self.name)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, other)
        whole = (0, 0, self.width, self.height)
        GL.glBlitFramebuffer(*whole, *whole, GL.GL_COLOR_BUFFER_BIT, GL.GL_NEAREST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, other)

    def read(self) -> Picture:
        """Return the picture; of one sample a pixel only."""
        self.bind()
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        data = GL.glReadPixels(0, 0, self.width, self.height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE)
        return np.frombuffer(data, np.uint8).reshape(self.height, self.width, 3)[::-1].copy()

    def delete(self) -> None:
        """Free it."""
        GL.glDeleteFramebuffers(1, [self.name])
        GL.glDeleteRenderbuffers(2, self._storage)
