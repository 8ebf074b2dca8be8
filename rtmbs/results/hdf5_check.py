"""Check of the form of an HDF5 result, by a process with little time and memory.

A forged file makes HDF5 hang, end the process, take memory without end, or read other files. The checksum of a result
has no key, so it proves nothing. A process with little time and memory therefore opens the file first, and visits all
that a reader visits later. It accepts data sets without filters whose bytes lie in the file, behind plain links.

``ClosedView`` reads a file whose writer was ended as if it had been closed. HDF5 marks a file that is being written in
its superblock, and refuses to open it later; its mode for readers beside the writer waits for a very long time where a
byte is wrong. The mark is taken out of what is read, not of the file.
Source: HDF5 File Format Specification, version 3.0, II.A (superblock version 3), and Jenkins' lookup3 as its checksum.
"""

import faulthandler
import io
import os
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rtmbs.core.bounds import bound_memory
from rtmbs.core.files import DamagedFile, opened
from rtmbs.errors import ResultError

CHANNELS, TABLE = "channels", "blocks"
HEAD = ("rtmbs_result", "model", "fingerprint", "outcomes", "warnings", "block_samples")
OF_CHANNEL = ("axes", "unit", "frame")
SECONDS, PER_BYTE, MOST_SECONDS = 1.0, 5e-7, 60.0  # of processor time for a file
MEMORY, SHARE = 200e6, 0.1  # bytes, and bytes a byte of the file
PATIENCE = 600.0  # [s]: the machine may be busy
LONGEST_TABLE, LONGEST_CHUNK = 1 << 20, 1 << 32  # bytes that were claimed before they were written
GOOD = "good"
PROGRAM = """import sys
from importlib.util import module_from_spec, spec_from_file_location
sys.path += sys.argv[4:]
spec = spec_from_file_location("rtmbs", sys.argv[3])  # the one of the process that asks
sys.modules["rtmbs"] = package = module_from_spec(spec)
spec.loader.exec_module(package)
from rtmbs.results.hdf5_check import main
main()
"""
SIGNATURE = b"\x89HDF\r\n\x1a\n"
SIZE = 48  # bytes of the superblock with addresses of 8 bytes
VERSIONS = (2, 3)
FLAGS, END_OF_FILE, CHECKSUM = 11, 28, 44  # bytes of the superblock where they stand
WORD = 0xFFFFFFFF

Signature = tuple[int, int, int, int]
SEEN: dict[Path, Signature] = {}  # files of this process that have the form, as they were then


def check_form(path: Path, first: int | None, where: str) -> None:
    """Refuse a file that has not the form of a result: ResultError.

    first: the byte where the superblock of a file begins that is still being written; None for a finished one.
    """
    signature = signature_of(path, where)
    if SEEN.get(path) == signature:
        return
    if (told := look(path, first)) != GOOD:
        raise ResultError(f"{where} has not the form of a result that rtmbs saved ({told}); save it again")
    SEEN[path] = signature


def signature_of(path: Path, where: str) -> Signature:
    """Return size and times of a file; ResultError when it is no regular one."""
    try:
        with opened(path) as file:
            about = os.fstat(file.fileno())
    except DamagedFile as error:
        raise ResultError(f"{where} {error}") from None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def look(path: Path, first: int | None) -> str:
    """Check a file in a process of its own; return GOOD, or the fault."""
    homes = [find_spec(name).origin for name in ("rtmbs", "h5py", "numpy")]  # type: ignore[union-attr]
    folders = dict.fromkeys(str(Path(str(home)).parents[1]) for home in homes)  # behind the process's own modules
    begin = "" if first is None else str(first)
    words = [sys.executable, "-I", "-c", PROGRAM, str(path), begin, str(homes[0]), *folders]
    try:
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "HDF5 does not come to an end with it"
    if done.returncode < 0:
        return "HDF5 ends, or does not come to an end, with it"
    return done.stdout.strip() or f"HDF5 ends with it: {last_line(done.stderr)}"


def last_line(text: str) -> str:
    """Return the last line that a process wrote; "" where it wrote nothing."""
    return text.strip().rpartition("\n")[2]


def main() -> None:
    """Check the file named on the command line, and print GOOD or its fault."""
    import h5py

    path, first = sys.argv[1], sys.argv[2]
    with suppress(ImportError, AttributeError, OSError, ValueError, StopIteration):  # not on every system
        limit(os.path.getsize(path))
    print(verdict(h5py, path, int(first) if first else None), flush=True)
    os._exit(0)  # HDF5 may not come to an end while it closes the file


def limit(size: int) -> None:
    """Bound the time and the memory of this process from now on, as far as the system can."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(
            signal.ITIMER_PROF, min(SECONDS + PER_BYTE * size, MOST_SECONDS)
        )  # its signal ends the process
    else:
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)  # by the clock, also while HDF5 holds Python's lock
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bound_memory(MEMORY + SHARE * size)


def verdict(h5py: Any, path: str, first: int | None) -> str:
    """Return GOOD, or the fault of a file."""
    try:
        content = path if first is None else ClosedView(path, first)
        with h5py.File(content, "r") as file:
            visit(h5py, file, os.path.getsize(path), first is not None)
    except DamagedFile as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a forged file may raise anything
        return " ".join(f"{error or type(error).__name__}".split())
    return GOOD


def visit(h5py: Any, file: Any, size: int, unfinished: bool) -> None:
    """Visit all that a reader of a result visits; DamagedFile for what rtmbs writes never."""
    left = size - texts(h5py, file.id, HEAD, size)
    bytes_of = 0
    for name in links(h5py, file.id):
        if name == CHANNELS.encode():
            group = h5py.h5g.open(file.id, name)
        elif name == TABLE.encode():
            bytes_of += stored(h5py, h5py.h5d.open(file.id, name), TABLE, LONGEST_TABLE)
        else:
            raise DamagedFile(f"it holds {name.decode(errors='replace')!r}")
    for name in links(h5py, group):
        data, said = h5py.h5d.open(group, name), name.decode(errors="replace")
        bytes_of += stored(h5py, data, said, LONGEST_CHUNK if unfinished else 0)
        left -= texts(h5py, data, OF_CHANNEL, size)
        if bytes_of > size or left < 0:
            raise DamagedFile(f"its channels up to {said!r} are longer than the file")


def links(h5py: Any, group: Any) -> list[bytes]:
    """Return the names in a group; DamagedFile for a link that leads elsewhere."""
    names: list[bytes] = []
    group.links.iterate(names.append)
    for name in names:
        if group.links.get_info(name).type != h5py.h5l.TYPE_HARD:
            raise DamagedFile(f"{name.decode(errors='replace')!r} is a link to another place")
    return names


def stored(h5py: Any, data: Any, said: str, spare: int) -> int:
    """Return the bytes of a data set in the file; DamagedFile when it claims more, or has them elsewhere.

    spare: bytes that the last block may claim and not have, as a run that was ended left it.
    """
    plan, shape, kind = data.get_create_plist(), data.shape, data.dtype
    layout = plan.get_layout()
    if plan.get_external_count() or layout == h5py.h5d.VIRTUAL:
        raise DamagedFile(f"the values of {said!r} are in another file")
    if plan.get_nfilters():
        raise DamagedFile(f"the values of {said!r} are packed")
    if h5py.h5o.get_info(data).rc > 1:
        raise DamagedFile(f"{said!r} and another channel are one data set")
    if kind.kind not in "fiub" or kind.itemsize > 8 or len(shape) not in (1, 2):
        raise DamagedFile(f"{said!r} holds no numbers of a channel")
    size = 0
    with suppress(RuntimeError):  # h5py raises for 0 bytes
        size = int(data.get_storage_size())
    claimed = kind.itemsize
    for count in shape:
        claimed *= count
    if layout == h5py.h5d.CHUNKED:
        data.chunk_iter(lambda chunk: None)
    if claimed > size + spare:
        raise DamagedFile(f"{said!r} says that it has {claimed} bytes, and {size} are in the file")
    return size


def texts(h5py: Any, place: Any, names: tuple[str, ...], size: int) -> int:
    """Read the attributes of a place, and return the letters of all; DamagedFile for one that is too long."""
    count = 0
    for name in names:
        if not h5py.h5a.exists(place, name.encode()):
            continue
        attribute = h5py.h5a.open(place, name.encode())
        if attribute.get_space().get_simple_extent_npoints() > size:
            raise DamagedFile(f"its attribute {name!r} is longer than the file")
        value = h5py.AttributeManager(holder(h5py, place))[name]
        count += sum(len(str(one)) for one in (value.ravel().tolist() if hasattr(value, "ravel") else [value]))
    return count


def holder(h5py: Any, place: Any) -> Any:
    """Return the group or data set of an identifier."""
    return h5py.Dataset(place) if isinstance(place, h5py.h5d.DatasetID) else h5py.Group(h5py.h5g.open(place, b"/"))


# ---------------------------------------------------------------------------------------- a file whose writer was ended


class ClosedView(io.FileIO):
    """A file for ``h5py.File(ClosedView(path, first), "r")``; ``first`` is the byte where its superblock begins."""

    def __init__(self, path: str | Path, first: int) -> None:
        super().__init__(str(path), "rb")
        self.first = first
        self.seek(first)
        head = super().read(SIZE)
        if not head or len(head) < SIZE or not head.startswith(SIGNATURE) or head[8] not in VERSIONS:
            self.close()
            raise OSError("its superblock is not that of an HDF5 file of version 2 or 3")
        if superblock_checksum(head[:CHECKSUM]) != struct.unpack("<I", head[CHECKSUM:])[0]:
            self.close()
            raise OSError("its superblock is damaged")
        self.head = closed_superblock(head, os.fstat(self.fileno()).st_size)

    def readinto(self, buffer: Any) -> int | None:
        """Read, with the head of a closed file in the place of the present one."""
        begin = self.tell()
        count = super().readinto(buffer)
        low, high = max(begin, self.first), min(begin + (count or 0), self.first + SIZE)
        if low < high:
            memoryview(buffer).cast("B")[low - begin : high - begin] = self.head[low - self.first : high - self.first]
        return count


def closed_superblock(head: bytes, size: int) -> bytes:
    """Return the superblock that the file would have had it been closed with ``size`` bytes."""
    changed = bytearray(head[:CHECKSUM])
    changed[FLAGS] = 0
    changed[END_OF_FILE : END_OF_FILE + 8] = size.to_bytes(8, "little")
    return bytes(changed) + superblock_checksum(bytes(changed)).to_bytes(4, "little")


def superblock_checksum(data: bytes) -> int:
    """Return lookup3 (hashlittle, initial value 0) of some bytes."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    while len(data) > 12:
        x, y, z = struct.unpack("<III", data[:12])
        a, b, c = mix((a + x) & WORD, (b + y) & WORD, (c + z) & WORD)
        data = data[12:]
    if not data:
        return c
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    return final_mix((a + x) & WORD, (b + y) & WORD, (c + z) & WORD)


def rotated(x: int, k: int) -> int:
    """Return 32 bits turned to the left."""
    return ((x << k) | (x >> (32 - k))) & WORD


def mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix three words, reversibly."""
    for k in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & WORD) ^ rotated(c, k)
        c = (c + b) & WORD
        a, b, c = b, c, a
    return a, b, c


def final_mix(a: int, b: int, c: int) -> int:
    """Mix three words for the last time."""
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, k)) & WORD
        a, b, c = b, c, a
    return b
