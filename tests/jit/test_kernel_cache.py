"""Kernels on disk: a damaged file is as good as none, and a disk that cannot be written ends nothing."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from numba.core import config

from rtmbs.jit import dispatch as kernel_cache
from rtmbs.jit.cache_folder import PACKAGE
from rtmbs.jit.compiled import kernel
from rtmbs.jit.dispatch import HEAD, SUM, KernelCache, stamp_of, unwrapped, wrapped, write

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")


def triple(x):
    return 3.0 * x


def made(folder):
    """Return a new dispatcher of ``triple`` that keeps its code in a folder."""
    dispatcher = kernel(triple)
    dispatcher._cache = KernelCache(triple, folder)
    return dispatcher


def called(folder):
    """Call a new dispatcher; return whether its code came from the folder."""
    dispatcher = made(folder)
    assert dispatcher(2.0) == 6.0
    return sum(dispatcher.stats.cache_hits.values()) == 1


def test_one_file_for_each_type_of_arguments(tmp_path):
    assert [called(tmp_path), called(tmp_path)] == [False, True]
    [file] = tmp_path.iterdir()
    assert file.suffix == ".nbc"
    assert made(tmp_path)(2) == 6.0
    assert len(list(tmp_path.iterdir())) == 2


def test_a_kernel_from_disk_is_called_at_once_and_linked_with_when_a_caller_is_compiled(tmp_path):
    assert not called(tmp_path)
    callee = made(tmp_path)
    assert callee(2.0) == 6.0
    [library] = [one.library for one in callee.overloads.values()]
    assert library.text  # nothing was parsed
    caller = kernel(lambda x: 1.0 + callee(x))
    caller._cache = KernelCache(triple, None)
    assert caller(2.0) == 7.0
    assert not library.text


# ----------------------------------------------------------------------------------------------------------- damage

DAMAGE = {
    "empty": lambda data: b"",
    "head only": lambda data: data[: len(HEAD)],
    "cut": lambda data: data[: len(data) // 2],
    "last byte lost": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "zeros": lambda data: bytes(len(data)),
    "garbage": lambda data: os.urandom(len(data)),
    "one bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "checksum": lambda data: data[: len(HEAD)] + b"\1\2\3\4" + data[len(HEAD) + SUM :],
    "garbage with a checksum": lambda data: wrapped(b"garbage"),
    "another pickle": lambda data: wrapped(pickle.dumps(("something", "else"))),
    "a pickle that raises": lambda data: wrapped(b"cos\nabort_is_not_there\n."),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_compiled_and_written_anew(tmp_path, damage):
    called(tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert [called(tmp_path), called(tmp_path)] == [False, True]
    assert [file] == list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(kernel_cache, "_full", [])
    called(tmp_path)
    [file] = tmp_path.iterdir()
    file.unlink()
    file.mkdir()
    assert not called(tmp_path)
    assert capsys.readouterr().err.count("\n") == 1


def test_every_byte_counts():
    data = wrapped(b"machine code")
    assert bytes(unwrapped(data)) == b"machine code"
    for k in range(len(data)):
        with pytest.raises(ValueError, match="damaged"):
            unwrapped(data[:k] + bytes([data[k] ^ 64]) + data[k + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            unwrapped(data[:k])


# ---------------------------------------------------------------------------------------------------------- writing


def test_a_disk_that_is_full_is_said_once(tmp_path, monkeypatch, capsys):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel_cache, "_full", [])
    monkeypatch.setattr(kernel_cache, "write", full)
    assert not called(tmp_path)
    monkeypatch.setattr(kernel_cache, "write", write)
    assert not called(tmp_path)
    assert capsys.readouterr().err == (
        f"rtmbs: {tmp_path} cannot be written (No space left on device); kernels compiled from now on are not kept\n"
    )
    assert not any(tmp_path.iterdir())


def test_a_write_that_is_interrupted_leaves_the_old_file(tmp_path, monkeypatch):
    write(tmp_path / "k.nbc", b"old")
    for name in ("write_bytes", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(Path if name == "write_bytes" else os, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                write(tmp_path / "k.nbc", b"new")
        assert [path.name for path in tmp_path.iterdir()] == ["k.nbc"]
        assert (tmp_path / "k.nbc").read_bytes() == b"old"


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_folder_that_was_taken_away_is_made_again(tmp_path):
    folder = tmp_path / "deep" / "folder"
    write(folder / "k.nbc", b"new")
    shutil.rmtree(tmp_path / "deep")
    write(folder / "k.nbc", b"new")
    assert (folder / "k.nbc").read_bytes() == b"new"


def test_without_a_folder_nothing_is_kept():
    assert not called(None)
    assert made(None).stats.cache_path is None


# ------------------------------------------------------------------------------------------------- whose code it is


def test_a_kernel_elsewhere_is_known_by_its_own_file(tmp_path):
    file = tmp_path / "user.py"
    file.write_text("one")
    first = stamp_of(str(file))
    file.write_text("two")
    assert first
    assert stamp_of(str(file)) not in (first, None)
    assert stamp_of(str(PACKAGE / "jit" / "intrinsics.py")) == ""
    assert stamp_of("<stdin>") is None
