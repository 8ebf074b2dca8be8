"""The page for those who come from other programs shows the programs that were run."""

from bench.peers.side_by_side.__main__ import HERE, PAGE, PROGRAMS, answer


def test_the_page_shows_the_programs():
    page = PAGE.read_text(encoding="utf-8")
    for program in PROGRAMS:
        assert (HERE / f"four_bar_{program}.py").read_text(encoding="utf-8").rstrip() in page, program


def test_the_answers_of_the_page_are_those_of_rtmbs():
    import sys

    x, y = answer(sys.executable, "rtmbs")
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| rtmbs |")]
    assert lines == [f"| rtmbs | {x:.6f} | {y:.6f} |"]
