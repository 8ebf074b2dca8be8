"""The code block of docs/kinematics.md runs, and its pictures are there."""

import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "kinematics.md").read_text(encoding="utf-8"), re.S)
    names = {}
    exec(block, names)
    motion = names["motion"]
    np.testing.assert_allclose(motion["block.position"][:, 0], 8.0 + 3.0 * np.sin(4.0 * motion.t), rtol=0, atol=1e-9)
    assert "28 generalised coordinates" in capsys.readouterr().out
    assert (tmp_path / "slider.h5").stat().st_size > 10_000


def test_the_pictures_of_the_gallery_are_there():
    pictures = re.findall(r"\((gallery_\w+\.png)\)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert len(pictures) >= 6
    for picture in pictures:
        assert (DOCS / picture).read_bytes()[:4] == b"\x89PNG"
