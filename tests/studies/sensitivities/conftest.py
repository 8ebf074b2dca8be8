"""The adjoint takes parameters by a reverse pass or by entries, as it finds cheaper; tests ask for either."""

import pytest

from rtmbs.studies.sensitivities import sensitivity as module


@pytest.fixture(params=["reverse pass", "entries"])
def adjoint_way(request, monkeypatch):
    monkeypatch.setattr(module, "REVERSE_FROM", 0 if request.param == "reverse pass" else 10**9)
    return request.param


@pytest.fixture
def reverse_pass(monkeypatch):
    monkeypatch.setattr(module, "REVERSE_FROM", 0)
