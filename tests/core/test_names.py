"""Names in brackets: patterns, lists, completion by tab, and answers to names that do not exist."""

import numpy as np
import pytest

import rtmbs
from rtmbs.core.names import selected
from rtmbs.errors import UnknownNameError

NAMES = ("t", "crank.angle", "crank.rate", "crank_pin.angle", "rod.position", "odd[1].x")


@pytest.fixture(scope="module")
def sim():
    return rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile())


@pytest.fixture(scope="module")
def result():
    return rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile()).run(0.1)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("crank.angle", None),
        ("nothing", None),  # one name: its owner refuses it
        ("crank.*", ["crank.angle", "crank.rate"]),
        ("crank*.angle", ["crank.angle", "crank_pin.angle"]),
        ("?", ["t"]),
        ("crank.[ax]*", ["crank.angle"]),
        ("odd[1].x", None),  # a name as it stands comes before a pattern
        ("odd[[]1[]].*", ["odd[1].x"]),
        (["t", "crank.rate"], ["t", "crank.rate"]),
        (("crank.rate", "crank.*"), ["crank.rate", "crank.angle"]),  # each once, in the order of the list
        ([], []),
    ],
)
def test_which_names_are_meant(wanted, found):
    assert selected("channel", wanted, NAMES) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("crnk.*", r"no channel that matches 'crnk\.\*'; did you mean 'crank\.\*', 'crank_pin\.\*'"),
        ("*.velocity", "'rod"),
        ("CRANK.*", "CRANK"),
        (["t", "crank.angel"], "no channel named 'crank.angel'; did you mean 'crank.angle'"),
        (["t", 3], "no channel named 3"),
        (["t", "zz.*"], r"'zz\.\*'"),
    ],
)
def test_what_matches_nothing_is_refused(wanted, message):
    with pytest.raises(UnknownNameError, match=message):
        selected("channel", wanted, NAMES)


def test_several_channels_of_a_result(result):
    own = result["crank_pivot.*"]
    assert list(own) == [name for name in result.names() if name.startswith("crank_pivot.")]
    assert len(own) >= 3
    assert all(values is result[name] for name, values in own.items())
    assert list(result[["coupler.position", "crank_pivot.angle"]]) == ["coupler.position", "crank_pivot.angle"]
    assert result.keys() == result.names()
    assert list(dict(result)) == result.names()
    with pytest.raises(UnknownNameError, match=r"matches 'crank_pivt\.\*'; did you mean 'crank_pivot\.\*'"):
        result["crank_pivt.*"]


def test_several_channels_of_a_simulation(sim):
    own = sim["crank_pivot.*"]
    assert own["crank_pivot.angle"] == sim["crank_pivot.angle"]
    assert isinstance(own["crank_pivot.angle"], float)
    both = sim[["coupler.position", "crank_pivot.rate"]]
    np.testing.assert_array_equal(np.hstack(list(both.values())), sim.read(["coupler.position", "crank_pivot.rate"]))
    assert set(sim.keys()) <= set(sim.run(0.2).names()) | {"t"}


def test_an_element_is_answered_with_its_channels(sim, result):
    for owner in (sim, result):
        with pytest.raises(UnknownNameError, match=r"no channel named 'crank_pivot'; there are 'crank_pivot.angle', "):
            owner["crank_pivot"]
        with pytest.raises(UnknownNameError, match=r"did you mean 'crank_pivot\.angle'"):
            owner["crank_pivot.angel"]


def test_names_complete_by_tab(sim, result):
    table = rtmbs.sweep(
        lambda rate: rtmbs.library.build("crank_rocker", rate=rate),
        {"rate": [5.0, 6.0]},
        {"peak": "largest crank_pivot.rate", "last": "last crank_pivot.angle"},
        t_end=0.1,
        engine=rtmbs.Serial(),
    )
    for owner in (sim, result, table, rtmbs.compare(result, result), sim.inputs):
        names = owner._ipython_key_completions_()
        assert names == list(owner.keys())
        for name in names[:5]:
            assert owner[name] is not None
    assert list(table[["rate", "p*"]]) == ["rate", "peak"]
    assert {name: column.tolist() for name, column in table["ra*"].items()} == {"rate": [5.0, 6.0]}
    assert dict(table)["peak"] is table["peak"]
    with pytest.raises(UnknownNameError, match=r"no column that matches 'peek\*'; did you mean 'peak'"):
        table["peek*"]
