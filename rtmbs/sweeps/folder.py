"""The folder of a sweep: what was asked, and one Parquet file for each batch of finished rows.

Every file is whole or not there, so a sweep that was killed goes on where its files end.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ResultError, shown
from rtmbs.files.atomic_file import replacing
from rtmbs.files.errors import DamagedFile
from rtmbs.files.reading import from_json, whole
from rtmbs.sweeps.forms import PARQUET, parquet, read_parquet, write_parquet
from rtmbs.sweeps.parameters import ERROR, RUN

STUDY = "study.json"
FORMAT = 1
LARGEST = 1_000_000  # bytes of what was asked


class Folder:
    """Keeps the rows of one study.

    study : what tells this sweep from others, in plain words and numbers

    Raises InputError for a place that cannot be written, one that holds another study, and where pyarrow is missing.
    """

    def __init__(self, path: str | Path, study: Mapping[str, Any]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"folder is {shown(path)}; it must be a path")
        parquet("a sweep with a folder")
        self.path = Path(path)
        asked = {"format": FORMAT, **study}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if (self.path / STUDY).exists():
                self.check(asked)
            else:
                with replacing(self.path / STUDY) as file:
                    file.write(json.dumps(asked, indent=1).encode())
        except OSError as error:
            raise InputError(f"folder {str(path)!r} cannot be used: {error.strerror}") from None

    def check(self, asked: Mapping[str, Any]) -> None:
        """Refuse the folder of another study."""
        try:
            found = from_json(whole(self.path / STUDY, LARGEST))
            if not isinstance(found, dict):
                raise DamagedFile("is damaged: it describes no study")
        except DamagedFile as error:
            raise ResultError(f"{str(self.path / STUDY)!r} {error}; name another folder") from None
        differ = [name for name in asked if found.get(name) != asked[name]]
        if differ:
            raise InputError(
                f"folder {str(self.path)!r} holds another study: {', '.join(differ)} differ; name another folder"
            )

    def batches(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the columns of each file. Raises ResultError naming a file that is damaged."""
        for path in sorted(self.path.glob(f"*{PARQUET}")):
            columns = read_parquet(path, [ERROR])
            if not sound(columns):
                raise ResultError(f"{str(path)!r} holds no rows of a sweep; take it out of the folder")
            yield columns

    def write(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Keep finished rows. No run is finished twice, so the first one gives the file its name."""
        write_parquet(self.path / f"rows-{int(columns[RUN][0]):09d}{PARQUET}", columns)


def sound(columns: Mapping[str, NDArray[Any]]) -> bool:
    """True for rows of a sweep: whole numbers of runs, sentences, and measures that are numbers."""
    if not {RUN, ERROR} <= columns.keys() or columns[RUN].dtype != np.int64:
        return False
    return all(isinstance(word, str) for word in columns[ERROR])
