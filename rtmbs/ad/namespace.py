"""The recorder's array namespace: NumPy, with the constructors that NumPy itself would fill with objects."""

from typing import Any

import numpy as np

from rtmbs.ad.open_tape import OpenTape
from rtmbs.ad.traced import TracedArray, steps


class Namespace:
    """NumPy's names; ``hooks`` are further ones, such as a sum that is better recorded as a recursion."""

    def __init__(self, **hooks: Any) -> None:
        self.__dict__.update(hooks)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def array(self, values: Any, **options: Any) -> Any:
        """Return numbers and traced values, nested in lists, as one array."""
        tape = tape_in(values)
        return np.array(values, **options) if tape is None else TracedArray(tape, steps(tape, values).copy())

    def asarray(self, values: Any, **options: Any) -> Any:
        """Return numbers and traced values, nested in lists, as one array."""
        return values if isinstance(values, TracedArray) else self.array(values, **options)


recorder = Namespace()


def tape_in(values: Any) -> OpenTape | None:
    """Return the tape of the first traced value in nested sequences."""
    if isinstance(values, TracedArray):
        return values.tape
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.dtype == object):
        return next((tape for tape in map(tape_in, values) if tape is not None), None)
    return None
