"""Mechanism files: an ``Instance`` in relocatable form, and the layout that the native library reads it by.

A file is a row of words of eight bytes, little-endian: a header (magic, version of the format, digest of the layout,
size, checksum, counts), the extents of every array, a flag whether it has content, numbers of the struct, ports, text,
and the content of the arrays one after the other. The library knows the layout, so a file holds no address and no
place of an array. Everything else is checked when it is loaded: ``c/runtime.c`` and ``c/check.c``.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rtmbs.ad import operations
from rtmbs.ad.program import SUM
from rtmbs.errors import InputError
from rtmbs.export.channels import Port, Ports
from rtmbs.export.instance import STATE_FIELDS, Instance
from rtmbs.export.signal_kernels import ROWS
from rtmbs.forces.register import BY_WORD
from rtmbs.integrators.penalty_trapezoidal import MOST_PROJECTIONS
from rtmbs.integrators.settings import MAX_ITERATIONS, MOST_TRIES, STATS_SIZE
from rtmbs.jit.struct import words_of

MAGIC, FORMAT, WORD, HEADER = b"RTMBS\0MF", 1, 8, 16
PARAMETER, INPUT, OUTPUT = range(3)
CONSTANT, SCRATCH, STATE = "CONSTANT", "SCRATCH", "STATE"
WRITTEN = ("ws.", "work.", "next_", "seen_")  # scratch: what begins so, or is listed below
SCRATCHES = (
    "stats", "clock", "after", "signals.memory", "signals.instant", "signals.value", "signals.around",
    "turns", "outputs.energies", "outputs.missed",
    "outputs.wrenches", "outputs.springs", "outputs.given", "outputs.bushings", "outputs.law_forces", "outputs.values",
)  # fmt: skip
KINDS = {"f": "f", "i": "i", "u": "u", "b": "b"}
OFFSET, PRIME, MASK, SHIFT = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1, 29  # of the checksum
COUNTED = 4  # word of the checksum


CONSTANTS = {  # of kernels, as checks of files in C need them
    "OP_TRUTH": operations.TRUTH, "OP_SELECT": operations.SELECT, "OP_SUM": SUM, "STATS_SIZE": STATS_SIZE,
    "MAX_ITERATIONS": MAX_ITERATIONS, "MOST_TRIES": MOST_TRIES, "MOST_PROJECTIONS": MOST_PROJECTIONS,
    "SPRING_NUMBERS": BY_WORD["spring"].measured, "GIVEN_NUMBERS": BY_WORD["wrench"].measured,
    "BUSHING_NUMBERS": BY_WORD["bushing"].measured, "SIGNAL_ROWS": ROWS,
}  # fmt: skip


class Leaf(NamedTuple):
    """An array or a number of a struct."""

    name: str
    word: int  # first word in the memory of the struct
    value: Any

    @property
    def storage(self) -> str:
        """Return where the library keeps the array."""
        if self.name in STATE_FIELDS:
            return STATE
        return SCRATCH if self.name.startswith(WRITTEN) or self.name in SCRATCHES else CONSTANT


def leaves(value: Any, prefix: str = "", word: int = 0) -> Iterator[Leaf]:
    """Yield arrays and numbers of a struct in the order of its memory."""
    for name, part in zip(value._fields, value, strict=True):
        if isinstance(part, tuple):
            yield from leaves(part, f"{prefix}{name}.", word)
        else:
            yield Leaf(prefix + name, word, part)
        word += len(words_of(part))


def layout_header(example: Instance, version: str) -> str:
    """Return ``layout.h``: places of arrays and numbers in the memory of an Instance.

    Parameters
    ----------
    example : Instance
        Any Instance: the layout is the same for all.
    version : str
        Version of rtmbs.

    Returns
    -------
    str
        Text of a C header.
    """
    found = list(leaves(example))
    arrays = [leaf for leaf in found if isinstance(leaf.value, np.ndarray)]
    numbers = [leaf for leaf in found if not isinstance(leaf.value, np.ndarray)]
    names = [leaf.name.replace(".", "_") for leaf in arrays]
    rows = [
        f"    {{{leaf.word}, {leaf.value.dtype.itemsize}, {leaf.value.ndim}, {leaf.storage}, "
        f"'{KINDS[leaf.value.dtype.kind]}', \"{leaf.name}\"}}, \\"
        for leaf in arrays
    ]
    words = len(words_of(example))
    return "\n".join(
        [
            "/* Made by rtmbs.export.mechanism_file for the kernels beside it. */",
            f'#define RTMBS_VERSION "{version}"',
            f"#define LAYOUT 0x{layout_digest(example):016x}u",
            f"enum {{ WORD_COUNT = {words}, LEAF_COUNT = {len(arrays)}, SCALAR_COUNT = {len(numbers)} }};",
            "enum {", *(f"    {name} = {value}," for name, value in CONSTANTS.items()), "};",
            "enum {", *(f"    L_{name}," for name in names), "};",
            "enum {", *(f"    W_{leaf.name.replace('.', '_')} = {leaf.word}," for leaf in numbers), "};",
            "static const int RTMBS_SCALARS[] = {", *(f"    {leaf.word}," for leaf in numbers), "};",
            "#define RTMBS_LEAF_ROWS \\", *rows, "", "",
        ]
    )  # fmt: skip


def layout_digest(example: Instance) -> int:
    """Return a digest of names and types of all arrays and numbers."""
    lines = []
    for leaf in leaves(example):
        kind = f"{leaf.value.dtype} {leaf.value.ndim}" if isinstance(leaf.value, np.ndarray) else "number"
        lines.append(f"{leaf.name} {leaf.word} {leaf.storage} {kind}")
    return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:8], "little")


def mechanism_bytes(instance: Instance, ports: Ports, name: str, token: str, start: float) -> bytes:
    """Return a mechanism file.

    Parameters
    ----------
    instance : Instance
        Arrays of the mechanism at its start.
    ports : Ports
        Inputs and outputs.
    name : str
        Name of the model.
    token : str
        Identity of the FMU.
    start : float
        Time of the start [s].

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    InputError
        For an Instance of a big-endian machine.
    """
    if np.dtype(np.int64).newbyteorder("=").str[0] == ">" or np.dtype(np.int64).str[0] == ">":
        raise InputError("mechanism files are little-endian; export on a little-endian machine")
    extents, flags, numbers, content = [], [], [], []
    for leaf in leaves(instance):
        if not isinstance(leaf.value, np.ndarray):
            numbers += words_of(leaf.value)
            continue
        extents += leaf.value.shape
        flags.append(int(bool(leaf.value.size and np.any(leaf.value != 0))))
        if flags[-1]:
            content.append(padded(np.ascontiguousarray(leaf.value).tobytes()))
    text, places = text_of([name, token, *(part for port in all_ports(ports) for part in (port.name, port.unit))])
    records = [record(port, places, INPUT if port.input else PARAMETER) for port in ports.settable]
    records += [record(port, places, OUTPUT) for port in ports.outputs]
    body = words(extents) + words(flags) + words(numbers) + b"".join(records) + text + b"".join(content)
    head = [FORMAT, layout_digest(instance), HEADER * WORD + len(body), 0, len(extents), len(flags), len(numbers)]
    head += [len(records), len(text), len(b"".join(content)), float_word(start), int(len(ports.time.slot) > 0)]
    head += [places[name], places[token], 0]
    data = bytearray(MAGIC + words(head) + body)
    data[COUNTED * WORD : (COUNTED + 1) * WORD] = checksum(bytes(data)).to_bytes(WORD, "little")
    return bytes(data)


def all_ports(ports: Ports) -> tuple[Port, ...]:
    """Return inputs and parameters, then outputs."""
    return (*ports.settable, *ports.outputs)


def record(port: Port, places: dict[str, int], kind: int) -> bytes:
    """Return a port as its six words."""
    return words([places[port.name], places[port.unit], port.place, kind, int(port.ramp), float_word(port.start)])


def words(numbers: Any) -> bytes:
    """Return whole numbers as words of eight bytes; those from 2**63 on keep their bits."""
    return b"".join((int(number) & MASK).to_bytes(WORD, "little") for number in numbers)


def float_word(number: float) -> int:
    """Return the bits of a float as a whole number."""
    return int(np.float64(number).view(np.int64))


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a whole number of words."""
    return data + bytes(-len(data) % WORD)


def text_of(parts: list[str]) -> tuple[bytes, dict[str, int]]:
    """Return strings one after the other, each ended by a zero byte, and the place of each."""
    text, places = b"", {}
    for part in parts:
        if part not in places:
            places[part] = len(text)
            text += part.encode() + b"\0"
    return padded(text + b"\0"), places


def checksum(data: bytes) -> int:
    """Return the checksum of a file of which the word of the checksum is zero."""
    total = OFFSET
    for word in np.frombuffer(data, np.uint64).tolist():
        total = (total ^ word) * PRIME & MASK
        total ^= total >> SHIFT
    return total
