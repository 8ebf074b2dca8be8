"""Results in pandas and xarray, and in pictures."""

import numpy as np
import pytest

from rtmbs.errors import InputError, UnknownNameError
from rtmbs.results import tables
from tests.results.test_result import UNEVEN, smooth


def test_a_data_frame_has_a_column_a_component_with_its_unit():
    pytest.importorskip("pandas")
    result = smooth(UNEVEN)
    frame = result.to_pandas("a.angle", "a.position", "a.orientation.w")
    assert list(frame.columns) == ["a.angle", "a.position[x]", "a.position[y]", "a.orientation[w]"]
    assert frame.index.name == "t"
    np.testing.assert_array_equal(frame.index.to_numpy(), UNEVEN)
    np.testing.assert_array_equal(frame["a.position[y]"].to_numpy(), result["a.position"][:, 1])
    assert frame.attrs["units"]["a.position[x]"] == "m"
    assert len(result.to_pandas().columns) == 1 + 2 + 4 + 1


def test_a_data_set_has_named_dimensions_and_units():
    pytest.importorskip("xarray")
    result = smooth(UNEVEN)
    data = result.to_xarray()
    assert data["a.orientation"].dims == ("t", "quaternion")
    assert data["a.position"].dims == ("t", "components of a.position")
    assert list(data["quaternion"].values) == ["w", "x", "y", "z"]
    assert data["a.angle"].attrs == {"units": "rad"}
    assert data["a.position"].attrs == {"units": "m", "frame": "world"}
    assert data["t"].attrs == {"units": "s"}
    assert data.attrs["model"] == "smooth"
    np.testing.assert_array_equal(data["a.orientation"].sel(quaternion="x").values, result["a.orientation"][:, 1])


@pytest.mark.parametrize("act", ["to_pandas", "to_xarray", "plot"])
def test_an_unknown_channel_is_named_with_the_nearest(act):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    pytest.importorskip("matplotlib").use("agg")
    with pytest.raises(UnknownNameError, match=r"there is no channel named 'a\.anlge'; did you mean 'a\.angle'"):
        getattr(smooth(UNEVEN), act)("a.anlge")


@pytest.mark.parametrize(
    ("act", "package", "extra"),
    [("to_pandas", "pandas", "tables"), ("to_xarray", "xarray", "tables"), ("plot", "matplotlib", "plot")],
)
def test_a_missing_package_is_one_sentence_with_its_extra(act, package, extra, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=rf"{act} needs {package}; install it with pip install 'rtmbs\[{extra}\]'"):
        getattr(smooth(UNEVEN), act)("a.angle")


def test_a_missing_pyarrow_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"which needs pyarrow; install it with pip install 'rtmbs\[tables\]'"):
        smooth(UNEVEN).save(tmp_path / "run.parquet")


def test_a_plot_has_a_panel_a_unit_a_title_and_legends(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    figure = smooth(UNEVEN).plot("a.angle", "a.position", "a.orientation[w]", file=tmp_path / "run.png")
    assert [axis.get_ylabel() for axis in figure.axes] == ["angle [rad]", "position [m]", "orientation"]
    assert figure.axes[-1].get_xlabel() == "t [s]"
    assert figure.get_suptitle() == "smooth"
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == ["a.position[x]", "a.position[y]"]
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match=r"a picture ends in one of \.png, \.pdf, \.svg"):
        smooth(UNEVEN).plot("a.angle", file="run.txt")
    with pytest.raises(InputError, match=r"picture '.*' cannot be written"):
        smooth(UNEVEN).plot("a.angle", file=tmp_path / "none" / "run.png")
    with pytest.raises(InputError, match=r"plot needs names of channels, such as result\.plot\('a\.angle'\)"):
        smooth(UNEVEN).plot()
