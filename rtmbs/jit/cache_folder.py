"""Folder of compiled kernels: its key, its place, and the checks that only this user can write to it.

What lies there is run as code: whoever can write to it runs code as the user. In order:

    RTMBS_CACHE_DIR               the user's own choice, taken as it is: a team or an image may share one
    $XDG_CACHE_HOME/rtmbs         an empty or relative value counts as none, as its specification says
    ~/.cache/rtmbs
    TMPDIR or /tmp, rtmbs-<user>  when the folder above cannot be written, belongs to another user or is open to others
    nowhere                       kernels are compiled in every process; so they are with RTMBS_PLAIN_JIT=1

The last two are printed in one line. Folders are made for the user alone. A folder that cannot be written but holds the
kernels of these sources is read.
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

from rtmbs.jit import PLAIN

PACKAGE = Path(__file__).parents[1]
# Every file that holds a kernel or a struct imports one of these.
COMPILER = (b"rtmbs.jit.compiled", b"rtmbs.jit.struct", b"rtmbs.jit.intrinsics")
WHOLE_ROOMS = ("jit", "forces")  # the compiler; kinds of force, for kernels follow their order
KERNEL_ROOMS = (
    "ad",
    "dae",
    "export",
    "formulations",
    "integrators",
    "kinematics",
    "kinematics/design",
    "numerics",
    "numerics/linear",
    "numerics/rotations",
    "recursive",
    "results",
    "semirecursive",
    "system",
)
KERNEL_FILES = (
    "contact/friction.py",
    "integrators/projection.py",
    "integrators/newton.py",
    "integrators/midpoint_arithmetic.py",
    "core/bounds.py",
    "kinematics/design/four_bar.py",
    "numerics/rotations/plain.py",
    "studies/sensitivities/saddles.py",
    "studies/sensitivities/step_solver.py",
    "robotics/kernels.py",
    "batch/kernels.py",
    "simulation/jumps.py",
    "simulation/prepared_step.py",
    "system/contact_tables.py",
    "system/law_tables.py",
    "simulation/stiff_forces.py",
)  # kernels of rooms that are mostly plain Python, and constants that kernels take from a file without kernels
FILES = "*.nbc"  # compiled kernels
PRIVATE = 0o700
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class CachePlace(NamedTuple):
    """Folder of compiled kernels."""

    folder: Path | None  # None: nowhere
    note: str  # why it is not where the user expects it; empty when it is

    def __str__(self) -> str:
        return f"kept in {self.folder}" if self.folder else "kept nowhere"


@functools.cache
def kernel_sources() -> tuple[Path, ...]:
    """Return every source file that kernels are made of; searched once a process.

    A file counts when it imports a module of ``COMPILER``, when its whole room counts, or when it is listed. Any other
    file may change without effect on compiled kernels, so its change discards none.
    """
    whole = [path for room in WHOLE_ROOMS for path in (PACKAGE / room).rglob("*.py")]
    mixed = [path for room in KERNEL_ROOMS for path in (PACKAGE / room).glob("*.py")]
    found = {*whole, *(PACKAGE / file for file in KERNEL_FILES)}
    return tuple(sorted(found.union(filter(holds_kernels, mixed))))


def holds_kernels(path: Path) -> bool:
    """Return whether a source file imports the compiler of kernels or structs."""
    text = path.read_bytes()
    return any(name in text for name in COMPILER)


def sources_digest() -> str:
    """Return sha256 of the text of all kernels."""
    digest = hashlib.sha256()
    for path in (*kernel_sources(), *(PACKAGE / "jit").glob("*.c")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint() -> str:
    """Return the key of the folder: sha256 of sources, versions of numba, llvmlite and Python, processor, options."""
    import llvmlite
    import numba
    from numba import config

    digest = hashlib.sha256()
    how = (config.BOUNDSCHECK, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
    for part in (numba.__version__, llvmlite.__version__, platform.machine(), platform.python_version(), how):
        digest.update(str(part).encode())
    for path in kernel_sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_place() -> CachePlace:
    """Return the folder of the kernels of exactly these sources; it is made if needed."""
    if PLAIN:
        return CachePlace(None, "")
    name = fingerprint()
    chosen = os.environ.get("RTMBS_CACHE_DIR")
    root = Path(chosen).absolute() if chosen else default_root()
    obstacle = "the home directory is not known" if root is None else unusable_reason(root, name, private=not chosen)
    if root and not obstacle:
        return CachePlace(root / name, "")
    for spare in temporary_roots():
        if not unusable_reason(spare, name, private=True):
            return CachePlace(spare / name, f"{obstacle}; compiled kernels are kept in {spare / name}")
    return CachePlace(None, f"{obstacle}; kernels are compiled in every process, and kept nowhere")


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
    """Yield the user's folder in every place for temporary files; ``tempfile`` might take the working directory."""
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    for place in (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp"):
        if place and Path(place).is_absolute():
            yield Path(place) / f"rtmbs-{user}"


def unusable_reason(root: Path, name: str, private: bool) -> str:
    """Return why ``root/name`` cannot be used, "" when it can; it is made when missing."""
    folder = root / name
    try:
        make_private_folder(folder)
        if private and (danger := world_writable_reason(root.parent) or foreign_reason(root) or foreign_reason(folder)):
            return danger
        if os.access(folder, os.W_OK | os.X_OK) or next(folder.glob(FILES), None):
            return ""
    except OSError as error:
        return f"{root} cannot be used ({error.strerror})"
    return f"{root} cannot be written"


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it, for the user alone."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(PRIVATE, exist_ok=True)


def foreign_reason(folder: Path) -> str:
    """Return why another user may write to a folder, "" when none may."""
    if not hasattr(os, "getuid"):
        return ""
    status = folder.lstat()
    if status.st_uid != os.getuid():
        return f"{folder} belongs to somebody else"
    if stat.S_ISLNK(status.st_mode):
        return foreign_reason(folder.resolve())
    return f"others may write to {folder} (chmod go-w mends it)" if status.st_mode & OTHERS_WRITE else ""


def world_writable_reason(folder: Path) -> str:
    """Return why any user may remove a folder's content, "" when the sticky bit or the mode forbids it."""
    mode = folder.stat().st_mode
    return f"anybody may write to {folder}" if mode & stat.S_IWOTH and not mode & stat.S_ISVTX else ""


def print_note(note: str) -> None:
    """Print one line, in the first process only: its children would repeat it."""
    processes = sys.modules.get("multiprocessing.process")
    if sys.stderr and not (processes and processes.parent_process()):
        print(f"rtmbs: {note}", file=sys.stderr)


@functools.cache
def place_of_process() -> CachePlace:
    """Return the folder of this process; said in a line when it is not where the user expects it."""
    place = cache_place()
    if place.note:
        print_note(place.note)
    return place


def __getattr__(name: str) -> CachePlace:
    """Find ``PLACE``, the folder of this process, at its first use: its key asks numba for the version."""
    if name != "PLACE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return place_of_process()


def facts() -> list[tuple[str, str]]:
    """Return the lines of ``rtmbs info`` about compiled kernels: (label, value)."""
    import numba

    place = place_of_process()
    files = list(place.folder.glob(FILES)) if place.folder else []
    size = sum(path.stat().st_size for path in files) / 1e6
    on = "on, by public names only (RTMBS_PLAIN_JIT)" if PLAIN else "on"
    return [
        ("threads of numba", f"{numba.config.NUMBA_NUM_THREADS}"),
        ("just-in-time", "off (NUMBA_DISABLE_JIT)" if numba.config.DISABLE_JIT else on),
        ("compiled kernels", f"{place.folder or 'kept nowhere'} ({len(files)} files, {size:.1f} MB)"),
    ]
