"""A host of the native library in Python by ctypes: what a C program does, for tests and measurements.

It needs neither rtmbs nor NumPy.
"""

import ctypes
from pathlib import Path
from typing import Any

HEAD = 40  # bytes of a state before its arrays
TEXT = 300
DOUBLE, COUNT, POINTER, WORD = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rtmbs_load": (POINTER, [WORD, WORD, ctypes.c_size_t]),
    "rtmbs_load_memory": (POINTER, [WORD, ctypes.c_size_t, WORD, ctypes.c_size_t]),
    "rtmbs_free": (None, [POINTER]),
    "rtmbs_reset": (None, [POINTER]),
    "rtmbs_input": (ctypes.c_int, [POINTER, WORD]),
    "rtmbs_output": (ctypes.c_int, [POINTER, WORD]),
    "rtmbs_input_count": (ctypes.c_int, [POINTER]),
    "rtmbs_output_count": (ctypes.c_int, [POINTER]),
    "rtmbs_output_name": (WORD, [POINTER, ctypes.c_int]),
    "rtmbs_output_unit": (WORD, [POINTER, ctypes.c_int]),
    "rtmbs_set_input": (ctypes.c_int, [POINTER, ctypes.c_int, DOUBLE]),
    "rtmbs_input_value": (DOUBLE, [POINTER, ctypes.c_int]),
    "rtmbs_output_value": (DOUBLE, [POINTER, ctypes.c_int]),
    "rtmbs_step": (ctypes.c_int, [POINTER, COUNT]),
    "rtmbs_step_size": (DOUBLE, [POINTER]),
    "rtmbs_time": (DOUBLE, [POINTER]),
    "rtmbs_steps": (COUNT, [POINTER]),
    "rtmbs_set_start": (ctypes.c_int, [POINTER, DOUBLE]),
    "rtmbs_state_size": (ctypes.c_size_t, [POINTER]),
    "rtmbs_get_state": (None, [POINTER, WORD]),
    "rtmbs_set_state": (ctypes.c_int, [POINTER, WORD, ctypes.c_size_t]),
    "rtmbs_status_text": (WORD, [ctypes.c_int]),
    "rtmbs_version": (WORD, []),
    "rtmbs_abi": (ctypes.c_int, []),
    "rtmbs_memory": (ctypes.c_size_t, [POINTER]),
    "rtmbs_taken": (ctypes.c_int, [ctypes.c_int]),
}


def opened(library: Path) -> Any:
    """Return the native library with the types of its functions."""
    found = ctypes.CDLL(str(library))
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


class Mechanism:
    """A mechanism of the native library; raises ValueError with the sentence of a file that is refused."""

    def __init__(self, library: Any, content: bytes) -> None:
        self.library, error = library, ctypes.create_string_buffer(TEXT)
        self.it = library.rtmbs_load_memory(content, len(content), error, TEXT)
        if not self.it:
            raise ValueError(error.value.decode())

    def __del__(self) -> None:
        if getattr(self, "it", None):
            self.library.rtmbs_free(self.it)

    def set(self, name: str, value: float) -> int:
        """Set an input and return the status."""
        return int(self.library.rtmbs_set_input(self.it, self.library.rtmbs_input(self.it, name.encode()), value))

    def read(self, name: str) -> float:
        """Return an output."""
        return float(self.library.rtmbs_output_value(self.it, self.library.rtmbs_output(self.it, name.encode())))

    def step(self, count: int = 1) -> int:
        """Take steps and return the status."""
        return int(self.library.rtmbs_step(self.it, count))

    @property
    def state(self) -> bytes:
        """The whole state."""
        found = ctypes.create_string_buffer(self.library.rtmbs_state_size(self.it))
        self.library.rtmbs_get_state(self.it, found)
        return found.raw

    @state.setter
    def state(self, content: bytes) -> None:
        if self.library.rtmbs_set_state(self.it, content, len(content)):
            raise ValueError("not a state of this mechanism")

    @property
    def arrays(self) -> bytes:
        """The numbers of the state, without its head."""
        return self.state[HEAD:]
