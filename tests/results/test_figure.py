"""Figures of results: numbers that are drawn, what a picture shows, stated size and style, notebooks."""

import re

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402 (after the choice of the backend)

from rtmbs.errors import InputError, UnknownNameError  # noqa: E402
from rtmbs.results.channel import Source  # noqa: E402
from rtmbs.results.compare import compare  # noqa: E402
from rtmbs.results.curves import COLORS  # noqa: E402
from rtmbs.results.result import Result  # noqa: E402

T = np.linspace(0.0, 4.0, 801)
ANGLE = 3.0 * T
PATH = np.stack([0.2 * np.cos(ANGLE), np.zeros(len(T)), 0.1 * np.sin(ANGLE)], axis=1)
GAP = np.where((T > 1.0) & (T < 2.0), np.nan, np.sin(ANGLE))


def made(shift=0.0):
    sources = {
        "t": Source((), "s", lambda: T),
        "pin.angle": Source((), "rad", lambda: ANGLE + shift),
        "pin.rate": Source((), "rad/s", lambda: np.full(len(T), 3.0)),
        "tip.position": Source(("x", "y", "z"), "m", lambda: PATH + shift),
        "gap.force": Source((), "N", lambda: GAP),
    }
    return Result(sources, "made")


def drawn(axes):
    """Return the numbers of every line of some axes by its name."""
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_angles_in_degrees():
    figure = made().plot("pin.angle", "pin.rate", "tip.position.x", degrees=True)
    angle, rate, place = figure.axes
    np.testing.assert_allclose(drawn(angle)["pin.angle"], np.column_stack([T, np.rad2deg(ANGLE)]))
    np.testing.assert_allclose(drawn(rate)["pin.rate"][:, 1], 3.0 * 180.0 / np.pi)
    np.testing.assert_array_equal(drawn(place)["tip.position[x]"][:, 1], PATH[:, 0])
    assert [axes.get_ylabel() for axes in figure.axes] == ["angle [deg]", "rate [deg/s]", "position [m]"]


def test_over_another_channel_and_over_frequency():
    figure = made().plot("tip.z", x="tip.x", window=(0.0, 1.0))
    (axes,) = figure.axes
    inside = T <= 1.0 + 1e-9
    np.testing.assert_array_equal(drawn(axes)["tip.position[z]"][: inside.sum()], PATH[inside][:, [0, 2]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("tip.position[x] [m]", "tip.position[z] [m]")
    assert axes.get_aspect() == 1.0, "a path is no ellipse of another form"
    (axes,) = made().plot("pin.rate", x="pin.angle", degrees=True).axes
    assert axes.get_aspect() == "auto"
    assert axes.get_xlabel() == "pin.angle [deg]"
    (axes,) = made().plot("tip.x", x="frequency").axes
    found = drawn(axes)["tip.position[x]"]
    assert found[np.argmax(found[:, 1]), 0] == pytest.approx(3.0 / (2.0 * np.pi), abs=0.5 / 4.0)
    assert axes.get_xlim()[1] < 6.0, "the axis ends behind the content, and not at half the sampling rate"
    assert found[-1, 0] > 10.0 * axes.get_xlim()[1], "the rest is there for those who set another range"
    with pytest.raises(
        InputError, match=r"x is 'tip\.position', which has several numbers; name one: tip\.position\[x\]"
    ):
        made().plot("pin.rate", x="tip.position")


def test_axes_of_the_user_hold_several_runs():
    figure, axes = pyplot.subplots()
    assert made().plot("pin.angle", ax=axes, label="one") is axes
    made(0.5).plot("pin.angle", ax=axes, label="other")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one: pin.angle", "other: pin.angle"]
    colors = [line.get_color() for line in axes.get_lines()]
    assert colors == list(COLORS["white"][:2])
    with pytest.raises(InputError, match="ax is 1 axes; it must be 2, one a unit: rad, rad/s"):
        made().plot("pin.angle", "pin.rate", ax=axes)
    pyplot.close(figure)


def test_a_window_of_the_last_seconds():
    (axes,) = made().plot("pin.angle", window=1.0).axes
    assert axes.get_xlim() == (3.0, 4.0)
    assert drawn(axes)["pin.angle"][0, 0] == pytest.approx(2.995), "one sample more, so the line reaches the frame"


def test_a_long_run_keeps_its_peak():
    t = np.arange(200_000) * 1e-3
    y = np.sin(t)
    y[123_456] = 7.0
    result = Result({"t": Source((), "s", lambda: t), "a.torque": Source((), "N m", lambda: y)}, "long")
    found = drawn(result.plot("a.torque").axes[0])["a.torque"]
    assert len(found) < 5000
    assert found[:, 1].max() == 7.0
    assert found[np.argmax(found[:, 1]), 0] == t[123_456]


# ---- pictures --------------------------------------------------------------------------------------------------------


def pixels(path):
    """Return the pixels (rows, columns, 3) of a picture, 0 to 255."""
    return np.rint(255.0 * pyplot.imread(path)[:, :, :3]).astype(int)


def near(picture, color):
    """Return which pixels have a colour."""
    wanted = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
    return np.abs(picture - wanted).max(axis=2) < 40


def test_a_picture_has_its_size_its_colours_and_its_gap(tmp_path):
    made().plot("gap.force", size=(100.0, 50.0), file=tmp_path / "a.png")
    picture = pixels(tmp_path / "a.png")
    assert picture.shape[:2] == (int(50.0 / 25.4 * 300), int(100.0 / 25.4 * 300))
    columns = np.flatnonzero(near(picture, COLORS["white"][0])[80:].any(axis=0))
    left, right = columns.min(), columns.max()
    widest = int(np.argmax(np.diff(columns)))
    assert np.diff(columns)[widest] == pytest.approx(0.25 * (right - left), rel=0.05), "a quarter of the time is a gap"
    assert (columns[widest] - left) / (right - left) == pytest.approx(0.25, abs=0.02)
    assert left > 0.05 * picture.shape[1]
    assert right < picture.shape[1] - 2, "nothing is cut off"


def test_styles_for_screens_and_for_print_without_colours(tmp_path):
    for style in ("dark", "grey"):
        made().plot("tip.position", size="column", style=style, file=tmp_path / f"{style}.png")
    dark, grey = (pixels(tmp_path / f"{style}.png") for style in ("dark", "grey"))
    assert dark[0, 0].tolist() == [0x23, 0x28, 0x2F]
    assert all(near(dark, color).any() for color in COLORS["dark"][:3])
    assert np.ptp(grey, axis=2).max() <= 2
    lines = made().plot("tip.position", style="grey").axes[0].get_lines()
    assert len({str(line._dash_pattern) for line in lines}) == 3


def test_text_of_a_drawing_stays_text(tmp_path):
    made().plot("tip.z", x="tip.x", size="column", file=tmp_path / "a.svg")
    made().plot("tip.z", x="tip.x", size="column", file=tmp_path / "a.pdf")
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">tip.position[x] [m]</text>" in svg
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
    assert width == pytest.approx(89.0 / 25.4 * 72.0, abs=0.01)
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/Type0" in pdf, "a font whose letters can be searched"
    assert b"/Type3" not in pdf
    box = [float(one) for one in re.search(rb"/MediaBox \[ ?([^\]]+)\]", pdf)[1].split()]
    assert box[2:] == pytest.approx([89.0 / 25.4 * 72.0, 67.0 / 25.4 * 72.0], abs=0.01)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"size": "colum"}, UnknownNameError, "there is no size named 'colum'; did you mean 'column'"),
        ({"size": (5.0, 50.0)}, InputError, "or width and height from 20 to 2000 mm"),
        ({"size": 3.0}, InputError, "or width and height from 20 to 2000 mm"),
        ({"style": "gray"}, UnknownNameError, "there is no style named 'gray'; did you mean 'grey'"),
        ({"window": -1.0}, InputError, "it must be the last seconds"),
        ({"x": "pin.angel"}, UnknownNameError, "did you mean 'pin.angle'"),
    ],
)
def test_what_makes_no_figure_is_one_sentence(given, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        made().plot("pin.rate", **given)


def test_a_notebook_shows_a_figure_once(monkeypatch):
    """pyplot of a notebook shows every figure that it keeps, and the cell shows its value."""
    pyplot.close("all")
    for backend in ("module://matplotlib_inline.backend_inline", "inline", "agg"):
        monkeypatch.setattr(matplotlib, "get_backend", lambda backend=backend: backend)
        assert made().plot("pin.angle").axes
        assert pyplot.get_fignums() == []
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "qtagg")
    made().plot("pin.angle")
    assert len(pyplot.get_fignums()) == 1, "pyplot.show() opens a window with it"
    pyplot.close("all")


def test_two_runs_of_one_number_have_one_colour():
    figure = compare(made(), made(0.1), "tip.position").plot("tip.position", degrees=True)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert {*lines} == {f"{run}: tip.position[{axis}]" for run in "ab" for axis in "xyz"}
    for axis in "xyz":
        a, b = (lines[f"{run}: tip.position[{axis}]"] for run in "ab")
        assert a.get_color() == b.get_color()
        assert a.is_dashed() is False
        assert b.is_dashed() is True
