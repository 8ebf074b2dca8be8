"""How long tests wait for what must come: a condition ends a wait, and this bound only one that would never end.

A machine may be loaded by others, so no test fails for its time. What must be fast is measured in ``bench/``.
"""

LONGEST = 1800.0  # [s]
LONGEST_MS = 1_800_000  # [ms] for Qt
