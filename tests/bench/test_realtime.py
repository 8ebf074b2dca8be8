"""``bench realtime``: the mechanism and an empty loop against the wall clock, short."""

import json

import pytest

from rtmbs.bench.command import main


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The record of half a second of a small four-bar."""
    path = tmp_path_factory.mktemp("bench") / "realtime.json"
    words = ["realtime", "fourbar", "--ny", "1", "--nz", "2", "--seconds", "0.5", "--fixed-iterations", "2"]
    assert main([*words, "--json", str(path)]) == 0
    return json.loads(path.read_text(encoding="utf-8"))


def test_both_loops_are_judged_over_the_same_periods(measured):
    assert measured["periods"] == 100
    assert measured["fixed_iterations"] == 2
    for name in ("stepping", "empty"):
        found = measured[name]
        assert found["deadlines"] == 100
        assert 0 <= found["missed"] <= 100
        assert 0.0 <= found["p50"] <= found["p99"] <= found["p999"] <= found["max"]


def test_histograms_hold_every_period(measured):
    histogram = measured["histogram"]
    for name in ("step", "late_stepping", "late_empty"):
        assert len(histogram[name]) == len(histogram["edges_us"]) - 1
        assert sum(histogram[name]) == 100
    assert 1.0 < measured["step_us"]["p50"] < 1e5


def test_the_report_prints_both_loops(capsys):
    assert main(["realtime", "fourbar", "--ny", "1", "--nz", "1", "--layout", "parallel", "--seconds", "0.1"]) == 0
    text = capsys.readouterr().out
    for words in ("stepping: deadlines", "empty loop: deadlines", "20 periods", "p99.9", "late, empty", "#"):
        assert words in text


@pytest.mark.parametrize("words", [["realtime"], ["realtime", "pendulum"], ["realtime", "fourbar", "--seconds", "0"]])
def test_what_cannot_be_run_ends_with_code_2(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_less_than_one_step_is_refused():
    assert main(["realtime", "fourbar", "--ny", "1", "--nz", "1", "--seconds", "0.001"]) == 2
