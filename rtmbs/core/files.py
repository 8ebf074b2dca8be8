"""Files: bounded reading, atomic writing, and archives of named arrays.

Reading of files: regular files of a bounded size, limits on what their bytes unpack to, and errors of files.

A file may be anything: a pipe without a writer, a device without an end, a few bytes that unpack to many. Every
reader takes its bytes from here, and holds what a file says of its size against ``check_unpacked`` before it asks for
memory.

Atomic writing: a file is written beside its place, synced, and put there by one rename.

A full disk, Ctrl+C, a kill or a loss of power while it is written leaves the older file as it was.

Archive of named arrays in an uncompressed ``npz`` file, with a checksum that shows damage.

The checksum goes over every name, type, shape and byte in their order. Nothing is compressed, so no file can ask for
more memory than it is long, and nothing is ever unpickled. ``numpy.load`` reads the same file.
"""

import errno
import functools
import hashlib
import io
import json
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rtmbs.core.bounds import in_words, machine_memory
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


MODE = 0o666  # of a new file, before the user's mask
PART_FLAGS = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of ``path`` when the block ends without an exception.

    Links are followed, and an older file hands its permissions on. A device or a pipe is written as it is, for nothing
    can take its place. Raises WriteError, an OSError, in the place of an OSError of the block too; whatever else ends
    the block early passes through.
    """
    try:
        with written_beside(path) as file:
            yield file
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(path, error) from error


@contextmanager
def written_beside(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file as ``replacing`` does, with errors of the system as they are."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    part = target.parent / f".{secrets.token_hex(8)}.part"
    try:
        with os.fdopen(os.open(part, PART_FLAGS, MODE), "w+b") as file:
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


CHECKSUM = "checksum"  # the last entry: sha256 of all others
FORMAT = "format"  # the first entry
KINDS = "fiuU"  # numpy's letters of the types that an entry may have
SUFFIX = ".npy"
MARKS = {  # the first entry that is there says the kind; and how such a file is read
    "channel_names": ("result file", "read it with rtmbs.load_result"),
    "A": ("block of a history", "view the folder of the history"),
    "R0": ("state file", "read it with rtmbs.State.load"),
}
LONG = 2**31 - 2**16  # bytes of an array whose entry needs long numbers for its length

Arrays = dict[str, np.ndarray[Any, Any]]


def write_archive(path: str | Path, form: int, entries: Iterable[tuple[str, Any]]) -> None:
    """Write ``entries`` one after the other, so that they need not fit into memory together; an older file stays until
    the new one is whole.

    Raises TypeError naming an entry that holds no numbers or words, and WriteError.
    """
    digest = hashlib.sha256()
    with replacing(path) as file, zipfile.ZipFile(SequentialFile(file), "w", allowZip64=True) as archive:
        write_entry(archive, FORMAT, np.array(form), digest)
        for name, value in entries:
            write_entry(archive, name, np.asarray(value, order="C"), digest)
        write_entry(archive, CHECKSUM, np.array(digest.hexdigest()), digest)


class SequentialFile:
    """Binary file without seeking: an archive that goes back to small entries takes twice as long."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, data: bytes, /) -> int:
        """Write on."""
        return self.file.write(data)

    def flush(self) -> None:
        """Flush the file."""
        self.file.flush()

    def close(self) -> None:
        """Leave the file open: its owner closes it."""


def write_entry(archive: zipfile.ZipFile, name: str, value: np.ndarray[Any, Any], digest: Any) -> None:
    """Write one array, and take it into the checksum."""
    if value.dtype.kind not in KINDS:
        raise TypeError(f"{name} is of type {value.dtype}; a file holds numbers and words")
    update_digest(digest, name, value)
    with archive.open(name + SUFFIX, "w", force_zip64=value.nbytes > LONG) as file:
        file.write(header(value.dtype, value.shape))
        file.write(data_of(value))


@functools.lru_cache(maxsize=64)
def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the header of an array in its entry; most channels of a result have one type and shape."""
    file = io.BytesIO()
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)
    return file.getvalue()


def data_of(value: np.ndarray[Any, Any]) -> memoryview:
    """Return the bytes of an array."""
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8).data


def update_digest(digest: Any, name: str, value: np.ndarray[Any, Any]) -> None:
    """Add an array to a checksum: name, type and shape, then its bytes."""
    digest.update(f"{name}\0{value.dtype.str}\0{value.shape}\0".encode())
    digest.update(data_of(value))


def read_archive(path: str | Path, form: int, kind: str) -> Arrays:
    """Return the arrays of a file of this format by name, when every byte is as it was written; ``kind`` for messages.

    Raises DamagedFile with what is wrong and what would be right.
    """
    try:
        arrays = read_members(path)
    except DamagedFile:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise DamagedFile(f"is truncated or no {kind} ({error}); save it again") from error
    if FORMAT not in arrays:
        raise DamagedFile("lacks format; save it again")
    check_kind(arrays, kind)
    if (found := arrays.pop(FORMAT)).shape != () or found.dtype.kind != "i" or found != form:
        raise DamagedFile(f"has format {found}, this version reads format {form}{other_version(found, form)}")
    check_sum(arrays, form)
    return arrays


def check_kind(arrays: Arrays, kind: str) -> None:
    """Refuse a sound file of another kind with its name and its reader."""
    found = next((MARKS[name] for name in MARKS if name in arrays), None)
    if found and found[0] != kind and kind in (name for name, _ in MARKS.values()):
        raise DamagedFile(f"is of another kind, a {found[0]} and no {kind}; {found[1]}")


def other_version(found: np.ndarray[Any, Any], form: int) -> str:
    """Return the advice for an archive of another version."""
    if found.shape != () or found.dtype.kind != "i":
        return "; save it again"
    return "; an older version wrote it, save it again" if found < form else "; a later version wrote it, update rtmbs"


def check_sum(arrays: Arrays, form: int) -> None:
    """Take the checksum out of ``arrays``; refuse them when it is not theirs."""
    if CHECKSUM not in arrays:
        raise DamagedFile("lacks checksum; save it again")
    said, digest = arrays.pop(CHECKSUM), hashlib.sha256()
    for name, value in {FORMAT: np.array(form), **arrays}.items():
        update_digest(digest, name, value)
    if said.shape != () or str(said) != digest.hexdigest():
        raise DamagedFile("is damaged: its checksum is that of other contents; save it again")


def read_members(path: str | Path) -> Arrays:
    """Return every array of the file; raises whatever a damaged archive raises."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > size:
                raise DamagedFile("is damaged: its entries are longer than the file; save it again")
            arrays = {member.filename.removesuffix(SUFFIX): read_entry(archive, member) for member in members}
    if len(arrays) != len(members):
        raise DamagedFile("is damaged: two entries have one name; save it again")
    return arrays


def read_entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Return one array, after its header was held against the bytes that are there."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        raise DamagedFile(f"is damaged: {member.filename} is packed, which no saved file is; save it again")
    data = io.BytesIO(archive.read(member))
    version = np.lib.format.read_magic(data)
    if version != (1, 0):
        raise DamagedFile(f"is damaged: {member.filename} has a header of version {version}; save it again")
    shape, columns_first, dtype = np.lib.format.read_array_header_1_0(data)
    begin, count = data.tell(), math.prod(shape)
    if dtype.kind not in KINDS or dtype.itemsize == 0 or min(shape, default=0) < 0 or columns_first:
        raise DamagedFile(f"is damaged: {member.filename} says it is {dtype} of shape {shape}; save it again")
    if count * dtype.itemsize != member.file_size - begin:
        raise DamagedFile(f"is damaged: {member.filename} is no array of shape {shape}; save it again")
    return np.frombuffer(data.getbuffer(), dtype, count, begin).reshape(shape)
