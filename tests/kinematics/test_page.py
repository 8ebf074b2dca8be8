"""The code of docs/kinematics.md runs, and the pictures of the gallery are there."""

import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "kinematics.md").read_text(encoding="utf-8"), re.S)
    names = {}
    for block in blocks:
        exec(block, names)
    motion, turning = names["motion"], names["turning"]
    np.testing.assert_allclose(motion["block.position"][:, 0], 8.0 + 3.0 * np.sin(4.0 * motion.t), rtol=0, atol=1e-9)
    assert "28 generalised coordinates" in capsys.readouterr().out
    assert (tmp_path / "slider.h5").stat().st_size > 10_000
    angle = 2.0 * turning.t
    np.testing.assert_allclose(turning["shaft.angle"], -2.0 * angle, rtol=0, atol=1e-9)
    np.testing.assert_allclose(turning["rail.displacement"], -2.0 * angle, rtol=0, atol=1e-9)
    np.testing.assert_allclose(turning["nut.position"][:, 2], 0.03 / (2.0 * np.pi) * turning.t, rtol=0, atol=1e-9)
    reach = 1.2 + 0.2 * np.cos(np.pi - angle)  # the radius of the rim that stands at the tip
    np.testing.assert_allclose(turning["tip.position"][:, 0], -reach, rtol=0, atol=1e-9)
    np.testing.assert_allclose(turning["contact.s"], np.pi - angle, rtol=0, atol=1e-9)


def test_the_pictures_of_the_gallery_are_there():
    pictures = re.findall(r"\((gallery_\w+\.png)\)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert len(pictures) >= 6
    for picture in pictures:
        assert (DOCS / picture).read_bytes()[:4] == b"\x89PNG"
