"""Designs and distributions."""

import numpy as np
import pytest

import rtmbs
from rtmbs.sweeps.parameters import read_parameters


def columns(design, parameters):
    return design.columns(read_parameters(parameters))


def test_a_grid_has_every_combination_and_the_last_changes_fastest():
    found = columns(rtmbs.Grid(), {"a": [1, 2], "b": ["x", "y", "z"], "c": 0.5})
    assert found["a"].tolist() == [1, 1, 1, 2, 2, 2]
    assert found["b"].tolist() == ["x", "y", "z"] * 2
    assert found["c"].tolist() == [0.5] * 6
    assert found["a"].dtype == np.int64


@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [
        (rtmbs.Uniform(-3.0, 5.0), -3.0, 5.0),
        (rtmbs.LogUniform(1e-3, 1e6), 1e-3, 1e6),
        (rtmbs.Normal(7.0, 2.0), -np.inf, np.inf),
    ],
)
@pytest.mark.parametrize("n", [1, 7, 400])
def test_a_latin_hypercube_has_one_value_in_each_part(distribution, low, high, n):
    found = columns(rtmbs.LatinHypercube(n, seed=3), {"a": distribution, "b": rtmbs.Uniform(0.0, 1.0)})
    ends = distribution.quantile(np.arange(1, n) / n)
    parts = np.searchsorted(ends, found["a"])
    assert sorted(parts) == list(range(n))
    assert ((found["a"] >= low) & (found["a"] <= high)).all()
    assert sorted((found["b"] * n).astype(int)) == list(range(n))


def test_distributions_have_their_moments():
    p = (np.arange(100_000) + 0.5) / 100_000
    assert rtmbs.Uniform(2.0, 6.0).quantile(p).mean() == pytest.approx(4.0)
    assert np.log(rtmbs.LogUniform(1.0, 100.0).quantile(p)).mean() == pytest.approx(np.log(10.0))
    values = rtmbs.Normal(3.0, 0.5).quantile(p)
    assert values.mean() == pytest.approx(3.0)
    assert values.std() == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("design", [rtmbs.MonteCarlo, rtmbs.LatinHypercube])
def test_a_seed_gives_the_same_runs_and_another_seed_others(design):
    given = {"a": rtmbs.Uniform(0.0, 1.0), "b": ["x", "y", "z"]}
    first, again, other = (columns(design(50, seed), given) for seed in (1, 1, 2))
    assert first["a"].tobytes() == again["a"].tobytes()
    assert first["b"].tolist() == again["b"].tolist()
    assert first["a"].tobytes() != other["a"].tobytes()
    assert set(first["b"]) == {"x", "y", "z"}


def test_monte_carlo_values_are_independent():
    found = columns(rtmbs.MonteCarlo(4000, seed=5), {"a": rtmbs.Normal(0.0, 1.0), "b": rtmbs.Normal(0.0, 1.0)})
    assert abs(np.corrcoef(found["a"], found["b"])[0, 1]) < 4.0 / np.sqrt(4000)
