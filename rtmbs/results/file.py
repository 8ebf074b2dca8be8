"""The file of a result: an ``npz`` of every channel by its name, with a table of axes and units, and no pickle."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import InputError
from rtmbs.results.channel import Source
from rtmbs.results.result import TIME, Result

FORMAT = 1
ABOUT = ("format", "model", "fingerprint", "outcome_names", "outcome_counts")  # no channel has these names
TABLE = ("channel_names", "channel_axes", "channel_units", "channel_frames")
BETWEEN = ", "  # axes of one channel


def save_result(result: Result, path: str | Path) -> None:
    """Write ``result``, one channel after the other, so that they need not fit into memory together."""
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, value in entries(result):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(value, order="C"), allow_pickle=False)


def entries(result: Result) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of the file by name, the table of channels last."""
    yield "format", FORMAT
    yield "model", np.array(result.name)
    yield "fingerprint", np.array(result.fingerprint)
    yield "outcome_names", words(list(result.outcomes))
    yield "outcome_counts", np.array(list(result.outcomes.values()), np.int64)
    yield "warning_names", words(list(result.warnings))
    yield "warning_counts", np.array(list(result.warnings.values()), np.int64)
    table: list[tuple[str, str, str, str]] = []
    for name in result.names():
        channel = result.read(name)
        table.append((name, BETWEEN.join(channel.axes), channel.unit, channel.frame))
        yield name, channel.values
    for heading, column in zip(TABLE, zip(*table, strict=True), strict=True):
        yield heading, words(list(column))


def words(values: list[str]) -> np.ndarray[Any, Any]:
    """Return words as an array of unicode, also when there are none."""
    return np.array(values, dtype=np.str_)


def load_result(path: str | Path) -> Result:
    """Read a result file; it answers by name as the Result that wrote it, and needs no System.

    Raises InputError naming the file when it does not exist, is truncated, is no result file or of another format.
    """
    where = f"result file {str(path)!r}"
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InputError(f"{where} does not exist") from None
    except (OSError, ValueError, TypeError, AttributeError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{where} is truncated or no result file ({error}); save it again with Result.save") from error
    if missing := [name for name in (*ABOUT, *TABLE) if name not in data]:
        raise InputError(f"{where} lacks {', '.join(missing)}; save it again with Result.save")
    if (found := int(data["format"])) != FORMAT:
        raise InputError(f"{where} has format {found}, this version reads format {FORMAT}")
    table = list(zip(*(data[heading].tolist() for heading in TABLE), strict=True))
    if lost := [name for name, *_ in [(TIME,), *table] if name not in data]:
        raise InputError(f"{where} lacks the channel {lost[0]!r}; save it again with Result.save")
    outcomes = dict(zip(data["outcome_names"].tolist(), data["outcome_counts"].tolist(), strict=True))
    warnings = {}
    if "warning_names" in data:  # files of earlier versions have none
        warnings = dict(zip(data["warning_names"].tolist(), data["warning_counts"].tolist(), strict=True))
    return Result(
        {name: stored(data[name], axes, unit, frame) for name, axes, unit, frame in table},
        name=str(data["model"]),
        fingerprint=str(data["fingerprint"]),
        outcomes=outcomes,
        warnings=warnings,
    )


def stored(values: Any, axes: str, unit: str, frame: str) -> Source:
    """Return the source of a channel whose values are at hand."""
    return Source(tuple(axes.split(BETWEEN)) if axes else (), unit, lambda: values, frame)
