"""What a command needs, looked at before anything is computed."""

from importlib.util import find_spec

import pytest

from rtmbs.commands import files
from rtmbs.commands.cli import main
from rtmbs.results import file_formats
from tests.language.files import SLIDER_CRANK


@pytest.fixture
def idle(monkeypatch):
    """Let every analysis and every load fail the test."""

    def never(*_):
        raise AssertionError("this was to be refused before")

    monkeypatch.setattr(files, "run_analysis", never)
    monkeypatch.setattr(files, "load_result", never)


def without(monkeypatch, package):
    """Let a package be missing."""
    monkeypatch.setattr(file_formats, "find_spec", lambda name: None if name == package else find_spec(name))
    monkeypatch.setitem(__import__("sys").modules, package, None)


def refused(words, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_a_missing_h5py_is_said_before_the_analysis(idle, tmp_path, monkeypatch, capsys):
    without(monkeypatch, "h5py")
    (tmp_path / "a.mks").write_text(SLIDER_CRANK)
    error = refused(["run", str(tmp_path / "a.mks"), "--out", str(tmp_path / "a.h5")], capsys)
    assert "needs h5py; install it with pip install 'rtmbs[hdf5]'" in error


@pytest.mark.parametrize("name", ["a.png", "a", "a.h5.txt"])
def test_a_result_that_could_not_be_read_again_by_its_name(idle, tmp_path, capsys, name):
    (tmp_path / "a.mks").write_text(SLIDER_CRANK)
    error = refused(["run", str(tmp_path / "a.mks"), "--out", str(tmp_path / name)], capsys)
    assert "must end in one of .npz, .h5, .hdf5, .parquet, .csv" in error


def test_a_missing_matplotlib_is_said_before_a_file_is_read(idle, monkeypatch, capsys):
    without(monkeypatch, "matplotlib")
    assert "needs matplotlib" in refused(["plot", "a.h5", "x", "--out", "a.png"], capsys)


@pytest.mark.parametrize(
    ("out", "told"), [("a.txt", "must end in one of .png, .pdf, .svg"), ("no/a.png", "there is no folder no")]
)
def test_a_picture_that_cannot_be_written(idle, capsys, out, told):
    assert told in refused(["plot", "a.h5", "x", "--out", out], capsys)


def test_a_model_file_without_masses_is_not_viewed_itself(tmp_path, capsys):
    path = tmp_path / "a.mks"
    path.write_text(SLIDER_CRANK)
    film = ["view", str(path), "--headless", "--out", str(tmp_path / "a.png")]
    assert f"rtmbs run {path} --out FILE.h5" in refused(film, capsys)
    assert "does not exist" in refused(["view", str(tmp_path / "none.mks")], capsys)


def test_a_model_file_takes_no_options_of_a_mechanism(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["view", str(tmp_path / "a.mks"), "--ny", "3"])
    assert "there is no argument named '--ny'" in capsys.readouterr().err


@pytest.mark.parametrize("of", ["import rtmbs\ndef build():\n    return masss\n", "def build(:\n"])
def test_a_mistake_in_the_model_of_a_result_is_a_sentence(tmp_path, capsys, of):
    (tmp_path / "arm.py").write_text(of)
    assert main(["view", str(tmp_path / "run.npz"), "--of", str(tmp_path / "arm.py")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(("rtmbs: NameError: name 'masss'", "rtmbs: SyntaxError"))
    assert "arm.py:" in last


def test_a_film_without_its_folder_is_refused_before_anything_is_built(tmp_path, capsys):
    (tmp_path / "arm.py").write_text("raise AssertionError('this was to be refused before')\n")
    film = ["--headless", "--out", str(tmp_path / "films" / "arm.mp4")]
    error = refused(["view", str(tmp_path / "arm.py"), *film], capsys)
    assert f"there is no folder '{tmp_path / 'films'}'; create it first" in error
