"""Files that are refused: the message names the culprit, what is wrong and what would be right, at its place."""

import pytest

from rtmbs.errors import LanguageError
from rtmbs.language import build
from rtmbs.language.parse import DEEPEST, ORDINARY
from tests.language.files import KINEMATIC, RICH, SLIDER_CRANK


def changed(old, new, text=SLIDER_CRANK):
    """Return a sound file with one thing changed."""
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def added(line, text=SLIDER_CRANK):
    """Return a sound file with one statement more, on the line before the last."""
    return changed("ENDMODEL", f"{line}\nENDMODEL", text)


def kinematic(old, new):
    return changed(old, new, KINEMATIC)


def rich(old, new):
    return changed(old, new, RICH)


DRIVER = "driver d1 ( blockx = 8.00 + 3 * sin( 4 * TIME ) );"


def driven(value):
    return changed("8.00 + 3 * sin( 4 * TIME )", value)


# case: (text, words of the message, the text that the caret points at)
CASES = {
    "no MODEL": ("SYSTEM (KINEMATIC ANALYSIS); ENDMODEL", ["'SYSTEM'", "expected MODEL"], "SYSTEM"),
    "empty": ("", ["the end of the text", "expected MODEL"], ""),
    "missing ENDMODEL": (changed("ENDMODEL", ""), ["the end of the text", "a name or ENDMODEL"], ""),
    "text after ENDMODEL": (SLIDER_CRANK + "BODY b;", ["'BODY'", "the end"], "BODY b;"),
    "loop of C": (added("for (k = 1; k < 3; k = k + 1) { BODY b; }"), ["a loop is written repeat k"], "; k < 3"),
    "loop of MATLAB": (added("for k = 1:3"), ["a loop is written repeat k"], ":3"),
    "choice of statements": (added("if (1 > 2) { }"), ["a choice of values is written if("], "> 2"),
    "choice of C": (driven("8 > TIME ? 8 : 9"), ["'>'", "a choice of values is written if("], "> TIME"),
    "power of Python": (driven("8 + TIME ** 2"), ["'*'", "a power is written with ^"], "* 2"),
    "comment of MATLAB": (added("% a remark"), ["'%'", "a comment begins with #"], "% a"),
    "single quotes": (added("BODY 'arm' ();"), ['"\'"', 'a name in quotes is written "name"'], "'arm"),
    "two equals signs": (added("constant x == 2;"), ["'='", "written with one ="], "= 2;"),
    "statement of another program": (
        added("marker tip (body = g1);"),
        ["'marker'", "did you mean triad NAME"],
        "marker",
    ),
    "name of two words": (
        added("measure height of block (block.x);"),
        ['in quotes: measure "height of block"'],
        "measure h",
    ),
    "decimal comma": (driven("0,5 * TIME"), ["'d1' needs one thing", "a decimal number has a point"], "d1 ("),
    "name in another case": (
        driven("L").replace("BODY g1", "constant l = 2; BODY g1"),
        ["'L'", "did you mean 'l'"],
        "L )",
    ),
    "two models": (added("MODEL again"), ["'MODEL'", "expected"], "MODEL again"),
    "model without a name": ("MODEL SYSTEM (); ENDMODEL", ["'('", "expected"], "("),
    "no SYSTEM": ("MODEL a ENDMODEL", ["there is no SYSTEM"], "MODEL"),
    "two SYSTEMs": (added("SYSTEM (KINEMATIC ANALYSIS);"), ["second SYSTEM"], "SYSTEM (KINEMATIC ANALYSIS);"),
    "SYSTEM without a kind": (changed("KINEMATIC ANALYSIS,", ""), ["KINEMATIC ANALYSIS, DYNAMIC"], "SYSTEM"),
    "misspelt kind": (
        changed("KINEMATIC ANALYSIS", "KINEMATIC ANALYSES"),
        ["did you mean 'kinematic analysis'"],
        "KINEM",
    ),
    "misspelt key of SYSTEM": (
        changed("ending time", "end time"),
        ["'end time'", "did you mean 'ending time'"],
        "end time",
    ),
    "ending before starting": (changed("starting time = 0.0", "starting time = 9"), ["ending time is 8", "9"], "8.0,"),
    "print interval zero": (changed("interval = 0.1", "interval = 0"), ["print interval is 0", "above zero"], "0, lu"),
    "lu tolerance of two": (changed("1e-10", "2"), ["lu tolerance is 2", "below one"], "2, assembly"),
    "print interval far too small": (changed("= 0.1", "= 1e-9"), ["8e+09 rows", "at most 1e+07"], "1e-9"),
    "step of a kinematic analysis": (
        changed("print interval", "step = 0.01, print interval"),
        ["step is for a dynamic analysis", "take it away"],
        "0.01, print",
    ),
    "method of a dynamic analysis": (
        changed("KINEMATIC ANALYSIS", "DYNAMIC ANALYSIS, method = freeze"),
        ["method is for a kinematic analysis", "take it away"],
        "freeze",
    ),
    "step far too small": (
        changed("KINEMATIC ANALYSIS", "DYNAMIC ANALYSIS, step = 1e-12"),
        ["8e+12 steps", "at most 1e+09"],
        "1e-12",
    ),
    "time in metres": (changed("interval = 0.1", "interval = 0.1 m"), ["in m", "it must be in s"], "0.1 m"),
    "unknown method": (kinematic("freeze", "frieze"), ["one of min_norm, freeze", "did you mean 'freeze'"], "frieze"),
    "unknown statement": (changed("BODY pend1", "BODI pend1"), ["'bodi'", "did you mean body"], "BODI"),
    "unknown kind of joint": (
        changed("spherical joint sph2", "sferical joint sph2"),
        ["did you mean spherical joint"],
        "sferical",
    ),
    "statement without a name": (changed("BODY g1 (", "BODY ("), ["body needs a name"], "BODY ("),
    "key without a value": (
        changed("origin = (-3, 0, 0)", "origin"),
        ["'rev1pend1'", "origin needs a value"],
        "origin, pqr",
    ),
    "key given twice": (
        changed("origin = (-3, 0, 0)", "origin = (1,0,0), origin = (1,0,0)"),
        ["origin is given twice"],
        "origin = (1,0,0), pqr",
    ),
    "misspelt key": (
        changed("associated body = pend1", "asociated body = pend1"),
        ["did you mean 'associated body'"],
        "asociated",
    ),
    "missing body of a triad": (
        changed("associated body = pend1, ", ""),
        ["'rev1pend1' needs associated body"],
        "rev1pend1",
    ),
    "unknown body": (
        changed("associated body = pend1", "associated body = pent1"),
        ["'rev1pend1'", "'pent1'", "did you mean 'pend1'"],
        "pent1",
    ),
    "unknown triad": (
        changed("triad = sph1pend2", "triad = shp1pend2"),
        ["'sph1'", "'shp1pend2'", "did you mean 'sph1pend2'"],
        "shp1pend2",
    ),
    "unknown joint": (rich("joint = hinge,", "joint = hing,"), ["'back'", "'hing'", "'hinge'"], "hing,"),
    "unknown joint of an initial value": (rich("initial hinge", "initial hnge"), ["'hnge'", "'hinge'"], "hnge"),
    "one triad": (changed(", triad = sph1pend2", ""), ["'sph1' takes 2 triads, not 1"], "sph1 "),
    "three triads": (
        changed("triad = sph1pend2", "triad = sph1pend2, triad = rev1pend1"),
        ["takes 2 triads, not 3"],
        "rev1pend1 );",
    ),
    "triads of one body": (
        changed("triad = sph1pend1, triad = sph1pend2", "triad = sph1pend1, triad = rev1pend1"),
        ["'sph1'", "to itself"],
        "sph1 ",
    ),
    "two bodies alike": (added("BODY block (mass = 1);"), ["'block'", "already a body"], "block (mass"),
    "two triads alike": (added("triad sph1pend1 (body = g1);"), ["'sph1pend1'", "already a marker"], "sph1pend1 (body"),
    "two joints alike": (changed("joint sph2", "joint sph1"), ["'sph1'", "already a joint"], "sph1 ( triad = sph2"),
    "two drivers alike": (added("driver d1 (pend1x = 1);"), ["'d1'", "already a driver"], "d1 (pend1x"),
    "triad named as a body": (added("triad g1 (body = block);"), ["'g1'", "already a body"], "g1 (body"),
    "second name of ground taken": (added("BODY pend1 (ground);"), ["'pend1'", "already a body"], "pend1 (ground"),
    "collinear pqr": (
        changed("(4, 3, 1), (8, 0, 0)", "(4, 3, 1), (4, 3, 5)"),
        ["'pend2'", "on one line", "r must"],
        "pend2 ",
    ),
    "p on q": (changed("(4, 3, 1), (8, 0, 0)", "(4, 3, 0), (8, 0, 0)"), ["'pend2'", "p and q", "one point"], "pend2 "),
    "pqr of two points": (
        changed(", (4, 3, 1), (8, 0, 0)", ", (4, 3, 1)"),
        ["'pend2'", "pqr has 2 parts", "3"],
        "4, 3, 0), (4, 3, 1)",
    ),
    "a point of two numbers": (changed("(4, 3, 1)", "(4, 3)"), ["pqr has 2 numbers", "3"], "4, 3), (8"),
    "p not the origin": (
        changed("origin = (-3, 0, 0)", "origin = (-3, 1, 0)"),
        ["'rev1pend1'", "p is the origin"],
        "rev1pend1 ",
    ),
    "pqr and axes": (
        added("triad n (body = block, axes = (1,0,0,0), pqr = [(0,0,0),(1,0,0),(0,1,0)]);"),
        ["axes too"],
        "1,0,0,0)",
    ),
    "pqr and position": (
        added("BODY n (position = (1,0,0), pqr = [(0,0,0),(1,0,0),(0,1,0)]);"),
        ["position too"],
        "1,0,0), pqr",
    ),
    "two mass centres": (
        added("BODY n (center of mass = (0,0,0), center of gravity = (0,0,0));"),
        ["give one"],
        "0,0,0), center of g",
    ),
    "ground with a mass": (changed("g1 ( ground )", "g1 ( ground, mass = 3 )"), ["'g1'", "ground", "no mass"], "3 )"),
    "mass below zero": (rich("mass = 2 kg", "mass = -2 kg"), ["'crank'", "mass is -2"], "crank ("),
    "mass in metres": (rich("mass = 2 kg", "mass = 2 mm"), ["'crank'", "mass is in m", "in kg"], "2 mm"),
    "inertia that no body has": (rich("(1e4 g*cm^2, 0.02, 0.02)", "(1, 0.1, 0.1)"), ["'crank'", "triangle"], "crank ("),
    "inertia of four numbers": (
        rich("(1e4 g*cm^2, 0.02, 0.02)", "(1, 1, 1, 1)"),
        ["'crank'", "inertia has 4 numbers", "3 or 6"],
        "1, 1, 1, 1)",
    ),
    "orientation mirrored": (
        rich("orientation = (0, 0, 0, 1)", "orientation = [(1,0,0),(0,1,0),(0,0,-1)]"),
        ["'sled'", "mirrors"],
        "sled (",
    ),
    "unknown unit": (rich("2 kg", "2 kgs"), ["'kgs'", "did you mean 'kg'"], "kgs"),
    "a power of a unit that is none": (rich("1e4 g*cm^2", "1e4 g*h^99"), ["'g*h^99'"], "g*h^99"),
    "unknown unit in a product": (rich("1e4 g*cm^2", "1e4 g*cn^2"), ["'cn'", "'cm'"], "g*cn^2"),
    "driver of ground": (changed("blockx", "g1x"), ["'d1'", "moves ground"], "d1 ("),
    "driver of nothing": (changed("blockx", "blokx"), ["'blokx'", "did you mean blockx"], "blokx"),
    "driver of no coordinate": (changed("blockx", "block.w"), ["'d1'", "x, y, z, yaw, pitch, roll", "'w'"], "d1 ("),
    "driver of a joint's missing coordinate": (changed("blockx", "rev1.x"), ["'rev1'", "angle", "'x'"], "d1 ("),
    "driver of a ball": (changed("blockx", "sph1"), ["'sph1'", "no coordinate"], "d1 ("),
    "driver of two things": (changed("blockx =", "blockx = 1, blocky ="), ["'d1'", "one thing"], "d1 ("),
    "driver without an equal sign": (changed("blockx = ", ""), ["'d1'", "one thing"], "d1 ("),
    "two drivers of one thing": (added("driver d2 (block.x = 1);"), ["'d2'", "block.x", "'d1'"], "d2 ("),
    "distance of one triad": (kinematic("distance(s, o)", "distance(s)"), ["'three'", "two triads"], "distance"),
    "distance of an axis": (kinematic("distance(s, o)", "distance(s.f, o)"), ["s.f", "without an axis"], "s.f"),
    "angle of no axis": (kinematic("o.f", "o.x"), ["o.x", "one of f, g, h"], "o.x"),
    "distance within a body": (
        kinematic("distance(s, o)", "distance(s, r)"),
        ["'three'", "both on body 'b2'"],
        "three",
    ),
    "unknown name in an expression": (driven("8 + 3 * sine0"), ["'sine0'", "constant"], "sine0"),
    "unknown name near a function": (driven("8 + 3 * TMIE"), ["'TMIE'", "did you mean 'TIME'"], "TMIE"),
    "unknown function": (driven("8 + sen(TIME)"), ["+ takes numbers"], "sen"),
    "unknown profile": (driven("sen(TIME)"), ["'sen'", "did you mean sine"], "sen"),
    "sine of two numbers": (driven("sin(TIME, 2)"), ["sin takes one number", "not 2"], "sin"),
    "atan2 of one number": (driven("atan2(TIME)"), ["atan2 takes two numbers"], "atan2"),
    "division by zero": (driven("TIME / (3 - 3)"), ["division by zero"], "3 - 3"),
    "division by zero in a constant": (added("constant c = 1 / 0;"), ["division by zero"], "0;"),
    "division by zero at a time": (driven("1 / (TIME - 4)"), ["'d1'", "value", "TIME = 4"], "1 / "),
    "root of a negative number": (driven("sqrt(1 - 2)"), ["sqrt(-1) is no number"], "sqrt"),
    "domain error at some time": (driven("sqrt(4 - TIME)"), ["'d1'", "no finite number", "TIME = 4"], "sqrt"),
    "rate infinite at some time": (kinematic("1 + log(TIME)", "sqrt(TIME - 0.5)"), ["rate", "TIME = 0.5"], "sqrt"),
    "power of a negative number": (driven("(-2) ^ TIME"), ["value", "TIME = 0.1"], "2) ^"),
    "too large a number": (driven("1e999"), ["'1e999'", "larger"], "1e999"),
    "numbers beyond range": (changed("(4, 3, 1)", "(4, 1e200, 1)"), ["'pend2'", "pqr is 1e+200", "1e+100"], "1e200"),
    "too large a power": (driven("10 ^ 400"), ["10 ^ 400 is no number"], "10 ^"),
    "row as a number": (driven("(1, 2)"), ["'d1' follows a number"], "1, 2)"),
    "row in a sum": (driven("1 + (1, 2)"), ["+ takes numbers"], "1, 2)"),
    "function of time as a number": (
        rich("stiffness = 5", "stiffness = TIME"),
        ["'back'", "stiffness", "one number"],
        "back (",
    ),
    "time as a mass": (rich("mass = 2 kg", "mass = TIME"), ["mass takes a number", "function of time"], "TIME"),
    "profile without a value": (rich("t1 = 0.1, ", ""), ["smooth step needs t1"], "smooth"),
    "profile with an unknown value": (rich("t1 = 0.1", "t2 = 0.1"), ["'t2'", "t0, t1, start, end"], "smooth"),
    "profile with a value twice": (rich("t1 = 0.1", "t0 = 0.1"), ["one of its arguments twice"], "smooth"),
    "spline backwards": (rich("spline([0, 0.1, 0.2]", "spline([0, 0.2, 0.1]"), ["'shift'", "must increase"], "spline"),
    "spring without stiffness": (rich("stiffness = 3 N/mm, ", ""), ["'coil' needs stiffness"], "coil"),
    "spring of negative length": (rich("length = 4", "length = -4"), ["'coil'", "length is -4"], "coil"),
    "motor that says its torque twice": (
        rich("joint = slide, force = input(0.5)", "joint = slide, force = 1, torque = 2"),
        ["torque", "too"],
        "1, torque",
    ),
    "wrench on ground": (rich("body = bird, point", "body = base, point"), ["'wind'", "ground"], "wind"),
    "axes of a wrench": (rich("axes = body", "axes = bodi"), ["world, body", "did you mean 'body'"], "bodi"),
    "h axes opposed": (
        changed("pqr = [(-3, 0, 0), (-3, 0, 1)", "pqr = [(-3, 0, 0), (-3, 0, -1)"),
        ["'rev1'", "against", "turn one triad"],
        "rev1 (",
    ),
    "universal joint with parallel axes": (
        changed("revolute joint rev1", "universal joint rev1"),
        ["'rev1'", "parallel", "right angle"],
        "rev1 (",
    ),
    "joint between triads with an axis": (
        changed("triad = rev1pend1 )", "triad = rev1pend1, axis = (1,0,0) )"),
        ["axis belongs to a joint between two bodies"],
        "1,0,0)",
    ),
    "joint between triads and bodies": (
        changed("triad = rev1pend1 )", "body = pend1 )"),
        ["two triads or two bodies"],
        "rev1ground, body",
    ),
    "joint of bodies without an axis": (rich("axis = (1, 0, 0), ", ""), ["'slide' needs axis"], "slide"),
    "one point of two": (
        rich("point a = (0, 2, 0), ", ""),
        ["'slide'", "point b needs point a = ... too"],
        "0, 0, 0));",
    ),
    "points said twice": (
        rich("axis = (1, 0, 0), point a", "axis = (1, 0, 0), point = (1, 2, 3), point a"),
        ["'slide'", "point a and point b say the point too"],
        "1, 2, 3), point a",
    ),
    "zero axis": (rich("axis = (1, 0, 0)", "axis = (0, 0, 0)"), ["'slide'", "axis is zero"], "slide"),
    "switch": (rich("cut = no", "cut = maybe"), ["cut must be one of yes"], "maybe"),
    "initial value twice": (rich("initial fly", "initial hinge"), ["'hinge'", "before"], "hinge (position = (0"),
    "initial value too long": (
        rich("position = 0.1", "position = (0.1, 0.2)"),
        ["'hinge'", "1 number: angle"],
        "hinge (pos",
    ),
    "constant twice": (rich("constant w =", "constant L ="), ["'L'", "already a constant"], "L = 30"),
    "constant of time": (added("constant c = TIME;"), ["takes a number", "function of time"], "TIME;"),
    "constant before what it needs": (added("constant c = d; constant d = 1;"), ["'d'", "constant"], "d; "),
    "constant without a value": (added("constant c;"), ["constant NAME = VALUE"], "constant c;"),
    "body assigned": (added("BODY c = 3;"), ["arguments in brackets"], "BODY c = 3"),
    "missing bracket": (changed("BODY g1 ( ground );", "BODY g1 ( ground ;"), ["';'", "')'"], ";"),
    "missing semicolon": (changed("BODY g1 ( ground );", "BODY g1 ( ground )"), ["'BODY'", "';'"], "BODY pend1"),
    "missing semicolon at the end": (changed(DRIVER, DRIVER[:-1]), ["'ENDMODEL'", "';'"], "ENDMODEL"),
    "missing bracket at the end": (changed(DRIVER, DRIVER[:-2]), ["'ENDMODEL'", "')'"], "ENDMODEL"),
    "missing comma": (changed("(4, 3, 1)", "(4, 3 1)"), ["'1'", "','", "an operator"], "1), (8"),
    "a function behind a number": (driven("8 + 3 sin(TIME)"), ["'sin'", "a product is written with *"], "sin"),
    "a constant behind a number": (driven("8 + 3 pi"), ["no unit 'pi'", "a product is written with *"], "pi"),
    "two operators": (driven("8 * / 3"), ["'/'", "a number"], "/ 3"),
    "a letter of no language": (driven("8 + $"), ["'$'", "a number"], "$"),
    "name not closed": (changed("BODY g1", 'BODY "g1'), ["not closed"], '"g1'),
    "comment not closed": (added("/* and so on"), ["comment is not closed"], "/* and"),
    "name without letters": (changed("BODY g1 (", 'BODY " " (mass = 1); BODY g1 ('), ["body name is ' '"], '" "'),
    "include from a text": (added('include "other.mks";'), ["only a file can include"], '"other.mks"'),
    "include without quotes": (added("include other;"), ['include "FILE"'], "other;"),
    "equal sign in a row": (driven("(1, 2 = 3)"), ["'='"], "= 3"),
    "key in a bracket of a call": (driven("sine(2 * 3 = 4)"), ["the name of what it sets"], "2 * 3"),
    "brackets too deep": (driven("(" * 10_000 + "1" + ")" * 10_000), [f"more than {DEEPEST} deep"], "("),
    "square brackets too deep": (driven("[" * 10_000), [f"more than {DEEPEST} deep"], "["),
    "too many words": (driven("1" + " + 1" * int(ORDINARY.words)), ["more than 30,000 words", "--large"], ""),
    "too many bodies": (
        added("".join(f"BODY more{k};\n" for k in range(150))),
        ["more than 150 bodies", "--large"],
        "BODY more146",
    ),
    "too many statements": (
        added("".join(f"constant c{k} = 1;\n" for k in range(1000))),
        ["more than 1,000 statements"],
        "constant c9",
    ),
    "too many operators": (
        driven("TIME" + " + 1" * 1001),
        ["more than 1,000 operators and functions of TIME"],
        "driver d1",
    ),
    "too many rows": (
        changed("print interval = 0.1", "print interval = 1e-4"),
        ["print interval is 0.0001", "3.2e+05", "--large"],
        "SYSTEM",
    ),
    "too many steps": (
        rich(" step = 5 ms", " step = 1e-6 ms"),
        ["steps times bodies and operators", "--large"],
        "SYSTEM",
    ),
    "a name without end": (changed("BODY g1 (", f"BODY {'a' * 1001} (mass = 1); BODY g1 ("), ["at most 1000"], "aaaa"),
}


def refusal(text):
    with pytest.raises(LanguageError) as found:
        build(text)
    return found.value


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_is_refused_at_its_place(case):
    text, words, pointed = CASES[case]
    error = refusal(text)
    for word in words:
        assert word in str(error), str(error)
    assert str(error).startswith(f"text:{error.line}:{error.column}: ")
    assert "\n" not in str(error)
    line = (text.split("\n") or [""])[error.line - 1] if text else ""
    assert error.text == line
    assert line[error.column - 1 :].startswith(pointed), (str(error), line[error.column - 1 :])


def test_there_are_enough_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("text", [SLIDER_CRANK, RICH, KINEMATIC])
def test_the_files_that_the_cases_spoil_are_sound(text):
    build(text)


def test_the_picture_shows_the_line_and_a_caret():
    error = refusal(CASES["unknown body"][0])
    line, caret = error.picture.split("\n")
    assert line == error.text
    assert line[len(caret) - 1 :].startswith("pent1")
    assert caret.strip() == "^"


def test_the_picture_of_a_long_line_is_short():
    error = refusal(driven("1" + " + 1" * 1000 + " + foo" + " + 1" * 1000))
    line, caret = error.picture.split("\n")
    assert len(line) <= 160
    assert line[len(caret) - 1 :].startswith("foo")


def test_an_error_lists_what_was_expected():
    assert refusal(CASES["missing semicolon"][0]).expected == ("';'",)
    assert "pend1" in refusal(CASES["unknown body"][0]).expected
