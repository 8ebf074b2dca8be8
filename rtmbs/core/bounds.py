"""Bounds of numbers and of memory.

Bounds of the numbers of a mechanism in any units: the largest and the smallest sizes.

Limit of memory: the size of this machine, and a check of large arrays before they are allocated.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SHORTEST, LONGEST = 1e-100, 1e100  # steps [s]: their squares are still numbers
BEYOND = 1e100  # no coordinate, rate, acceleration or force comes near: squares and products are still numbers
ROTATION_TOLERANCE = 1e-6  # largest entry of R^T R - 1; steps multiply rotations without end


def are_rotations(R: Any) -> Any:
    """Return (k,) which of the matrices (k, 3, 3) are rotations: R^T R is 1, and the determinant positive."""
    miss = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3))
    return (np.max(miss, axis=(1, 2), initial=0.0) <= ROTATION_TOLERANCE) & (np.linalg.det(R) > 0.0)


CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
UNKNOWN = float("inf")  # on a system that does not say


@cache
def machine_memory() -> float:
    """Return the memory of this machine, or of the container it runs in [bytes]; infinite when it is unknown.

    The files with these sizes are read once, because every run calls this and a short run takes no longer.
    """
    try:
        size = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        size = UNKNOWN
    return min([size, *(limit for path in CONTAINER if (limit := limit_in(path)) > 0.0)])


def limit_in(path: Path) -> float:
    """Return the number in a file of the system; infinite when there is none."""
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return UNKNOWN


def in_words(size: float) -> str:
    """Return a number of bytes as a user reads it."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"


def bound_memory(memory: float) -> None:
    """Let this process hold ``memory`` [bytes] more than it does, on Linux; an allocation beyond raises MemoryError."""
    import resource

    status = Path("/proc/self/status").read_text(encoding="ascii")
    held = 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData"))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = held + int(memory)
    resource.setrlimit(resource.RLIMIT_DATA, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
