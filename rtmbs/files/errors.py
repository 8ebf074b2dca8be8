"""What can go wrong with a file that is read or written."""

import errno
from pathlib import Path

from rtmbs.errors import RtmbsError

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class DamagedFile(RtmbsError, ValueError):
    """A file is not what it should be, or not there; the message goes on after the name of the file."""


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
