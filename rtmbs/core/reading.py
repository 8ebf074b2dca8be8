"""Reading of files: regular files of a bounded size, limits on what their bytes unpack to, and errors of files.

A file may be anything: a pipe without a writer, a device without an end, a few bytes that unpack to many. Every
reader takes its bytes from here, and holds what a file says of its size against ``check_unpacked`` before it asks for
memory.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from rtmbs.core.memory import in_words, machine_memory
from rtmbs.errors import RtmbsError

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class DamagedFile(RtmbsError, ValueError):
    """A file is damaged, of another kind or missing; the message continues after the name of the file."""


class WriteError(RtmbsError, OSError):
    """A file cannot be written: the disk is full, the folder is missing, or rights are. An older file stays."""

    def __init__(self, path: str | Path, error: OSError) -> None:
        self.why = reason(path, error)
        super().__init__(f"file {str(path)!r} cannot be written: {self.why}")
        self.errno, self.strerror = error.errno, self.why

    def __str__(self) -> str:
        return str(self.args[0])


def reason(path: str | Path, error: OSError) -> str:
    """Return why a file cannot be written, and the remedy."""
    place, said = Path(path), error.strerror or str(error)
    if error.errno in FULL:
        return f"the disk is full ({said}); free some room, or give a path on another disk"
    if not place.parent.is_dir():
        return f"there is no folder {str(place.parent)!r}; make it first, or give another path"
    if place.is_dir():
        return f"it is a folder ({said}); give the name of a file"
    if error.errno in FORBIDDEN:
        return f"the system forbids it ({said}); give a path in a folder that you may write to"
    return f"the system answers {said!r}; give another path, or look at the disk"


SMALL = 64_000_000  # bytes that any file may unpack to
RATIO = 32  # bytes that one byte of a larger file may unpack to; snappy packs at most 1 : 22
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def opened(path: str | os.PathLike[str], most: float | None = None) -> Iterator[BufferedReader]:
    """Yield a regular file of at most ``most`` bytes, open for reading; the memory of the machine unless given.

    A pipe, a device or a folder is refused, also behind a link. Raises DamagedFile, whose message goes on after the
    name of the file.
    """
    if not isinstance(path, str | os.PathLike):
        raise DamagedFile("is no path; give the name of a file")
    try:
        file = open(path, "rb", opener=open_nonblocking)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise DamagedFile("does not exist") from None
    except IsADirectoryError:
        raise DamagedFile("is a folder; give the name of a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DamagedFile(f"cannot be read: {reason}") from None
    with file:
        check_regular(os.fstat(file.fileno()), machine_memory() if most is None else most)
        yield file


def open_nonblocking(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer is opened too, and refused after that."""
    return os.open(path, flags | FLAGS)


def check_regular(about: os.stat_result, most: float) -> None:
    """Refuse folders, devices, and files of more than ``most`` bytes: DamagedFile."""
    if stat.S_ISDIR(about.st_mode):
        raise DamagedFile("is a folder; give the name of a file")
    if not stat.S_ISREG(about.st_mode):
        raise DamagedFile("is a pipe or a device; give the name of a regular file")
    if about.st_size > most:
        raise DamagedFile(f"is {in_words(about.st_size)} long; at most {in_words(most)} are read")


def whole(path: str | os.PathLike[str], most: float) -> bytes:
    """Return the bytes of a regular file of at most ``most`` bytes; DamagedFile otherwise."""
    with opened(path, most) as file:
        try:
            data = file.read(int(most) + 1)
        except OSError as error:
            raise DamagedFile(f"cannot be read: {error.strerror or error}") from None
    if len(data) > most:  # it grew, or the system does not know its size
        raise DamagedFile(f"is longer than {in_words(most)}, the most that is read")
    return data


def text(path: str | os.PathLike[str], most: float) -> str:
    """Return the text of a regular file of at most ``most`` bytes; DamagedFile otherwise."""
    try:
        return whole(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedFile(f"is no text: byte {error.start} is not UTF-8") from None


def from_json(data: str | bytes) -> Any:
    """Return the value of a JSON text; DamagedFile for invalid or too deeply nested JSON."""
    try:
        return json.loads(data)
    except RecursionError:
        raise DamagedFile("is damaged: its JSON is nested too deeply") from None
    except ValueError as error:
        raise DamagedFile(f"is damaged: it is no JSON ({error})") from None


def check_unpacked(claimed: float, size: float, what: str) -> None:
    """Refuse ``what`` when a file of ``size`` bytes says that it holds ``claimed`` bytes unpacked, far more than usual.

    Raises DamagedFile.
    """
    if claimed > max(SMALL, RATIO * size):
        raise DamagedFile(
            f"is {in_words(size)} long and says that its {what} take {in_words(claimed)}; "
            f"at most {in_words(max(SMALL, RATIO * size))} are read"
        )
