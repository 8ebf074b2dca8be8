"""What is no regular file, too long, or says more than it holds is refused at once.

A file is whole or not there, whatever ends the writing; an older one stays until then.

An archive gives back what was written, or says what is wrong with it; it never takes more memory than it is long.
"""

import io
import json
import os
import stat
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.core.files import (
    DamagedFile,
    WriteError,
    check_unpacked,
    from_json,
    opened,
    read_archive,
    replacing,
    text,
    whole,
    write_archive,
)
from rtmbs.errors import ModelError
from rtmbs.model import Mesh
from rtmbs.viewer.web.content import filled


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_devices_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(DamagedFile, match="is a pipe or a device"), opened(tmp_path / name):
            pass
    with pytest.raises(DamagedFile, match="is a folder"), opened(tmp_path):
        pass
    with pytest.raises(DamagedFile, match="does not exist"), opened(tmp_path / "none"):
        pass


def test_length_alphabet_and_depth_are_bounded(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff" * 10)
    with pytest.raises(DamagedFile, match="at most 5 bytes are read"):
        whole(tmp_path / "a", 5)
    with pytest.raises(DamagedFile, match="byte 0 is not UTF-8"):
        text(tmp_path / "a", 100)
    with pytest.raises(DamagedFile, match="nested too deeply"):
        from_json("[" * 100_000)
    check_unpacked(1e7, 100, "rows")
    with pytest.raises(DamagedFile, match="says that its rows take 1 GB"):
        check_unpacked(1e9, 1e6, "rows")


def glb(count, **primitive):
    tree = {
        "asset": {"version": "2.0"}, "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, **primitive}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"},
                      {"bufferView": 0, "componentType": 5121, "count": 3, "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"byteLength": 36}],
    }  # fmt: skip
    said, data = json.dumps(tree).encode(), np.arange(9, dtype="<f4").tobytes()
    said += b" " * (-len(said) % 4)
    head = b"glTF" + struct.pack("<II", 2, 28 + len(said) + len(data))
    return head + struct.pack("<II", len(said), 0x4E4F534A) + said + struct.pack("<II", len(data), 0x4E4942) + data


def test_a_glb_that_counts_more_than_it_has_is_refused(tmp_path):
    (tmp_path / "a.glb").write_bytes(glb(3))
    np.testing.assert_array_equal(Mesh(tmp_path / "a.glb").vertices, np.arange(9.0).reshape(3, 3))
    (tmp_path / "a.glb").write_bytes(glb(20_000_000))
    with pytest.raises(ModelError, match=r"a\.glb.*it has a count"):
        Mesh(tmp_path / "a.glb")


def test_a_glb_that_takes_its_positions_for_corners_is_refused(tmp_path):
    (tmp_path / "a.glb").write_bytes(glb(3, indices=1))
    with pytest.raises(ModelError, match=r"a\.glb.*positions and corners in one bufferView"):
        Mesh(tmp_path / "a.glb")


def test_a_comment_of_an_obj_may_be_in_any_alphabet(tmp_path):
    pytest.importorskip("trimesh")
    data = "# Größe\nmtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode("latin-1")
    (tmp_path / "a.obj").write_bytes(data)
    assert len(Mesh(tmp_path / "a.obj").faces) == 1


@given(
    st.dictionaries(
        st.sampled_from(["TITLE", "CONTENT", "PROGRAM"]),
        st.text() | st.sampled_from(["@PROGRAM@", "@CONTENT@"]),
        min_size=3,
    )
)
def test_a_part_of_a_page_never_becomes_a_place(parts):
    assert filled("<@TITLE@|@CONTENT@|@PROGRAM@>", parts) == f"<{parts['TITLE']}|{parts['CONTENT']}|{parts['PROGRAM']}>"


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


ENTRIES = {
    "a": np.arange(12.0).reshape(3, 4),
    "none": np.zeros((0, 3)),
    "one": np.array(7),
    "words": np.array(["ü", "two words", ""]),
    "../up/x.npy": np.array([True, False]).astype(np.int8),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "a.npz", 3, ENTRIES.items())
    return tmp_path / "a.npz"


def test_what_was_written_comes_back_and_numpy_reads_it(path):
    found = read_archive(path, 3, "file")
    assert list(found) == list(ENTRIES)
    for name, value in ENTRIES.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(found[name], value)
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["a"], ENTRIES["a"])


@given(change=st.tuples(st.integers(0, 10**6), st.integers(1, 255)))
def test_a_changed_byte_is_refused_or_says_nothing(change, tmp_path_factory):
    path = tmp_path_factory.mktemp("archives") / "a.npz"
    write_archive(path, 3, ENTRIES.items())
    data = bytearray(path.read_bytes())
    data[change[0] % len(data)] ^= change[1]
    path.write_bytes(bytes(data))
    try:
        found = read_archive(path, 3, "file")
    except DamagedFile:
        return
    assert list(found) == list(ENTRIES)
    assert all(found[name].tobytes() == np.ascontiguousarray(value).tobytes() for name, value in ENTRIES.items())


def member(header: str, data: bytes = b"") -> bytes:
    """An array file that says whatever ``header`` says."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_a_declared_size_is_held_against_the_bytes_before_memory_is_asked_for(tmp_path):
    path = tmp_path / "bomb.npz"
    huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
    cases = {
        "says shape": member(huge % 10**15),
        "negative": member(huge % -1),
        "objects": member("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"x"),
        "empty words": member("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000,), }"),
        "a later header": b"\x93NUMPY\x02\x00" + bytes(100),
    }
    for case, data in cases.items():
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", data)
        with pytest.raises(DamagedFile, match=r"is (damaged|truncated)"):
            read_archive(path, 3, "file")
        assert case
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(10**7))
    with pytest.raises(DamagedFile, match="longer than the file"):
        read_archive(path, 3, "file")
    packed = io.BytesIO()
    np.savez_compressed(packed, x=np.random.default_rng(0).bytes(100))
    path.write_bytes(packed.getvalue() + bytes(1000))
    with pytest.raises(DamagedFile):
        read_archive(path, 3, "file")


def test_two_entries_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.npz"
    with pytest.warns(UserWarning, match="Duplicate"):
        write_archive(path, 3, [("a", 1.0), ("a", 2.0)])
    with pytest.raises(DamagedFile, match="two entries have one name"):
        read_archive(path, 3, "file")


def test_what_is_no_number_is_refused_and_the_older_file_stays(path):
    before = path.read_bytes()
    for wrong in (np.array([{}]), np.array([1j]), None, [[1.0], [1.0, 2.0]]):
        with pytest.raises((TypeError, ValueError)):
            write_archive(path, 3, [("a", 1.0), ("wrong", wrong)])
        assert path.read_bytes() == before


def test_what_is_not_there(tmp_path):
    with pytest.raises(DamagedFile, match="does not exist"):
        read_archive(tmp_path / "none.npz", 3, "file")


def test_what_is_no_path(tmp_path):
    for wrong in (3, None, 1.5):
        with pytest.raises(DamagedFile, match="no path"):
            read_archive(wrong, 3, "file")
    for wrong in (tmp_path, "a\0b"):
        with pytest.raises(DamagedFile):
            read_archive(wrong, 3, "file")


def test_a_file_longer_than_the_memory_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr("rtmbs.core.files.machine_memory", lambda: 1000.0)
    with pytest.raises(DamagedFile, match=r"kB long; at most 1 kB are read"):
        read_archive(path, 3, "file")
