"""OpenGL 3.3 renderer of batches and lines, with its shader programs, framebuffers, and a soft shadow on the floor.

It draws into the current context of a window or of a film. All placements of a mesh are one instanced draw; a picture
uploads twelve numbers a placement and nothing else. The shadow is a small picture from above, blurred, and laid on the
floor. It is made when something has moved, and only in those cells of the floor that have a shadow. Meshes with many
triangles cast the shadow of a coarse one.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from OpenGL.GL import shaders

from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import (
    BLUR_FRAGMENT,
    FLOOR_FRAGMENT,
    SHADOW_CROWD,
    SHADOW_FADE,
    SHADOW_PIXELS,
    Batch,
    Drawing,
    Floor,
    Lines,
    Section,
)


class Program:
    """Compiled shader program; the locations of its uniforms are read once. Every call needs a current context.

    ShaderCompilationError carries the driver's words. Programs are linked without validation, which asks for a bound
    framebuffer: a window has one only later.
    """

    def __init__(self, vertex: str, fragment: str) -> None:
        parts = (
            shaders.compileShader(vertex, GL.GL_VERTEX_SHADER),
            shaders.compileShader(fragment, GL.GL_FRAGMENT_SHADER),
        )
        self._name = int(shaders.compileProgram(*parts, validate=False))
        self._places: dict[str, int] = {}

    def use(self) -> None:
        """Make this program the current one."""
        GL.glUseProgram(self._name)

    def place(self, name: str) -> int:
        """Return where a number of the program is."""
        if name not in self._places:
            self._places[name] = int(GL.glGetUniformLocation(self._name, name))
        return self._places[name]

    def numbers(self, name: str, *values: Any) -> None:
        """Give one to four numbers to the program, which is in use."""
        (GL.glUniform1f, GL.glUniform2f, GL.glUniform3f, GL.glUniform4f)[len(values) - 1](self.place(name), *values)

    def matrix(self, name: str, matrix: NDArray[np.float64]) -> None:
        """Give a matrix (4, 4) to the program, which is in use."""
        GL.glUniformMatrix4fv(self.place(name), 1, GL.GL_TRUE, np.ascontiguousarray(matrix, np.float32))


# ---- GLSL 3.30 -------------------------------------------------------------------------------------------------------

# Light is worked out at the vertices: without a graphics card, the price of a picture is that of its pixels.
# An end of a sharp edge has no normal: it is drawn darker, and without light.
MESH_VERTEX = """#version 330 core
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 row0;  // of the placement, 3 x 4
layout(location = 3) in vec4 row1;
layout(location = 4) in vec4 row2;
layout(location = 5) in vec4 color;
uniform mat4 view, projection;
uniform vec3 up;    // in eye axes
uniform vec4 section;  // what is drawn has section . (x, 1) >= 0
uniform bool both;  // sides are lit
out vec4 base;
void main() {
    mat3 M = transpose(mat3(row0.xyz, row1.xyz, row2.xyz));
    vec4 place = vec4(M * position + vec3(row0.w, row1.w, row2.w), 1.0);
    gl_ClipDistance[0] = dot(section, place);
    vec4 seen = view * place;
    gl_Position = projection * seen;
    if (dot(normal, normal) < 0.5) {
        base = vec4(0.42 * color.rgb, mix(color.a, 1.0, 0.35));
        return;
    }
    vec3 square = max(vec3(dot(M[0], M[0]), dot(M[1], M[1]), dot(M[2], M[2])), vec3(1e-30));
    vec3 n = normalize(mat3(view) * (M * (normal / square)));  // columns of M are orthogonal: its inverse transpose
    if (both && dot(n, seen.xyz) > 0.0) n = -n;
    float sky = 0.40 + 0.20 * dot(n, up);  // light from all around: less from the ground
    float key = max(dot(n, vec3(0.36, 0.62, 0.70)), 0.0);  // over the right shoulder of the eye
    float fill = max(dot(n, vec3(-0.70, -0.10, 0.70)), 0.0);
    float gleam = pow(key, 20.0);
    base = vec4(color.rgb * (sky + 0.52 * key + 0.18 * fill) + vec3(0.10 * gleam), color.a);
}
"""
PLAIN_FRAGMENT = """#version 330 core
in vec4 base;
out vec4 shade;
void main() { shade = base; }
"""
LINE_VERTEX = """#version 330 core
layout(location = 0) in vec3 start;
layout(location = 1) in vec3 end;
layout(location = 2) in vec4 color;
uniform mat4 view, projection;
uniform vec2 size;      // of the picture in pixels
uniform float width;    // in pixels
out vec4 base;
void main() {
    vec4 a = view * vec4(start, 1.0), b = view * vec4(end, 1.0);
    // what lies behind the eye is cut off
    float near = projection[3][2] / (projection[2][2] - 1.0);
    if (a.z > -near) a = mix(a, b, clamp((a.z + near) / (a.z - b.z + 1e-12), 0.0, 1.0));
    if (b.z > -near) b = mix(b, a, clamp((b.z + near) / (b.z - a.z + 1e-12), 0.0, 1.0));
    vec4 p = projection * a, q = projection * b;
    vec2 way = (q.xy / q.w - p.xy / p.w) * size;
    float reach = length(way);
    way = reach > 1e-6 ? way / reach : vec2(1.0, 0.0);
    vec2 side = vec2(-way.y, way.x) * (gl_VertexID % 2 == 0 ? 1.0 : -1.0) * width / size;
    vec4 here = gl_VertexID < 2 ? p : q;
    base = color;
    gl_Position = vec4(here.xy + side * here.w, here.z, here.w);
}
"""

# The shadow: all that stands over the floor is drawn from above into a small picture, blurred, and laid on the floor.
CASTER_VERTEX = """#version 330 core
layout(location = 0) in vec3 position;
layout(location = 2) in vec4 row0;
layout(location = 3) in vec4 row1;
layout(location = 4) in vec4 row2;
layout(location = 5) in vec4 color;
uniform mat4 down;  // world to the floor: two places from -1 to 1, and the height in sizes of the floor
out vec4 base;
FADE
void main() {
    vec4 p = vec4(position, 1.0);
    vec4 seen = down * vec4(dot(row0, p), dot(row1, p), dot(row2, p), 1.0);
    base = vec4(color.a * fade(seen.z));
    gl_Position = vec4(seen.xy, 0.0, 1.0);
}
""".replace("FADE", SHADOW_FADE)
BLUR_VERTEX = """#version 330 core
layout(location = 0) in vec4 cell;  // its low and its high corner, from 0 to 1
out vec2 place;
void main() {
    place = mix(cell.xy, cell.zw, vec2(gl_VertexID % 2, gl_VertexID / 2));
    gl_Position = vec4(2.0 * place - 1.0, 0.0, 1.0);
}
"""
FLOOR_VERTEX = """#version 330 core
layout(location = 0) in vec4 cell;
uniform mat4 seen;
uniform vec3 corner, east, north;
out vec2 place;
void main() {
    place = mix(cell.xy, cell.zw, vec2(gl_VertexID % 2, gl_VertexID / 2));
    gl_Position = seen * vec4(corner + place.x * east + place.y * north, 1.0);
}
"""


# ---- shadow ----------------------------------------------------------------------------------------------------------

Array = NDArray[np.float64]

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
        self._targets = [target(SHADOW_PIXELS), target(SHADOW_PIXELS)]
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
        GL.glViewport(0, 0, SHADOW_PIXELS, SHADOW_PIXELS)
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
        """Blur along rows, then along columns; the first target holds the result."""
        GL.glBindVertexArray(self._quads)
        self._blur.use()
        for source, goal, step in ((0, 1, (1.0 / SHADOW_PIXELS, 0.0)), (1, 0, (0.0, 1.0 / SHADOW_PIXELS))):
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
    halves += BLURRED / SHADOW_PIXELS
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


# ---- framebuffers and renderer ---------------------------------------------------------------------------------------

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

FLOAT = 4  # bytes
WHOLE = (0.0, 0.0, 0.0, 1.0)  # the plane of no section: every point lies on its drawn side
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
        floor = None if self._software and sum(map(len, shown)) > SHADOW_CROWD else drawing.floor
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
        """Bind the buffers that cast the shadow of a batch, and return the number of their vertices."""
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
    """Replace the content of a buffer."""
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
    GL.glBufferData(GL.GL_ARRAY_BUFFER, values.nbytes, values, usage)


def driver() -> str:
    """Return the name of the device of the current context, as its driver gives it."""
    return (GL.glGetString(GL.GL_RENDERER) or b"").decode(errors="replace").partition(" (")[0]


def is_software() -> bool:
    """True when the current context has no graphics card behind it."""
    name = driver().lower()
    return any(word in name for word in ("llvmpipe", "softpipe", "swrast", "software"))
