"""Errors of derivatives; each message names what is at fault and the way out."""

from rtmbs.errors import RtmbsError


class DerivativeError(RtmbsError, ValueError):
    """Error of a derivative that cannot be computed: a wrong shape, a wrong name, a function that is not one."""


class TraceError(DerivativeError, TypeError):
    """Error of a function that used a traced value in a way that a tape cannot hold, such as an ``if``."""


class UnsupportedFunctionError(TraceError):
    """Error of a NumPy function that met a traced value and has no rule."""


class TapeSizeError(DerivativeError):
    """Error of a tape, or of its derivative, with more steps than allowed."""


class TapeFileError(DerivativeError):
    """Error of a tape file that is truncated, of another version, or no tape at all."""


class DerivativeMismatchError(DerivativeError, AssertionError):
    """Error of two sources of one derivative that disagree; the message names output, input and values."""
