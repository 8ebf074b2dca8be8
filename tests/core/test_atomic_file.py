"""A file is whole or not there, whatever ends the writing; an older one stays until then."""

import os
import stat
import sys
from pathlib import Path

import pytest

from rtmbs.core.atomic_file import replacing
from rtmbs.core.reading import WriteError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")


def write(path: Path, content: bytes, fault: BaseException | None = None) -> None:
    with replacing(path) as file:
        file.write(content)
        if fault:
            raise fault


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), MemoryError(), OSError(28, "no space left"), SystemExit()])
def test_what_ends_the_writing_leaves_the_older_file_and_nothing_else(fault, tmp_path):
    path = tmp_path / "a.npz"
    write(path, b"older")
    with pytest.raises(WriteError if isinstance(fault, OSError) else type(fault)):
        write(path, b"half", fault)
    assert path.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["a.npz"]
    with pytest.raises(OSError if isinstance(fault, OSError) else type(fault)):
        write(tmp_path / "new", b"half", fault)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_a_failed_rename_or_sync_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    write(path, b"older")
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *arguments: (_ for _ in ()).throw(OSError(5, "no such luck")))
            with pytest.raises(OSError, match="no such luck"):
                write(path, b"newer")
        assert path.read_bytes() == b"older"
        assert os.listdir(tmp_path) == ["a.npz"]
    write(path, b"newer")
    assert path.read_bytes() == b"newer"


def test_the_new_file_is_synced_before_it_takes_the_place(tmp_path, monkeypatch):
    order: list[str] = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}
    for name, call in real.items():
        monkeypatch.setattr(os, name, lambda *a, name=name, call=call: (order.append(name), call(*a))[1])
    write(tmp_path / "a", b"x" * 100_000)
    assert order[:2] == ["fsync", "replace"]


@POSIX
def test_permissions_links_and_devices(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    write(path, b"older")
    path.chmod(0o640)
    link.symlink_to(path)
    write(link, b"newer")
    assert (link.is_symlink(), path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (True, b"newer", 0o640)
    mask = os.umask(0o027)
    try:
        write(tmp_path / "masked", b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "masked").stat().st_mode) == 0o640
    write(Path("/dev/null"), b"nothing")
    assert not Path("/dev/null").is_file()
    with pytest.raises(WriteError, match=r"it is a folder .*; give the name of a file"):
        write(tmp_path, b"")
    with pytest.raises(WriteError, match=r"a' cannot be written: there is no folder '.*nowhere'; make it first"):
        write(tmp_path / "nowhere" / "a", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said():
    with pytest.raises(WriteError, match=r"^file '/dev/full' cannot be written: the disk is full \(No space left"):
        write(Path("/dev/full"), b"x" * 10_000)
