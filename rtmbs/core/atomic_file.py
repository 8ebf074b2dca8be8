"""Atomic writing: a file is written beside its place, synced, and put there by one rename.

A full disk, Ctrl+C, a kill or a loss of power while it is written leaves the older file as it was.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rtmbs.core.reading import WriteError

MODE = 0o666  # of a new file, before the user's mask
FLAGS = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of ``path`` when the block ends without an exception.

    Links are followed, and an older file hands its permissions on. A device or a pipe is written as it is, for nothing
    can take its place. Raises WriteError, an OSError, in the place of an OSError of the block too; whatever else ends
    the block early passes through.
    """
    try:
        with opened(path) as file:
            yield file
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(path, error) from error


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file as ``replacing`` does, with errors of the system as they are."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    part = target.parent / f".{secrets.token_hex(8)}.part"
    try:
        with os.fdopen(os.open(part, FLAGS, MODE), "w+b") as file:
            if target.exists():
                os.chmod(part, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:  # Ctrl+C included: what is half written is nobody's
        with suppress(OSError):
            part.unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with suppress(OSError):  # not on every system, and the file is whole either way
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
