"""Two results beside each other: exact differences, errors of interpolation, verdicts."""

import numpy as np
import pytest

import rtmbs
from rtmbs import compare, library
from rtmbs.errors import InputError
from rtmbs.results.channel import Source, StoredValues
from rtmbs.results.compare import Verdict
from rtmbs.results.result import Result
from tests.results.test_result import UNEVEN, smooth


def shifted(t, by, name="smooth"):
    """Return ``smooth`` with one component of the position off by ``by`` at one sample."""
    result = smooth(t)
    position = result["a.position"].copy()
    position[len(t) // 2, 1] += by
    sources = {one: Source(*result.about(one), StoredValues(result[one]), result.frame(one)) for one in result.names()}
    return Result({**sources, "a.position": Source(("x", "y"), "m", StoredValues(position), "world")}, name)


def test_a_difference_is_found_where_it_is():
    found = compare(smooth(UNEVEN), shifted(UNEVEN, -0.25), tolerance=1e-3)
    worst = found.worst
    assert (worst.name, worst.component, worst.unit) == ("a.position", "y", "m")
    assert worst.largest == pytest.approx(0.25, rel=1e-14)
    assert worst.t == UNEVEN[len(UNEVEN) // 2]
    assert worst.rms == pytest.approx(0.25 / np.sqrt(2 * len(UNEVEN)), rel=1e-13)
    assert worst.relative == pytest.approx(0.25 / np.abs(smooth(UNEVEN)["a.position"]).max(), rel=1e-6)
    assert (worst.verdict, found.verdict) == (Verdict.DIFFER, Verdict.DIFFER)
    assert found["a.angle"].largest == 0.0
    assert str(found).splitlines()[2].startswith("a.position[y]")


def test_the_same_results_agree_and_an_opposite_quaternion_is_the_same_turn():
    mine = smooth(UNEVEN)
    theirs = {one: Source(*mine.about(one), StoredValues(mine[one])) for one in mine.names()}
    theirs["a.orientation"] = Source(*mine.about("a.orientation"), StoredValues(-mine["a.orientation"]))
    found = compare(mine, Result(theirs, "b"), tolerance=1e-15)
    assert found.verdict is Verdict.AGREE
    assert all(one.largest == 0.0 for one in found.differences)


def test_a_channel_of_another_unit_cannot_be_compared():
    mine = smooth(UNEVEN)
    theirs = {one: Source(*mine.about(one), StoredValues(mine[one])) for one in mine.names()}
    theirs["a.position"] = Source(("x", "y"), "mm", StoredValues(1e3 * mine["a.position"]))
    other = Result(theirs, "b")
    with pytest.raises(InputError, match=r"'a.position' cannot be compared: axes and units are .*'m'.* in a and"):
        compare(mine, other, "a.position")
    assert "a.position" not in [one.name for one in compare(mine, other).differences]


def test_common_times_need_no_interpolation():
    found = compare(smooth(np.linspace(0.0, 1.0, 11)), smooth(np.linspace(0.0, 1.0, 41)), tolerance=1e-12)
    assert len(found.t) == 11
    assert found.verdict is Verdict.AGREE
    assert all(one.interpolation == 0.0 for one in found.differences)


def test_interpolation_is_never_taken_for_agreement_or_difference():
    """The truth is that both are samples of one motion: AGREE where the estimate allows it, never DIFFER."""
    rng = np.random.default_rng(3)
    verdicts = set()
    for _ in range(60):
        ends, counts = rng.uniform(0.5, 1.0, 2), rng.integers(8, 80, 2)
        a, b = (smooth(np.sort(rng.uniform(0.0, end, count))) for end, count in zip(ends, counts, strict=True))
        if a.t[-1] < b.t[0] or b.t[-1] < a.t[0]:
            continue
        found = compare(a, b, "a.angle", "a.position", tolerance=10.0 ** rng.uniform(-8, 0), times="union")
        assert Verdict.DIFFER not in {one.verdict for one in found.differences}
        verdicts.add(found.verdict)
    assert verdicts == {Verdict.AGREE, Verdict.UNDECIDED}


@pytest.fixture(scope="module")
def short_and_long():
    """Return a coarse run, a fine one as long, and one that is as fine and eight times as long."""
    system = library.build("crank_rocker").compile()
    return [rtmbs.Simulation(system, h=h).run(end) for h, end in ((4e-3, 1.0), (2e-3, 1.0), (2e-3, 8.0))]


@pytest.mark.parametrize("times", ["common", "union"])
def test_what_a_longer_result_has_beyond_changes_no_verdict(times, short_and_long):
    a, b, longer = short_and_long
    for tolerance in (1e-6, 1e-5, 1e-4, 1e-3):
        short, long = (compare(a, one, tolerance=tolerance, times=times) for one in (b, longer))
        assert [one[:2] for one in short.differences] == [one[:2] for one in long.differences]
        assert [one.verdict for one in short.differences] == [one.verdict for one in long.differences]
    with_time = longer.between(0.0, 1.0)
    assert np.abs(longer["crank_pivot.angle"]).max() > 5.0 * np.abs(with_time["crank_pivot.angle"]).max()


def test_a_component_has_its_own_unit():
    system = library.build("crank_rocker").compile()
    a, b = (rtmbs.Simulation(system, h=h).run(0.2) for h in (4e-3, 2e-3))
    found = compare(a, b)
    for one in found.differences:
        channel = a.channel(one.name)
        assert one.unit == dict(zip(channel.axes, channel.units, strict=False)).get(one.component, channel.unit)
    assert {one.unit for one in found.differences if one.name.endswith(".reaction")} <= {"N", "N m"}
    assert "N, N" not in str(found)


def test_not_a_number_differs():
    found = compare(smooth(UNEVEN), shifted(UNEVEN, np.nan), tolerance=1.0)
    assert found["a.position"].verdict is Verdict.DIFFER
    assert found.worst.name == "a.position"


def test_runs_of_two_steps_differ_by_their_order(tmp_path):
    system = library.build("crank_rocker").compile()
    coarse, fine, finer = (rtmbs.Simulation(system, h=h).run(0.5, record=rtmbs.Every(0.1)) for h in (4e-3, 2e-3, 1e-3))
    first, second = (compare(a, b, tolerance=1e-9) for a, b in ((coarse, fine), (fine, finer)))
    name = first.worst.name
    assert 3.0 < first[name].largest / second[name].largest < 5.0
    assert compare(coarse, fine).verdict is Verdict.OPEN
    fine.save(tmp_path / "fine.npz")
    assert compare(coarse, rtmbs.load_result(tmp_path / "fine.npz"))[name].largest == first[name].largest


def test_what_only_one_has_is_listed():
    mine = smooth(UNEVEN)
    other = Result({one: Source(*mine.about(one), StoredValues(mine[one])) for one in ("t", "a.angle")}, "b")
    found = compare(mine, other)
    assert [one.name for one in found.differences] == ["a.angle"]
    assert found.only_a == ("a.position", "a.orientation", "a.reaction_doubtful")
    assert "only in a, or with other axes or units there: a.position" in str(found)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda a: compare(a, "b.npz"), "compare takes two Results, and the second is 'b.npz'"),
        (lambda a: compare(a, a, "a.anlge"), "there is no channel of result a named 'a.anlge'; did you mean"),
        (lambda a: compare(a, a, tolerance=-1.0), "tolerance is -1.0; it must be a positive number"),
        (lambda a: compare(a, a, times="all"), "times is 'all'; it must be one of 'common', 'union'"),
        (lambda a: compare(a, smooth(UNEVEN + 5.0)), "have no time in common: a goes from 0 s to"),
        (lambda a: compare(a, smooth(UNEVEN[1:] - 1e-3), times="common"), "no instant in common; write times='union'"),
        (lambda a: compare(a, a)["b"], "there is no compared channel named 'b'"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(act, told):
    with pytest.raises(rtmbs.RtmbsError) as caught:
        act(smooth(UNEVEN))
    assert told in str(caught.value)


def test_a_comparison_is_drawn_and_tabled(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("pandas")
    found = compare(smooth(UNEVEN), shifted(UNEVEN, 0.1), tolerance=1e-3)
    figure = found.plot("a.position", "a.angle", file=tmp_path / "apart.png")
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "position [m]", "angle [rad]", "position [m]", "angle [rad]",
    ]  # fmt: skip
    longer = compare(smooth(UNEVEN), smooth(np.linspace(0.0, 3.0 * UNEVEN[-1], 400))).plot("a.reaction_doubtful")
    drawn = [line.get_xdata() for axis in longer.axes for line in axis.get_lines()]
    assert all(UNEVEN[0] <= t[0] and t[-1] <= UNEVEN[-1] for t in drawn)
    lines = figure.axes[2].get_lines()
    np.testing.assert_allclose(np.abs(lines[1].get_ydata()).max(), 0.1, rtol=1e-13)
    table = found.to_pandas()
    assert table.loc["a.position", "verdict"] == "DIFFER"
    assert "<table>" in found._repr_html_()
