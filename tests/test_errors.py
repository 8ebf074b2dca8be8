"""Errors of model files, and the nearest of many names."""

from rtmbs import errors
from rtmbs.errors import COMPARED, LONGEST_COMPARED, LanguageError, nearest_names, unknown_name


def test_the_message_is_one_line_with_its_place():
    error = LanguageError("two\nlines \x07", file="a\nb.mks", line=3, column=2, text="abc", expected=["x"])
    assert str(error) == "a?b.mks:3:2: two?lines ?"
    assert (error.file, error.line, error.column, error.expected) == ("a\nb.mks", 3, 2, ("x",))
    assert error.picture == "abc\n ^"


def test_an_error_of_the_whole_file_has_no_picture():
    error = LanguageError("is a folder", file="a.mks")
    assert (str(error), error.picture) == ("a.mks: is a folder", "")


def test_the_picture_of_tabs_and_long_lines():
    error = LanguageError("wrong", file="a", line=1, column=501, text="\t" * 500 + "x" * 500)
    line, caret = error.picture.split("\n")
    assert len(line) == 160
    assert line[len(caret) - 1] == "x"
    assert line[len(caret) - 2] == " "


def test_names_without_end_are_not_compared(monkeypatch):
    assert nearest_names("crank", ["crank " * LONGEST_COMPARED, "crink"]) == ["crink"]
    assert nearest_names("c" * (LONGEST_COMPARED + 1), ["c" * LONGEST_COMPARED]) == []
    handed = []
    monkeypatch.setattr(errors, "get_close_matches", lambda name, names, n, cutoff: handed.extend(names) or [])
    unknown_name("body", "a" * 55, [f"{'a' * 50}{k}" for k in range(100 * COMPARED)])
    assert len(handed) == COMPARED
