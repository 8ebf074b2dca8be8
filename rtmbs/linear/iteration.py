"""The end of a Newton iteration: corrections that are small, or that rounding keeps from shrinking."""


def converged(size: float, before: float, small: float, rounding: float) -> bool:
    """Return whether a correction of ``size`` is the last, ``before`` the size of the one before it, inf at first.

    It is below ``small``, or below ``rounding`` and at least half the one before: Newton's corrections shrink faster
    than that until they are rounding.
    """
    return size <= small or (size >= 0.5 * before and size <= rounding)
