"""Functions in the language of LLVM: tick counter, atomic counters, yield, and vectors of eight float64.

``intrinsic_code`` has them. With kernels of a library it is loaded only when numba is needed.
"""

import time

from rtmbs.jit import LANES
from rtmbs.jit.compiled import intrinsic_of, kernel

__all__ = [
    "LANES", "add_products", "add_rows", "at_most_rows", "count_up", "cycle_counter", "divide_rows", "equal_rows",
    "give_way", "guard_rows", "least_rows", "less_rows", "most_rows", "multiply_rows", "read", "root_rows",
    "seconds_per_tick", "subtract_rows", "ticks",
]  # fmt: skip
ROWS = (
    "add_rows", "subtract_rows", "multiply_rows", "divide_rows", "guard_rows", "least_rows", "most_rows", "less_rows",
    "at_most_rows", "equal_rows", "root_rows", "add_products",
)  # fmt: skip
cycle_counter = intrinsic_of("cycle_counter")
count_up, read, give_way = map(intrinsic_of, ("count_up", "read", "give_way"))
add_rows, subtract_rows, multiply_rows, divide_rows, guard_rows, least_rows, most_rows, less_rows = map(
    intrinsic_of, ROWS[:8]
)
at_most_rows, equal_rows, root_rows, add_products = map(intrinsic_of, ROWS[8:])


@kernel
def ticks():
    """Return the tick counter."""
    return cycle_counter()


_rate: list[float] = []


def seconds_per_tick() -> float:
    """Return the length of a tick, measured once over 2 ms against the wall clock."""
    if not _rate:
        ticks()  # compiled or loaded before the clock runs
        start, first = time.perf_counter(), ticks()
        while time.perf_counter() - start < 2e-3:
            pass
        _rate.append((time.perf_counter() - start) / max(ticks() - first, 1))
    return _rate[0]
