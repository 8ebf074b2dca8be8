"""Shader programs of the renderer in GLSL 3.30, and their uniform variables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from OpenGL.GL import shaders


class Program:
    """A compiled program; the places of its numbers are asked for once. Needs a current context whenever it is called.

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
void main() {
    vec4 p = vec4(position, 1.0);
    vec4 seen = down * vec4(dot(row0, p), dot(row1, p), dot(row2, p), 1.0);
    base = vec4(color.a * clamp(1.0 - 1.1 * seen.z, 0.15, 1.0));  // what stands higher casts less
    gl_Position = vec4(seen.xy, 0.0, 1.0);
}
"""
BLUR_VERTEX = """#version 330 core
layout(location = 0) in vec4 cell;  // its low and its high corner, from 0 to 1
out vec2 place;
void main() {
    place = mix(cell.xy, cell.zw, vec2(gl_VertexID % 2, gl_VertexID / 2));
    gl_Position = vec4(2.0 * place - 1.0, 0.0, 1.0);
}
"""
BLUR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform vec2 way;  // one pixel along a row or a column
out vec4 shade;
void main() {
    vec4 sum = 0.2270270 * texture(picture, place);
    sum += 0.3162162 * (texture(picture, place + 1.3846154 * way) + texture(picture, place - 1.3846154 * way));
    sum += 0.0702703 * (texture(picture, place + 3.2307692 * way) + texture(picture, place - 3.2307692 * way));
    shade = sum;
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
FLOOR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform float dark;
out vec4 shade;
void main() { shade = vec4(0.0, 0.0, 0.0, dark * texture(picture, place).r); }
"""
