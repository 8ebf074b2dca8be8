"""Expressions: values against Python's, derivatives against the complex step and differences, text that reads back."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs import language
from rtmbs.ad import derivatives
from rtmbs.errors import LanguageError
from rtmbs.language import parse
from rtmbs.language.expressions import (
    FUNCTIONS,
    PAIRS,
    Expression,
    ExpressionProfile,
    ExpressionRow,
    jet_at,
    value_at,
    written,
)
from rtmbs.language.scope import Quantity, Scope, Timed
from rtmbs.system.user_functions import identity


def meaning(text, constants=None):
    sheet = parse(f"MODEL a b (c = {text}); ENDMODEL", large=True)
    return Scope(sheet.source, constants or {}).evaluate(sheet.statements[0].arguments[0].value)


def number(text, **constants):
    found = meaning(text, constants)
    assert isinstance(found, Quantity)
    return found.value


def steps(text, **constants):
    found = meaning(text, constants)
    assert isinstance(found, Timed)
    return found.steps


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -3 ^ 2", 2.0**-9),
        ("(1 - 2) - 3", -4.0),
        ("1 - (2 - 3)", 2.0),
        ("8 / 4 / 2", 1.0),
        ("--3 + +2", 5.0),
        ("sin(pi / 6)", math.sin(math.pi / 6)),
        ("SQRT(2) * Cos(0)", math.sqrt(2)),
        ("atan2(1, -1)", 0.75 * math.pi),
        ("min(r, 2) + max(r, 5)", 7.0),
        ("2 mm", 2e-3),
        ("3 kN/mm", 3e6),
        ("9.81 m/s^2", 9.81),
        ("72 km/h", 20.0),
        ("60 rpm", 2 * math.pi),
        ("1 kg*m^2/s^2", 1.0),
        ("-90 deg", -math.pi / 2),
        (".5e1", 5.0),
    ],
)
def test_numbers(text, value):
    assert number(text, r=3.0) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["TIME ^ 2 - 1", "sin(3 * TIME) / (1 + TIME)", "max(TIME, 0.5)", "abs(TIME - 1)"])
def test_many_times_at_once_are_one_time_after_the_other(text):
    times = np.linspace(0.0, 2.0, 17)
    for profile in (ExpressionProfile(steps(text)), ExpressionProfile((("number", 2.5),))):
        one_by_one = np.array([profile(t) for t in times.tolist()])
        np.testing.assert_allclose(profile.many(times), one_by_one.T, rtol=1e-14, atol=1e-300)


def test_a_constant_hides_no_unit_and_no_time():
    assert number("3 m / s", s=6.0) == 0.5
    assert steps("TIME + Time + time")[0] == ("time", 0.0)


LEAVES = st.sampled_from(["TIME", "TIME", "1.5", "0.25", "2", "r"])


def grown(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "^"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "^"]), inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(sorted(PAIRS)), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        inner.map(lambda p: f"-{p}"),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=12)
PYTHON = {
    **{name: function.value for name, function in FUNCTIONS.items()},
    **{name: function.value for name, function in PAIRS.items()},
    "r": np.float64(3.0),
}


def by_python(text, t):
    """The same text by Python's own eval: its operators bind as the language's do, with ** for ^."""
    names = {**PYTHON, "TIME": np.float64(t)}
    floats = text.replace("1.5", "f(1.5)").replace("0.25", "f(0.25)")
    with np.errstate(all="ignore"):
        return eval(floats.replace("^", "**"), {"__builtins__": {}, "f": np.float64, **names})


@given(EXPRESSIONS, st.floats(0.1, 2.0))
def test_values_are_those_of_python(text, t):
    try:
        found = meaning(text, {"r": 3.0})
        wanted = float(by_python(text, t))
    except (LanguageError, ZeroDivisionError, OverflowError, TypeError, ValueError):
        return  # no number, by either
    if isinstance(found, Timed) and np.isfinite(wanted):
        assert Expression(found.steps)(t) == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    elif isinstance(found, Quantity):
        assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-300)


@given(EXPRESSIONS)
def test_what_is_written_reads_back_to_the_same_instructions(text):
    try:
        found = meaning(text, {"r": 3.0})
    except LanguageError:
        return
    if isinstance(found, Timed):
        assert steps(written(found.steps)) == found.steps


SMOOTH = [
    "8 + 3 * sin(4 * TIME)", "TIME ^ 3 - 2 * TIME ^ 2", "2 ^ TIME", "(1 + TIME) ^ sin(TIME)", "TIME / (1 + TIME ^ 2)",
    "tan(TIME / 3)", "asin(TIME / 5)", "acos(TIME / 5)", "atan(TIME)", "sinh(TIME) * tanh(TIME)", "cosh(TIME)",
    "exp(-TIME) * cos(9 * TIME)", "log(1 + TIME)", "log10(2 + TIME)", "sqrt(1 + TIME)", "abs(TIME - 9)",
    "atan2(sin(TIME), 2 + cos(TIME))", "min(TIME, 5)", "max(TIME ^ 2, -1)", "-(TIME - 2) ^ 2", "(TIME - 2) ^ 1",
    "sign(TIME)",
]  # fmt: skip


@pytest.mark.parametrize("text", SMOOTH)
@pytest.mark.parametrize("t", [0.3, 0.7, 1.9])
def test_rates_and_accelerations(text, t):
    found = steps(text)
    h = 1e-4
    f = [value_at(found, t + k * h) for k in (-2, -1, 0, 1, 2)]
    slope = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h)
    bend = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h)
    value, fd, fdd = ExpressionProfile(found)(t)
    assert value == pytest.approx(f[2], rel=1e-15)
    assert fd == pytest.approx(slope, rel=1e-9, abs=1e-9)
    assert fdd == pytest.approx(bend, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    "text", [text for text in SMOOTH if not any(word in text for word in ("abs", "atan2", "min", "max", "sign"))]
)
def test_rates_by_the_complex_step(text):
    found = steps(text)
    assert jet_at(found, 0.7).fd == pytest.approx(value_at(found, 0.7 + 1e-30j).imag / 1e-30, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("text", SMOOTH)
def test_expressions_can_be_recorded(text):
    f = Expression(steps(text))
    trace = derivatives(lambda x: np.array([f.value(x[0])]), 1)
    assert trace.jacobian(np.array([0.7]))[0, 0] == pytest.approx(float(jet_at(f.steps, 0.7).fd), rel=1e-12)


def test_arrays_of_times():
    found = steps("8 + 3 * sin(4 * TIME)")
    t = np.linspace(0.0, 1.0, 7)
    np.testing.assert_array_equal(value_at(found, t), [Expression(found)(one) for one in t])
    np.testing.assert_allclose(jet_at(found, t).fdd, -48.0 * np.sin(4.0 * t), rtol=1e-14)


def test_long_and_deep_expressions_need_no_recursion():
    assert number(" + ".join(["1"] * 5_000)) == 5_000.0
    long = steps(" * ".join(["TIME"] * 5_000))
    assert Expression(long)(1.0) == 1.0
    assert steps(written(long)) == long
    right = steps(" ^ ".join(["TIME"] * 5_000))
    assert steps(written(right)) == right
    deep = steps("-" * 5_000 + "TIME")
    assert Expression(deep)(2.0) == 2.0
    assert steps(written(deep)) == deep


def test_the_fingerprint_tells_expressions_apart():
    one, other = steps("sin(4 * TIME)"), steps("sin(4.5 * TIME)")
    assert identity(Expression(one)) == identity(Expression(steps("sin(w * TIME)", w=4.0)))
    assert identity(Expression(one)) != identity(Expression(other))
    assert identity(ExpressionProfile(one)) != identity(ExpressionProfile(other))
    assert identity(ExpressionRow((one, one))) != identity(ExpressionRow((one, other)))
    assert identity(Expression(one)) != identity(ExpressionProfile(one))


def test_jumps():
    assert Expression(steps("sin(TIME)")).jumps == ()
    assert Expression(steps("sign(TIME - 1)")).jumps is None
    assert ExpressionRow((steps("TIME"), steps("abs(TIME)"))).jumps is None


RAIL = """MODEL m
SYSTEM (KINEMATIC ANALYSIS);
constant g = 9.81; constant m = 2;
BODY b (); BODY w (mass = 1, inertia = (1 kg*m^2, 1, 1));
prismatic joint p (body = ground, body = b, axis = (1, 0, 0));
revolute joint r (body = ground, body = w, axis = (0, 0, 1));
triad o (body = w, origin = (0, 1, 0)); triad f (body = ground, origin = (0, 3, 0));
motor push (joint = r, torque = 3 N*m);
driver d (WAY);
ENDMODEL
"""
OTHER_UNITS = [
    ("p = 30 kg", "its value is in kg; it must be in m"),
    ("p = -2 s", "its value is in s; it must be in m"),
    ("p = 90 deg", "its value is an angle or a number without a unit; it must be in m"),
    ("p = 1 kg + 2 kg", "its value is in kg; it must be in m"),
    ("r = 30 mm", "its value is in m; it must be an angle or a number without a unit"),
    ("w.yaw = 3 m", "its value is in m; it must be an angle"),
    ("w.x = 3 deg", "it must be in m"),
    ("o.y = 3 kg", "its value is in kg; it must be in m"),
    ("distance(o, f) = 2 rad", "it must be in m"),
    ("angle(o.f, f.f) = 2 m", "it must be an angle"),
    ("r = constant rate(60 mm)", "rate of constant rate is in m; it must be in s^-1"),
    ("p = constant rate(2 m, 1)", "rate of constant rate is in m; it must be in m s^-1"),
    ("p = sine(1 kg, 2 Hz)", "amplitude of sine is in kg; it must be in m"),
    ("p = sine(1 mm, 2 s)", "frequency_rad_s of sine is in s; it must be in s^-1"),
    ("p = 2 * spline([0 s, 1 m], [0, 1])", "t of spline is in m; it must be in s"),
    ("p = spline([0, 1 s], [0 m, 1 kg])", "values of spline is in kg; it must be in m"),
    ("p = 0.5 m*g", "g stands behind a number in a unit, and g is a constant too"),
    ("p = 1 kg*m * TIME", "m stands behind a number in a unit, and m is a constant too"),
]
RIGHT_UNITS = [
    ("p = 30 mm", 0.03),
    ("p = 1 m + 2 mm", 1.002),
    ("p = 0.5 m * g", 4.905),
    ("p = TIME - 0.5 s", -0.5),
    ("p = sine(1 mm, 2 Hz, 90 deg, 1 m)", 1.001),
    ("p = smooth step(0 s, 500 ms, 20 mm, 30 mm)", 0.02),
    ("r = 180 deg", np.pi),
    ("r = constant rate(60 rpm, 0.5 turn)", np.pi),
]


@pytest.mark.parametrize(("way", "says"), OTHER_UNITS)
def test_a_driver_in_the_unit_of_another_quantity_is_refused(way, says):
    with pytest.raises(LanguageError, match=re.escape(says)):
        language.build(RAIL.replace("WAY", way))


@pytest.mark.parametrize(("way", "value"), RIGHT_UNITS)
def test_a_driver_takes_its_own_units(way, value):
    profile = language.build(RAIL.replace("WAY", way)).model.drivers["d"].profile
    assert profile(0.0)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("line", ["constant w = 3 kg*g;", "initial r (position = 3 m);", "initial p (rate = 2 m);"])
def test_other_units_elsewhere_are_refused(line):
    with pytest.raises(LanguageError, match=r"constant too|it must be"):
        language.build(RAIL.replace("WAY", "w.x = 0").replace("ENDMODEL", f"{line} ENDMODEL"))


@pytest.mark.parametrize(
    ("constants", "way", "says"),
    [
        ("constant L = 300 mm;", "r = L", "its value is in m; it must be an angle or a number without a unit"),
        ("constant L = 300 mm; constant K = L - 2 cm;", "r = -K", "its value is in m; it must be an angle"),
        (
            "constant L = [30 deg, 2 m];",
            "p = L[1]",
            "its value is an angle or a number without a unit; it must be in m",
        ),
    ],
)
def test_a_constant_has_the_unit_of_its_number(constants, way, says):
    text = RAIL.replace("constant g", f"{constants} constant g")
    with pytest.raises(LanguageError, match=re.escape(says)):
        language.build(text.replace("WAY", way))
    other = {"r": "p", "p": "r"}[way[0]] + way[1:]
    assert language.build(text.replace("WAY", other)).model.drivers


def test_a_constant_takes_a_value_of_its_unit_from_outside():
    text = RAIL.replace("constant g", "constant L = 300 mm; constant K = 2; constant g").replace("WAY", "p = L")
    for value in (0.2, "20 cm"):
        assert language.build(text, constants={"L": value}).constants["L"] == pytest.approx(0.2)
    with pytest.raises(LanguageError, match="constant 'L': the value from outside is in kg; it must be in m"):
        language.build(text, constants={"L": "2 kg"})
    with pytest.raises(LanguageError, match="its value is in kg; it must be in m"):
        language.build(text.replace("p = L", "p = K"), constants={"K": "2 kg"})


STARTS = [
    ("cylindrical", "position = (90 deg, 5 mm)", "position is an angle or a number without a unit; it must be in m"),
    ("cylindrical", "rate = (2 mm/s, 3 mm/s)", "rate is in m s^-1; it must be in s^-1"),
    ("spherical", "position = (1, 0, 0, 1 mm)", "position is in m; it must be an angle or a number without a unit"),
    ("floating", "position = (1 m, 2 m, 1 deg, 1, 0, 0, 0)", "it must be in m"),
    ("planar", "position = (1 mm, 2 mm, 3 mm)", "it must be an angle or a number without a unit"),
    ("cylindrical", "position = (5 mm, 90 deg), rate = (2 mm/s, 3 rpm)", ""),
    ("spherical", "position = (1, 0, 0, 0), rate = (1 rpm, 2 deg/s, 3)", ""),
    ("floating", "position = (1 mm, 2, 0, 1, 0, 0, 0), rate = (1 mm/s, 0, 0, 1 rpm, 2, 3 deg/s)", ""),
]


@pytest.mark.parametrize(("kind", "start", "says"), STARTS)
def test_every_number_of_an_initial_value_has_its_own_unit(kind, start, says):
    place = "triad = o, triad = s" if kind != "floating" else "body = ground, body = w"
    lines = f"triad s (body = ground); {kind} joint c ({place}); initial c ({start});"
    text = RAIL.replace("WAY", "p = 0").replace("ENDMODEL", f"{lines} ENDMODEL")
    if not says:
        assert "c" in language.build(text).model.initials
        return
    with pytest.raises(LanguageError, match=re.escape(says)):
        language.build(text)


@pytest.mark.parametrize(
    ("constants", "axis", "found"),
    [
        (
            "constant P = [1 m, 2 m, 3 m]; constant Q = [4 m, 6 m, 300 cm];",
            "(Q[1]-P[1], Q[2]-P[2], Q[3]-P[3])",
            (0.6, 0.8),
        ),
        ("constant a = 3 mm;", "(a, 4 mm, 0)", (0.6, 0.8)),
        ("constant a = 3 mm; constant b = 2 kg;", "(a, b, 0)", None),
    ],
)
def test_a_direction_is_one_between_points(constants, axis, found):
    text = RAIL.replace("WAY", "p = 0").replace("constant g", f"{constants} constant g")
    text = text.replace("axis = (0, 0, 1)", f"axis = {axis}")
    if found is None:
        with pytest.raises(LanguageError, match="revolute joint 'r': axis is in m; it must be an angle or a number"):
            language.build(text)
        return
    assert language.build(text).model.joints["r"].type.axis == pytest.approx((*found, 0.0), abs=1e-15)
