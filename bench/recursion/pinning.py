"""A core for each rank, or for each thread."""

import os


def pin(rank: int) -> None:
    """Keep the calling thread to a core of its own, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(os.getpid()))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
