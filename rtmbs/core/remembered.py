"""Results of functions that depend on whole numbers alone, remembered by the content of their arguments.

Mechanisms of one structure differ in lengths, masses and other real numbers. Their patterns and orders of elimination
are the same, so the second such mechanism takes those of the first.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

MOST_REMEMBERED = 64  # results of one function
LARGEST = 1 << 20  # bytes of arguments, above which a comparison is not worth the memory

KEPT: list[OrderedDict[Any, Any]] = []  # results of all such functions

P = ParamSpec("P")
T = TypeVar("T")


def by_content(function: Callable[P, T]) -> Callable[P, T]:
    """Remember results by the content of the arguments: whole numbers, None, and arrays of whole numbers.

    Nobody may change what the function returns, and the function must depend on its arguments alone. Arrays of real
    numbers are refused: equal numbers with other signs of zero would be taken for one another.
    """
    kept: OrderedDict[Any, T] = OrderedDict()
    KEPT.append(kept)

    @wraps(function)
    def asked(*args: P.args, **keywords: P.kwargs) -> T:
        key = tuple(key_of(value) for value in (*args, *keywords.items()))
        if (found := kept.get(key)) is None:
            found = function(*args, **keywords)
            if sum(len(one[0]) for one in key if isinstance(one, tuple) and isinstance(one[0], bytes)) <= LARGEST:
                kept[key] = found
                if len(kept) > MOST_REMEMBERED:
                    with suppress(KeyError):  # another thread was faster
                        kept.popitem(last=False)
        return found

    return asked


def key_of(value: Any) -> Any:
    """Return the key of an argument; raises TypeError for one that is no whole number and holds none."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iub":
            raise TypeError(f"an array of {value.dtype} is remembered by no content")
        return value.tobytes(), value.shape, value.dtype.char
    if isinstance(value, tuple):
        return tuple(map(key_of, value))
    if value is None or isinstance(value, int | str):
        return value
    raise TypeError(f"{type(value).__name__} is remembered by no content")


def forget() -> None:
    """Forget all results, so that the next mechanism is built anew; for tests and measurements."""
    for kept in KEPT:
        kept.clear()
