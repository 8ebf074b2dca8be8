"""A Result by name: axes, units, unknown and doubtful names, and its file.

Parts of a result: slices, spans, values between samples, pickles.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs import Event, library
from rtmbs.core.files import write_archive
from rtmbs.errors import InputError
from rtmbs.results import Channel, Result, load_result
from rtmbs.results.channel import QUATERNION, Source, StoredValues
from tests.mechanisms import random_model
from tests.patience import LONGEST
from tests.results.motions import result_of, smooth_motion

T = np.linspace(0.0, 1.0, 5)


@pytest.fixture(scope="module")
def result():
    """Every kind of channel there is."""
    system = random_model(3, 10).compile()
    return result_of(system, smooth_motion(system, T))


def test_the_text_counts_steps_that_are_doubtful():
    """A light coupler near its dead centre: the run goes on, and its text says what it is worth."""
    model = rtmbs.Model("four-bar", gravity=(0, -9.81, 0))
    places = {"crank": (0.0, 0.0, 0.0), "coupler": (0.0, 0.4, 0.0), "rocker": (1.0, 0.0, 0.0)}
    for name, mass in (("crank", 1.0), ("coupler", 1e-6), ("rocker", 1e3)):
        center = (0.0, 0.0 if name == "coupler" else 0.2, 0.0)
        model.add_body(name, mass=mass, inertia=(0.01 * mass,) * 3, position=places[name], center_of_mass=center)
    pins = {"a": ("ground", "crank"), "b": ("crank", "coupler"), "c": ("coupler", "rocker"), "d": ("ground", "rocker")}
    for (name, ends), point in zip(pins.items(), ((0, 0, 0), (0, 0.4, 0), (1, 0.9, 0), (1, 0, 0)), strict=True):
        model.add_joint(name, rtmbs.Revolute((0, 0, 1)), *ends, point=point)
    model.set_initial("a", rate=0.5)
    run = rtmbs.Simulation(model.compile(), h=1e-3).run(0.65)
    assert run.outcomes["UNBALANCED"] > 0
    assert f"{run.outcomes['UNBALANCED']} steps UNBALANCED" in repr(run)


def test_every_channel_has_as_many_axes_and_units_as_components(result):
    for name in result.names():
        channel = result.channel(name)
        assert isinstance(channel, Channel)
        assert channel.name == name
        assert channel.values.shape == (5, *([len(channel.axes)] if channel.axes else []))
        assert len(channel.unit.split(", ")) in (1, len(channel.axes))
        assert channel.unit
        assert np.isfinite(channel.values).all()
        assert not channel.values.flags.writeable
    assert len(result) == 5
    np.testing.assert_array_equal(result.t, T)


def test_every_kind_of_element_has_its_channels(result):
    some = {
        "body 3": ("position", "orientation", "velocity", "angular_velocity", "acceleration", "mass_center"),
        "marker 0": ("position", "velocity", "acceleration"),
        "tree 0": ("angle", "rate", "acceleration", "angle_rate", "angle_acceleration", "reaction"),
        "ghost": ("displacement", "angle_acceleration", "reaction", "violation", "violation_rate"),
        "rod": ("reaction", "tension", "violation_acceleration"),
        "driven distance": ("force", "violation"),
        "driven joint": ("force", "violation"),
        "spring 2": ("length", "pull"),
        "motor 0": ("torque",),
        "wrench 1": ("force", "torque"),
        "energy": ("kinetic", "weight", "elastic", "total"),
    }
    for element, channels in some.items():
        for channel in channels:
            assert f"{element}.{channel}" in result
    assert "ground.position" not in result
    assert result.channel("tree 0.angle").unit == "rad"
    assert result.channel("rod.reaction").axes == ("fx", "fy", "fz", "nx", "ny", "nz")
    assert result.channel("ghost.violation").axes == ("x", "y", "z", "turn_1", "turn_2", "turn_3")
    assert result.channel("ghost.violation_rate").unit == "m/s, m/s, m/s, 1/s, 1/s, 1/s"
    assert result.channel("body 3.position").frame == "world"
    np.testing.assert_array_equal(result["tree 0.rate"], result["tree 0.angle_rate"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tree 0.angel", r"no channel named 'tree 0.angel'; did you mean 'tree 0.angle'"),
        ("body 3.positon", r"did you mean 'body 3.position'"),
        ("reaction.rod", "there is no channel named"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(result, name, message):
    for ask in (result.channel, result.__getitem__):
        with pytest.raises(rtmbs.RtmbsError, match=message):
            ask(name)
    assert name not in result


def test_a_name_that_two_elements_claim_goes_to_neither():
    model = rtmbs.Model("names")
    model.add_body("slider", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("slider", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "slider")
    system = model.compile()
    result = result_of(system, smooth_motion(system, T))
    assert result["body:slider.acceleration"].shape == (5, 3)
    np.testing.assert_array_equal(result["joint:slider.acceleration"], result["body:slider.acceleration"][:, 0])
    np.testing.assert_array_equal(result["slider.displacement_acceleration"], result["joint:slider.acceleration"])
    assert "slider.position" in result
    with pytest.raises(rtmbs.RtmbsError, match=r"did you mean '(body|joint):slider.acceleration', '(body|joint):"):
        result["slider.acceleration"]


# ------------------------------------------------------------------------------------------------------------- the file


@pytest.fixture(scope="module")
def saved(result, tmp_path_factory):
    """The result with a head of its own, and its file."""
    channels = [result.channel(name) for name in result]
    sources = {one.name: Source(one.axes, one.unit, lambda one=one: one.values, one.frame) for one in channels}
    headed = Result(sources, "a model", "0123", {"CONVERGED": 4})
    path = tmp_path_factory.mktemp("results") / "run.npz"
    headed.save(path)
    return headed, path


def test_a_saved_result_answers_the_same_names_with_the_same_bytes(saved):
    result, path = saved
    loaded = rtmbs.load_result(path)
    assert loaded.names() == result.names()
    for name in result.names():
        one, other = result.channel(name), loaded.channel(name)
        assert one.values.tobytes() == other.values.tobytes()
        assert one.values.shape == other.values.shape
        assert (one.name, one.axes, one.unit, one.frame) == (other.name, other.axes, other.unit, other.frame)
    assert (loaded.name, loaded.fingerprint, loaded.outcomes) == ("a model", "0123", {"CONVERGED": 4})
    assert len(loaded) == 5
    with pytest.raises(rtmbs.RtmbsError, match=r"did you mean 'tree 0.angle'"):
        loaded["tree 0.angel"]


def test_a_loaded_result_may_be_saved_again(saved, tmp_path):
    _, path = saved
    rtmbs.load_result(path).save(tmp_path / "again.npz")
    first, again = rtmbs.load_result(path), rtmbs.load_result(str(tmp_path / "again.npz"))
    assert all(first[name].tobytes() == again[name].tobytes() for name in first)


def test_numpy_alone_reads_the_file_and_it_holds_no_pickle(saved):
    result, path = saved
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["tree 0.angle"], result["tree 0.angle"])
        assert dict(zip(file["channel_names"], file["channel_units"], strict=True))["tree 0.angle"] == "rad"


def test_loading_needs_no_compiler(saved):
    code = (
        "import sys, rtmbs; r = rtmbs.load_result(sys.argv[1]); r['tree 0.angle'];"
        "print([name for name in ('numba', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    root = Path(rtmbs.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved[1])],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_damaged_files_are_refused_by_name(saved, tmp_path):
    _, path = saved
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut.npz": whole[:middle],
        "empty.npz": b"",
        "text.npz": b"no result at all",
        "flipped.npz": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(rtmbs.errors.InputError, match=f"{name}' is (truncated or no result file|damaged)"):
            load_result(tmp_path / name)
    with pytest.raises(rtmbs.errors.InputError, match=r"missing.npz' does not exist"):
        load_result(tmp_path / "missing.npz")
    np.savez(tmp_path / "other.npz", a=1.0)
    with pytest.raises(rtmbs.errors.InputError, match="lacks format;"):
        load_result(tmp_path / "other.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(rtmbs.errors.InputError, match="no result file"):
        load_result(tmp_path / "array.npy")


def test_files_of_another_format_or_without_a_channel_are_refused(saved, tmp_path):
    with np.load(saved[1]) as file:
        data = {name: file[name] for name in file.files}
    del data["checksum"]
    np.savez(tmp_path / "newer.npz", **(data | {"format": 99}))
    with pytest.raises(rtmbs.errors.InputError, match="format 99, this version reads format 2"):
        load_result(tmp_path / "newer.npz")
    del data["rod.tension"], data["format"]
    write_archive(tmp_path / "lacking.npz", 2, data.items())
    with pytest.raises(rtmbs.errors.InputError, match=r"lacks the channel 'rod.tension'"):
        load_result(tmp_path / "lacking.npz")


def test_names_that_look_like_paths_survive(tmp_path):
    names = ["t", "../up.position", "a/b.position", "ünïcode.angle", "with space.x", "file.npy"]
    Result({name: Source((), "m", lambda: np.arange(3.0)) for name in names}).save(tmp_path / "odd.npz")
    loaded = load_result(tmp_path / "odd.npz")
    assert loaded.names() == names
    assert all(len(loaded[name]) == 3 for name in names)


def test_a_result_takes_no_attributes_of_its_own_and_no_numbers():
    result = Result({"t": Source((), "s", lambda: np.arange(3.0))})
    with pytest.raises(AttributeError, match=r"^a Result has no attribute 'foo'; result.to_pandas\(\)"):
        result.foo = 1
    with pytest.raises(AttributeError, match=r"^a Result has no attribute 'warnigs'; did you mean 'warnings'"):
        result.warnigs = {}
    with pytest.raises(AttributeError, match=r"^attribute 't' of a Result is for reading"):
        result.t = 1
    with pytest.raises(
        rtmbs.errors.InputError, match=r"^a Result takes the name of a channel or a slice, not 0; result"
    ):
        result[0]
    assert len(result[0:1]) == 1


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
