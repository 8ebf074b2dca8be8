"""What can go wrong with a derivative. Each message names what is at fault and the way out."""

from rtmbs.errors import RtmbsError


class DerivativeError(RtmbsError, ValueError):
    """A derivative cannot be had from what was given: a wrong shape, a wrong name, a function that is not one."""


class TraceError(DerivativeError, TypeError):
    """A function did something with a traced value that a tape cannot hold, such as an ``if``."""


class UnsupportedFunctionError(TraceError):
    """A function of NumPy met a traced value and has no rule for it."""


class TapeSizeError(DerivativeError):
    """A tape, or the tape of its derivatives, takes more steps than there may be."""


class TapeFileError(DerivativeError):
    """A saved tape is truncated, of another version, or no tape at all."""


class DerivativeMismatchError(DerivativeError, AssertionError):
    """Two sources of one derivative disagree; the message names output, input and all values."""
