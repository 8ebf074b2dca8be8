"""The paper's table on small sizes: keys, counts, errors, the equal footing of ratios, the budget, the user's words."""

import json
import math
import re

import pytest

from bench.table1 import measure, paper, text
from bench.table1.__main__ import main
from rtmbs.semirecursive.sources import source_names

KEYS = {
    *("ny", "nz", "layout", "source", "bodies", "n_jacs", "steps", "scaled_s", "pair_ms"),
    *("error_K", "error_C", "ratio_to_differences"),
}
EXACT = ("structured", "complex-step", "autograd", "autograd-forward", "trace")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The rows and the printed text of one short run through the command line."""
    path = tmp_path_factory.mktemp("table1") / "table.json"
    words = ["--layout", "parallel", "--rows", "1x10,2x3", "--budget", "0.3", "--json", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        printed = []

        def kept(*parts, file=None, **_):
            if file is None:  # not the line that says kernels are being compiled
                printed.append(" ".join(map(str, parts)))

        patch.setattr("builtins.print", kept)
        patch.setattr("tqdm.tqdm.write", lambda text, **_: printed.append(text))
        assert main(words) == 0
    return json.loads(path.read_text(encoding="utf-8")), "\n".join(printed)


@pytest.fixture(scope="module")
def rows(run):
    return {(row["ny"], row["nz"], row["source"]): row for row in run[0]["rows"]}


@pytest.mark.slow
def test_json_is_rows_with_the_agreed_keys(run, rows):
    assert set(run[0]) == {"rows"}
    assert all(set(row) == KEYS for row in run[0]["rows"])
    assert list(rows) == [(*size, name) for size in ((1, 10), (2, 3)) for name in source_names()]


def test_counts_are_those_of_the_mechanism(rows):
    for (ny, nz, _), row in rows.items():
        assert row["layout"] == "parallel"
        assert row["bodies"] == (1 + 2 * ny) * nz + 1
        assert 1 <= row["steps"] <= measure.STEPS
        assert row["steps"] <= row["n_jacs"] <= 8 * row["steps"]
        assert row["pair_ms"] > 0
        if row["source"] != "structured":
            assert row["scaled_s"] > 0.4 * row["pair_ms"] > 0, "a step takes longer than the pairs inside of it"


def test_exact_sources_are_exact_and_differences_are_not(rows):
    for (_, _, name), row in rows.items():
        for error in (row["error_K"], row["error_C"]):
            if name in EXACT:
                assert error < 1e-10, name
            else:
                assert 1e-13 < error < 1e-4, name


def test_ratios_stand_on_equal_footing(rows):
    for (ny, nz, name), row in rows.items():
        footing = measure.FOOTING.get(name, "finite-difference")
        assert row["ratio_to_differences"] == pytest.approx(row["scaled_s"] / rows[ny, nz, footing]["scaled_s"])


def test_a_source_over_its_budget_takes_fewer_steps_and_the_table_says_so(run, rows):
    slow, fast = rows[1, 10, "autograd"], rows[1, 10, "structured"]
    assert slow["steps"] < measure.STEPS
    assert re.search(rf"autograd +{slow['n_jacs']} +{slow['steps']}\* ", run[1])
    assert "fewer than 200: a run of one source may take 0.3 s" in run[1]
    assert fast["steps"] == measure.STEPS
    assert re.search(rf"structured +{fast['n_jacs']} +200  ", run[1])


def test_the_paper_stands_beside_its_own_rows_only(run):
    assert "parallel 1 x 10, 31 bodies; paper: n_jacs 427, differences 0.979 s, AD 1.505 s, ratio 1.54" in run[1]
    assert "\nparallel 2 x 3, 16 bodies\n" in run[1]
    assert "largest error of exact sources:" in run[1]
    assert re.search(r"one pair by trace: .* times as fast as by finite-difference, faster in [0-2] of 2 rows", run[1])
    assert re.search(r"same Q, scaled time of autograd over finite-difference-page: \S+ to \S+\n", run[1])
    assert all(line == line.rstrip() for line in run[1].splitlines())


def test_the_table_of_the_paper_was_copied_right():
    """Its counts follow from the sizes and its ratios from its times."""
    assert len(paper.TABLE) == 16
    for (ny, nz), row in paper.TABLE.items():
        assert row.bodies == (1 + 2 * ny) * nz + 1
        assert row.ratio == pytest.approx(row.autodiff / row.differences, abs=0.00501)


def test_without_differences_there_is_no_ratio():
    options = measure.Options(("stacked",), ((1, 1),), ("trace", "structured"), 1e-3)
    (found,) = measure.measure(options)
    assert [row["ratio_to_differences"] for row in found] == [None, None]
    assert math.isfinite(found[0]["scaled_s"])
    assert "one pair by" not in text.summary(found)
    json.dumps(found, allow_nan=False)


def test_the_method_as_printed_stands_beside_ours():
    options = measure.Options(("stacked",), ((1, 2),), ("structured", "finite-difference"), 0.2, alpha=1e5)
    paper_rows, ours = measure.measure(options)
    assert [row["method"] for row in (*paper_rows, *ours)] == ["paper"] * 2 + ["ours"] * 2
    assert "unprojected" not in ours[0]
    assert paper_rows[0]["unprojected"] > 0, "one projection with a soft penalty leaves the loops moving"
    assert paper_rows[0]["velocity_violation"] > 1e-6
    assert "method: paper (steps that one projection leaves too far off" in text.block(paper_rows)


def test_nothing_but_the_table_in_a_pipe(capfd):
    assert main(["--layout", "stacked", "--rows", "1x1", "--sources", "structured"]) == 0
    out, err = capfd.readouterr()
    assert "stacked 1 x 1, 4 bodies" in out
    assert "%|" not in out + err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--sources", "trase"], "did you mean 'trace'?"),
        (["--sources", "trase"], f"(valid: {', '.join(source_names())})"),
        (["--sources", "structured,xyz"], "there is no source of K and C named 'xyz'"),
        (["--sources", ","], "name at least one"),
        (["--rows", "4x40,4"], "'4' is not n_y x n_z; write 4x40"),
        (["--rows", "0x4"], "'0x4' is not n_y x n_z"),
        (["--rows", "-1x4"], "expected one argument"),
        (["--layout", "heap"], "invalid choice: 'heap'"),
        (["--budget", "0"], "0 is not a number greater than 0"),
        (["--json", "/nowhere/at/all.json"], "there is no folder"),
        (["--bugdet", "1"], "did you mean '--budget'"),
    ],
)
def test_words_that_cannot_be_meant_are_answered(words, answer, capsys):
    code = None
    try:
        code = main([*words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert answer in capsys.readouterr().err
