"""A result as an HDF5 file (extra ``hdf5``): a data set a channel, with axes, unit and frame as its attributes.

The user block in front holds a checksum of all that follows, so that a damaged file is never handed to HDF5, which may
hang on one. Other programs read the file as any other. A file that a run wrote in blocks (``hdf5_blocks.py``) has the
same form, and its channels are read when somebody asks for them.
"""

import hashlib
import io
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import InputError, ResultError
from rtmbs.files.atomic_file import replacing
from rtmbs.files.errors import DamagedFile
from rtmbs.files.reading import from_json, opened
from rtmbs.results.channel import Channel, Kept, Source
from rtmbs.results.hdf5_form import CHANNELS, check_form
from rtmbs.results.result import TIME, Result

FORMAT = 1
SUFFIXES = (".h5", ".hdf5")
ROWS = "block_samples"  # attribute of files written in blocks
BLOCK = 512  # bytes of the user block
MARK = b"rtmbs result, sha256 of what follows byte 512: "
SLASHES = (("%", "%25"), ("/", "%2F"))  # HDF5 takes a slash for a folder


def needed(path: str | Path) -> Any:
    """Return h5py; InputError when it is not installed."""
    if find_spec("h5py") is None:
        raise InputError(f"{str(path)!r} is an HDF5 file, which needs h5py; install it with pip install 'rtmbs[hdf5]'")
    import h5py

    return h5py


def save_hdf5(result: Result, path: str | Path) -> None:
    """Write every channel; an older file stays until the new one is whole."""
    h5py = needed(path)
    content = io.BytesIO()
    with h5py.File(content, "w", userblock_size=BLOCK) as file:
        file.attrs["rtmbs_result"] = FORMAT
        file.attrs["model"], file.attrs["fingerprint"] = result.name, result.fingerprint
        file.attrs["outcomes"], file.attrs["warnings"] = json.dumps(result.outcomes), json.dumps(result.warnings)
        group = file.create_group(CHANNELS, track_order=True)
        for name in result.names():
            channel = result.read(name)
            describe(h5py, group.create_dataset(escaped(name), data=channel.values), channel)
    whole = content.getbuffer()
    mark = MARK + hashlib.sha256(whole[BLOCK:]).hexdigest().encode()
    whole[: len(mark)] = mark
    with replacing(path) as target:
        target.write(whole)


def describe(h5py: Any, data: Any, channel: Channel | Source) -> None:
    """Write axes, unit and frame beside a data set."""
    data.attrs["axes"] = np.array(channel.axes, dtype=h5py.string_dtype())
    data.attrs["unit"], data.attrs["frame"] = channel.unit, channel.frame


def load_hdf5(path: str | Path) -> Result:
    """Read an HDF5 result; ResultError names the file when it is missing, damaged or none."""
    from rtmbs.results.hdf5_blocks import UNFINISHED, block_sources, unfinished

    h5py, where = needed(path), f"result file {str(path)!r}"
    try:
        with opened(path) as file:
            mark = file.read(BLOCK)
    except DamagedFile as error:
        raise ResultError(f"{where} cannot be read: it {error}") from None
    if mark.startswith(UNFINISHED):
        return unfinished(path, where)
    if not mark.startswith(MARK):
        raise ResultError(f"{where} is no result that rtmbs saved; save it again")
    if mark[len(MARK) : len(MARK) + 64] != checksum(path):
        raise ResultError(f"{where} is truncated or damaged: its checksum is that of other contents; save it again")
    check_form(Path(path).absolute(), None, where)
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("rtmbs_result") != FORMAT:
                raise ResultError(f"{where} has format {file.attrs.get('rtmbs_result')}; this version reads {FORMAT}")
            channels = file[CHANNELS]
            sources = block_sources(path, channels) if ROWS in file.attrs else all_sources(channels)
            head = {name: str(file.attrs[name]) for name in ("model", "fingerprint")}
            counted = {name: counts(file.attrs[name]) for name in ("outcomes", "warnings")}
    except ResultError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise ResultError(f"{where} cannot be read ({error}); save it again") from error
    check(sources, where)
    return Result(sources, head["model"], head["fingerprint"], counted["outcomes"], counted["warnings"])


def counts(text: str) -> dict[str, int]:
    """Return how often what happened; DamagedFile for a text that does not say so."""
    found = from_json(text)
    if not isinstance(found, dict) or not all(type(count) is int for count in found.values()):
        raise DamagedFile("its outcomes are no counts by name")
    return found


def checksum(path: str | Path) -> bytes:
    """Return the checksum of what follows the user block of a file."""
    with opened(path) as file:
        file.seek(BLOCK)
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def all_sources(channels: Any) -> dict[str, Source]:
    """Return every data set of a group as the source of a channel, its values read."""
    return {original(name): source(data, Kept(np.array(data[()], np.float64))) for name, data in channels.items()}


def source(data: Any, values: Callable[[], Any]) -> Source:
    """Return one data set as the source of a channel."""
    axes = tuple(str(axis) for axis in data.attrs["axes"].tolist())
    return Source(axes, str(data.attrs["unit"]), values, str(data.attrs["frame"]))


def check(sources: dict[str, Source], where: str) -> None:
    """Refuse channels without times, or of another length than their axes say."""
    if TIME not in sources or sources[TIME].axes:
        raise ResultError(f"{where} lacks the channel {TIME!r}; save it again")
    samples = len(sources[TIME].values())
    for name, one in sources.items():
        if one.values().shape != ((samples, len(one.axes)) if one.axes else (samples,)):
            raise ResultError(f"{where}: channel {name!r} has another size than its axes say; save it again")


def escaped(name: str) -> str:
    for plain, code in SLASHES:
        name = name.replace(plain, code)
    return name


def original(name: str) -> str:
    for plain, code in reversed(SLASHES):
        name = name.replace(code, plain)
    return name
