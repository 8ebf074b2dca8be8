"""Archive of named arrays in an uncompressed ``npz`` file, with a checksum that shows damage.

The checksum goes over every name, type, shape and byte in their order. Nothing is compressed, so no file can ask for
more memory than it is long, and nothing is ever unpickled. ``numpy.load`` reads the same file.
"""

import functools
import hashlib
import io
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rtmbs.core.atomic_file import replacing
from rtmbs.core.reading import DamagedFile, opened

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
