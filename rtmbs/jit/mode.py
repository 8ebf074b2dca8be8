"""Two ways to compile the same kernels: with numba's insides, or with nothing but its public names.

The first is the usual one. ``RTMBS_PLAIN_JIT=1`` takes the second, for a numba whose insides changed: kernels give the
same bytes, take longer to compile, and are kept nowhere.
"""

import os

PLAIN = os.environ.get("RTMBS_PLAIN_JIT", "") == "1"
