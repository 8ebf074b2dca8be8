"""``rtmbs plot``: what a name means, what a picture shows, and what is refused in one line."""

import numpy as np
import pytest

from bench.measures.driven import paper_slider_crank
from rtmbs.commands.cli import main
from rtmbs.errors import UnknownNameError
from rtmbs.kinematics import Analysis
from rtmbs.results.channel import channel_or_component, component_of


@pytest.fixture(scope="module")
def motion():
    return Analysis(paper_slider_crank()).run(0.0, 0.4, 0.1)


@pytest.mark.parametrize(
    ("name", "channel", "axis"),
    [
        ("block.x", "block.position", "x"),
        ("block.position.x", "block.position", "x"),
        ("block.position[x]", "block.position", "x"),
        ("block.velocity", "block.velocity", ""),
        ("pend1.angle", "pend1.angle", ""),
        ("t", "t", ""),
    ],
)
def test_names_of_channels_and_components(motion, name, channel, axis):
    assert component_of(motion, name) == (channel, axis)


def test_components_have_their_units(motion):
    one = channel_or_component(motion, "block.x")
    assert (one.name, one.unit, one.axes) == ("block.position[x]", "m", ())
    np.testing.assert_array_equal(one.values, motion["block.position"][:, 0])
    assert channel_or_component(motion, "tran1.violation").units == ("m", "m", "1", "1", "1")
    with pytest.raises(UnknownNameError, match=r"there is no channel named 'blok\.x'; did you mean"):
        channel_or_component(motion, "blok.x")
    with pytest.raises(UnknownNameError, match=r"there is no axis of channel 'block\.position' named 'w'"):
        channel_or_component(motion, "block.w")


@pytest.mark.parametrize("ending", [".h5", ".npz", ".parquet"])
def test_a_picture_is_written(motion, tmp_path, capsys, ending):
    saved, picture = tmp_path / f"run{ending}", tmp_path / "run.png"
    motion.save(saved)
    assert main(["plot", str(saved), "block.x", "rev1.rate", "--out", str(picture)]) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    drawing = tmp_path / "phase.svg"
    words = ["--over", "rev1.angle", "--degrees", "--window", "0.1,0.3", "--size", "89x60", "--style", "grey"]
    assert main(["plot", str(saved), "rev1.rate", "--out", str(drawing), *words]) == 0
    assert "rev1.angle [deg]" in drawing.read_text(encoding="utf-8")
    assert main(["plot", str(saved)]) == 0
    assert "block.position" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["block.x"], "rtmbs plot needs --out PATH"),
        (["blok.x", "--out", "a.png"], "there is no channel named 'blok.x'"),
        (["block.x", "--out", "a.png", "--size", "89"], "size is 89.0; it must be one of column, page, slide"),
        (["block.x", "--out", "a.png", "--window", "last"], "window is 'last'; it must be the last seconds"),
        (["block.x", "--out", "a.nothing"], "must end in one of .png, .pdf, .svg"),
    ],
)
def test_what_cannot_be_plotted_is_one_line(motion, tmp_path, capsys, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    motion.save("run.h5")
    assert main(["plot", "run.h5", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_file_that_is_no_result_is_one_line(tmp_path, capsys):
    path = tmp_path / "broken.h5"
    path.write_text("x")
    assert main(["plot", str(path), "t", "--out", "a.png"]) == 2
    assert "broken.h5" in capsys.readouterr().err


def test_paths_of_points_are_plotted(motion, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    motion.save(tmp_path / "a.npz")
    picture = tmp_path / "paths.png"
    words = ["plot", str(tmp_path / "a.npz"), "pend1", "block", "--path"]
    assert main([*words, "xy", "--out", str(picture)]) == 0
    assert picture.stat().st_size > 1000
    assert "2 channels over 5 samples" in capsys.readouterr().out
    assert main([*words, "xw", "--out", str(picture)]) == 2
    assert "two of x, y and z" in capsys.readouterr().err
