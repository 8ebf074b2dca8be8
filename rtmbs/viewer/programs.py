"""Programs of OpenGL and their numbers."""

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL
from OpenGL.GL import shaders


def program(vertex: str, fragment: str) -> int:
    """Compile and link a program; ShaderCompilationError carries the driver's words.

    Programs are linked without validation, which asks for a bound framebuffer: a window has one only later.
    """
    parts = (
        shaders.compileShader(vertex, GL.GL_VERTEX_SHADER),
        shaders.compileShader(fragment, GL.GL_FRAGMENT_SHADER),
    )
    return int(shaders.compileProgram(*parts, validate=False))


def set_matrix(used: int, name: str, matrix: NDArray[np.float64]) -> None:
    """Give a matrix (4, 4) to the program in use."""
    place = GL.glGetUniformLocation(used, name)
    GL.glUniformMatrix4fv(place, 1, GL.GL_TRUE, np.ascontiguousarray(matrix, np.float32))
