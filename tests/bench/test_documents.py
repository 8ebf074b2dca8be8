"""What scripts measured goes between the markers of a page, and nowhere else."""

import pytest

from bench.documents import insert, inserted, table

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
