"""The contract of results: every kind answers by name, in files, tables, plots and comparisons.

The motion of each kind is known in closed form: a pendulum by Jacobi's elliptic functions, a linear oscillator and a
driven crank. Values are never compared with other values of rtmbs only.
"""

import csv
import math
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import rtmbs
from rtmbs.dae import RungeKutta, SolveIVP, integrate
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import (
    Baumgarte,
    FunctionSystem,
    JointCoordinates,
    NullSpace,
    Partitioning,
    ReferencePointCoordinates,
)
from rtmbs.kinematics import Analysis
from rtmbs.model import ConstantRate
from rtmbs.recursive import run, run_threads
from rtmbs.results.channel import QUATERNION, Source, StoredValues

GRAVITY, START, END, H = 9.81, 1.2, 1.0, 0.01  # [m/s^2], [rad], [s], [s]
W = math.sqrt(GRAVITY)  # of small swings [1/s], for a point mass at 1 m
INERTIA = 0.25  # of the bar about its mass centre [kg m^2], 1 kg at 1 m


def angle(t, w=W):
    """Angle of a pendulum from rest at START: sin(a/2) = k cd(w t, k); Whittaker, Analytical Dynamics, 44."""
    k = math.sin(0.5 * START)
    sn = ellipj(w * np.asarray(t) + ellipk(k * k), k * k)[0]
    return 2.0 * np.arcsin(k * sn)


def rate(t):
    """Its rate, by a' = 2 w k cn / sqrt(1 - k^2 sn^2) of the same arguments."""
    k = math.sin(0.5 * START)
    _, cn, _, _ = ellipj(W * np.asarray(t) + ellipk(k * k), k * k)
    return 2.0 * W * k * cn


def bob(t):
    """Place of the bob from the pivot (k, 3)."""
    return np.stack((np.sin(angle(t)), -np.cos(angle(t)), np.zeros_like(t)), axis=1)


def tension(t):
    """Force along the rod [N] for 1 kg: 3 cos a - 2 cos a0 times the weight."""
    return GRAVITY * (3.0 * np.cos(angle(t)) - 2.0 * math.cos(START))


# ---------------------------------------------------------------------------------------------------------- the kinds

SWING = {
    "pivot.angle": angle,
    "pivot.rate": rate,
    "pivot.acceleration": lambda t: -GRAVITY * np.sin(angle(t)),
}
RING = {
    "n": 2,
    "m": 1,
    "mass": lambda q, t: np.eye(2),
    "force": lambda q, v, t: np.array([0.0, -GRAVITY]),
    "constraints": lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0],
}
FINE = SolveIVP("DOP853", Partitioning(), rtol=1e-11, atol=1e-12)


def pendulum():
    return rtmbs.library.build("pendulum", angle=START).compile()


def recorded_run():
    return rtmbs.Simulation(pendulum(), h=1e-3).run(END, record=rtmbs.Every(H)), SWING, 2e-4


def chosen_channels():
    sim = rtmbs.Simulation(pendulum(), h=1e-3)
    return sim.run(END, record=rtmbs.Every(H), channels=[*SWING, "P.position", "energy.total"]), SWING, 2e-4


def run_by_tolerance():
    sim = rtmbs.Simulation(pendulum(), h=1e-3)
    return sim.run(END, record=rtmbs.Every(H), tolerance=1e-6), SWING, 1e-4


def explicit_run():
    sim = rtmbs.Simulation(pendulum(), h=1e-3, method=rtmbs.RungeKutta())
    return sim.run(END, record=rtmbs.Every(H)), SWING, 1e-8


def named_functions():
    system = FunctionSystem(**RING, coordinate_names=["x", "y"], row_names=["length"])
    found = integrate(system, FINE, bob([0.0])[0, :2], np.zeros(2), END, H)
    expected = {
        "x": lambda t: bob(t)[:, 0],
        "y": lambda t: bob(t)[:, 1],
        "x.rate": lambda t: np.cos(angle(t)) * rate(t),
        "y.acceleration": lambda t: tension(t) * np.cos(angle(t)) - GRAVITY,
        "q": lambda t: bob(t)[:, :2],
        "length.multiplier": lambda t: 0.5 * tension(t),  # Phi_q is twice the radius
        "violation.position": np.zeros_like,
    }
    return found, expected, 1e-8


def unnamed_functions():
    """A linear oscillator, x'' = -25 x from x = 0.3, beside a coordinate that stands still."""
    system = FunctionSystem(
        2, 1, lambda q, t: np.eye(2), lambda q, v, t: np.array([-25.0 * q[0], -GRAVITY]), lambda q, t: [q[1]]
    )
    found = integrate(system, FINE, np.array([0.3, 0.0]), np.zeros(2), END, H)
    expected = {
        "q0": lambda t: 0.3 * np.cos(5.0 * t),
        "v0": lambda t: -1.5 * np.sin(5.0 * t),
        "a0": lambda t: -7.5 * np.cos(5.0 * t),
        "q1": np.zeros_like,
        "lambda0": lambda t: np.full_like(t, -GRAVITY),  # M a + Phi_q^T lambda = F
    }
    return found, expected, 1e-8


def joint_coordinates():
    system = JointCoordinates(pendulum())
    found = integrate(system, FINE, np.array([START]), np.zeros(1), END, H)
    return found, {"pivot.angle": angle, "pivot.angle.rate": rate, "q": lambda t: angle(t)[:, None]}, 1e-8


def reference_points():
    """A bar in seven coordinates a body; the first body is ground."""
    model = rtmbs.Model("bar", gravity=(0, -GRAVITY, 0))
    model.add_body("bar", mass=1.0, center_of_mass=(0, -1, 0), inertia=(0.2, 0.2, INERTIA))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "bar", point=(0, 0, 0))
    system = ReferencePointCoordinates(model)
    q = np.zeros(system.n)
    q[3], q[-4], q[-1] = 1.0, math.cos(0.5 * START), math.sin(0.5 * START)
    found = integrate(system, RungeKutta(formulation=Baumgarte(50.0, 50.0)), q, np.zeros(system.n), END, H)
    slow = math.sqrt(GRAVITY / (1.0 + INERTIA))
    return found, {"bar.e3": lambda t: np.sin(0.5 * angle(t, slow)), "bar.x": np.zeros_like}, 1e-6


def driven_crank():
    """A crank of 1 m that turns with 3 rad/s from the hanging pose."""
    model = rtmbs.Model("crank")
    model.add_body("crank", mass=1.0)
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "crank", point=(0, 0, 0))
    model.add_marker("pin", "crank", (0, -1, 0))
    model.add_driver("motor", ConstantRate(3.0), joint="pivot")
    expected = {
        "pivot.angle": lambda t: 3.0 * t,
        "pivot.rate": lambda t: np.full_like(t, 3.0),
        "crank.angle": lambda t: 3.0 * t,
        "crank.orientation": lambda t: np.stack((np.cos(1.5 * t), 0.0 * t, 0.0 * t, np.sin(1.5 * t)), axis=1),
        "pin.position": lambda t: np.stack((np.sin(3.0 * t), -np.cos(3.0 * t), 0.0 * t), axis=1),
        "pin.acceleration": lambda t: -9.0 * np.stack((np.sin(3.0 * t), -np.cos(3.0 * t), 0.0 * t), axis=1),
    }
    return Analysis(model).run(0.0, END, H), expected, 1e-8


def recursion():
    return run(pendulum(), np.array([START]), np.zeros(1), np.linspace(0.0, END, 101), 1e-3), SWING, 1e-8


def recursion_on_threads():
    times = np.linspace(0.0, END, 101)
    return run_threads(pendulum(), np.array([START]), np.zeros(1), times, 1e-3, 1), SWING, 1e-8


KINDS = [
    recorded_run,
    chosen_channels,
    run_by_tolerance,
    explicit_run,
    named_functions,
    unnamed_functions,
    joint_coordinates,
    reference_points,
    driven_crank,
    recursion,
    recursion_on_threads,
]
made = cache(lambda kind: kind())


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    """Return a result, its channels in closed form, and how near it is."""
    return made(request.param)


# ------------------------------------------------------------------------------------------------------- the contract


def test_values_are_those_of_the_closed_form(kind):
    result, expected, tolerance = kind
    assert expected
    np.testing.assert_allclose(result.t, np.linspace(0.0, END, 101), atol=1e-12)
    for name, exact in expected.items():
        np.testing.assert_allclose(result[name], exact(result.t), rtol=0, atol=tolerance, err_msg=name)


def test_channels_answer_by_name_pattern_and_list(kind):
    result, expected, _ = kind
    first, *_ = expected
    assert result.keys() == result.names() == list(result) == list(dict(result))
    assert result.names()[0] == "t"
    assert {*expected} <= {*result["*"]}
    assert list(result[[first, "t"]]) == [first, "t"]
    assert first in result
    assert f"{first}." not in result
    np.testing.assert_array_equal(result[first[:-1] + "?"][first], result[first])
    with pytest.raises(UnknownNameError, match="there is no channel named 'blok'"):
        result["blok"]


def test_channels_know_axes_units_and_frame(kind):
    result, _, _ = kind
    for name in result:
        channel = result.channel(name)
        assert (channel.axes, channel.unit) == result.about(name)
        assert channel.frame == result.frame(name)
        assert channel.values.shape == ((len(result), len(channel.axes)) if channel.axes else (len(result),))
        assert len(channel.units) == max(len(channel.axes), 1)
        assert np.all(np.isfinite(channel.values)), name
        assert not channel.values.flags.writeable


@pytest.mark.parametrize("ending", [".npz", ".h5", ".parquet"])
def test_files_bring_every_byte_back(kind, ending, tmp_path):
    result, _, _ = kind
    path = tmp_path / f"run{ending}"
    result.save(path)
    loaded = rtmbs.load_result(path)
    assert loaded.names() == result.names()
    assert (loaded.name, loaded.fingerprint) == (result.name, result.fingerprint)
    assert (loaded.outcomes, loaded.warnings) == (result.outcomes, result.warnings)
    for name in result:
        assert loaded.about(name) == result.about(name)
        assert loaded.frame(name) == result.frame(name)
        assert loaded[name].tobytes() == result[name].tobytes(), name


def test_a_table_of_text_has_every_digit(kind, tmp_path):
    result, _, _ = kind
    result.save(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    wanted = ["t (s)"] + [
        f"{label} ({unit})" if unit else label
        for name in result
        if name != "t"
        for label, unit, _ in result.channel(name).components
    ]
    assert head == wanted
    numbers = np.array(rows, np.float64)
    columns = np.column_stack([result.t, *(result[name] for name in result if name != "t")])
    np.testing.assert_array_equal(numbers, columns)


def test_a_pickle_is_the_same_result(kind):
    result, _, _ = kind
    copy = pickle.loads(pickle.dumps(result))
    assert copy.names() == result.names()
    assert all(copy[name].tobytes() == result[name].tobytes() for name in result)


def test_comparison_finds_a_shift(kind, tmp_path):
    """A result agrees with its own file, and lies as far from a shifted one as the shift."""
    result, expected, _ = kind
    result.save(tmp_path / "run.npz")
    loaded = rtmbs.load_result(tmp_path / "run.npz")
    assert rtmbs.compare(result, loaded, tolerance=1e-15).verdict.name == "AGREE"
    first, *_ = expected
    sources = {
        name: Source(*result.about(name), StoredValues(result[name] + 1e-3 * (name == first)), result.frame(name))
        for name in result
    }
    found = rtmbs.compare(result[::2], rtmbs.Result(sources), first, tolerance=1e-9)
    assert len(found.t) == 51
    assert found.worst.name == first
    assert found.worst.largest == pytest.approx(1e-3, rel=1e-9)
    assert found.verdict.name == "DIFFER"


def test_samples_between_others_follow_the_closed_form(kind):
    result, expected, tolerance = kind
    times = np.array([0.0, 0.123, 0.456, 0.7891, END])
    cubic = result.at(times, kind="cubic")
    np.testing.assert_array_equal(cubic.t, times)
    for name, exact in expected.items():
        if result.about(name)[0] != QUATERNION:
            np.testing.assert_allclose(cubic[name], exact(times), rtol=0, atol=tolerance + 1e-4, err_msg=name)
        np.testing.assert_array_equal(cubic[name][0], result[name][0])
    middle = result.between(0.2, 0.4)
    np.testing.assert_array_equal(middle.t, result.t[20:41])
    with pytest.raises(InputError, match="nothing is extrapolated"):
        result.at([END + 1.0])


def test_tables_have_a_column_for_each_component(kind):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    result, expected, _ = kind
    frame, data = result.to_pandas(), result.to_xarray()
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(data, xarray.Dataset)
    for name in result:
        if name == "t":
            continue
        for label, unit, values in result.channel(name).components:
            np.testing.assert_array_equal(frame[label], values)
            assert frame.attrs["units"][label] == unit
        np.testing.assert_array_equal(data[name], result[name])
    assert list(result.to_pandas(*expected).index) == list(result.t)


def test_a_plot_has_a_panel_for_each_unit(kind, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result, expected, _ = kind
    figure = result.plot(*expected, file=tmp_path / "run.png")
    components = [part for name in expected for part in result.channel(name).components]
    assert len(figure.axes) == len({unit for _, unit, _ in components})
    lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    assert {*lines} == {label for label, *_ in components}
    for label, unit, values in components:
        np.testing.assert_array_equal(lines[label].get_xdata(), result.t)
        np.testing.assert_array_equal(lines[label].get_ydata(), values)
        named = lines[label].axes.get_ylabel()
        shown = unit.replace("^2", "\N{SUPERSCRIPT TWO}")
        assert named.endswith(f"[{shown}]") if unit not in ("", "1") else "[" not in named
    assert figure.axes[-1].get_xlabel() == "t [s]"
    assert (tmp_path / "run.png").stat().st_size > 1000
    pyplot.close(figure)


def test_it_shows_itself_in_terminal_and_notebook(kind):
    result, expected, _ = kind
    text = repr(result)
    assert text.startswith((f"Result('{result.name}'", "ControlledResult("))
    assert f"{len(result)} samples of {len(result.names())} channels" in text
    if result.report is not None:
        assert result.report.summary() in text
    page = result._repr_html_()
    for name in expected:
        assert f">{name.rpartition('.')[2]}</td>" in page
    assert result._ipython_key_completions_() == result.names()


def test_an_unknown_attribute_is_refused(kind):
    result, _, _ = kind
    with pytest.raises(AttributeError, match="has no attribute 'countz'"):
        _ = result.countz
    assert not hasattr(result, "_repr_png_")
    assert getattr(result, "lam", None) is None or result.lam is result["lambda"]


def test_reports_say_what_it_took():
    found, _, _ = made(named_functions)
    assert found.counts.evaluations == found.report.counts.evaluations > 100
    assert found.wall > 0.0
    assert found.q is found["q"]
    assert found.lam.shape == (101, 1)
    crank, _, _ = made(driven_crank)
    assert crank.counters.total_iterations >= 1
    assert crank.mobility.degrees_of_freedom == 0
    shared, _, _ = made(recursion_on_threads)
    assert (shared.ranks, shared.shares) == (1, (1,))
    np.testing.assert_array_equal(shared.z[:, 0], shared["pivot.angle"])


def test_names_that_do_not_tell_columns_apart_are_numbers():
    system = FunctionSystem(**RING, coordinate_names=["x", "x"])
    found = integrate(system, RungeKutta(), bob([0.0])[0, :2], np.zeros(2), 0.1, H)
    assert {"q0", "q1", "v0", "a1", "lambda0"} <= {*found.names()}
    assert found.about("q") == (("0", "1"), "")


def test_a_formulation_without_multipliers_leaves_them_out():
    method = RungeKutta(formulation=Baumgarte(50.0, 50.0, within=NullSpace()))
    found = integrate(FunctionSystem(**RING), method, bob([0.0])[0, :2], np.zeros(2), 0.1, H)
    assert not [name for name in found if name.startswith("lambda")]
    assert "a1" in found
