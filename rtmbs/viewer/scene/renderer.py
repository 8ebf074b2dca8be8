"""OpenGL 3.3 renderer of batches and lines, and its framebuffers, for the current context of a window or of a film.

All placements of a mesh are one instanced draw; a picture uploads twelve numbers a placement and nothing else.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Batch, Drawing, Lines, Section
from rtmbs.viewer.scene.shaders import LINE_VERTEX, MESH_VERTEX, PLAIN_FRAGMENT, Program
from rtmbs.viewer.scene.shadow import Shadow

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


# ---- drawing ---------------------------------------------------------------------------------------------------------

Floats = NDArray[np.float32]
Array = NDArray[np.float64]

FLOAT = 4  # bytes
WHOLE = (0.0, 0.0, 0.0, 1.0)  # the plane of no section: every point lies on its drawn side
CROWD = 200  # placements from which a renderer without a graphics card leaves out the shadow
TRANSPARENT = 0.999  # opacity below which a batch is drawn after the solid ones


class Buffers(NamedTuple):
    """Buffers of one batch or one set of lines on the graphics card."""

    array: int  # vertex array object
    fixed: int  # the mesh
    moving: int  # placements, or segments
    color: int
    caster: int  # vertex array object of the coarse mesh that casts the shadow; that of the mesh where there is none


class Renderer:
    """Draws; needs a current context of OpenGL 3.3 or later whenever it is called.

    hurried: without a graphics card the shadow may be one picture late.
    """

    def __init__(self, hurried: bool = False) -> None:
        self._mesh, self._line = Program(MESH_VERTEX, PLAIN_FRAGMENT), Program(LINE_VERTEX, PLAIN_FRAGMENT)
        self._software = is_software()
        self._shadow = Shadow(hurried and self._software)
        self._section: Section | None = None
        self._buffers: dict[int, tuple[Any, Buffers]] = {}  # by identity; what is drawn is kept alive with it

    def draw(self, drawing: Drawing, camera: Camera) -> None:
        """Draw one picture into the framebuffer that is bound."""
        self._section = drawing.section
        shown = drawing.shown()
        for batch in shown:
            self._send(batch, batch.placement, batch.color)
        floor = None if self._software and sum(map(len, shown)) > CROWD else drawing.floor
        if floor is not None:
            self._shadow.prepare([batch for batch in shown if batch.casts], self._bind_caster, floor, camera)
        paint_ground(drawing.background)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glEnable(GL.GL_MULTISAMPLE)  # a painter that wrote text has turned it off
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDisable(GL.GL_BLEND)
        if floor is not None:
            self._shadow.lay(floor, camera)
        clear = [batch for batch in shown if float(batch.color[:, 3].min()) < TRANSPARENT]
        self._use(self._mesh, camera)
        for batch in shown:
            if all(batch is not other for other in clear):
                self._draw_instances(batch, len(batch))
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        self._draw_lines([line for line in drawing.lines if line.visible and len(line)], camera)
        if clear:
            self._draw_clear(clear, camera)
        GL.glDisable(GL.GL_BLEND)
        GL.glDisable(GL.GL_DEPTH_TEST)  # painters that draw text afterwards want none

    def forget(self) -> None:
        """Free every buffer: another scene comes."""
        for _, buffers in self._buffers.values():
            for array in {buffers.array, buffers.caster}:
                GL.glDeleteVertexArrays(1, [array])
            GL.glDeleteBuffers(3, [buffers.fixed, buffers.moving, buffers.color])
        self._buffers.clear()
        self._shadow.forget()

    def _send(self, batch: Batch, placement: Array, color: Floats) -> None:
        """Upload the present placements of a batch, and their colours."""
        buffers = self._of(batch)
        upload(buffers.moving, np.asarray(placement, np.float32))
        upload(buffers.color, color)

    def _bind(self, batch: Batch) -> int:
        """Make a batch the one that is drawn, and return the number of its vertices."""
        GL.glBindVertexArray(self._of(batch).array)
        return len(batch.mesh.vertices)

    def _bind_caster(self, batch: Batch) -> int:
        """Make what casts the shadow of a batch the one that is drawn, and return the number of its vertices."""
        GL.glBindVertexArray(self._of(batch).caster)
        return len(batch.mesh.vertices if batch.mesh.caster is None else batch.mesh.caster)

    def _draw_instances(self, batch: Batch, count: int) -> None:
        """Draw ``count`` placements that were sent, and their sharp edges over them."""
        vertices, edges = self._bind(batch), batch.edges and len(batch.mesh.edges)
        # A driver may clip although the distance is not enabled, so the plane of no section is sent as well.
        plane = WHOLE if self._section is None else self._section.plane
        self._mesh.numbers("section", *plane)
        if self._section is not None:
            GL.glEnable(GL.GL_CLIP_DISTANCE0)
        whole = batch.mesh.closed and self._section is None  # of a solid that is cut the inner side is seen
        GL.glUniform1i(self._mesh.place("both"), not whole)
        (GL.glEnable if whole else GL.glDisable)(GL.GL_CULL_FACE)
        if edges:  # faces step back a little, so that lines in them are seen whole
            GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
            GL.glPolygonOffset(1.0, 1.0)
        GL.glDrawArraysInstanced(GL.GL_TRIANGLES, 0, vertices, count)
        if edges:
            GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)
            GL.glDrawArraysInstanced(GL.GL_LINES, vertices, edges, count)
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDisable(GL.GL_CLIP_DISTANCE0)
        GL.glBindVertexArray(0)

    def _draw_clear(self, batches: list[Batch], camera: Camera) -> None:
        """Draw transparent batches, the farthest placement of all batches first."""
        self._use(self._mesh, camera)
        GL.glDepthMask(GL.GL_FALSE)
        backward = camera.axes()[2]
        owner = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
        number = np.concatenate([np.arange(len(batch)) for batch in batches])
        nearness = np.concatenate([middles(batch) @ backward for batch in batches])
        order = np.argsort(nearness, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(owner[order])) + 1):
            batch, chosen = batches[owner[run[0]]], number[run]
            self._send(batch, batch.placement[chosen], batch.color[chosen])
            self._draw_instances(batch, len(run))
        GL.glDepthMask(GL.GL_TRUE)

    def _draw_lines(self, lines: list[Lines], camera: Camera) -> None:
        if not lines:
            return
        self._use(self._line, camera)
        self._line.numbers("size", camera.width, camera.height)
        for line in lines:
            buffers = self._of(line)
            GL.glBindVertexArray(buffers.array)
            upload(buffers.moving, np.asarray(line.points, np.float32))
            upload(buffers.color, line.color)
            self._line.numbers("width", line.width)
            GL.glDrawArraysInstanced(GL.GL_TRIANGLE_STRIP, 0, 4, len(line))
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)

    def _use(self, wanted: Program, camera: Camera) -> None:
        wanted.use()
        view = camera.view()
        wanted.matrix("view", view)
        wanted.matrix("projection", camera.projection())
        if wanted is self._mesh:
            wanted.numbers("up", *(view[:3, :3] @ camera.ground[2]).tolist())

    def _of(self, drawn: Batch | Lines) -> Buffers:
        """Return the buffers of a batch or of lines, made when they are first drawn."""
        if id(drawn) not in self._buffers:
            made = mesh_buffers(drawn) if isinstance(drawn, Batch) else line_buffers()
            self._buffers[id(drawn)] = (drawn, made)
        return self._buffers[id(drawn)][1]


def paint_ground(background: tuple[float, ...]) -> None:
    """Paint the ground alone into the framebuffer that is bound."""
    GL.glClearColor(*background, 1.0)
    GL.glDepthMask(GL.GL_TRUE)
    GL.glClear(GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT)


def middles(batch: Batch) -> Array:
    """Return the world points (k, 3) that tell how near the placements of a batch are."""
    return np.asarray(batch.placement[:, :, :3] @ batch.middle + batch.placement[:, :, 3])


def mesh_buffers(batch: Batch) -> Buffers:
    """Upload a mesh, and describe placements and colours that advance once an instance."""
    array, mesh = int(GL.glGenVertexArrays(1)), batch.mesh
    fixed, moving, color = (int(name) for name in GL.glGenBuffers(3))
    vertices = np.hstack([mesh.vertices, mesh.normals])
    ends = np.hstack([mesh.edges, np.zeros_like(mesh.edges)])  # without a normal: see the program
    coarse = np.zeros((0, 3)) if mesh.caster is None else mesh.caster
    last = np.hstack([coarse, np.zeros_like(coarse)])
    upload(fixed, np.ascontiguousarray(np.concatenate([vertices, ends, last]), np.float32), GL.GL_STATIC_DRAW)
    describe_instances(array, fixed, moving, color, 0)
    caster = array
    if len(coarse):
        caster = int(GL.glGenVertexArrays(1))
        describe_instances(caster, fixed, moving, color, len(vertices) + len(ends))
    return Buffers(array, fixed, moving, color, caster)


def describe_instances(array: int, fixed: int, moving: int, color: int, first: int) -> None:
    """Describe an array that draws the vertices of a buffer from ``first`` on, at every placement."""
    GL.glBindVertexArray(array)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, fixed)
    attribute(0, 3, 6, 6 * first)
    attribute(1, 3, 6, 6 * first + 3)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, moving)
    for row in range(3):
        attribute(2 + row, 4, 12, 4 * row, per_instance=True)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, color)
    attribute(5, 4, 4, 0, per_instance=True)


def line_buffers() -> Buffers:
    """Describe segments; the four corners of their ribbons come from the number of the vertex."""
    array = int(GL.glGenVertexArrays(1))
    fixed, moving, color = (int(name) for name in GL.glGenBuffers(3))
    buffers = Buffers(array, fixed, moving, color, array)
    GL.glBindVertexArray(array)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffers.moving)
    attribute(0, 3, 6, 0, per_instance=True)
    attribute(1, 3, 6, 3, per_instance=True)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffers.color)
    attribute(2, 4, 4, 0, per_instance=True)
    return buffers


def attribute(place: int, size: int, stride: int, offset: int, per_instance: bool = False) -> None:
    """Describe one attribute of the buffer that is bound, in floats."""
    GL.glEnableVertexAttribArray(place)
    GL.glVertexAttribPointer(place, size, GL.GL_FLOAT, GL.GL_FALSE, stride * FLOAT, ctypes.c_void_p(offset * FLOAT))
    if per_instance:
        GL.glVertexAttribDivisor(place, 1)


def upload(buffer: int, values: Floats, usage: Any = GL.GL_STREAM_DRAW) -> None:
    """Replace what a buffer holds."""
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
    GL.glBufferData(GL.GL_ARRAY_BUFFER, values.nbytes, values, usage)


def driver() -> str:
    """Return what the current context is drawn by, in the words of its driver."""
    return (GL.glGetString(GL.GL_RENDERER) or b"").decode(errors="replace").partition(" (")[0]


def is_software() -> bool:
    """True when the current context has no graphics card behind it."""
    name = driver().lower()
    return any(word in name for word in ("llvmpipe", "softpipe", "swrast", "software"))
