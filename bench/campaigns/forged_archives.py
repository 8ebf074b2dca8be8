"""Forged archives of arrays: states, results, tapes and blocks of a history, with the checksum of what they hold."""

import hashlib
import io
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.campaigns.damaged_files import originals, result_told, state_told
from rtmbs.ad.tape import load_tape
from rtmbs.ad.trace import Traced
from rtmbs.state import MEMORY

SIZES = (0, 1, 2**31 - 1, 2**31, 2**63 - 1, 10**9, 10**12, -1)
DESCRIPTIONS = ("<f8", "S2000000000", "<U500000000", "|O", "V1000000000", "<c16", "<f4", "<i8", ">f8", "M8[s]", "U0")
SPECIAL = ("pipe", "zero", "folder", "loop", "gone")


class Said(dict[str, bytes]):
    """Arrays that a file holds, whatever else a reader says of it."""

    def __eq__(self, other: object) -> bool:
        named = other[-1] if isinstance(other, tuple) else other
        assert isinstance(named, dict)
        found = {name: one[0] if isinstance(one, tuple) else one for name, one in named.items()}
        return all(found.get(name.removeprefix(MEMORY)) == value for name, value in self.items())

    __hash__ = None  # type: ignore[assignment]


@cache
def sound() -> dict[str, tuple[dict[str, np.ndarray], Any]]:
    """Return the entries of a state and of a result, and what the readers say of them."""
    with tempfile.TemporaryDirectory() as folder:
        (state, said), (result, told) = originals("crank rocker", Path(folder))
    return {"state": (arrays(state), said), "result": (arrays(result), told)}


def arrays(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data)) as file:
        return {name: file[name] for name in file.files}


def entry(value: np.ndarray, shape: Any = None, descr: Any = None, version: int = 1) -> bytes:
    """Return an array as numpy writes it, with a header that may say something else."""
    about = {
        "descr": descr or value.dtype.str,
        "fortran_order": False,
        "shape": value.shape if shape is None else shape,
    }
    text = repr(about).encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + bytes((version, 0)) + len(text).to_bytes(2, "little") + text + value.tobytes()


def digest_of(entries: dict[str, np.ndarray]) -> np.ndarray:
    """Return the checksum as a file has it: over names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, value in entries.items():
        digest.update(f"{name}\0{value.dtype.str}\0{value.shape}\0".encode() + np.ascontiguousarray(value).tobytes())
    return np.array(digest.hexdigest())


def packed(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name + ".npy", data)
    return target.getvalue()


def chosen(rng: np.random.Generator) -> tuple[str, dict[str, np.ndarray], Any]:
    kind = str(rng.choice(["state", "result"]))
    entries, told = sound()[kind]
    return kind, {name: value for name, value in entries.items() if name != "checksum"}, told


def lying_header(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """The header of one array says another shape or type."""
    kind, entries, told = chosen(rng)
    files = {name: entry(value) for name, value in {**entries, "checksum": digest_of(entries)}.items()}
    name = str(rng.choice(list(entries)))
    value = entries[name]
    shape = tuple(int(rng.choice(SIZES)) for _ in range(rng.integers(1, 4))) if rng.integers(2) else value.shape
    descr = str(rng.choice(DESCRIPTIONS)) if rng.integers(2) else value.dtype.str
    files[name] = entry(value, shape, descr, int(rng.choice([1, 1, 1, 2, 3])))
    path = folder / f"{kind}.npz"
    path.write_bytes(packed(files))
    unchanged = shape == value.shape and descr == value.dtype.str and files[name][6] == 1
    return path, told if unchanged else None


def other_arrays(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """One array is another one, or lost, and the checksum is right."""
    kind, entries, _ = chosen(rng)
    name = str(rng.choice([name for name in entries if name not in ("format",)]))
    value = entries[name]
    ways: list[Callable[[], np.ndarray]] = [
        lambda: np.zeros((0, 10**12)),
        lambda: np.zeros((10**9, 0)),
        lambda: np.zeros((*value.shape, 2)),
        lambda: np.ravel(value)[:-1] if value.size else np.zeros(3),
        lambda: np.full(value.shape, np.nan) if value.dtype.kind == "f" else np.zeros(value.shape, np.complex64).real,
        lambda: np.array("x" * 1000),
    ]
    if rng.integers(len(ways) + 1) == 0:
        del entries[name]
    else:
        entries[name] = ways[int(rng.integers(len(ways)))]()
    if name in entries and (entries[name].dtype, entries[name].shape) == (value.dtype, value.shape):
        entries[name] = np.zeros((*value.shape, 1, 1))
    path = folder / f"{kind}.npz"
    path.write_bytes(packed({key: entry(one) for key, one in {**entries, "checksum": digest_of(entries)}.items()}))
    return path, Said({key: one.tobytes() for key, one in entries.items() if one.ndim and one.dtype.kind == "f"})


def lying_directory(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """The directory of the archive lies: lengths, places, ways of packing, or one place under many names."""
    kind, entries, told = chosen(rng)
    data = bytearray(packed({key: entry(one) for key, one in {**entries, "checksum": digest_of(entries)}.items()}))
    heads = [k for k in range(len(data)) if data[k : k + 4] == b"PK\x01\x02"]
    head = int(rng.choice(heads))
    place, code = ((20, "<I"), (24, "<I"), (42, "<I"), (10, "<H"), (28, "<H"))[int(rng.integers(5))]
    was = struct.unpack_from(code, data, head + place)[0]
    value = int(rng.choice([0, 1, 8, 12, 0xFFFF if code == "<H" else 0xFFFFFFFF, 0x7FFF, was + 1]))
    struct.pack_into(code, data, head + place, min(value, 0xFFFF if code == "<H" else 0xFFFFFFFF))
    path = folder / f"{kind}.npz"
    path.write_bytes(bytes(data))
    return path, told  # as a reader may not need what was changed


def bomb(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Packed zeros, as a state, a result or a tape."""
    kind = str(rng.choice(["state", "result", "tape"]))
    names = list(sound()[kind][0]) if kind != "tape" else ["rtmbs_record", "op", "a", "b", "c", "constants", "outputs"]
    value = np.zeros(int(rng.choice([10**6, 3 * 10**7])))
    path = folder / f"{kind}.npz"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(f"{rng.choice(names)}.npy", entry(value))
    path.write_bytes(target.getvalue())
    return path, None


def no_file(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A pipe, a device, a folder, a link to itself, or nothing."""
    path = folder / f"{rng.choice(['state', 'result', 'tape'])}.{rng.choice(['npz', 'h5', 'parquet'])}"
    special(str(rng.choice(SPECIAL)), path)
    return path, None


def special(kind: str, path: Path) -> None:
    """Put something that is no regular file in the place of a path."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)


def other_kind(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A sound file that is given to the reader of another kind."""
    kind = str(rng.choice(["state", "result"]))
    entries = sound()["result" if kind == "state" else "state"][0]
    path = folder / f"{kind}.npz"
    path.write_bytes(packed({name: entry(value) for name, value in entries.items()}))
    return path, None


def tape(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A tape with one column of other numbers."""
    path = folder / "tape.npz"
    Traced(lambda x: x * x + 1.0, 3).save(path)
    entries = arrays(path.read_bytes())
    name = str(rng.choice(list(entries)))
    entries[name] = np.full(int(rng.choice([1, 4, 10**5])), int(rng.choice([100, 200])), entries[name].dtype)
    path.write_bytes(packed({key: entry(np.asarray(one)) for key, one in entries.items()}))
    return path, "a tape" if name in ("constants", "sizes") else None


def read(path: Path) -> Any:
    """Return what the reader of a file says, by the name of the file."""
    if path.stem == "tape":
        load_tape(path)
        return "a tape"
    if path.stem == "state":
        return state_told(path)
    return result_told(path)


def forgers() -> list[tuple[Any, Any]]:
    """Return (forge, read) of each kind."""
    sound()
    return [(one, read) for one in (lying_header, other_arrays, lying_directory, bomb, no_file, other_kind, tape)]
