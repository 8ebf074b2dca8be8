"""Soft shadow on the floor under a mechanism: a small picture from above, blurred, and laid on the floor.

The picture is made when something has moved, and only in those cells of the floor that have a shadow. Meshes with many
triangles cast the shadow of a coarse one. A picture more costs the cells alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Batch, Floor
from rtmbs.viewer.scene.shaders import (
    BLUR_FRAGMENT,
    BLUR_VERTEX,
    CASTER_VERTEX,
    FLOOR_FRAGMENT,
    FLOOR_VERTEX,
    PLAIN_FRAGMENT,
    Program,
)

Array = NDArray[np.float64]

PIXELS = 160  # of the picture from above, each way: few, so that it is soft and cheap
BLURRED = 5  # pixels that the blur reaches
CELLS = 20  # of the floor, each way
PIECES = 8  # that a long body is looked at in, when its cells are found


class Target(NamedTuple):
    """A picture that can be drawn into and looked up."""

    framebuffer: int
    texture: int


class Shadow:
    """Needs a current context of OpenGL 3.3 whenever it is called.

    hurried: of two pictures of a motion only one makes a new shadow, so the shadow is a picture late at most.
    """

    def __init__(self, hurried: bool = False) -> None:
        self._cast = Program(CASTER_VERTEX, PLAIN_FRAGMENT)
        self._blur, self._lay = Program(BLUR_VERTEX, BLUR_FRAGMENT), Program(FLOOR_VERTEX, FLOOR_FRAGMENT)
        self._targets = [target(PIXELS), target(PIXELS)]
        self._quads, self._corners = cells_array()
        self._count = 0  # of cells that have a shadow
        self._of: tuple[Floor, list[int], Array] | None = None  # floor, batches and placements of the last one
        self._hurried, self._fresh = hurried, False  # True: the picture before made a new one
        self._seen = False

    def prepare(self, batches: list[Batch], instances: Callable[[Batch], int], floor: Floor, camera: Camera) -> None:
        """Make the shadow of ``batches`` on ``floor``; ``instances`` binds one and returns its number of vertices.

        Called before anything else is drawn: another framebuffer in the middle of a picture costs a renderer without a
        graphics card as much as the shadow. The framebuffer and the viewport are left as they were.
        """
        self._seen = bool(batches) and float((camera.eye() - floor.corner) @ floor.up) > 0.0
        if not self._seen:  # from under the floor
            return
        wanted = floor, [id(batch) for batch in batches], seen_from_above(batches)
        late = self._hurried and self._fresh and self._of is not None and self._of[:2] == wanted[:2]
        self._fresh = not late and not self._is_of(wanted)
        if self._fresh:
            self._of = wanted
            self._make(batches, instances, floor)

    def lay(self, floor: Floor, camera: Camera) -> None:
        """Lay the shadow that is prepared on ``floor``."""
        if self._seen and self._count:
            self._draw_floor(floor, camera)

    def forget(self) -> None:
        """Make a new one next time: another scene comes."""
        self._of = None

    def _is_of(self, wanted: tuple[Floor, list[int], Array]) -> bool:
        """True when nothing has moved since the last one."""
        return self._of is not None and self._of[:2] == wanted[:2] and bool(np.array_equal(self._of[2], wanted[2]))

    def _make(self, batches: list[Batch], instances: Callable[[Batch], int], floor: Floor) -> None:
        """Draw the shadow from above, where there is one."""
        cells = covered(batches, floor)
        self._count = len(cells)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._corners)
        GL.glBufferData(GL.GL_ARRAY_BUFFER, cells.nbytes, cells, GL.GL_STREAM_DRAW)
        bound, viewport = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING)), GL.glGetIntegerv(GL.GL_VIEWPORT)
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glViewport(0, 0, PIXELS, PIXELS)
        self._draw_casters(batches, instances, floor)
        self._soften()
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        GL.glViewport(*(int(number) for number in viewport))
        GL.glEnable(GL.GL_DEPTH_TEST)

    def _draw_casters(self, batches: list[Batch], instances: Callable[[Batch], int], floor: Floor) -> None:
        GL.glClearColor(0.0, 0.0, 0.0, 0.0)
        for one in reversed(self._targets):
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, one.framebuffer)
            GL.glClear(GL.GL_COLOR_BUFFER_BIT)
        self._cast.use()
        self._cast.matrix("down", floor.from_above())
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendEquation(GL.GL_MAX)  # two bodies over one another cast no darker shadow
        for batch in batches:
            GL.glDrawArraysInstanced(GL.GL_TRIANGLES, 0, instances(batch), len(batch))
        GL.glBlendEquation(GL.GL_FUNC_ADD)
        GL.glDisable(GL.GL_BLEND)

    def _soften(self) -> None:
        """Blur along rows, then along columns; the first target holds what comes of it."""
        GL.glBindVertexArray(self._quads)
        self._blur.use()
        for source, goal, step in ((0, 1, (1.0 / PIXELS, 0.0)), (1, 0, (0.0, 1.0 / PIXELS))):
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._targets[goal].framebuffer)
            GL.glBindTexture(GL.GL_TEXTURE_2D, self._targets[source].texture)
            self._blur.numbers("way", *step)
            GL.glDrawArraysInstanced(GL.GL_TRIANGLE_STRIP, 0, 4, self._count)

    def _draw_floor(self, floor: Floor, camera: Camera) -> None:
        GL.glBindVertexArray(self._quads)
        self._lay.use()
        self._lay.matrix("seen", camera.projection() @ camera.view())
        for name in ("corner", "east", "north"):
            self._lay.numbers(name, *getattr(floor, name).tolist())
        self._lay.numbers("dark", floor.dark)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._targets[0].texture)
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        GL.glDepthMask(GL.GL_FALSE)
        GL.glDrawArraysInstanced(GL.GL_TRIANGLE_STRIP, 0, 4, self._count)
        GL.glDepthMask(GL.GL_TRUE)
        GL.glDisable(GL.GL_BLEND)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)


def seen_from_above(batches: list[Batch]) -> Array:
    """Return everything that a shadow depends on, in one row: placements and opacities."""
    return np.concatenate([part for one in batches for part in (one.placement.ravel(), one.color[:, 3])])


def covered(batches: list[Batch], floor: Floor) -> NDArray[np.float32]:
    """Return the cells (k, 4) of a floor that have a shadow: their low and high corners, from 0 to 1."""
    middles, halves = boxes(batches, floor.from_above()[:2])
    halves += BLURRED / PIXELS
    first = np.floor(CELLS * (middles - halves)).astype(int).clip(0, CELLS)
    last = np.ceil(CELLS * (middles + halves)).astype(int).clip(0, CELLS)
    (i, j), (m, n) = first.T, last.T
    side = CELLS + 1  # the sums of ``marks`` along both ways count the boxes over each cell
    marks = sum(
        sign * np.bincount(side * rows + columns, minlength=side * side)
        for rows, columns, sign in ((i, j, 1), (m, n, 1), (i, n, -1), (m, j, -1))
    )
    low = np.argwhere(np.reshape(marks, (side, side)).cumsum(axis=0).cumsum(axis=1)[:CELLS, :CELLS] > 0)
    return np.ascontiguousarray(np.hstack([low, low + 1]) / CELLS, np.float32)


def boxes(batches: list[Batch], down: Array) -> tuple[Array, Array]:
    """Return middles and half sides (n, 2), from 0 to 1 on the floor, of boxes about everything seen from above.

    down: (2, 4) from the world to the floor, -1 to 1. A body is cut across its longest side into ``PIECES`` boxes.
    """
    count = [len(batch) for batch in batches]
    place = down[:, :3] @ np.concatenate([batch.placement for batch in batches])  # (k, 2, 4)
    turn = place[:, :, :3] * np.repeat([batch.half for batch in batches], count, axis=0)[:, None]  # (k, 2, 3)
    center = np.repeat([batch.middle for batch in batches], count, axis=0)[:, :, None]
    longest = np.argmax(np.max(np.abs(turn), axis=1), axis=1)
    along = turn[np.arange(len(turn)), :, longest]
    half = 0.5 * (np.sum(np.abs(turn), axis=2) - np.abs(along) * (1.0 - 1.0 / PIECES))
    middle = 0.5 + 0.5 * ((place[:, :, :3] @ center)[:, :, 0] + place[:, :, 3] + down[:, 3])
    steps = np.linspace(1.0 / PIECES - 1.0, 1.0 - 1.0 / PIECES, PIECES)
    return (middle + 0.5 * steps[:, None, None] * along).reshape(-1, 2), np.tile(half, (PIECES, 1))


def cells_array() -> tuple[int, int]:
    """Return an array of vertices that advances once a cell, and the buffer of its cells (k, 4)."""
    array, buffer = int(GL.glGenVertexArrays(1)), int(GL.glGenBuffers(1))
    GL.glBindVertexArray(array)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
    GL.glEnableVertexAttribArray(0)
    GL.glVertexAttribPointer(0, 4, GL.GL_FLOAT, GL.GL_FALSE, 0, None)
    GL.glVertexAttribDivisor(0, 1)
    GL.glBindVertexArray(0)
    return array, buffer


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
