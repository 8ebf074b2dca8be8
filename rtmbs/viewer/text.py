"""Text for users: numbers with SI prefixes and plurals; exceptions with the place in the file of the user."""

import math
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from rtmbs.errors import RtmbsError

PREFIXES = (
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "\N{MICRO SIGN}"),
    (1e-9, "n"),
    (1e-12, "p"),
)
DASH = "\N{EN DASH}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 body, 2 bodies, 3 coordinates."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else many}"


def figures(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant figures; a dash for one that is not finite."""
    if not math.isfinite(value):
        return DASH
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
        return f"{value:.{places}f}"
    return f"{value:.{digits - 1}e}"


def brief(value: float, unit: str) -> str:
    """Return a number with the prefix of its unit, without zeros at its end: 5 kN."""
    number, rest = with_unit(value, unit).split(" ", 1)
    return f"{float(number):g} {rest}" if number != DASH else f"{number} {rest}"


def with_unit(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with the prefix of its unit that leaves one to three figures before the point."""
    if not math.isfinite(value):
        return f"{DASH} {unit}"
    if value == 0.0:
        return f"0 {unit}"
    size = abs(value)
    factor, prefix = next(((f, p) for f, p in PREFIXES if size >= f * (1.0 - 0.5 * 10.0**-digits)), PREFIXES[-1])
    scaled = value / factor
    places = max(digits - 1 - math.floor(math.log10(abs(scaled)) + 1e-9), 0)
    if size < 1e-12:
        return f"{value:.1e} {unit}"
    return f"{scaled:.{places}f} {prefix}{unit}"


def metric(length: float) -> str:
    """Return a length in the unit that needs no zeros: 0.005 is "5 mm"."""
    for least, unit, factor in ((1.0, "m", 1.0), (0.01, "cm", 1e2), (0.001, "mm", 1e3)):
        if length >= least * (1.0 - 1e-9):
            return f"{factor * length:g} {unit}"
    return f"{1e6 * length:g} µm"


# ---- exceptions ------------------------------------------------------------------------------------------------------

PACKAGE = str(Path(__file__).parents[1])
INSTALLED = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def error_sentence(error: BaseException) -> str:
    """Return the message of an exception; of one that rtmbs did not raise, with file and line."""
    notes = "; ".join(getattr(error, "__notes__", ()))
    if isinstance(error, RtmbsError):
        return f"{error}{error_place(error)}{'; ' + notes if notes else ''}"
    text = f"{error}{'; ' + notes if notes else ''}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    frames = user_frames(error.__traceback__) or traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


def error_place(error: BaseException) -> str:
    """Return " (file:line)" of the user's function that raised the cause of an RtmbsError; "" without one."""
    frames = wrapped_frames(error)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def wrapped_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the user's lines of the cause of an RtmbsError, such as the exception of a force law."""
    cause = error.__cause__
    return user_frames(cause.__traceback__) if cause is not None and isinstance(error, RtmbsError) else []


def error_details(error: BaseException) -> str:
    """Return the traceback through the user's own files, "" when it passes through none."""
    wrapped = wrapped_frames(error)
    frames = [*user_frames(error.__traceback__), *wrapped]
    own = isinstance(error, SyntaxError)
    if not (frames or own):
        return ""
    reported = error.__cause__ if wrapped and error.__cause__ is not None else error
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(reported)]).rstrip()


def user_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the lines of a traceback that stand in neither rtmbs nor Python nor an installed package."""
    return [frame for frame in traceback.extract_tb(trace) if is_users(frame.filename)]


def is_users(filename: str) -> bool:
    """True for a file outside of rtmbs, Python and installed packages; "<string>" is generated code."""
    return not filename.startswith(("<frozen", "<string>", PACKAGE, *INSTALLED))
