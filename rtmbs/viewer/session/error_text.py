"""Text of an exception: one sentence with the place in the user's own file, and the traceback through that file."""

import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from rtmbs.errors import RtmbsError

PACKAGE = str(Path(__file__).parents[2])
INSTALLED = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def sentence(error: BaseException) -> str:
    """Return what an error says, with the place when it is not one of ours."""
    notes = "; ".join(getattr(error, "__notes__", ()))
    if isinstance(error, RtmbsError):
        return f"{error}{place(error)}{'; ' + notes if notes else ''}"
    text = f"{error}{'; ' + notes if notes else ''}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    frames = user_frames(error.__traceback__) or traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


def place(error: BaseException) -> str:
    """Return where the user's own function raised what an error of ours wraps: " (file:line)"; "" for another error."""
    frames = wrapped_frames(error)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def wrapped_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the user's lines of what an error of ours wraps, such as the exception of a force law."""
    cause = error.__cause__
    return user_frames(cause.__traceback__) if cause is not None and isinstance(error, RtmbsError) else []


def details(error: BaseException) -> str:
    """Return the traceback through the user's own files, "" when it passes through none."""
    wrapped = wrapped_frames(error)
    frames = [*user_frames(error.__traceback__), *wrapped]
    own = isinstance(error, SyntaxError)
    if not (frames or own):
        return ""
    told = error.__cause__ if wrapped and error.__cause__ is not None else error
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(told)]).rstrip()


def user_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the lines of a traceback that stand in neither rtmbs nor Python nor an installed package."""
    return [frame for frame in traceback.extract_tb(trace) if is_users(frame.filename)]


def is_users(filename: str) -> bool:
    """True for a file that is the user's own; "<string>" is what dataclasses and the like make up."""
    return not filename.startswith(("<frozen", "<string>", PACKAGE, *INSTALLED))
