"""The bench of contact figures: its rows that hold, and its exit status."""

import pytest

from bench import contact_figures

HOLDING = ("slope", "ball", "rolling", "rocking", "Painleve", "Newton", "cam", "domino", "gripper")


@pytest.mark.slow
def test_figures_against_closed_forms_hold():
    pytest.importorskip("coal")
    assert contact_figures.main([*HOLDING, "--bounded"]) == 0


def test_a_figure_that_does_not_hold_is_told_by_the_exit_status(monkeypatch, capsys):
    for holds, status in ((True, 0), (False, 1)):
        row = contact_figures.Figure("1", "2", holds)
        monkeypatch.setattr(contact_figures, "FIGURES", {"one": lambda short, row=row: row})
        assert contact_figures.main([]) == status
        assert ("| one | 1 | 2 | no |" in capsys.readouterr().out) is not holds
