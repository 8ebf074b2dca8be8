"""Designs and distributions."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.sweeps.designs import design_of, read_parameters
from tests.studies.sweeps.studies import MEASURE, pendulum


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


# ------------------------------------------------------------------------------------------------------- scipy.stats


@pytest.mark.parametrize(
    ("frozen", "own"),
    [
        (stats.uniform(-3.0, 8.0), rtmbs.Uniform(-3.0, 5.0)),
        (stats.loguniform(1e-3, 1e6), rtmbs.LogUniform(1e-3, 1e6)),
        (stats.norm(7.0, 2.0), rtmbs.Normal(7.0, 2.0)),
        (stats.norm(loc=7.0, scale=2.0), rtmbs.Normal(7.0, 2.0)),
    ],
)
def test_frozen_distributions_of_scipy_are_those_of_their_formulas(frozen, own):
    theirs, ours = (columns(rtmbs.LatinHypercube(300, seed=4), {"a": each})["a"] for each in (frozen, own))
    np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-13)


def test_any_frozen_distribution_is_drawn_from():
    found = columns(
        rtmbs.LatinHypercube(2000, seed=1),
        {"wear": stats.weibull_min(1.5, scale=10.0), "links": stats.binom(12, 0.25), "gap": stats.triang(0.5)},
    )
    assert stats.kstest(found["wear"], stats.weibull_min(1.5, scale=10.0).cdf).pvalue > 0.99  # stratified
    assert found["links"].dtype == np.int64
    assert found["links"].mean() == pytest.approx(3.0, abs=0.02)
    assert ((found["gap"] > 0.0) & (found["gap"] < 1.0)).all()


@pytest.mark.skipif(not hasattr(stats, "Normal"), reason="distributions as objects came with scipy 1.15")
def test_distributions_that_are_objects_are_drawn_from():
    found = columns(rtmbs.MonteCarlo(50, seed=2), {"a": stats.Normal(mu=7.0, sigma=2.0)})["a"]
    np.testing.assert_allclose(found, columns(rtmbs.MonteCarlo(50, seed=2), {"a": rtmbs.Normal(7.0, 2.0)})["a"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (stats.norm, r"parameter 'a' is norm without its numbers; it must be called with them: norm\(\.\.\.\)"),
        (rtmbs.Uniform, "parameter 'a' is Uniform without its numbers"),
        (stats.norm(0.0, -1.0), r"scipy\.stats\.norm\(0\.0, -1\.0\) has values that are not one finite number each"),
        (stats.multivariate_normal([0.0, 0.0]), "parameter 'a' has the value"),
    ],
)
def test_what_no_value_can_be_drawn_from_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        columns(rtmbs.MonteCarlo(5), {"a": given})
    with pytest.raises(InputError, match=r"'a' is scipy\.stats\.norm\(1\.0, 0\.5\), and a grid needs a list of values"):
        columns(rtmbs.Grid(), {"a": stats.norm(1.0, 0.5)})


def test_a_sampler_of_scipy_is_a_design():
    given = {"a": stats.norm(7.0, 2.0), "b": ["x", "y"], "c": rtmbs.Uniform(1.0, 3.0)}
    sampler = qmc.Sobol(3, seed=5)
    found = columns(design_of(sampler, 64), given)
    again = columns(design_of(sampler, 64), given)  # the sampler has not moved
    assert all(found[name].tolist() == again[name].tolist() for name in given)
    points = qmc.Sobol(3, seed=5).random(64)
    np.testing.assert_allclose(found["a"], stats.norm.ppf(points[:, 0], 7.0, 2.0), rtol=1e-13)
    np.testing.assert_allclose(found["c"], 1.0 + 2.0 * points[:, 2], rtol=1e-15)
    assert found["b"].tolist() == ["xy"[int(share >= 0.5)] for share in points[:, 1]]
    first = columns(design_of(qmc.Sobol(3, scramble=False), 4), given)  # its first point is 0: no quantile is infinite
    assert np.isfinite(first["a"]).all()


@pytest.mark.parametrize(
    ("design", "runs", "words"),
    [
        (qmc.Halton(1, seed=1), None, "runs is missing; a sampler such as Halton needs the number of runs"),
        (qmc.Halton(1, seed=1), 0, "n is 0"),
        (None, 10, "runs counts the points of a sampler"),
        (rtmbs.LatinHypercube(5), 10, "runs counts the points of a sampler"),
        (qmc.Halton(2, seed=1), 10, "Halton has d = 2, and there are 1 parameters; it must be made with d=1"),
        (qmc.MultivariateNormalQMC([0.0], seed=1), 10, "MultivariateNormalQMC draws values, and a sweep needs points"),
        (qmc.MultivariateNormalQMC([0.0], seed=1), None, r"it must be a sampler such as scipy\.stats\.qmc\.Sobol"),
        (qmc.MultinomialQMC([0.5, 0.5], 4, seed=1), 10, "MultinomialQMC draws values"),
    ],
)
def test_a_sampler_that_does_not_fit_is_refused(design, runs, words):
    with pytest.raises(InputError, match=words):
        columns(design_of(design, runs), {"a": rtmbs.Uniform(0.0, 1.0)})


def test_a_sweep_takes_both():
    table = rtmbs.sweep(
        pendulum,
        {"length": stats.uniform(0.5, 1.0), "damping": rtmbs.Normal(0.2, 0.01)},
        MEASURE,
        t_end=0.05,
        design=qmc.Sobol(2, seed=3),
        runs=4,
        engine=rtmbs.Serial(),
    )
    assert not table.failed
    np.testing.assert_allclose(table["length"], 0.5 + qmc.Sobol(2, seed=3).random(4)[:, 0])
