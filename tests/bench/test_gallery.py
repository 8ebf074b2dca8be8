"""Every example of the gallery runs, holds its own check, and stands on the page with its picture."""

import importlib.util
import json
from pathlib import Path

import pytest

from bench import gallery

ROOT = Path(__file__).parents[2]
SHORT = {
    "double_wishbone": 3.0,
    "cart_pendulum": 4.0,
    "governor": 0.1,
    "bend": 3.0,
    "chain": 0.05,
}  # [s] where the check needs it
USUAL = 0.2


@pytest.mark.parametrize("name", gallery.examples())
def test_an_example_holds_its_check(name):
    shown = gallery.loaded(name).main(SHORT.get(name, USUAL))
    assert shown.told
    assert 0.0 <= shown.error < shown.bound
    assert len(shown.result) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", gallery.examples())
def test_an_example_holds_its_check_for_all_its_time(name):
    shown = gallery.loaded(name).main()
    assert 0.0 <= shown.error < shown.bound


def test_examples_are_short_and_shown():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert len(gallery.examples()) >= 15
    for name in gallery.examples():
        assert len((gallery.EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 60, name
        assert f"`{name}.py`" in page
    for name in gallery.pictures():
        assert f"(gallery_{name}.png)" in page
        assert (ROOT / "docs" / f"gallery_{name}.png").is_file(), "python -m bench.gallery docs"
        assert f"(gallery/{name}.html)" in page
        held = (ROOT / "docs" / gallery.PAGES / f"{name}.json").read_text(encoding="utf-8")
        assert json.loads(held)["playing"], "python -m bench.gallery docs"


def test_the_site_makes_a_page_of_each():
    made = import_file(ROOT / "docs" / "site" / "pages.py").pages()
    assert set(made) == {"player.js", *(f"{name}.html" for name in gallery.pictures())}
    assert all(b'<script src="player.js"></script>' in text for name, text in made.items() if name != "player.js")


def import_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("watt", "bennett"):
        gallery.loaded("gallery").draw(gallery.loaded(name).main(USUAL), tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
