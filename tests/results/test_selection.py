"""Parts of a result: slices, spans, values between samples, pickles."""

import pickle

import numpy as np
import pytest

import rtmbs
from rtmbs import Event, library
from rtmbs.errors import InputError
from rtmbs.results.channel import QUATERNION, Source, StoredValues
from rtmbs.results.result import Result


def smooth(t, phase=0.0):
    """Return a result whose channels are known at all times."""
    half = 0.5 * (2.0 * t + phase)
    turn = np.stack((np.cos(half), np.sin(half), 0.0 * t, 0.0 * t), axis=1)
    return Result(
        {
            "t": Source((), "s", StoredValues(t)),
            "a.angle": Source((), "rad", StoredValues(np.sin(3.0 * t + phase))),
            "a.position": Source(("x", "y"), "m", StoredValues(np.stack((np.cos(t), t**2), axis=1)), "world"),
            "a.orientation": Source(QUATERNION, "1", StoredValues(turn), "world"),
            "a.reaction_doubtful": Source((), "1", StoredValues((t > 0.5).astype(float))),
        },
        "smooth",
        "f" * 8,
        {"CONVERGED": len(t)},
        {"rings: a": 1},
    )


UNEVEN = np.concatenate(([0.0], np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 60)) / 60.0))


def test_a_slice_holds_its_samples_and_the_head():
    result = smooth(UNEVEN)
    part = result[3:40:4]
    np.testing.assert_array_equal(part.t, UNEVEN[3:40:4])
    np.testing.assert_array_equal(part["a.position"], result["a.position"][3:40:4])
    assert (part.name, part.outcomes, part.warnings) == (result.name, result.outcomes, result.warnings)
    assert part.frame("a.position") == "world"
    assert len(result[-5:]) == 5


def test_a_span_holds_both_ends():
    result = smooth(UNEVEN)
    part = result.between(UNEVEN[7], UNEVEN[12])
    np.testing.assert_array_equal(part.t, UNEVEN[7:13])


@pytest.mark.parametrize(("kind", "order"), [("linear", 2), ("cubic", 4)])
def test_values_between_samples_have_their_order(kind, order):
    errors = []
    times = np.linspace(0.0, 1.0, 997)
    for count in (40, 80, 160):
        found = smooth(np.linspace(0.0, 1.0, count + 1)).at(times, kind)
        exact = smooth(times)
        errors.append([np.abs(found[name] - exact[name]).max() for name in ("a.angle", "a.position", "a.orientation")])
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(rates > order - 0.25), rates
    np.testing.assert_allclose(np.linalg.norm(found["a.orientation"], axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_samples_that_are_met_keep_their_bytes(kind):
    result = smooth(UNEVEN)
    again = result.at(UNEVEN, kind)
    for name in result.names():
        np.testing.assert_array_equal(again[name], result[name])


def test_between_a_sound_and_a_doubtful_sample_is_doubt():
    result = smooth(np.array([0.0, 0.4, 0.8]))
    np.testing.assert_array_equal(result.at([0.2, 0.4, 0.5, 0.8])["a.reaction_doubtful"], [0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda r: r.at([0.0, 2.0]), "times go from 0 s to 2 s, and the result from 0 s to"),
        (lambda r: r.at([0.2, 0.1]), "they must be finite and ascend"),
        (lambda r: r.at([]), "they must be finite and ascend"),
        (lambda r: r.at([0.0, np.nan]), "they must be finite and ascend"),
        (lambda r: r.at("soon"), "times is 'soon'; it must be a list of times"),
        (lambda r: r.at([0.1], "quintic"), "kind is 'quintic'; it must be one of 'linear', 'cubic'"),
        (lambda r: r.between(5.0, 6.0), "no sample lies between t = 5 s and t = 6 s"),
        (lambda r: r.between("a", 1.0), "between takes two times in seconds; 'a' is none"),
        (lambda r: r[0.1:0.2], "is no slice of samples; whole numbers count samples, and result.between"),
        (lambda r: r[::-1], "goes backwards; time must ascend"),
        (lambda r: r[5:5], "are none; give a slice that holds one at least"),
        (lambda r: r["a.anlge"], "there is no channel named 'a.anlge'; did you mean 'a.angle'"),
    ],
)
def test_what_no_part_can_be_is_one_sentence(act, told):
    with pytest.raises(rtmbs.RtmbsError) as caught:
        act(smooth(UNEVEN))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def same(a, b):
    assert a.names() == b.names()
    for name in a.names():
        mine, theirs = a.channel(name), b.channel(name)
        np.testing.assert_array_equal(mine.values, theirs.values)
        assert (mine.axes, mine.unit, mine.frame) == (theirs.axes, theirs.unit, theirs.frame)
    assert (a.name, a.fingerprint, a.outcomes, a.warnings) == (b.name, b.fingerprint, b.outcomes, b.warnings)


def test_results_of_runs_can_be_pickled():
    system = library.build("crank_rocker").compile()
    plain = rtmbs.Simulation(system, h=1e-2).run(0.1)
    same(plain, pickle.loads(pickle.dumps(plain)))
    same(plain[2:], pickle.loads(pickle.dumps(plain[2:])))
    refined = rtmbs.refined(system, 1e-2, 0.1)
    again = pickle.loads(pickle.dumps(refined))
    same(refined, again)
    name = next(one for one in refined.names() if one.endswith(".position"))
    np.testing.assert_array_equal(refined.error(name), again.error(name))


def test_an_event_in_a_pickle_has_its_name_and_no_function():
    sim = rtmbs.Simulation(library.build("pendulum").compile(), h=1e-2)
    result = sim.run(1.0, tolerance=1e-4, when=Event(lambda s: s.t - 0.5, name="half"))
    again = pickle.loads(pickle.dumps(result))
    same(result, again)
    assert [(one.t, one.event.called) for one in again.events] == [(0.5, "half")]
    np.testing.assert_array_equal(again.steps.h, result.steps.h)
    with pytest.raises(InputError, match="event 'half' came with a pickled result"):
        again.events[0].event.when(None)


def test_a_notebook_shows_channels_below_their_elements():
    text = smooth(UNEVEN)._repr_html_()
    assert "61 samples, t = 0 s to" in text
    assert "<summary>a (4)</summary>" in text
    assert "warning: rings: a (1 time)" in text
    assert "<script" not in Result({"t": Source((), "s", StoredValues(UNEVEN))}, "<script>")._repr_html_()
