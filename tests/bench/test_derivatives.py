"""The tables of docs/derivatives.md: made-up rows come out right, and the page holds what the files of bench/ hold."""

import json

import pytest

from bench import derivatives
from bench.documents import inserted
from rtmbs.semirecursive.sources import source_names

PAIR_MS = {
    "structured": 0.1,
    "trace": 1.0,
    "finite-difference": 50.0,
    "central-difference": 100.0,
    "complex-step": 200.0,
    "finite-difference-page": 1000.0,
    "autograd": 500.0,
    "autograd-forward": 700.0,
}


def made_up_rows(**changes):
    """Both layouts of two mechanisms; a time is a pair of milliseconds, a ratio stands on equal footing."""
    rows = []
    for layout in ("stacked", "parallel"):
        for ny, nz in ((1, 10), (4, 40)):
            for name, pair in PAIR_MS.items():
                footing = "finite-difference-page" if name.startswith("autograd") else "finite-difference"
                row = {"ny": ny, "nz": nz, "layout": layout, "source": name, "bodies": (1 + 2 * ny) * nz + 1}
                row |= {"n_jacs": 400, "steps": 200 if pair < 60.0 else 7, "scaled_s": 0.4 * pair, "pair_ms": pair}
                exact = name not in derivatives.INEXACT
                row |= {"error_K": 1e-15 if exact else 1e-8, "error_C": 2e-15 if exact else 3e-7}
                rows.append(row | {"ratio_to_differences": pair / PAIR_MS[footing]} | changes.get(name, {}))
    return rows


def test_every_source_has_its_column():
    assert sorted(derivatives.NAMES) == sorted(source_names())
    head = derivatives.scaled(made_up_rows(), "stacked").splitlines()[0]
    assert head.endswith(" | ".join(derivatives.NAMES) + " |")


def test_fewer_steps_are_starred_and_the_paper_stands_beside():
    line = derivatives.scaled(made_up_rows(), "parallel").splitlines()[2]
    assert line == "| 1 x 10 | 31 | 400 | 427 | 0.979 | 1.505 | 0.04 | 0.4 | 20 | 40* | 80* | 400* | 200* | 280* |"


def test_ratios_stand_on_equal_footing():
    assert (
        derivatives.ratios(made_up_rows()).splitlines()[3] == "| 4 x 40 | 0.92 | 0.02 | 0.5 | 0.7 | 0.02 | 0.5 | 0.7 |"
    )


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"structured": {"pair_ms": 0.6}}, ["structured at least 100 times"] * 2),
        ({"trace": {"pair_ms": 51.0}}, ["trace faster than by finite-difference in all rows | in 0 of 4"]),
        ({"complex-step": {"error_C": 2e-10}}, ["exact sources below 1e-10 | 2e-10"]),
    ],
)
def test_what_was_to_be_reached_is_judged(changes, missed):
    lines = derivatives.wanted(made_up_rows(**changes)).splitlines()[2:]
    assert len(lines) == 5
    failed = [line for line in lines if line.endswith("| not reached |")]
    assert len(failed) == len(missed)
    assert all(words in line for words, line in zip(missed, failed, strict=True))


def test_a_row_without_autograd_is_told():
    rows = [row for row in made_up_rows() if (row["source"], row["nz"]) != ("autograd", 40)]
    assert "| autograd completes every row | 2 of 4 | not reached |" in derivatives.wanted(rows)
    assert derivatives.pairs(rows, "stacked").splitlines()[3].endswith("| 1e+03 |  | 700 |")


def test_the_page_holds_what_was_measured():
    """Whoever measures again runs ``python -m bench.derivatives`` afterwards."""
    page = derivatives.PAGE.read_text(encoding="utf-8")
    rows = json.loads(derivatives.TABLE1.read_text(encoding="utf-8"))["rows"]
    paper_rows = json.loads(derivatives.PRINTED.read_text(encoding="utf-8"))["rows"]
    assert inserted(page, "table1 paper", derivatives.printed(paper_rows)) == page
    counts = json.loads(derivatives.NEWTON.read_text(encoding="utf-8"))["newton"]
    for name, text in derivatives.tables(rows, counts).items():
        assert inserted(page, name, text) == page, f"the table {name!r} of the page is an older one"
