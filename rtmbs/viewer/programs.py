"""Programs of OpenGL and their numbers."""

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
        """Let this program draw from now on."""
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
