"""What scripts measured goes between the markers of a page, and nowhere else."""

import importlib.util
import re
from pathlib import Path

import pytest

from bench import readme_table
from bench.documents import insert, inserted, table

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# scripts and records of a page
RECORDS = {
    "measurements.md": ("derivatives.py", "work_precision.py"),
    "methods-compared.md": ("methods/page.py", "methods/bench.json", "methods/tolerances.py"),
}

PAGE = (
    "above\n<!-- begin: speed -->\nold\n<!-- end: speed -->\nbetween\n<!-- begin: size -->\n<!-- end: size -->\nbelow\n"
)


def test_text_goes_between_its_own_markers():
    once = inserted(PAGE, "speed", "new")
    assert "old" not in once
    assert once == PAGE.replace("\nold\n", "\n\nnew\n\n")
    assert inserted(once, "speed", "new") == once
    assert "<!-- begin: size -->\n\nlarge\n\n<!-- end: size -->" in inserted(once, "size", "large")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("nothing here", "needs one line '<!-- begin: speed -->'"),
        (PAGE + PAGE, "needs one line '<!-- begin: speed -->'"),
        ("<!-- end: speed -->\n<!-- begin: speed -->", "must stand below"),
    ],
)
def test_a_page_without_its_markers_is_left_alone(page, words, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        insert(path, "speed", "new")
    assert path.read_text(encoding="utf-8") == page


def test_a_table_in_markdown():
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_marked_table_has_its_script(page):
    text = page.read_text(encoding="utf-8")
    for command in re.findall(r"<!-- begin: (.*) -->", text):
        assert inserted(text, command, "x") != text
        what, name = command.split()[0], command.split()[-1]
        if what == "make":
            assert f"\n{name}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
        elif what == "python":
            assert importlib.util.find_spec(name) is not None, command
        else:  # of a record that one script reads
            sources = RECORDS.get(page.name, ("derivatives.py",))
            assert any(f'"{what}' in (ROOT / "bench" / one).read_text(encoding="utf-8") for one in sources), command


def test_the_table_of_the_readme_has_the_columns_and_rows_of_its_script():
    text = readme_table.README.read_text(encoding="utf-8")
    lines = text.split(f"<!-- begin: {readme_table.NAME} -->")[1].split("<!-- end")[0].split("\n")
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert found[0] == ["layout", *readme_table.COLUMNS]
    assert [row[0] for row in found[2:]] == list(readme_table.RUNS)
