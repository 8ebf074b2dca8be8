"""Derivatives of runs against the complex step of a reference model of the step, on six mechanisms with loops."""

import pytest

import rtmbs
from bench.measures import complex_steps
from bench.measures.complex_steps import CASES, errors
from tests.cases import quick

STEPS = 4
WANTED = 1e-8


@pytest.mark.parametrize("name", quick(CASES, "crank_rocker", "slider_crank"))
def test_direct_is_the_complex_step(name):
    h, by = CASES[name]
    found = errors(rtmbs.library.build(name), by[:2], h, STEPS)
    assert {"z", "zd", "zdd", "force", "lam"} <= set(found)
    if name == "bricard":
        found.pop("lam")  # redundant rows of a skew loop share a load by what passes leave
    assert max(found.values()) < WANTED


def test_a_derivative_that_is_off_by_a_millionth_is_seen(monkeypatch):
    h, by = CASES["crank_rocker"]
    right = complex_steps.direct_method

    def off(*given):
        X, lam, missed = right(*given)
        X[-1] *= 1.0 + 1e-6
        return X, lam, missed

    monkeypatch.setattr(complex_steps, "direct_method", off)
    found = errors(rtmbs.library.build("crank_rocker"), by[:1], h, 2)
    assert found["z"] == pytest.approx(1e-6, rel=0.1)
    assert found["lam"] < WANTED
