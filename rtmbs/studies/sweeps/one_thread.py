"""One thread for linear algebra in a process: on small matrices a second thread waits more than it works."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def one_thread() -> list[str]:
    """Set the variables that the user left unset, and return their names; NumPy looks at them once, when it loads."""
    unset = [name for name in THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    return unset


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that start inside compute in one thread each."""
    unset = one_thread()
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)
