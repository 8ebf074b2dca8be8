"""A soft shadow on the floor under a mechanism: drawn from above into a small picture, blurred, laid on the floor."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from rtmbs.viewer.batch import Batch
from rtmbs.viewer.camera import Camera
from rtmbs.viewer.grid import Floor
from rtmbs.viewer.programs import program, set_matrix
from rtmbs.viewer.shaders import (
    BLUR_FRAGMENT,
    BLUR_VERTEX,
    CASTER_VERTEX,
    FLOOR_FRAGMENT,
    FLOOR_VERTEX,
    PLAIN_FRAGMENT,
)

Array = NDArray[np.float64]

PIXELS = 160  # of the picture from above, each way: few, so that it is soft and cheap
BLURRED = 5  # pixels that the blur reaches


class Target(NamedTuple):
    """A picture that can be drawn into and looked up."""

    framebuffer: int
    texture: int


class Shadow:
    """Needs a current context of OpenGL 3.3 whenever it is called."""

    def __init__(self) -> None:
        self._cast = program(CASTER_VERTEX, PLAIN_FRAGMENT)
        self._blur, self._lay = program(BLUR_VERTEX, BLUR_FRAGMENT), program(FLOOR_VERTEX, FLOOR_FRAGMENT)
        self._targets = [target(PIXELS), target(PIXELS)]
        self._corners = int(GL.glGenVertexArrays(1))  # a core profile draws nothing without one

    def draw(self, batches: Iterable[Batch], instances: Callable[[Batch], int], floor: Floor, camera: Camera) -> None:
        """Lay the shadow of ``batches`` on ``floor``; ``instances`` binds one and returns its number of vertices.

        Nothing is drawn for an eye under the floor. The framebuffer and the viewport are left as they were.
        """
        if float((camera.eye() - floor.corner) @ floor.up) <= 0.0:
            return
        shown = [batch for batch in batches if len(batch)]
        low, high = footprint(shown, floor)
        if np.any(low >= high):
            return
        bound, viewport = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING)), GL.glGetIntegerv(GL.GL_VIEWPORT)
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glViewport(0, 0, PIXELS, PIXELS)
        first = np.floor(PIXELS * low).astype(int)
        GL.glEnable(GL.GL_SCISSOR_TEST)  # what stays empty is not blurred
        GL.glScissor(*first.tolist(), *(np.ceil(PIXELS * high).astype(int) - first).tolist())
        self._draw_casters(shown, instances, floor)
        self._soften()
        GL.glDisable(GL.GL_SCISSOR_TEST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        GL.glViewport(*(int(number) for number in viewport))
        GL.glEnable(GL.GL_DEPTH_TEST)
        self._draw_floor(floor, low, high, camera)

    def _draw_casters(self, batches: Iterable[Batch], instances: Callable[[Batch], int], floor: Floor) -> None:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._targets[0].framebuffer)
        GL.glClearColor(0.0, 0.0, 0.0, 0.0)
        GL.glClear(GL.GL_COLOR_BUFFER_BIT)
        GL.glUseProgram(self._cast)
        set_matrix(self._cast, "down", floor.from_above())
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendEquation(GL.GL_MAX)  # two bodies over one another cast no darker shadow
        for batch in batches:
            GL.glDrawArraysInstanced(GL.GL_TRIANGLES, 0, instances(batch), len(batch))
        GL.glBlendEquation(GL.GL_FUNC_ADD)
        GL.glDisable(GL.GL_BLEND)

    def _soften(self) -> None:
        """Blur along rows, then along columns; the first target holds what comes of it."""
        GL.glBindVertexArray(self._corners)
        GL.glUseProgram(self._blur)
        way = GL.glGetUniformLocation(self._blur, "way")
        for source, goal, step in ((0, 1, (1.0 / PIXELS, 0.0)), (1, 0, (0.0, 1.0 / PIXELS))):
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._targets[goal].framebuffer)
            GL.glBindTexture(GL.GL_TEXTURE_2D, self._targets[source].texture)
            GL.glUniform2f(way, *step)
            GL.glDrawArrays(GL.GL_TRIANGLE_STRIP, 0, 4)

    def _draw_floor(self, floor: Floor, low: Array, high: Array, camera: Camera) -> None:
        GL.glUseProgram(self._lay)
        set_matrix(self._lay, "view", camera.view())
        set_matrix(self._lay, "projection", camera.projection())
        for name in ("corner", "east", "north"):
            GL.glUniform3f(GL.glGetUniformLocation(self._lay, name), *getattr(floor, name).tolist())
        for name, place in (("low", low), ("high", high)):
            GL.glUniform2f(GL.glGetUniformLocation(self._lay, name), *place.tolist())
        GL.glUniform1f(GL.glGetUniformLocation(self._lay, "dark"), floor.dark)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._targets[0].texture)
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        GL.glDepthMask(GL.GL_FALSE)
        GL.glDrawArrays(GL.GL_TRIANGLE_STRIP, 0, 4)
        GL.glDepthMask(GL.GL_TRUE)
        GL.glDisable(GL.GL_BLEND)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)


def footprint(batches: Iterable[Batch], floor: Floor) -> tuple[Array, Array]:
    """Return the corners low and high (2,), from 0 to 1, of the part of a floor that lies under ``batches``."""
    down, low, high = floor.from_above()[:2], np.full(2, np.inf), np.full(2, -np.inf)
    for batch in batches:
        ends = batch.mesh.vertices.min(axis=0).astype(float), batch.mesh.vertices.max(axis=0).astype(float)
        turn = down[:, :3] @ batch.placement[:, :, :3]  # (k, 2, 3)
        middle = turn @ (0.5 * (ends[0] + ends[1])) + batch.placement[:, :, 3] @ down[:, :3].T + down[:, 3]
        reach = np.abs(turn) @ (0.5 * (ends[1] - ends[0]))
        low = np.minimum(low, np.min(middle - reach, axis=0))
        high = np.maximum(high, np.max(middle + reach, axis=0))
    margin = BLURRED / PIXELS
    return np.clip(0.5 + 0.5 * low - margin, 0.0, 1.0), np.clip(0.5 + 0.5 * high + margin, 0.0, 1.0)


def target(pixels: int) -> Target:
    """Return a square picture of one number a pixel; RuntimeError when the driver refuses it."""
    framebuffer, texture = int(GL.glGenFramebuffers(1)), int(GL.glGenTextures(1))
    GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
    GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_R8, pixels, pixels, 0, GL.GL_RED, GL.GL_UNSIGNED_BYTE, None)
    for name, value in (
        (GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR),
        (GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR),
        (GL.GL_TEXTURE_WRAP_S, GL.GL_CLAMP_TO_EDGE),
        (GL.GL_TEXTURE_WRAP_T, GL.GL_CLAMP_TO_EDGE),
    ):
        GL.glTexParameteri(GL.GL_TEXTURE_2D, name, value)
    bound = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING))
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
    GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, texture, 0)
    complete = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER) == GL.GL_FRAMEBUFFER_COMPLETE
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
    GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
    if not complete:
        raise RuntimeError(f"OpenGL refuses a picture of {pixels} x {pixels} with one number a pixel")
    return Target(framebuffer, texture)
