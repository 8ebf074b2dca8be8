"""Compilation with numba: kernel decorators, structs passed by address, the cache on disk, progress, intrinsics.

There are two ways to compile the same kernels: with private names of numba (the default), or with its public names
only. ``RTMBS_PLAIN_JIT=1`` chooses the second, for a numba whose private names changed: kernels give the same bytes,
take longer to compile, and are not kept on disk.
"""

import os

PLAIN = os.environ.get("RTMBS_PLAIN_JIT", "") == "1"
LANES = 8  # numbers of a row that the processor takes together
