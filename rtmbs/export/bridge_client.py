"""Packets of ``rtmbs bridge`` and a client for hosts. It needs Python's standard library only: copy it to a host.

A packet is a head of 64 bytes and float64 numbers, little-endian:

    0 magic RTMBSBR1 | 8 version, kind (uint16) | 12 count (uint32) | 16 session (uint64) | 24 sequence (uint64)
    32 time (float64) [s] | 40 answered (uint64) | 48 status, spare (uint16) | 52 late (uint32) | 56 refused (uint32)
    60 CRC-32 of the packet with zeros here (uint32) | 64 numbers

An INPUTS packet is from the host: sequences grow by one from 1. An OUTPUTS packet is from the mechanism: ``answered``
is the sequence of the inputs that it stepped with, ``time`` its time, ``late`` how many ticks ended after their
deadline, ``refused`` how many packets were refused. The checksum finds damage, and the session finds packets of another
run. They do not keep out somebody who can read the packets.
"""

import os
import socket
import struct
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from multiprocessing import resource_tracker, shared_memory
from typing import NamedTuple

MAGIC, VERSION = b"RTMBSBR1", 1
INPUTS, OUTPUTS = 1, 2
HEAD = struct.Struct("<8sHHIQQdQHHIII")
CHECKSUM = HEAD.size - 4
MOST = 180  # numbers in a packet: one datagram below 1,500 bytes
LARGEST = 1e100
WORD = struct.Struct("<Q")
BLOCK = HEAD.size + 8 * MOST + WORD.size  # of one direction in shared memory: a counter, then a packet
TRIES = 1000  # reads of a block that is being written


class Packet(NamedTuple):
    """A packet that was checked."""

    kind: int
    session: int
    sequence: int
    time: float
    answered: int
    status: int
    late: int
    refused: int
    numbers: tuple[float, ...]


def packed(packet: Packet) -> bytes:
    """Return the bytes of a packet."""
    head = (
        MAGIC, VERSION, packet.kind, len(packet.numbers), packet.session, packet.sequence, packet.time, packet.answered,
        packet.status, 0, packet.late, packet.refused, 0,
    )  # fmt: skip
    data = HEAD.pack(*head) + struct.pack(f"<{len(packet.numbers)}d", *packet.numbers)
    return data[:CHECKSUM] + struct.pack("<I", zlib.crc32(data)) + data[HEAD.size :]


class Inbox:
    """Checks of the packets that one end receives.

    Parameters
    ----------
    kind : int
        Kind that is taken: INPUTS or OUTPUTS.
    session : int
        Session that is taken.
    count : int
        Numbers in a packet.
    """

    def __init__(self, kind: int, session: int, count: int) -> None:
        self.kind, self.session, self.count = kind, session, count
        self.last = 0  # sequence of the newest packet taken
        self.lost = 0  # sequences that were passed over
        self.refused: Counter[str] = Counter()  # by reason

    def accept(self, data: bytes) -> Packet | None:
        """Return the packet when it is whole, of this session and newer than all before; None otherwise."""
        found = self.checked(data)
        if isinstance(found, str):
            self.refused[found] += 1
            return None
        self.lost += found.sequence - self.last - 1
        self.last = found.sequence
        return found

    def checked(self, data: bytes) -> Packet | str:
        """Return the packet, or the reason for which it is refused."""
        if len(data) != HEAD.size + 8 * self.count:
            return "size"
        magic, version, kind, count, session, sequence, t, answered, status, _, late, refused, checksum = (
            HEAD.unpack_from(data)
        )
        if magic != MAGIC or version != VERSION:
            return "magic or version"
        if zlib.crc32(data[:CHECKSUM] + bytes(4) + data[HEAD.size :]) != checksum:
            return "checksum"
        if kind != self.kind or count != self.count or session != self.session:
            return "kind or session"
        if sequence == self.last:
            return "doubled"
        if sequence < self.last:
            return "out of order"
        numbers = struct.unpack_from(f"<{count}d", data, HEAD.size)
        if not all(abs(number) <= LARGEST for number in (t, *numbers)):
            return "not finite"
        return Packet(kind, session, sequence, t, answered, status, late, refused, numbers)

    @property
    def refusals(self) -> int:
        """Packets that were refused so far."""
        return sum(self.refused.values())


class Client:
    """What a host does: send inputs, receive outputs; ``UdpClient`` and ``SharedClient`` say by which way.

    Parameters
    ----------
    session : int
        Session that ``rtmbs bridge`` prints.
    inputs, outputs : int
        Counts of numbers, in the order that ``rtmbs bridge`` prints.
    """

    def __init__(self, session: int, inputs: int, outputs: int) -> None:
        self.session, self.inputs, self.sequence = session, inputs, 0
        self.inbox = Inbox(OUTPUTS, session, outputs)

    def send(self, numbers: Sequence[float]) -> int:
        """Send inputs, and return their sequence."""
        if len(numbers) != self.inputs:
            raise ValueError(f"{len(numbers)} inputs were given; the mechanism takes {self.inputs}")
        self.sequence += 1
        self._write(packed(Packet(INPUTS, self.session, self.sequence, 0.0, 0, 0, 0, 0, tuple(map(float, numbers)))))
        return self.sequence

    def exchange(self, numbers: Sequence[float], patience: float = 1.0) -> Packet:
        """Send inputs and return the first outputs that answer them; sent again while no answer comes.

        Parameters
        ----------
        numbers : Sequence[float]
            Inputs.
        patience : float, default 1.0
            Longest wait for an answer [s]; then TimeoutError is raised.
        """
        sequence, end = self.send(numbers), time.monotonic() + patience
        data = packed(Packet(INPUTS, self.session, sequence, 0.0, 0, 0, 0, 0, tuple(map(float, numbers))))
        for turn in range(1_000_000):
            found = self.receive(min(0.05, patience))
            if found is not None and found.answered >= sequence:
                return found
            if time.monotonic() > end:
                break
            if turn and found is None:
                self._write(data)
        raise TimeoutError(f"no outputs came within {patience:g} s")

    def receive(self, patience: float = 0.0) -> Packet | None:
        """Return the newest outputs that came within ``patience`` [s], or None."""
        raise NotImplementedError

    def _write(self, data: bytes) -> None:
        raise NotImplementedError


class UdpClient(Client):
    """A client by UDP.

    Parameters
    ----------
    address : tuple of str and int
        Address of the bridge.
    session : int
        Session that ``rtmbs bridge`` prints.
    inputs, outputs : int
        Counts of numbers.
    """

    def __init__(self, address: tuple[str, int], session: int, inputs: int, outputs: int) -> None:
        super().__init__(session, inputs, outputs)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(address)

    def receive(self, patience: float = 0.0) -> Packet | None:
        """Return the newest outputs that came within ``patience`` [s], or None."""
        newest, left = None, patience
        for _ in range(1_000_000):  # datagrams that wait
            self.socket.settimeout(left if left > 0.0 else 1e-9)
            try:
                found = self.inbox.accept(self.socket.recv(65536))
            except (TimeoutError, BlockingIOError, ConnectionRefusedError):
                return newest
            if found is not None:
                newest, left = found, 0.0
        return newest

    def _write(self, data: bytes) -> None:
        try:
            self.socket.send(data)
        except ConnectionRefusedError:  # of a packet before: the bridge was not there
            self.socket.send(data)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


def write_block(memory: memoryview, first: int, data: bytes) -> None:
    """Write a packet into a block of shared memory: the counter is odd meanwhile."""
    (counter,) = WORD.unpack_from(memory, first)
    WORD.pack_into(memory, first, (counter | 1) & (2**64 - 1))
    memory[first + WORD.size : first + WORD.size + len(data)] = data
    WORD.pack_into(memory, first, ((counter | 1) + 1) & (2**64 - 1))


def read_block(memory: memoryview, first: int, size: int, seen: int) -> tuple[int, bytes]:
    """Return the counter of a block and its packet; no bytes when nothing was written since the counter ``seen``."""
    for _ in range(TRIES):
        (before,) = WORD.unpack_from(memory, first)
        if before == seen or before == 0:
            return seen, b""
        data = bytes(memory[first + WORD.size : first + WORD.size + size])
        (after,) = WORD.unpack_from(memory, first)
        if before == after and before % 2 == 0:
            return before, data
    return seen, b""


class SharedClient(Client):
    """A client by shared memory on the same machine.

    Parameters
    ----------
    name : str
        Name of the memory that ``rtmbs bridge`` prints.
    session : int
        Session that ``rtmbs bridge`` prints.
    inputs, outputs : int
        Counts of numbers.
    """

    def __init__(self, name: str, session: int, inputs: int, outputs: int) -> None:
        super().__init__(session, inputs, outputs)
        self.shared = attached(name)
        assert self.shared.buf is not None
        self.memory, self.seen = memoryview(self.shared.buf), 0

    def receive(self, patience: float = 0.0) -> Packet | None:
        """Return the newest outputs that came within ``patience`` [s], or None; it looks again and again."""
        end = time.monotonic() + patience
        for _ in range(1_000_000_000):
            self.seen, data = read_block(self.memory, BLOCK, HEAD.size + 8 * self.inbox.count, self.seen)
            found = self.inbox.accept(data) if data else None
            if found is not None or time.monotonic() >= end:
                return found
            time.sleep(2e-5)
        return None

    def _write(self, data: bytes) -> None:
        write_block(self.memory, 0, data)

    def close(self) -> None:
        """Let the memory go."""
        self.memory.release()
        self.shared.close()


def attached(name: str) -> shared_memory.SharedMemory:
    """Return shared memory of another process; before Python 3.13 the end of this one would remove it."""
    if sys.version_info >= (3, 13):
        return shared_memory.SharedMemory(name, track=False)
    found = shared_memory.SharedMemory(name)
    if os.name == "posix":
        resource_tracker.unregister(found._name, "shared_memory")  # type: ignore[attr-defined]
    return found
