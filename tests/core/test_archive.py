"""An archive gives back what was written, or says what is wrong with it; it never takes more memory than it is long."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.core.archive import read_archive, write_archive
from rtmbs.core.reading import DamagedFile

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
    monkeypatch.setattr("rtmbs.core.reading.machine_memory", lambda: 1000.0)
    with pytest.raises(DamagedFile, match=r"kB long; at most 1 kB are read"):
        read_archive(path, 3, "file")
