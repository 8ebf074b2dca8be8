"""The survey of the DAE family as measured rows."""

import pytest

from bench.methods import survey
from rtmbs.errors import InputError


def test_an_item_that_does_not_hold_is_told(monkeypatch, capsys):
    def refused():
        raise InputError("no answer; one is wanted")

    near, far = survey.Item("near", lambda: 1e-9, 1e-8), survey.Item("far", lambda: 2.0, 1.0)
    items = [near, far, survey.Item("none", refused, 1.0)]
    monkeypatch.setattr(survey, "GROUPS", {"all": lambda: iter(items)})
    assert survey.main([]) == 1
    printed = capsys.readouterr().out
    assert "| near | 1.0e-09 | 1.0e-08 | works |" in printed
    assert "| far | 2.0e+00 | 1.0e+00 | fails |" in printed
    assert "fails: no answer; one is wanted" in printed
    assert survey.main(["--items", "near"]) == 0


QUICK = ["impulse", "response", "limits", "error equation", "consistent", "check_system", "Kane", "derivatives",
         "value and", "K and C", "every", "time of", "rolling disc by SolveIVP", "satellite by SolveIVP"]  # fmt: skip


@pytest.mark.slow
def test_items_of_the_survey_hold():
    assert survey.main(["--items", *QUICK]) == 0
