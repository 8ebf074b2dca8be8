"""What no sweep can be, refused in one sentence before the first run."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from tests.studies.sweeps.studies import measure, pendulum

GOOD = {"make": pendulum, "parameters": {"length": [1.0]}, "measure": measure, "t_end": 0.1, "engine": rtmbs.Serial()}


class Listless:
    """An argument that raises when it is shown."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": {"lenght": [1.0]}}, r"no parameter of pendulum named 'lenght'; did you mean 'length'"),
        ({"parameters": {}}, r"parameters is \{\}; it must map names to values"),
        ({"parameters": [1.0]}, "it must map names to values"),
        ({"parameters": {"length": []}}, "'length' has no value"),
        ({"parameters": {"length": [1.0, float("nan")]}}, "'length' has the value nan; it must be a finite number"),
        ({"parameters": {"length": [10**400]}}, "'length' has the value 1000"),
        ({"parameters": {"length": [None]}}, "'length' has the value None"),
        ({"parameters": {"length": Listless()}}, "a Listless that cannot be printed"),
        ({"parameters": {"length": np.ones((2, 2))}}, "'length' has the value array"),
        ({"parameters": {"length": [1.0, "a"]}}, "mixes numbers and words"),
        ({"parameters": {"length": [1.0, True]}}, "mixes numbers and switches"),
        ({"parameters": {1: [1.0]}}, "a parameter is named 1"),
        ({"parameters": {"a b": [1.0]}}, "a parameter is named 'a b'"),
        ({"parameters": {"error": [1.0]}}, "is a column of every table"),
        ({"parameters": {"length": rtmbs.Uniform(1.0, 2.0)}}, r"'length' is Uniform.*a grid needs a list"),
        ({"parameters": {"length": range(20_000), "damping": range(20_000)}}, "the grid has 4e[+]08 runs"),
        ({"make": 3}, "make is 3; it must be a function"),
        ({"make": lambda a, b: None, "parameters": {"a": [1.0]}}, "needs the parameter 'b'"),
        ({"measure": 3}, "measure is 3; it must be a function"),
        ({"measure": {}}, "measure is empty"),
        ({"measure": {"peak": "largest"}}, "measure 'peak' is 'largest'; it must be a reading and a channel"),
        ({"measure": {"peak": "largets arm.rate"}}, r"no reading of measure 'peak' named 'largets'.*'largest'"),
        ({"t_end": 0.0}, "t_end is 0.0; it must be a positive number"),
        ({"t_end": "1"}, "t_end is '1'"),
        ({"h": -1.0}, "h is -1.0"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"record": 3}, "record is 3; it must be a schedule"),
        ({"design": 3}, "design is 3; it must be one such as"),
        ({"engine": 3}, "engine is 3; it must be one such as"),
        ({"folder": 3}, "folder is 3; it must be a path"),
        ({"folder": "/dev/null/rows"}, "folder '/dev/null/rows' cannot be used"),
        ({"progress": 1}, "progress is 1; it must be True or False"),
    ],
)
def test_a_sweep_that_cannot_be(change, words):
    with pytest.raises((InputError, UnknownNameError), match=words):
        rtmbs.sweep(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: rtmbs.Uniform(2.0, 1.0), "Uniform goes from 2.0 to 1.0; it must go from a number to a larger one"),
        (lambda: rtmbs.Uniform(float("-inf"), 1.0), "Uniform goes from -inf"),
        (lambda: rtmbs.LogUniform(0.0, 1.0), "LogUniform begins at 0.0; its ends must be positive"),
        (lambda: rtmbs.LogUniform("a", 1.0), "LogUniform goes from 'a'"),
        (lambda: rtmbs.Normal(float("nan"), 1.0), "Normal has the mean nan"),
        (lambda: rtmbs.Normal(0.0, 0.0), "deviation is 0.0"),
        (lambda: rtmbs.LatinHypercube(0), "n is 0; it must be a whole number from 1"),
        (lambda: rtmbs.MonteCarlo(10, seed=-1), "seed is -1"),
        (lambda: rtmbs.MonteCarlo(1.5), "n is 1.5"),
        (lambda: rtmbs.Processes(0), "workers is 0"),
        (lambda: rtmbs.Processes(memory=-1.0), "memory"),
        (lambda: rtmbs.Dask(3), "address is 3"),
        (lambda: rtmbs.Dask("tcp://head:8786", workers=2), "a cluster with an address has its own"),
    ],
)
def test_a_part_that_cannot_be(build, words):
    with pytest.raises(InputError, match=words):
        build()


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (3, "measure returned 3; it must map names to numbers"),
        ({"peak": "high"}, "measure returned 'high' for 'peak'; it must be a number"),
        ({"peak": np.ones(3)}, "it must be a number"),
        ({"length": 1.0}, "a number named 'length'; its name must be a word that names no parameter"),
        ({3: 1.0}, "a number named 3"),
    ],
)
def test_a_measure_that_is_none_fails_its_run(returned, words):
    table = rtmbs.sweep(**{**GOOD, "measure": lambda result: returned})
    assert words in table.failed[0]


def test_a_maker_that_makes_nothing_fails_its_run():
    table = rtmbs.sweep(**{**GOOD, "make": lambda length: None})
    assert "make returned None; it must return a Model or a Simulation" in table.failed[0]


@pytest.mark.parametrize(("package", "extra"), [("pyarrow", "sweep"), ("distributed", "cluster"), ("pandas", "pandas")])
def test_a_missing_package_is_named(package, extra, monkeypatch, tmp_path):
    table = rtmbs.sweep(**GOOD)
    found = {
        "pyarrow": "rtmbs.studies.sweeps.result",
        "distributed": "rtmbs.studies.sweeps.engines",
        "pandas": "rtmbs.studies.sweeps.result",
    }
    monkeypatch.setattr(f"{found[package]}.find_spec", lambda name: None)
    ask = {
        "pyarrow": lambda: rtmbs.sweep(**GOOD, folder=tmp_path),
        "distributed": rtmbs.Dask,
        "pandas": table.to_pandas,
    }
    with pytest.raises(InputError, match=rf"needs (dask\.)?{package}; install it with pip install .*{extra}"):
        ask[package]()
