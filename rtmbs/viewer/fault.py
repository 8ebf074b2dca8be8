"""What an exception tells the user: one sentence with the place in the user's own file, and the way there."""

import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from rtmbs.errors import RtmbsError

PACKAGE = str(Path(__file__).parents[1])
INSTALLED = tuple(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def sentence(error: BaseException) -> str:
    """Return what an error says, with the place when it is not one of ours."""
    notes = "; ".join(getattr(error, "__notes__", ()))
    text = f"{error}{'; ' + notes if notes else ''}"
    if isinstance(error, RtmbsError):
        return text
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    frames = user_frames(error.__traceback__) or traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


def details(error: BaseException) -> str:
    """Return the traceback through the user's own files, "" when it passes through none."""
    frames = user_frames(error.__traceback__)
    own = isinstance(error, SyntaxError)
    if not (frames or own):
        return ""
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]).rstrip()


def user_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the lines of a traceback that stand in neither rtmbs nor Python nor an installed package."""
    return [frame for frame in traceback.extract_tb(trace) if is_users(frame.filename)]


def is_users(filename: str) -> bool:
    """True for a file that is the user's own."""
    return not filename.startswith(("<frozen", PACKAGE, *INSTALLED))
