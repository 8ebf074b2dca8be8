"""Hosts of the native library in Python by ctypes, by its own functions and by FMI 3.0, for tests and measurements.

It needs no rtmbs, and NumPy for matrices only.
"""

import ctypes
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

HEAD = 48  # bytes of a state before its arrays
MODE = 8  # bytes of the state of an FMU before that of its mechanism
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
    "rtmbs_advance": (ctypes.c_int, [POINTER, DOUBLE]),
    "rtmbs_freedom": (ctypes.c_int, [POINTER]),
    "rtmbs_order": (ctypes.c_int, [POINTER]),
    "rtmbs_chosen_count": (ctypes.c_int, [POINTER]),
    "rtmbs_linearise_bytes": (ctypes.c_size_t, [POINTER]),
    "rtmbs_linearise": (ctypes.c_int, [POINTER, *[ctypes.POINTER(DOUBLE)] * 4, ctypes.POINTER(ctypes.c_int), POINTER]),
    "rtmbs_derivative_bytes": (ctypes.c_size_t, [POINTER]),
    "rtmbs_derivative": (ctypes.c_int, [POINTER, *[ctypes.POINTER(DOUBLE)] * 2, POINTER]),
    "rtmbs_read_outputs": (ctypes.c_int, [POINTER, ctypes.POINTER(DOUBLE)]),
    "rtmbs_step_size": (DOUBLE, [POINTER]),
    "rtmbs_time": (DOUBLE, [POINTER]),
    "rtmbs_steps": (COUNT, [POINTER]),
    "rtmbs_set_start": (ctypes.c_int, [POINTER, DOUBLE]),
    "rtmbs_state_size": (ctypes.c_size_t, [POINTER]),
    "rtmbs_get_state": (None, [POINTER, WORD]),
    "rtmbs_set_state": (ctypes.c_int, [POINTER, WORD, ctypes.c_size_t]),
    "rtmbs_status_text": (WORD, [ctypes.c_int]),
    "rtmbs_version": (WORD, []),
    "rtmbs_target": (WORD, []),
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


class Linear(NamedTuple):
    """x' = A x + B u, y = C x + D u."""

    A: Any
    B: Any
    C: Any
    D: Any
    independent: list[int]


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

    def advance(self, span: float) -> int:
        """Advance by a span [s] and return the status."""
        return int(self.library.rtmbs_advance(self.it, span))

    def linearise(self) -> "Linear":
        """Return the linear equations about the present state; ValueError with the sentence of a refusal."""
        import numpy as np

        library, it = self.library, self.it
        nx, nu, ny = library.rtmbs_order(it), library.rtmbs_chosen_count(it), library.rtmbs_output_count(it)
        shapes = ((nx, nx), (nx, nu), (ny, nx), (ny, nu))
        places = [(DOUBLE * (rows * columns))() for rows, columns in shapes]
        independent = (ctypes.c_int * library.rtmbs_freedom(it))()
        scratch = ctypes.create_string_buffer(library.rtmbs_linearise_bytes(it) + 8)
        status = library.rtmbs_linearise(it, *places, independent, scratch)
        if status:
            raise ValueError(library.rtmbs_status_text(status).decode())
        matrices = [np.array(place).reshape(shape) for place, shape in zip(places, shapes, strict=True)]
        return Linear(*matrices, list(independent))

    def derivative(self, seed: dict[str, float]) -> Any:
        """Return the derivatives of all outputs along a change of inputs by name."""
        import numpy as np

        library, it = self.library, self.it
        given, found = (DOUBLE * library.rtmbs_input_count(it))(), (DOUBLE * library.rtmbs_output_count(it))()
        for name, value in seed.items():
            given[library.rtmbs_input(it, name.encode())] = value
        scratch = ctypes.create_string_buffer(library.rtmbs_derivative_bytes(it) + 8)
        if status := library.rtmbs_derivative(it, given, found, scratch):
            raise ValueError(library.rtmbs_status_text(status).decode())
        return np.array(found)

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


class Communicating:
    """A mechanism behind the functions of FMI 3.0 that a co-simulation calls."""

    def __init__(self, library: Any, content: bytes, token: str) -> None:
        self.library = library
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / "mechanism.rtm").write_bytes(content)
        library.fmi3InstantiateCoSimulation.restype = POINTER
        library.fmi3DoStep.argtypes = [POINTER, DOUBLE, DOUBLE, ctypes.c_bool, *[POINTER] * 4]
        words = (b"one", token.encode(), self.folder.name.encode(), *[False] * 4, None, 0, None, None, None)
        self.it = POINTER(library.fmi3InstantiateCoSimulation(*words))
        if not self.it:
            raise ValueError("the FMU was not instantiated")
        library.fmi3EnterInitializationMode(self.it, False, DOUBLE(0.0), DOUBLE(0.0), False, DOUBLE(0.0))
        library.fmi3ExitInitializationMode(self.it)
        self.flags, self.last, self.kept = (ctypes.c_bool * 3)(), DOUBLE(), POINTER()
        self.places = [ctypes.addressof(self.flags) + k for k in range(3)]

    def __del__(self) -> None:
        if getattr(self, "it", None):
            self.library.fmi3FreeFMUState(self.it, ctypes.byref(self.kept))
            self.library.fmi3FreeInstance(self.it)

    def set(self, reference: int, value: float) -> int:
        """Set a variable by its value reference and return the status."""
        one, count = (ctypes.c_uint32 * 1)(reference), ctypes.c_size_t(1)
        return int(self.library.fmi3SetFloat64(self.it, one, count, (DOUBLE * 1)(value), count))

    def step(self, t: float, size: float) -> bool:
        """Take a communication step and return whether it was taken."""
        return bool(self.library.fmi3DoStep(self.it, t, size, False, *self.places, ctypes.addressof(self.last)) <= 1)

    @property
    def arrays(self) -> bytes:
        """The numbers of the state, as those of ``Mechanism``."""
        size = ctypes.c_size_t()
        self.library.fmi3GetFMUState(self.it, ctypes.byref(self.kept))
        self.library.fmi3SerializedFMUStateSize(self.it, self.kept, ctypes.byref(size))
        found = ctypes.create_string_buffer(size.value)
        self.library.fmi3SerializeFMUState(self.it, self.kept, found, size)
        return found.raw[MODE + HEAD :]
