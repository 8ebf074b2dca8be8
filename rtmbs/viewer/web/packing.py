"""Numbers as text for a page: whole multiples of a quantum, or float32, compressed by zlib and written in base64.

``unpack.js`` reads both.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

MISSING = -(2**31)  # stands for a value that is not a number
LARGEST = 2**30  # multiples of the quantum: their differences fit into 32 bits
LEVEL = 9  # of the compression


def quantised(values: ArrayLike, quantum: float) -> dict[str, Any]:
    """Return values (S, ...) that change slowly along their first axis, as multiples of ``quantum``.

    Each number is off by at most half a quantum; the quantum grows where the largest number asks for it. A number is
    kept as the difference from the sample before, small ones in few bytes: the bytes of one weight stand together.
    """
    given = np.asarray(values, float)
    table = given.reshape(len(given), -1).T  # (columns, S)
    finite = np.isfinite(table)
    largest = float(np.max(np.abs(table), where=finite, initial=0.0))
    quantum = max(quantum, largest / LARGEST, 1e-300)
    whole = np.where(finite, np.rint(np.where(finite, table, 0.0) / quantum), MISSING).astype(np.int64)
    change = np.diff(whole, axis=1, prepend=0).astype(np.int32)  # modulo 2^32, as JavaScript adds
    folded = ((change << 1) ^ (change >> 31)).view(np.uint32)  # small ones of either sign become small
    planes = folded.astype("<u4").reshape(-1, 1).view(np.uint8).T  # bytes of one weight together
    return {"shape": given.shape, "quantum": quantum, "data": text(planes.tobytes())}


def floats(values: ArrayLike) -> dict[str, Any]:
    """Return values of any shape as float32."""
    given = np.asarray(values, float)
    return {"shape": given.shape, "data": text(np.ascontiguousarray(given, "<f4").tobytes())}


def text(data: bytes) -> str:
    """Return compressed bytes in letters."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode("ascii")
