"""Which form a result file has, by how its name ends."""

from pathlib import Path
from zipfile import is_zipfile

from rtmbs.errors import InputError, ResultError
from rtmbs.files.errors import DamagedFile
from rtmbs.files.reading import opened
from rtmbs.results import hdf5, parquet, table
from rtmbs.results.file import load_result as load_archive
from rtmbs.results.file import save_result as save_archive
from rtmbs.results.result import Result

READ = (".npz", *hdf5.SUFFIXES, parquet.SUFFIX)  # how the names of files that hold a result end
WRITTEN = (*READ, table.SUFFIX)


def save(result: Result, path: str | Path) -> None:
    """Write a result. Raises InputError for a form that does not exist."""
    check_form(path)
    ending = Path(path).suffix.lower()
    if ending in hdf5.SUFFIXES:
        hdf5.save_hdf5(result, path)
    elif ending == parquet.SUFFIX:
        parquet.save_parquet(result, path)
    elif ending == table.SUFFIX:
        table.save_table(result, path)
    else:
        save_archive(result, path)


def check_form(path: str | Path) -> None:
    """Refuse a form that does not exist, or that this installation cannot write: InputError names what is missing."""
    ending = Path(path).suffix.lower()
    if ending[1:].isalpha() and ending not in WRITTEN:
        raise InputError(f"result file {str(path)!r} ends in {ending!r}; the forms are {', '.join(WRITTEN)}")
    if ending in hdf5.SUFFIXES:
        hdf5.needed(path)
    elif ending == parquet.SUFFIX:
        parquet.pyarrow(path)


def load_result(path: str | Path) -> Result:
    """Read a result file; it answers by name as the Result that wrote it, and needs no System.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    ending = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    if ending in hdf5.SUFFIXES:
        return hdf5.load_hdf5(path)
    if ending == parquet.SUFFIX:
        return parquet.load_parquet(path)
    if ending == table.SUFFIX:
        raise ResultError(
            f"result file {str(path)!r} is a table for other programs; save the result as .npz or .h5 too"
        )
    if ending[1:].isalpha() and ending not in WRITTEN and Path(path).is_file() and not is_archive(path):
        raise ResultError(
            f"file {str(path)!r} is no result file; the files that hold a result end in {', '.join(READ)}"
        )
    return load_archive(path)


def is_archive(path: str | Path) -> bool:
    """True for a regular file that holds an archive."""
    try:
        with opened(path) as file:
            return is_zipfile(file)
    except DamagedFile:
        return False
