"""Draws batches and lines with OpenGL 3.3, in whatever context is current: a window's or one without a window.

All placements of a mesh are one instanced draw; a picture uploads twelve numbers a placement and nothing else.
"""

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from OpenGL.GL import shaders

from rtmbs.viewer.batch import Batch, Lines
from rtmbs.viewer.camera import Camera
from rtmbs.viewer.section import Section

Floats = NDArray[np.float32]

FLOAT = 4  # bytes
TRANSPARENT = 0.999  # opacity below which a batch is drawn after the solid ones

# Light is worked out at the vertices: without a graphics card, the price of a picture is that of its pixels.
MESH_VERTEX = """#version 330 core
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 row0;  // of the placement, 3 x 4
layout(location = 3) in vec4 row1;
layout(location = 4) in vec4 row2;
layout(location = 5) in vec4 color;
uniform mat4 view, projection;
uniform vec4 section;  // what is drawn has section . (x, 1) >= 0
uniform bool both;  // sides are lit
out vec4 base;
void main() {
    mat3 M = transpose(mat3(row0.xyz, row1.xyz, row2.xyz));
    vec3 square = max(vec3(dot(M[0], M[0]), dot(M[1], M[1]), dot(M[2], M[2])), vec3(1e-30));
    vec3 n = normalize(mat3(view) * (M * (normal / square)));  // columns of M are orthogonal: its inverse transpose
    vec4 place = vec4(M * position + vec3(row0.w, row1.w, row2.w), 1.0);
    gl_ClipDistance[0] = dot(section, place);
    vec4 seen = view * place;
    if (both && dot(n, seen.xyz) > 0.0) n = -n;
    float key = max(dot(n, vec3(0.36, 0.62, 0.70)), 0.0);  // over the right shoulder of the eye
    float fill = max(dot(n, vec3(-0.70, -0.10, 0.70)), 0.0);
    float gleam = pow(key, 20.0);
    base = vec4(color.rgb * (0.56 + 0.42 * key + 0.14 * fill) + vec3(0.10 * gleam), color.a);
    gl_Position = projection * seen;
}
"""
MESH_FRAGMENT = """#version 330 core
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
LINE_FRAGMENT = """#version 330 core
in vec4 base;
out vec4 shade;
void main() { shade = base; }
"""


class Buffers(NamedTuple):
    """What one batch or one set of lines keeps on the graphics card."""

    array: int  # vertex array object
    fixed: int  # the mesh
    moving: int  # placements, or segments
    color: int


class Renderer:
    """Draws; needs a current context of OpenGL 3.3 or later whenever it is called."""

    def __init__(self) -> None:
        # Programs are linked without validation: that asks for a bound framebuffer, which a window has only later.
        self._mesh = program(MESH_VERTEX, MESH_FRAGMENT)
        self._line = program(LINE_VERTEX, LINE_FRAGMENT)
        self._section: Section | None = None
        self._buffers: dict[int, tuple[Any, Buffers]] = {}  # by identity; what is drawn is kept alive with it

    def draw(
        self,
        batches: Iterable[Batch],
        lines: Iterable[Lines],
        camera: Camera,
        background: tuple[float, ...],
        section: Section | None = None,
    ) -> None:
        """Draw one picture into the framebuffer that is bound. A section cuts batches; lines stay whole."""
        self._section = section
        GL.glClearColor(*background, 1.0)
        GL.glDepthMask(GL.GL_TRUE)
        GL.glClear(GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glEnable(GL.GL_MULTISAMPLE)  # a painter that wrote text has turned it off
        GL.glDisable(GL.GL_CULL_FACE)
        shown = [batch for batch in batches if batch.visible and len(batch)]
        clear = [batch for batch in shown if float(batch.color[:, 3].min()) < TRANSPARENT]
        GL.glDisable(GL.GL_BLEND)
        self._draw_batches([batch for batch in shown if all(batch is not other for other in clear)], camera)
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        self._draw_lines([line for line in lines if line.visible and len(line)], camera)
        self._draw_batches(clear, camera)
        GL.glDisable(GL.GL_BLEND)
        GL.glDisable(GL.GL_DEPTH_TEST)  # painters that draw text afterwards want none

    def forget(self) -> None:
        """Free every buffer: another scene comes."""
        for _, buffers in self._buffers.values():
            GL.glDeleteVertexArrays(1, [buffers.array])
            GL.glDeleteBuffers(3, [buffers.fixed, buffers.moving, buffers.color])
        self._buffers.clear()

    def _draw_batches(self, batches: list[Batch], camera: Camera) -> None:
        if not batches:
            return
        self._use(self._mesh, camera)
        cut = self._section is not None
        if self._section is not None:
            GL.glUniform4f(GL.glGetUniformLocation(self._mesh, "section"), *self._section.plane)
            GL.glEnable(GL.GL_CLIP_DISTANCE0)
        both = GL.glGetUniformLocation(self._mesh, "both")
        for batch in batches:
            buffers = self._of(batch)
            GL.glBindVertexArray(buffers.array)
            upload(buffers.moving, np.asarray(batch.placement, np.float32))
            upload(buffers.color, batch.color)
            whole = batch.mesh.closed and not cut  # of a solid that is cut the inner side is seen
            GL.glUniform1i(both, not whole)
            (GL.glEnable if whole else GL.glDisable)(GL.GL_CULL_FACE)
            GL.glDrawArraysInstanced(GL.GL_TRIANGLES, 0, len(batch.mesh.vertices), len(batch))
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDisable(GL.GL_CLIP_DISTANCE0)
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)

    def _draw_lines(self, lines: list[Lines], camera: Camera) -> None:
        if not lines:
            return
        self._use(self._line, camera)
        GL.glUniform2f(GL.glGetUniformLocation(self._line, "size"), camera.width, camera.height)
        width = GL.glGetUniformLocation(self._line, "width")
        for line in lines:
            buffers = self._of(line)
            GL.glBindVertexArray(buffers.array)
            upload(buffers.moving, np.asarray(line.points, np.float32))
            upload(buffers.color, line.color)
            GL.glUniform1f(width, line.width)
            GL.glDrawArraysInstanced(GL.GL_TRIANGLE_STRIP, 0, 4, len(line))
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)

    def _use(self, wanted: int, camera: Camera) -> None:
        GL.glUseProgram(wanted)
        for name, matrix in (("view", camera.view()), ("projection", camera.projection())):
            place = GL.glGetUniformLocation(wanted, name)
            GL.glUniformMatrix4fv(place, 1, GL.GL_TRUE, np.ascontiguousarray(matrix, np.float32))

    def _of(self, drawn: Batch | Lines) -> Buffers:
        """Return the buffers of a batch or of lines, made when they are first drawn."""
        if id(drawn) not in self._buffers:
            made = mesh_buffers(drawn) if isinstance(drawn, Batch) else line_buffers()
            self._buffers[id(drawn)] = (drawn, made)
        return self._buffers[id(drawn)][1]


def program(vertex: str, fragment: str) -> int:
    """Compile and link a program; ShaderCompilationError carries the driver's words."""
    parts = (
        shaders.compileShader(vertex, GL.GL_VERTEX_SHADER),
        shaders.compileShader(fragment, GL.GL_FRAGMENT_SHADER),
    )
    return int(shaders.compileProgram(*parts, validate=False))


def mesh_buffers(batch: Batch) -> Buffers:
    """Upload a mesh, and describe placements and colours that advance once an instance."""
    buffers = Buffers(int(GL.glGenVertexArrays(1)), *(int(name) for name in GL.glGenBuffers(3)))
    GL.glBindVertexArray(buffers.array)
    vertices = np.hstack([batch.mesh.vertices, batch.mesh.normals])
    upload(buffers.fixed, np.ascontiguousarray(vertices, np.float32), GL.GL_STATIC_DRAW)
    attribute(0, 3, 6, 0)
    attribute(1, 3, 6, 3)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffers.moving)
    for row in range(3):
        attribute(2 + row, 4, 12, 4 * row, per_instance=True)
    GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffers.color)
    attribute(5, 4, 4, 0, per_instance=True)
    return buffers


def line_buffers() -> Buffers:
    """Describe segments; the four corners of their ribbons come from the number of the vertex."""
    buffers = Buffers(int(GL.glGenVertexArrays(1)), *(int(name) for name in GL.glGenBuffers(3)))
    GL.glBindVertexArray(buffers.array)
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
