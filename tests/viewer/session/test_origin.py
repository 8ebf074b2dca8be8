"""Names of files after a mechanism, whatever its name."""

from pathlib import Path

import pytest

from rtmbs.viewer.session.origin import free_name

TITLES = ("fourbar stacked 2 x 2", "50% load/2 <b>x</b>", "..\\up", "a:b|c?", "\u00fc ber", "")


@pytest.mark.parametrize("title", TITLES)
def test_a_name_is_one_file_of_the_present_folder(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = []
    for _ in range(3):
        names.append(free_name(title, ".png"))
        Path(names[-1]).touch()
    assert len(set(names)) == 3
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    assert all(name.startswith("rtmbs_") and "%" not in name for name in names)
