"""What is no regular file, too long, or says more than it holds is refused at once."""

import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.core.reading import DamagedFile, check_unpacked, from_json, opened, text, whole
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
