"""An HDF5 file whose writer was ended, read as if it had been closed.

HDF5 marks a file that is being written in its superblock, and refuses to open it later; its mode for readers beside the
writer waits for a very long time where a byte is wrong. Here the mark is taken out of what is read, not of the file.
Source: HDF5 File Format Specification, version 3.0, II.A (superblock version 3) and Jenkins' lookup3 as its checksum.
"""

import io
import os
import struct
from pathlib import Path
from typing import Any

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SIZE = 48  # bytes of the superblock with addresses of 8 bytes
VERSIONS = (2, 3)
FLAGS, END_OF_FILE, CHECKSUM = 11, 28, 44  # bytes of the superblock where they stand
WORD = 0xFFFFFFFF


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
        if checksum(head[:CHECKSUM]) != struct.unpack("<I", head[CHECKSUM:])[0]:
            self.close()
            raise OSError("its superblock is damaged")
        self.head = closed(head, os.fstat(self.fileno()).st_size)

    def readinto(self, buffer: Any) -> int | None:
        """Read, with the head of a closed file in the place of the present one."""
        begin = self.tell()
        count = super().readinto(buffer)
        low, high = max(begin, self.first), min(begin + (count or 0), self.first + SIZE)
        if low < high:
            memoryview(buffer).cast("B")[low - begin : high - begin] = self.head[low - self.first : high - self.first]
        return count


def closed(head: bytes, size: int) -> bytes:
    """Return the superblock that the file would have had it been closed with ``size`` bytes."""
    changed = bytearray(head[:CHECKSUM])
    changed[FLAGS] = 0
    changed[END_OF_FILE : END_OF_FILE + 8] = size.to_bytes(8, "little")
    return bytes(changed) + checksum(bytes(changed)).to_bytes(4, "little")


def checksum(data: bytes) -> int:
    """Return lookup3 (hashlittle, initial value 0) of some bytes."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    while len(data) > 12:
        x, y, z = struct.unpack("<III", data[:12])
        a, b, c = mixed((a + x) & WORD, (b + y) & WORD, (c + z) & WORD)
        data = data[12:]
    if not data:
        return c
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    return ended((a + x) & WORD, (b + y) & WORD, (c + z) & WORD)


def turned(x: int, k: int) -> int:
    """Return 32 bits turned to the left."""
    return ((x << k) | (x >> (32 - k))) & WORD


def mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix three words, reversibly."""
    for k in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & WORD) ^ turned(c, k)
        c = (c + b) & WORD
        a, b, c = b, c, a
    return a, b, c


def ended(a: int, b: int, c: int) -> int:
    """Mix three words for the last time."""
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - turned(b, k)) & WORD
        a, b, c = b, c, a
    return b
