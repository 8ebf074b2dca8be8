"""Where compiled kernels are kept: a folder for exactly these sources, in a place that nobody else may write to.

What lies there is run as code: whoever can write to it runs code as the user. In order:

    RTMBS_CACHE_DIR               the user's own choice, taken as it is: a team or an image may share one
    $XDG_CACHE_HOME/rtmbs         an empty or relative value counts as none, as its specification says
    ~/.cache/rtmbs
    TMPDIR or /tmp, rtmbs-<user>  when the folder above cannot be written, belongs to somebody else or is open to others
    nowhere                       kernels are compiled in every process; so they are with RTMBS_PLAIN_JIT=1

The last two are said in one line. Folders are made for the user alone. One that cannot be written but holds the kernels
of these sources is read.

What ``rtmbs info`` says about compiled kernels.
"""

import functools
import hashlib
import os
import platform
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
from numba import config

from rtmbs.jit import PLAIN

PACKAGE = Path(__file__).parents[1]
# Every file that holds a kernel or a struct imports one of these.
COMPILER = (b"rtmbs.jit.compiled", b"rtmbs.jit.struct", b"rtmbs.jit.intrinsics")
WHOLE_ROOMS = ("jit", "limits", "forces")  # the compiler; constants; kinds of force, whose order kernels follow
KERNEL_ROOMS = (
    ".",
    "ad",
    "integrators",
    "kinematics",
    "linear",
    "recursive",
    "results",
    "rotations",
    "semirecursive",
    "system",
)
KERNEL_FILES = (
    "integrators/projection.py",
    "integrators/tries.py",
    "integrators/variational_rounds.py",
    "rotations/plain.py",
    "sensitivities/saddles.py",
    "sensitivities/simd_programs.py",
    "sensitivities/step_solver.py",
)  # kernels of rooms that are mostly plain Python, and constants that kernels take from a file without kernels
FILES = "*.nbc"  # compiled kernels
PRIVATE = 0o700
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Place(NamedTuple):
    """Where compiled kernels are kept."""

    folder: Path | None  # None: nowhere
    note: str  # why it is not where the user expects it; empty when it is

    def __str__(self) -> str:
        return f"kept in {self.folder}" if self.folder else "kept nowhere"


@functools.cache
def kernel_sources() -> tuple[Path, ...]:
    """Return every source file that kernels are made of; looked for once a process.

    A file counts when it imports a module of ``COMPILER``, when its whole room counts, or when it is listed. Any other
    file may change without effect on compiled kernels, so its change discards none.
    """
    whole = [path for room in WHOLE_ROOMS for path in (PACKAGE / room).rglob("*.py")]
    mixed = [path for room in KERNEL_ROOMS for path in (PACKAGE / room).glob("*.py")]
    found = {*whole, *(PACKAGE / file for file in KERNEL_FILES)}
    return tuple(sorted(found.union(filter(holds_kernels, mixed))))


def holds_kernels(path: Path) -> bool:
    """Return whether a source file imports what makes kernels or structs."""
    text = path.read_bytes()
    return any(name in text for name in COMPILER)


def fingerprint() -> str:
    """Return what tells these sources, compiled by this numba in this way, from all others."""
    digest = hashlib.sha256()
    how = (config.BOUNDSCHECK, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
    for part in (numba.__version__, llvmlite.__version__, platform.machine(), platform.python_version(), how):
        digest.update(str(part).encode())
    for path in kernel_sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_place() -> Place:
    """Return where the kernels of exactly these sources are kept; the folder is made."""
    if PLAIN:
        return Place(None, "")
    name = fingerprint()
    chosen = os.environ.get("RTMBS_CACHE_DIR")
    root = Path(chosen).absolute() if chosen else default_root()
    obstacle = "the home directory is not known" if root is None else trouble(root, name, private=not chosen)
    if root and not obstacle:
        return Place(root / name, "")
    for spare in temporary_roots():
        if not trouble(spare, name, private=True):
            return Place(spare / name, f"{obstacle}; compiled kernels are kept in {spare / name}")
    return Place(None, f"{obstacle}; kernels are compiled in every process, and kept nowhere")


def default_root() -> Path | None:
    """Return the folder of the XDG specification; None when there is no home."""
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not caches.is_absolute():
        try:
            caches = Path.home() / ".cache"
        except RuntimeError:
            return None
    return caches / "rtmbs" if caches.is_absolute() else None


def temporary_roots() -> Iterator[Path]:
    """Yield a folder of the user in every place for temporary files. For tempfile the working directory may be one."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    for place in (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp"):
        if place and Path(place).is_absolute():
            yield Path(place) / f"rtmbs-{user}"


def trouble(root: Path, name: str, private: bool) -> str:
    """Return why ``root/name`` cannot be used, or nothing; it is made when it is not there."""
    folder = root / name
    try:
        make(folder)
        if private and (danger := open_to_all(root.parent) or foreign(root) or foreign(folder)):
            return danger
        if os.access(folder, os.W_OK | os.X_OK) or next(folder.glob(FILES), None):
            return ""
    except OSError as error:
        return f"{root} cannot be used ({error.strerror})"
    return f"{root} cannot be written"


def make(folder: Path) -> None:
    """Make a folder, and those above it, for the user alone."""
    if not folder.is_dir():
        make(folder.parent)
        folder.mkdir(PRIVATE, exist_ok=True)


def foreign(folder: Path) -> str:
    """Return in words that somebody else may write to a folder, or nothing."""
    if not hasattr(os, "getuid"):
        return ""
    status = folder.lstat()
    if status.st_uid != os.getuid():
        return f"{folder} belongs to somebody else"
    if stat.S_ISLNK(status.st_mode):
        return foreign(folder.resolve())
    return f"others may write to {folder} (chmod go-w mends it)" if status.st_mode & OTHERS_WRITE else ""


def open_to_all(folder: Path) -> str:
    """Return in words that anybody may take away what is in a folder, or nothing: the sticky bit keeps it."""
    mode = folder.stat().st_mode
    return f"anybody may write to {folder}" if mode & stat.S_IWOTH and not mode & stat.S_ISVTX else ""


def say(note: str) -> None:
    """Print one line, in the first process only: its children would repeat it."""
    processes = sys.modules.get("multiprocessing.process")
    if sys.stderr and not (processes and processes.parent_process()):
        print(f"rtmbs: {note}", file=sys.stderr)


PLACE = cache_place()
if PLACE.note:
    say(PLACE.note)


def facts() -> list[tuple[str, str]]:
    """Return (label, value): threads, whether and how kernels are compiled, and where they are kept."""
    files = list(PLACE.folder.glob(FILES)) if PLACE.folder else []
    size = sum(path.stat().st_size for path in files) / 1e6
    on = "on, by public names only (RTMBS_PLAIN_JIT)" if PLAIN else "on"
    return [
        ("threads of numba", f"{numba.config.NUMBA_NUM_THREADS}"),
        ("just-in-time", "off (NUMBA_DISABLE_JIT)" if numba.config.DISABLE_JIT else on),
        ("compiled kernels", f"{PLACE.folder or 'kept nowhere'} ({len(files)} files, {size:.1f} MB)"),
    ]
