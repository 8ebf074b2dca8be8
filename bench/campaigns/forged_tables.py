"""Forged results in HDF5 and Parquet, with the right checksum of what they hold."""

import hashlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet

from bench.campaigns.damaged_files import result_told
from bench.campaigns.forged_meshes import Anything
from bench.campaigns.machines import simulation
from rtmbs.results.file_formats import BLOCK, CHANNELS, MARK
from rtmbs.simulation.observers import recorder as channel_recorder
from rtmbs.studies.sweeps.result import read_parquet
from rtmbs.studies.sweeps.result import sound as sound_rows

LONG = 3 * 10**7


@cache
def sound() -> dict[str, tuple[bytes, Any]]:
    """Return the bytes of sound files, and what they say."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        sim = simulation("crank rocker")
        result = sim.run(sim.t + 5 * sim.h)
        for ending in ("h5", "parquet"):
            path = Path(folder) / f"run.{ending}"
            result.save(path)
            found[ending] = path.read_bytes(), result_told(path)
        path = Path(folder) / "blocks.h5"
        with patch.multiple(channel_recorder, FEWEST=4, BLOCK_BYTES=0):
            sim.run(sim.t + 9 * sim.h, channels=["crank_pivot.angle", "coupler.position"], file=path)
        found["blocks"] = path.read_bytes(), result_told(path)
    return found


def signed(path: Path) -> None:
    """Write the checksum of a file into it."""
    whole = bytearray(path.read_bytes())
    mark = MARK + hashlib.sha256(bytes(whole[BLOCK:])).hexdigest().encode()
    whole[: len(mark)] = mark
    path.write_bytes(bytes(whole))


def lying_hdf5(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Values elsewhere, packed, longer than the file, behind links, or of other types."""
    path, way = folder / "run.h5", int(rng.integers(9))
    path.write_bytes(sound()["h5"][0])
    (folder / "secret").write_bytes(b"SECRET!!" * 1000)
    with h5py.File(path, "r+") as file:
        group = file[CHANNELS]
        name = str(rng.choice(list(group)))
        about, shape = dict(group[name].attrs), group[name].shape
        del group[name]
        if way == 0:
            group.create_dataset(name, shape, "f8", external=[(str(folder / "secret"), 0, h5py.h5f.UNLIMITED)])
        elif way == 1:
            group.create_dataset(name, (LONG, *shape[1:]), "f8", chunks=(10**5, *shape[1:]), compression="gzip")
        elif way == 2:
            group.create_dataset(name, (LONG, *shape[1:]), "f8", chunks=(10**3, *shape[1:]))
        elif way == 3:
            group[name] = h5py.ExternalLink(str(folder / "secret"), "/x")
        elif way == 4:
            group[name] = h5py.SoftLink("/channels/t")
        elif way == 5:
            layout = h5py.VirtualLayout(shape, "f8")
            layout[...] = h5py.VirtualSource(str(folder / "secret"), "x", shape)
            group.create_virtual_dataset(name, layout)
        elif way == 6:
            group.create_dataset(name, shape, str(rng.choice(["S1000000", "f4", "c16", "i1"])))
        elif way == 7:
            group.create_group(name)
        else:
            group[name] = group["t" if name != "t" else next(iter(group))]
        if name in group and isinstance(group.get(name, getclass=True, getlink=True), type) and way in (0, 1, 2, 6):
            group[name].attrs.update(about)
    signed(path)
    return path, sound()["h5"][1] if way == 6 else None


def many_hdf5(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Many names of one data set, long words that many attributes share, or counts that are none."""
    path, way = folder / "run.h5", int(rng.integers(3))
    path.write_bytes(sound()["h5"][0])
    with h5py.File(path, "r+") as file:
        group = file[CHANNELS]
        name = next(iter(group))
        if way == 0:
            large = group.create_dataset("large", (50_000,), "f8", data=np.zeros(50_000))
            large.attrs.update(dict(group["t"].attrs))
            for k in range(300):
                group[f"large{k}"] = large
        elif way == 1:
            file.attrs["outcomes"] = str(rng.choice(["[" * 10**4, "3", '{"a": "b"}', '{"a":' * 5000, "{"]))
        else:
            group[name].attrs["axes"] = np.array(["x" * 100] * int(rng.choice([2, 500])), dtype=h5py.string_dtype())
    signed(path)
    return path, None


def other_bytes(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Bytes of the structure are others, and the checksum is right: what HDF5 makes of it is what it says."""
    kind = str(rng.choice(["h5", "blocks"]))
    data = bytearray(sound()[kind][0])
    full = np.flatnonzero(np.frombuffer(bytes(data), np.uint8)[BLOCK:]) + BLOCK
    for place in rng.choice(full, int(rng.integers(1, 4))):
        data[place] = int(rng.choice([0, 1, 127, 128, 255, data[place] ^ (1 << int(rng.integers(8)))]))
    path = folder / "run.h5"
    path.write_bytes(bytes(data))
    signed(path)
    return path, Anything()


def lying_parquet(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A table with the form of a result, packed otherwise, or with metadata that lie."""
    path, way = folder / "run.parquet", int(rng.integers(6))
    path.write_bytes(sound()["parquet"][0])
    table = pyarrow.parquet.read_table(path)
    about = json.loads(table.schema.metadata[b"rtmbs_result"])
    if way == 0:
        names = [f"c{k}" for k in range(int(rng.choice([1, 60])))]
        table = pyarrow.table({name: np.zeros(10**5) for name in names})
    elif way == 1:
        about["channels"][0][1] = ["x"] * 10**5
    elif way == 2:
        about["channels"].append(about["channels"][0])
    elif way == 3:
        about[str(rng.choice(["channels", "outcomes", "checksum", "format", "model"]))] = [[3]]
    text = b'{"a":' * 10**5 if way == 4 else json.dumps(about).encode()
    options = {"compression": str(rng.choice(["zstd", "gzip", "lz4"]))} if way == 5 else {}
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"rtmbs_result": text}), path, **options)
    return path, None


def other_footer(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Bytes of the footer or of the head of a page are others: what the file says, or a refusal."""
    data, told = sound()["parquet"]
    found = bytearray(data)
    length = int.from_bytes(data[-8:-4], "little")
    span = (len(data) - 8 - length, len(data)) if rng.integers(2) else (4, 4 + min(400, len(data) // 2))
    for _ in range(int(rng.integers(1, 4))):
        found[int(rng.integers(*span))] = int(
            rng.choice([0, 1, 0x15, 0x19, 0x1C, 127, 128, 255, int(rng.integers(256))])
        )
    path = folder / "run.parquet"
    path.write_bytes(bytes(found))
    return path, told


def rows(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Rows of a sweep: long words that many rows share, or no words."""
    path, count = folder / "rows-000000000.parquet", int(rng.choice([10, 10**5, 10**6]))
    word = "x" * int(rng.choice([1, 10**4]) if count > 10 else 3) if rng.integers(3) else ""
    path.write_bytes(bytes_of_rows(count, word))
    return path, (count, word) if word else None


@cache
def bytes_of_rows(count: int, word: str) -> bytes:
    """Return the bytes of a table of ``count`` rows with one word in each, numbers in place of words where it is ""."""
    words = pyarrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), [word]) if word else np.zeros(count)
    table = pyarrow.table({"run": np.arange(count), "peak": np.zeros(count), "error": words})
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, store_schema=False)  # plain words, not the dictionary that they share
    return bytes(sink.getvalue())


def read_rows(path: Path) -> Any:
    columns = read_parquet(path, ["error"])
    if not sound_rows(columns):
        raise_named(path)
    return len(columns["run"]), columns["error"][-1]


def raise_named(path: Path) -> None:
    from rtmbs.errors import ResultError

    raise ResultError(f"{path} holds no rows")


def forgers() -> list[tuple[Any, Any]]:
    """Return (forge, read) of each kind."""
    sound()
    kinds = (lying_hdf5, many_hdf5, other_bytes, lying_parquet, other_footer)
    return [*((one, result_told) for one in kinds), (rows, read_rows)]
