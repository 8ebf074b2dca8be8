"""Loops, submodels, arrays, profiles in expressions, ``if``, driven triads, curves, measures, given constants."""

import numpy as np
import pytest

import rtmbs
from rtmbs import language
from rtmbs.errors import LanguageError, MotionError
from rtmbs.kinematics import Analysis
from rtmbs.language.expressions import ExpressionProfile, value_at
from rtmbs.model import SmoothStep, Spline

HEAD = "MODEL m\nSYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 0.1);\n"
WHEEL = "BODY w (); revolute joint j (body = ground, body = w, axis = (0, 0, 1));\n"
BUMP = "BODY t (); triad u (body = t); cam c (triad = u, body = w, radius = 2 + cos(s));"
PIN = "BODY b (); cylindrical joint pin (body = ground, body = b, axis = (0, 0, 1));"


def document(text, **options):
    return language.build(f"{HEAD}{text}\nENDMODEL", **options)


def motion(text, **options):
    made = document(text, **options)
    return language.with_measures(made, Analysis(made.model, made.constraints).run(0.0, 1.0, 0.1))


def profile(value):
    return document(f"{WHEEL} driver d (j = {value});").model.drivers["d"].profile


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("2 + 3 * smooth step(0, 1, 0, 1)", lambda t: 2.0 + 3.0 * SmoothStep(0, 1, 0, 1)(t)[0]),
        ("smooth step(0, 1, 0, 1) - TIME", lambda t: SmoothStep(0, 1, 0, 1)(t)[0] - t),
        ("sine(1, 2) * sine(3, 4)", lambda t: np.sin(2 * t) * 3 * np.sin(4 * t)),
        ("-constant rate(2) / (1 + TIME)", lambda t: -2.0 * t / (1.0 + t)),
        ("cos(spline([0, 1, 2], [0, 1, 0]))", lambda t: np.cos(Spline([0, 1, 2], [0, 1, 0])(t)[0])),
        ("if(TIME < 0.5, TIME ^ 2, sine(1, 1))", lambda t: t * t if t < 0.5 else np.sin(t)),
        (
            "if(0.25 >= TIME, 1, if(TIME > 0.75, 2, 3 * TIME))",
            lambda t: 1.0 if t <= 0.25 else 2.0 if t > 0.75 else 3 * t,
        ),
        ("max(sine(1, 5), 0.2)", lambda t: max(np.sin(5 * t), 0.2)),
    ],
)
def test_profiles_compose_with_exact_rates(text, function):
    found = profile(text)
    assert isinstance(found, ExpressionProfile)
    for t in (0.11, 0.37, 0.62, 0.93):
        h = 1e-4
        f, fd, fdd = found(t)
        assert f == pytest.approx(function(t), abs=1e-14)
        assert value_at(found.steps, np.float64(t)) == pytest.approx(f, abs=1e-14)
        assert fd == pytest.approx((function(t + h) - function(t - h)) / (2 * h), abs=1e-5)
        assert fdd == pytest.approx((function(t + h) - 2 * f + function(t - h)) / (h * h), abs=1e-4)
    times = np.linspace(0.0, 1.0, 7)
    np.testing.assert_allclose(found.many(times).T, [found(t) for t in times], rtol=0, atol=1e-14)


def test_a_profile_alone_stays_a_profile_and_an_expression_reads_back():
    assert isinstance(profile("smooth step(0, 1, 0, 1)"), SmoothStep)
    made = document(f"{WHEEL} driver d (j = 1 - if(TIME <= 0.5, sine(1, 2) ^ 2, spline([0, 1], [0, 1]) * 3));")
    text = language.write(made)
    again = language.build(text)
    assert language.write(again) == text
    for t in (0.2, 0.7):
        assert again.model.drivers["d"].profile(t) == made.model.drivers["d"].profile(t)


def test_forces_take_profiles_in_expressions():
    text = """MODEL f SYSTEM (DYNAMIC ANALYSIS, ending time = 0.1, gravity = (0, 0, 0));
    BODY w (mass = 1, inertia = (1, 1, 2)); revolute joint j (body = ground, body = w, axis = (0, 0, 1));
    motor m (joint = j, torque = 2 * smooth step(0, 1, 1, 1) * if(TIME < 5, 1, 0)); ENDMODEL"""
    made = language.build(text)
    result = rtmbs.Simulation(made.model.compile(), h=1e-3).run(0.1)
    assert result["j.angle"][-1] == pytest.approx(0.5 * 0.1**2, rel=1e-6)


CHAIN = """
constant lengths = [3, 2, 1];
BODY link[0] (); revolute joint j[0] (body = ground, body = link[0], axis = (0, 0, 1)); driver d[0] (j[0] = TIME);
repeat k (to = 3);
  BODY link[k] (position = (lengths[k], 0, 0));
  revolute joint j[k] (body = link[k - 1], body = link[k], axis = (0, 0, 1), point = (k, 0, 0));
  driver d[k] (j[k] = k * TIME);
end repeat;
"""


def test_a_loop_writes_its_statements_for_every_value():
    made = document(CHAIN)
    assert list(made.model.bodies) == ["ground", "link_0", "link_1", "link_2", "link_3"]
    np.testing.assert_array_equal(made.model.bodies["link_2"].position, [2.0, 0.0, 0.0])
    found = motion(CHAIN)
    np.testing.assert_allclose(found["j_3.angle"], 3.0 * found.t, rtol=0, atol=1e-9)
    assert list(document("repeat k (from = 3, to = 2); BODY b[k] (); end repeat;").model.bodies) == ["ground"]


def test_instances_of_submodels_have_names_and_parameters_of_their_own():
    text = """
    submodel arm (at, L = 1);
      constant half = L / 2;
      BODY bar (position = (half, 0, 0)); triad tip (body = bar, origin = (half, 0, 0));
      revolute joint pin (body = at, body = bar, axis = (0, 0, 1));
      driver turn (pin = L * TIME); measure far (tip.x);
    end submodel;
    submodel pair (at);
      arm one (at = at, L = 3); repeat k (to = 2); arm more[k] (at = one_bar); end repeat;
    end submodel;
    arm left (at = ground, L = 2); pair both (at = left_bar);
    """
    made = document(text)
    assert list(made.model.bodies)[1:] == ["left_bar", "both_one_bar", "both_more_1_bar", "both_more_2_bar"]
    assert made.constants == {"left_half": 1.0, "both_one_half": 1.5, "both_more_1_half": 0.5, "both_more_2_half": 0.5}
    found = motion(text)
    np.testing.assert_allclose(found["both_one_pin.angle"], 3.0 * found.t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["left_far"], 2.0 * np.cos(2.0 * found.t), rtol=0, atol=1e-9)
    assert language.write(language.build(language.write(made))) == language.write(made)


def test_a_loop_is_formatted_with_its_statements_moved_in():
    text = language.format(f"MODEL m\n{CHAIN}\nENDMODEL")
    assert "\n  BODY link[k] (position = (lengths[k], 0, 0));\n" in text
    assert "\nend repeat;\n" in text
    assert language.format(text) == text


@pytest.mark.parametrize(
    "value",
    [
        f"[{', '.join(['0.12345678901'] * 20)}]",
        f"({', '.join(['0.12345678901'] * 20)})",
        f"max(1, 2) + {' + '.join(['0.12345678901'] * 20)}",
        f"(1 + 2) * {' * max(1, 2) * '.join(['0.12345678901'] * 20)}",
    ],
)
def test_a_long_constant_keeps_its_value_when_it_is_formatted(value):
    text = f"{HEAD}constant a = {value}; {WHEEL} driver d (j = a{'[20]' * (value[-1] in ')]')} * TIME);\nENDMODEL"
    formatted = language.format(text)
    assert language.format(formatted) == formatted
    assert language.build(formatted).constants == language.build(text).constants
    wanted = language.build(text).model.drivers["d"].profile(1.0)
    assert language.build(formatted).model.drivers["d"].profile(1.0) == wanted


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("repeat k (to = 2); BODY b[k] ();", "this repeat has no end; write end repeat"),
        ("end repeat;", "end repeat has no beginning: no repeat stands above it"),
        (
            "submodel s (); repeat k (to = 2); end submodel;",
            "repeat is not closed here; its end is written: end repeat;",
        ),
        ("repeat k (to = 1.5); end repeat;", "to is 1.5; it must be a whole number"),
        ("repeat k (count = 2); end repeat;", "a loop is written: repeat k"),
        ("repeat k (to = 1e6); end repeat;", "more than 1,000 turns of loops"),
        (
            f"repeat k (to = 900); submodel s (); {'BODY b (); ' * 100} end submodel; end repeat;",
            "there are more than 5,000 statements of blocks up to here",
        ),
        ("submodel s (x); end submodel; s a ();", "s 'a' needs x = ..."),
        ("submodel s (xyz); end submodel; s a (xya = 2);", "did you mean 'xyz'?"),
        (
            "submodel s (); end submodel; submodel S (); BODY b (); end submodel;",
            "there is already one of this name in line 3",
        ),
        ("submodel gear (); end submodel;", "submodel 'gear' has the name of a statement"),
        ("submodel rod (); end submodel;", "submodel 'rod' has the name of a statement"),
        ("submodel constant (); end submodel;", "submodel 'constant' has the name of a statement"),
        ("constant TIME = 3;", "TIME is the time in seconds"),
        ("submodel s (time = 3); end submodel;", "time is the time in seconds"),
        ("repeat Time (to = 3); end repeat;", "Time is the time in seconds"),
        (f"{WHEEL} {BUMP} constant s = 0;", "s is the parameter of this curve, and the constant of line 4"),
        (f"{WHEEL} repeat s (to = 1); {BUMP} end repeat;", "is the parameter of this curve, and a loop variable"),
        (f"{WHEEL} submodel m (s); {BUMP} end submodel; m a (s = 2);", "and a parameter of submodel 'm'"),
        (f"{PIN} measure m (pin);", "joint 'pin' has the coordinates displacement, angle; say which, such as pin.disp"),
        (f"{PIN} measure m (pin.foo);", "has the coordinates displacement, angle, not 'foo'"),
        (
            "BODY b (); spherical joint p (body = ground, body = b); measure m (p);",
            "is Spherical and has no coordinate",
        ),
        ("BODY g (ground); measure m (g.x);", "ground stands still"),
        ("submodel s (x, x); end submodel;", "a parameter is a name, given once"),
        ("submodel (x); end submodel;", "a submodel is written"),
        ("submodel s (); s a (); end submodel; s b ();", "submodel 's' has itself as a part"),
        ("constant a = [1, 2]; BODY b (mass = a[3]);", "a[3] does not exist; a has the items 1 to 2"),
        ("BODY b[1.5] ();", "the index is 1.5; it must be a whole number"),
        ("submodel s (x); BODY b (mass = x.y); end submodel; s a (x = 2);", "x is a value here"),
        ("constant a = [1]; constant a = 2;", "already a constant"),
        ("for k (to = 2);", "did you mean repeat k"),
        (f"{WHEEL} driver d (j = 2 * t);", "did you mean TIME"),
        (f"{WHEEL} driver d (j = 2 * pi TIME);", "write an operator between pi and TIME"),
        (f"{WHEEL} driver d (j = 2 * L * TIME); constant L = 1; constant M = N; constant N = 2;", "given in line 4"),
        (f"{WHEEL} driver d (j = 2 pi TIME);", "a product is written with *"),
        (f"{WHEEL} driver d (j = if(TIME, 1));", "a condition and two numbers"),
        (f"{WHEEL} driver d (j = 1 + staircase([0], [1]));", "+ takes numbers"),
        ("BODY b (); spherical joint s (triad = ground, triad = ground);", "ground is a body; write body = ground"),
        ("triad t (body = ground); driver d (t.x = 1);", "triad 't' is on ground, which does not move"),
        ("measure m (a = 2);", "takes one thing"),
        (f"{WHEEL} measure m (j); measure m (j);", "already a measure"),
        (f"{WHEEL} triad t (body = w); cam c (triad = t, body = w, radius = 1);", "is on body 'w' itself"),
        (f"{WHEEL} triad t (body = w); point on curve c (triad = t, body = ground, curve = 2);", "takes three values"),
        (f"{WHEEL} triad t (body = w); driver d (t.x = 1); driver d (t.y = 1);", "already an element of this name"),
    ],
)
def test_mistakes_are_named_with_their_cure(text, sentence):
    with pytest.raises(LanguageError) as caught:
        document(text)
    assert sentence in str(caught.value)
    assert caught.value.line


def test_constants_are_given_from_outside():
    text = f"constant L = 2; constant M = 2 * L; {WHEEL} driver d (j = M * TIME);"
    assert document(text).constants == {"L": 2.0, "M": 4.0}
    assert document(text, constants={"L": 3}).constants == {"L": 3.0, "M": 6.0}
    assert document(text, constants={"L": "30 mm"}).constants["M"] == pytest.approx(0.06)
    with pytest.raises(LanguageError, match="there is no constant named 'K'"):
        document(text, constants={"K": 3})
    with pytest.raises(LanguageError, match="no unit"):
        document(text, constants={"L": "30 mmm"})


def test_arrays_are_given_from_outside():
    text = f"constant a = [1, 2]; {WHEEL} driver d (j = a[2] * TIME); constant k = 1;"
    for given in ("[3, 4]", [3, 4], np.array([3.0, 4.0]), "[0, 4000 mm, 1]"):
        made = document(text, constants={"a": given})
        assert made.model.drivers["d"].profile(0.5)[0] == 2.0
    for given, sentence in (
        ({"a": 3}, "constant 'a' is given one number from outside; it takes an array, such as a="),
        ({"k": "[1, 2]"}, "constant 'k' is given an array from outside; it takes one number"),
        ({"k": "1; constant b = 2"}, "constant 'k' takes one number or one array"),
    ):
        with pytest.raises(LanguageError) as caught:
            document(text, constants=given)
        assert sentence in str(caught.value)


def test_names_of_a_submodel_are_matched_whole():
    text = """
    BODY foot_base (position = (9, 0, 0)); BODY arm_2 (position = (8, 0, 0));
    submodel part (); BODY bar (); end submodel;
    submodel leg ();
      BODY foot (); part arm (); repeat k (to = 2); BODY toe[k] (); part nail[k] (); end repeat;
      fixed joint a (body = foot_base, body = foot); fixed joint b (body = arm_2, body = arm_bar);
      fixed joint c (body = toe_2, body = toe[1]); fixed joint d (body = nail_2_bar, body = nail_1_bar);
      measure m (footx); measure n (arm_bary);
    end submodel;
    leg left ();
    """
    joints = document(text).model.joints
    ends = {name: (joint.a.name, joint.b.name) for name, joint in joints.items()}
    assert ends == {
        "left_a": ("foot_base", "left_foot"), "left_b": ("arm_2", "left_arm_bar"),
        "left_c": ("left_toe_2", "left_toe_1"), "left_d": ("left_nail_2_bar", "left_nail_1_bar"),
    }  # fmt: skip
    inner = (
        "submodel out (); submodel part (); BODY bar (); end submodel; part n (); measure m (n_bar.x); end submodel;"
    )
    assert document(f"{inner} out a (); out b ();").measures["b_m"]["body"][0].name == "b_n_bar"


def test_the_parameter_of_a_curve_stays_beside_a_triad_of_its_name():
    text = """submodel set ();
      BODY disc (); BODY t (position = (0, 2, 0)); triad s (body = t); driver d (ax = -TIME); measure h (t.y);
      revolute joint ax (body = ground, body = disc, axis = (0, 0, 1));
      prismatic joint gu (body = ground, body = t, axis = (0, 1, 0));
      cam c (triad = s, body = disc, radius = 2 + cos(s), start = 1.57);
    end submodel; set one ();"""
    found = motion(text)
    np.testing.assert_allclose(found["one_h"], 2.0 + np.cos(np.pi / 2 + found.t), rtol=0, atol=1e-9)


AXLE = """
BODY b (); BODY c (position = (1, 0, 0)); triad o (body = ground); triad p (body = b);
revolute joint h (body = ground, body = b, axis = (0, 0, 1));
cylindrical joint pin (body = b, body = c, axis = (0, 0, 1), point = (1, 0, 0));
driver e (pin.angle = 5 + 20 * TIME); driver f (pin.displacement = 0.2); measure pin_turn (pin.angle);
"""


@pytest.mark.parametrize(
    ("what", "way", "sense"),
    [
        ("angle(o.f, p.f)", (0.0, 70.0), 1.0),
        ("angle(o.f, p.f)", (-20.0, -90.0), 1.0),
        ("angle(p.f, o.f)", (1.0, 50.0), 1.0),
        ("h", (0.5, 60.0), 1.0),
        ("h", (-0.5, -60.0), -1.0),
    ],
)
def test_a_measured_angle_is_the_driven_one_with_its_turns(what, way, sense):
    """Rows are up to 9 rad apart."""
    text = f"""{AXLE} driver d ({what} = {way[0]} + {way[1]} * TIME);
    measure m (angle(o.f, p.f)); measure w (angle(p.f, o.f));"""
    found = motion(text)
    wanted = way[0] + way[1] * found.t
    np.testing.assert_allclose(found["m"], sense * wanted, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["w"], found["m"] if what != "h" else wanted * sense, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["pin_turn"], 5.0 + 20.0 * found.t, rtol=0, atol=1e-8)


def test_measured_yaw_and_roll_count_turns():
    """A body turns about a skew axis, 6.5 rad a row: unwrapped on a grid 200 times as fine by Rodrigues' formula."""
    text = """BODY b (); revolute joint j (body = ground, body = b, axis = (0.3, 0.4, 1)); driver d (j = 65 * TIME);
    measure yaw (b.yaw); measure roll (b.roll);"""
    found, t = motion(text), np.linspace(0.0, 1.0, 2001)
    e = np.array([0.3, 0.4, 1.0]) / np.linalg.norm([0.3, 0.4, 1.0])
    tilde = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    R = np.eye(3) + np.sin(65 * t)[:, None, None] * tilde + (1 - np.cos(65 * t))[:, None, None] * (tilde @ tilde)
    yaw, roll = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])), np.unwrap(np.arctan2(R[:, 2, 1], R[:, 2, 2]))
    assert yaw[-1] > 60.0
    np.testing.assert_allclose(found["yaw"], yaw[::200], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["roll"], roll[::200], rtol=0, atol=1e-8)


def follower(radius, roller):
    text = f"""BODY disc (); BODY tap (position = (0, 0.1, 0)); triad ro (body = tap);
    revolute joint ax (body = ground, body = disc, axis = (0, 0, 1)); driver d (ax = -2 * TIME);
    prismatic joint gu (body = ground, body = tap, axis = (0, 1, 0));
    cam ct (triad = ro, body = disc, radius = {radius}, roller = {roller}, start = 1.57);"""
    return document(text)


@pytest.mark.parametrize(
    ("lobes", "wave", "roller"),
    [(3, 0.02, 0.03), (3, 0.02, 0.004), (1, 0.005, 0.01), (1, 0.005, -0.04), (1, 0.005, -0.05), (12, 0.004, 0.002)],
)
def test_a_roller_that_does_not_fit_its_cam_is_told(lobes, wave, roller):
    """Depth of the roller against 5000 points of the profile."""
    curve = follower(f"0.05 + {wave} * cos({lobes} * s)", roller).constraints[0].curve

    def profile(s):
        return (0.05 + wave * np.cos(lobes * s)) * np.exp(1j * s)

    s = np.linspace(0.0, 2.0 * np.pi, 5001)
    way = profile(s + 1e-6) - profile(s - 1e-6)
    centers = profile(s) - 1j * roller * way / np.abs(way)
    depth = max(abs(roller) - np.abs(profile(s) - one).min() for one in centers[::10])
    assert curve.undercut(0.0, 2.0 * np.pi)[0] == pytest.approx(depth, rel=2e-2, abs=1e-9)
    assert bool(curve.notes("ct")) == (depth > 1e-7)


def test_an_undercut_cam_is_told_by_a_run_and_by_check():
    made = follower("0.05 + 0.02 * cos(3 * s)", 0.012)
    analysis = Analysis(made.model, made.constraints)
    assert "note: cam 'ct': its roller of radius 0.012 m does not fit" in analysis.check(0.0)
    with pytest.raises(MotionError) as caught:  # the way of the roller's centre has a cusp
        analysis.run(0.0, 1.0, 0.02)
    told = [one for one in caught.value.result.warnings if "does not fit the profile" in one]
    assert len(told) == 1
    sound = follower("0.05 + 0.005 * cos(s)", 0.01)
    assert not Analysis(sound.model, sound.constraints).run(0.0, 1.0, 0.02).warnings


MACHINE = """
BODY a (); BODY b (pqr = [(1, 0, 0), (1, 0, 1), (1, 1, 0)]);
triad o (body = ground, origin = (0, 2, 0)); triad p (body = b, origin = (1, 0, 0));
revolute joint j (body = ground, body = a, axis = (0, 0, 1));
revolute joint k (body = a, body = b, axis = (0, 0, 1), point = (1, 0, 0));
driver x (p.x = 1 - 0.3 * TIME); driver y (p.y = 1 + 0.5 * TIME);
measure px (p.x); measure gap (distance(o, p)); measure turn (angle(o.f, p.g)); measure bend (k); measure yaw (b.yaw);
measure lift (by);
"""


def test_a_driven_triad_and_measures():
    found = motion(MACHINE)
    np.testing.assert_allclose(
        found["p.position"][:, :2].T, [1.0 - 0.3 * found.t, 1.0 + 0.5 * found.t], rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(found["p.velocity"][:, :2], np.tile([-0.3, 0.5], (11, 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["px"], 1.0 - 0.3 * found.t, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["gap"], np.hypot(1.0 - 0.3 * found.t, 0.5 * found.t - 1.0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["bend"], found["k.angle"], rtol=0, atol=0)
    np.testing.assert_allclose(found["yaw"], found["j.angle"] + found["k.angle"] + np.pi / 2, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.cos(found["turn"]), -np.sin(found["yaw"]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["lift"], np.sin(found["j.angle"]), rtol=0, atol=1e-10)
    assert found.about("gap")[1] == "m"
    assert found.about("turn")[1] == "rad"


def test_the_parameter_of_a_curve_has_the_unit_of_its_start():
    """That of a curve may be a length; that of a cam is an angle."""
    text = f"""{WHEEL} constant L = 300 mm; triad t (body = w, origin = (0, 1, 0));
    point on curve c (triad = t, body = ground, curve = (s, 1, 0), start = L);"""
    assert document(text).constraints[0].start == pytest.approx(0.3)
    cam = text.replace("point on curve", "cam").replace("curve = (s, 1, 0)", "radius = 1")
    with pytest.raises(LanguageError, match="cam 'c': start is in m; it must be an angle"):
        document(cam)


def test_a_point_on_a_curve_of_a_turning_body_with_derivatives():
    text = """BODY w (); BODY p (position = (1.2, 0, 0)); triad t (body = p);
    revolute joint j (body = ground, body = w, axis = (0, 0, 1));
    prismatic joint g (body = ground, body = p, axis = (1, 0, 0));
    point on curve c (triad = t, body = w,
        curve = ((1 + 0.2 * cos(3 * s)) * cos(s), (1 + 0.2 * cos(3 * s)) * sin(s), 0));
    driver d (j = 2 * TIME);"""
    found = motion(text)
    angle = -2.0 * found.t
    np.testing.assert_allclose(found["t.position"][:, 0], 1.0 + 0.2 * np.cos(3 * angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["t.velocity"][:, 0], 1.2 * np.sin(3 * angle), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["t.acceleration"][:, 0], -7.2 * np.cos(3 * angle), rtol=0, atol=1e-7)
