"""The checksum of a superblock of HDF5, and a file whose writer was ended."""

import gc
import struct
import warnings

import numpy as np
import pytest

from rtmbs.results.hdf5_check import CHECKSUM, SIZE, ClosedView, superblock_checksum

h5py = pytest.importorskip("h5py")


def test_the_checksum_is_lookup3():
    """Values of the author's own test, Jenkins 2006, lookup3.c driver5."""
    assert superblock_checksum(b"") == 0xDEADBEEF
    assert superblock_checksum(b"Four score and seven years ago") == 0x17770551


@pytest.mark.parametrize("block", [0, 512])
def test_a_file_that_is_being_written_reads_as_closed(tmp_path, block):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest", userblock_size=block) as file:
        data = file.create_dataset("a", (0,), "f8", maxshape=(None,), chunks=(10,))
        file.swmr_mode = True
        data.resize((10,))
        data[:] = np.arange(10.0)
        file.flush()
        head = path.read_bytes()[block : block + SIZE]
        assert superblock_checksum(head[:CHECKSUM]) == struct.unpack("<I", head[CHECKSUM:])[0]
        with ClosedView(path, block) as view, h5py.File(view, "r") as seen:
            np.testing.assert_array_equal(seen["a"][()], np.arange(10.0))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for at in range(SIZE):
            whole = bytearray(path.read_bytes())
            whole[block + at] ^= 0x10
            (tmp_path / "bad.h5").write_bytes(whole)
            with pytest.raises(OSError, match="superblock"):
                ClosedView(tmp_path / "bad.h5", block)
        gc.collect()
    assert not [str(one.message) for one in said], "a refused file is closed"
