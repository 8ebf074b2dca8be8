"""CVODE and IDA of SUNDIALS through scikit-sundae, the optional extra ``sundials``: what both share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.errors import MotionError
from rtmbs.errors import InputError

Array = NDArray[np.float64]

MOST_STEPS = 10**6  # between two samples


def solver_class(name: str) -> Any:
    """Return CVODE or IDA of scikit-sundae. Raises InputError where the package is missing."""
    try:
        import sksundae
    except ImportError:
        raise InputError(f"{name} needs scikit-sundae; install the extra: pip install 'rtmbs[sundials]'") from None
    return getattr(getattr(sksundae, name.lower()), name)


def reached(solver: Any, t: float, name: str, last: float | None = None) -> Array:
    """Return y at ``t`` [s] on the dense output of a solver that asks for nothing behind ``last`` [s].

    Raises MotionError, and what the system raises.
    """
    found = solver.step(t) if last is None else solver.step(t, tstop=last)
    if not found.success:
        raise MotionError(f"{name} failed before t = {t:g}: {found.message}")
    return np.array(found.y, np.float64).ravel()
