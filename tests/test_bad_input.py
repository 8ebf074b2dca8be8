"""What cannot be a mechanism is refused: the message names the element, says what is wrong and what would be right."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from rtmbs import PenaltyTrapezoidal, RungeKutta, Simulation, errors, library
from rtmbs.core.files import write_archive
from rtmbs.errors import (
    InputError,
    LoopOpenError,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    RtmbsError,
    StartError,
    StateError,
    TopologyError,
    UnknownNameError,
)
from rtmbs.model import (
    ConstantRate,
    Cylinder,
    Cylindrical,
    Fixed,
    Floating,
    ForceLaw,
    Function,
    Input,
    JointType,
    Line,
    Model,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Sine,
    SmoothStep,
    Spherical,
    Spline,
    SpringDamper,
    Staircase,
    TorsionSpring,
    Universal,
    Wrench,
)
from rtmbs.simulation.options import by_name
from rtmbs.simulation.running import error_of
from rtmbs.state import FORMAT
from tests.contracts.machines import put_entry

NAN, INF = math.nan, math.inf
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def machine():
    """A crank with a slider on it, a ball and markers: a sound model that every case spoils in one place."""
    model = Model("machine")
    model.add_body("crank", mass=1.0, inertia=(1, 1, 1))
    model.add_body("slider", mass=1.0, inertia=(1, 1, 1), position=(0, 0, 1))
    model.add_body("ball", mass=1.0, inertia=(1, 1, 1), position=(0, 0, 2))
    model.add_joint("hinge", Revolute(X), "ground", "crank")
    model.add_joint("sleeve", Cylindrical(Z), "crank", "slider", point=(0, 0, 1))
    model.add_joint("socket", Spherical(), "slider", "ball", point=(0, 0, 2))
    model.add_marker("tip", "ball", point=(0, 0, 3))
    model.add_marker("base", "ground", point=(1, 0, 0))
    model.add_marker("post", "ground", point=(2, 0, 0))
    return model


def body(**wrong):
    return lambda model: model.add_body("wheel", **{"mass": 1.0, **wrong})


def joint(type, a="crank", b="ball", name="extra", **more):
    return lambda model: model.add_joint(name, type, a, b, **more)


def made(kind, *arguments, **more):
    """A value that is refused where it is written, before a model sees it."""
    return lambda model: kind(*arguments, **more)


def force(law, **where):
    return lambda model: model.add_force("spring", law, **where)


def driver(profile, **where):
    return lambda model: model.add_driver("drive", profile, **(where or {"joint": "hinge"}))


ANGLE = ("sleeve", "angle")


def coupler(ratios, *offset):
    return lambda model: model.add_coupler("chain", ratios, *offset)


def initial(name, *values, **more):
    return lambda model: model.set_initial(name, *values, **more)


def twice(act, *more):
    return lambda model: [step(model) for step in (act, *(more or (act,)))]


def stranger(model):
    other = Model("other")
    model.add_joint("extra", Fixed(), other.add_body("crank", mass=1.0), "ball")


def alone(*, cut):
    def spoil(model):
        model.add_body("wheel", mass=1.0)
        if cut:
            model.add_joint("extra", Revolute(X), "ball", "wheel", cut=True)

    return spoil


def massless_tip(model):
    model.add_body("hand", mass=0.0)
    model.add_joint("wrist", Revolute(X), "ball", "hand", point=(0, 0, 3))
    model.add_marker("hand point", "hand")
    model.add_force("pull", SpringDamper(10.0), between=("hand point", "base"))


def massless_chain(model):
    model.add_body("first", mass=0.0)
    model.add_body("second", mass=0.0)
    model.add_joint("one", Revolute(X), "ball", "first")
    model.add_joint("two", Revolute(Y), "first", "second")


def welded_rod(model):
    model.add_body("flag", mass=1.0)
    model.add_joint("weld", Fixed(), "ball", "flag")
    model.add_marker("on flag", "flag", point=(0, 0, 5))
    model.add_rod("bar", ("on flag", "tip"))


def pinned_against_driver(model):
    model.add_driver("drive", ConstantRate(1.0, start=0.5), joint="hinge")
    model.set_initial("hinge", position=0.4)


def pinned_rate_against_driver(model):
    model.add_driver("drive", ConstantRate(1.0), joint="hinge")
    model.set_initial("hinge", rate=0.9)


def auxiliary_with_closure(model):
    model.add_joint("extra", Revolute(X), "ground", "ball", cut=True, closure="line")
    model.add_force("motor", Motor(1.0), joint="extra")


def coinciding(model):
    model.add_marker("here", "ball", point=(1, 0, 0))
    model.add_rod("bar", ("here", "base"))


SKEW = np.eye(3) + np.array([[0, 0.1, 0], [0, 0, 0], [0, 0, 0]])
TABLE = {"t": (0.0, 2.0, 1.0), "values": (0.0, 1.0, 2.0)}

# case: (what spoils the machine, words that the message must contain)
CASES = {
    "unknown body": (joint(Fixed(), b="bal"), ["'extra'", "'bal'", "did you mean 'ball'"]),
    "unknown body, nothing near": (joint(Fixed(), b="zzz"), ["'zzz'", "'ground', 'crank', 'slider'"]),
    "unknown joint": (force(TorsionSpring(1.0), joint="hing"), ["'spring'", "'hing'", "'hinge'"]),
    "unknown marker": (force(SpringDamper(1.0), between=("tip", "bse")), ["'spring'", "'bse'", "'base'"]),
    "unknown frame": (joint(Fixed(), frame="wrld"), ["'extra'", "frame", "'wrld'", "'world'"]),
    "unknown coordinate": (force(Motor(), joint=("sleeve", "angel")), ["'sleeve'", "displacement, angle", "angel"]),
    "body of another model": (stranger, ["'extra'", "'crank'", "'machine'"]),
    "no body at all": (joint(Fixed(), b=3), ["'extra'", "3", "body"]),
    "two bodies of one name": (twice(body()), ["'wheel'", "already a body", "another"]),
    "two joints of one name": (joint(Fixed(), name="hinge"), ["'hinge'", "already a joint"]),
    "marker named as a body": (lambda m: m.add_marker("crank", "ball"), ["'crank'", "already a body"]),
    "a second ground": (lambda m: m.add_body("ground", mass=1.0), ["'ground'", "already"]),
    "a body named world": (lambda m: m.add_body("world", mass=1.0), ["'world'", "frame="]),
    "empty name": (lambda m: m.add_body("", mass=1.0), ["body name", "''"]),
    "a name that is a number": (lambda m: m.add_body(3, mass=1.0), ["body name is 3", "word"]),
    "a name of two lines": (lambda m: m.add_body("a\nb", mass=1.0), ["body name", "printable"]),
    "a name that no file can carry": (lambda m: m.add_body("\ud800", mass=1.0), ["body name", "printable"]),
    "a name without end": (lambda m: m.add_body("a" * 1001, mass=1.0), ["body name", "1000", "..."]),
    "a model without a name": (lambda m: Model(7), ["model name is 7"]),
    "frame a tuple": (joint(Fixed(), frame=("world",)), ["'extra'", "frame is ('world',)", "'world', or a body"]),
    "frame a set": (joint(Fixed(), frame={"world"}), ["'extra'", "frame is {'world'}", "'world', or a body"]),
    "type an array": (joint(np.eye(3)), ["'extra'", "not a joint type", "Revolute(axis"]),
    "type without a kind": (joint(JointType()), ["'extra'", "not a joint type"]),
    "cut a word": (joint(Revolute(X), cut="no"), ["'extra'", "cut is 'no'", "True or False"]),
    "closure a list": (joint(Revolute(X), closure=["line"]), ["'extra'", "closure is ['line']", "'line', 'point'"]),
    "coordinate of nothing": (force(Motor(), joint=()), ["'spring'", "()", "(joint, coordinate)"]),
    "coordinate an array": (force(Motor(), joint=("sleeve", np.zeros(2))), ["'sleeve'", "displacement, angle"]),
    "joints an array": (force(lambda t, k, p: 0.0, joints=np.zeros(2)), ["'spring'", "joints is array", "'all'"]),
    "law without a kind": (force(ForceLaw(), joint="hinge"), ["'spring'", "not a force law"]),
    "axes an array": (force(Wrench(force=X, axes=np.zeros(2)), body="ball"), ["'spring'", "axes is array", "'world'"]),
    "two forces of one name": (twice(force(Motor(), joint="hinge")), ["'spring'", "already a force"]),
    "negative mass": (body(mass=-1.0), ["'wheel'", "mass", "-1", "zero or more"]),
    "mass not a number": (body(mass=NAN), ["'wheel'", "mass", "nan", "finite"]),
    "mass a word": (body(mass="heavy"), ["'wheel'", "mass", "'heavy'", "one number"]),
    "mass a number in words": (body(mass="5"), ["'wheel'", "mass is '5'", "one number"]),
    "mass a switch": (body(mass=True), ["'wheel'", "mass is True", "one number"]),
    "mass complex": (body(mass=np.array(1j)), ["'wheel'", "mass", "one number"]),
    "mass beyond all floats": (body(mass=10**400), ["'wheel'", "mass is 1000", "one number"]),
    "mass beyond all digits": (body(mass=10**5000), ["'wheel'", "mass is a int that cannot be printed"]),
    "mass beyond all range": (body(mass=1e120), ["'wheel'", "mass is 1e+120", "beyond 1e+100"]),
    "inertia ragged": (body(inertia=[[1.0], [1.0, 2.0]]), ["'wheel'", "inertia is [[1.0], [1.0, 2.0]]", "3 x 3"]),
    "orientation ragged": (body(orientation=[[1], []]), ["'wheel'", "orientation is [[1], []]", "quaternion"]),
    "position of objects": (body(position=np.array([{}, 1, 2])), ["'wheel'", "position", "3 numbers"]),
    "infinite mass centre": (body(center_of_mass=(0, INF, 0)), ["'wheel'", "center_of_mass", "inf"]),
    "mass centre of two numbers": (body(center_of_mass=(0, 0)), ["'wheel'", "center_of_mass", "(2,)", "3 numbers"]),
    "inertia negative": (body(inertia=(1, 1, -1e-3)), ["'wheel'", "inertia", "-0.001", "negative"]),
    "inertia indefinite": (body(inertia=(1, 1, 1, 2, 0, 0)), ["'wheel'", "inertia", "-1", "negative"]),
    "inertia without a third side": (body(inertia=(1, 1, 3)), ["'wheel'", "triangle", "3 > 1 + 1"]),
    "inertia not symmetric": (body(inertia=SKEW), ["'wheel'", "inertia", "symmetric"]),
    "inertia of five numbers": (body(inertia=(1, 1, 1, 0, 0)), ["'wheel'", "inertia", "(5,)", "6 (xx"]),
    "inertia not a number": (body(inertia=(1, NAN, 1)), ["'wheel'", "inertia", "nan"]),
    "orientation sheared": (body(orientation=SKEW), ["'wheel'", "orientation", "not a rotation"]),
    "orientation mirrored": (body(orientation=-np.eye(3)), ["'wheel'", "orientation", "mirrors"]),
    "orientation a zero quaternion": (body(orientation=(0, 0, 0, 0)), ["'wheel'", "zero quaternion"]),
    "orientation of two numbers": (body(orientation=(1, 0)), ["'wheel'", "orientation", "quaternion (w, x, y, z)"]),
    "gravity not a number": (lambda m: Model("moon", gravity=(0, 0, NAN)), ["'moon'", "gravity", "nan"]),
    "zero axis": (made(Revolute, (0, 0, 0)), ["Revolute: axis", "zero", "(1, 0, 0)"]),
    "axis not a number": (made(Prismatic, (NAN, 0, 0)), ["Prismatic: axis", "nan"]),
    "joint type without axis": (joint(Revolute), ["'extra'", "Revolute(axis=(1, 0, 0))"]),
    "universal axes not square": (made(Universal, X, (1, 1, 0)), ["Universal:", "axis_a", "perpendicular", "0.707"]),
    "axis as a letter": (made(Revolute, "x"), ["Revolute: axis is 'x'; it must be 3 numbers: (1, 0, 0)"]),
    "axis as a capital": (made(Planar, normal="Z"), ["Planar: normal is 'Z'; it must be 3 numbers: (0, 0, 1)"]),
    "axis as a word": (made(Cylindrical, axis="up"), ["Cylindrical: axis is 'up'; it must be 3 numbers"]),
    "axis as a number": (made(Line, 1.0), ["Line: axis has shape ()"]),
    "axis of two": (made(Universal, X, (0, 1)), ["Universal: axis_b has shape (2,)"]),
    "axis of a cylinder as a letter": (made(Cylinder, 1.0, 1.0, axis="y"), ["Cylinder: axis", "(0, 1, 0)"]),
    "staircase of equal times": (made(Staircase, (0.0, 1.0, 1.0), (1.0, 2.0, 3.0)), ["Staircase: t", "must increase"]),
    "spline of equal times": (made(Spline, (0.0, 1.0, 1.0), (1.0, 2.0, 3.0)), ["Spline: t[2] = 1.0", "t[1] = 1.0"]),
    "joint of a body with itself": (joint(Revolute(X), b="crank"), ["'extra'", "'crank'", "itself"]),
    "point not a number": (joint(Revolute(X), point=(0, 0, NAN)), ["'extra'", "point", "nan"]),
    "point and point_a": (joint(Revolute(X), point=X, point_a=X), ["'extra'", "point_a= and point_b="]),
    "point_a alone": (joint(Revolute(X), point_a=X), ["'extra'", "point_a= and point_b="]),
    "axes_a alone": (joint(Revolute(X), axes_a=np.eye(3)), ["'extra'", "both axes_a= and axes_b="]),
    "axes_a and a frame": (
        joint(Revolute(X), axes_a=np.eye(3), axes_b=np.eye(3), frame="crank"),
        ["'extra'", "give frame=, or both"],
    ),
    "axes_b sheared": (joint(Revolute(X), axes_a=np.eye(3), axes_b=SKEW), ["'extra'", "axes_b is not a rotation"]),
    "closure unknown": (joint(Revolute(X), closure="plane"), ["'extra'", "'plane'", "'line'"]),
    "closure of a ball": (joint(Spherical(), closure="line"), ["'extra'", "Revolute"]),
    "closure of an auxiliary body": (auxiliary_with_closure, ["'extra'", "closure='line'", "'motor'"]),
    "body connected to nothing": (alone(cut=False), ["'wheel'", "not connected to ground", "Floating"]),
    "body behind a cut": (alone(cut=True), ["'wheel'", "'extra'", "cut=True"]),
    "loop of fixed joints": (twice(joint(Fixed()), joint(Fixed(), name="more")), ["'more'", "'extra'", "cut=True"]),
    "rod between welded bodies": (welded_rod, ["'bar'", "fixed joints"]),
    "spring on one body": (force(SpringDamper(1.0), between=("base", "post")), ["'spring'", "'base'", "'ground'"]),
    "spring stiffness not a number": (
        force(SpringDamper(NAN), between=("tip", "base")),
        ["'spring'", "stiffness", "nan"],
    ),
    "spring of negative length": (
        force(SpringDamper(1.0, length=-1.0), between=("tip", "base")),
        ["'spring'", "length", "-1", "tension"],
    ),
    "spring on a joint": (force(SpringDamper(1.0), joint="hinge"), ["'spring'", "between=", "not joint="]),
    "force on nothing": (force(Motor(1.0)), ["'spring'", "joint=", "nothing"]),
    "force that is no law": (force(3.0, joint="hinge"), ["'spring'", "3.0", "SpringDamper"]),
    "torsion on a ball": (
        force(TorsionSpring(1.0), joint="socket"),
        ["'spring'", "'socket'", "Spherical", "no coordinate"],
    ),
    "motor on a sleeve": (force(Motor(1.0), joint="sleeve"), ["'spring'", "'sleeve'", "('sleeve', 'displacement')"]),
    "motor that returns not a number": (
        force(Motor(lambda t: NAN), joint="hinge"),
        ["'spring'", "torque", "nan", "t = 0"],
    ),
    "motor that fails": (force(Motor(lambda t: 1 / t), joint="hinge"), ["'spring'", "ZeroDivisionError"]),
    "input not a number": (force(Motor(Input(NAN)), joint="hinge"), ["'spring'", "value", "nan"]),
    "wrench on ground": (force(Wrench(force=X), body="ground"), ["'spring'", "ground"]),
    "wrench in unknown axes": (force(Wrench(force=X, axes="crank"), body="ball"), ["'spring'", "'crank'", "'world'"]),
    "wrench of two numbers": (force(Wrench(force=(1, 2)), body="ball"), ["'spring'", "force", "3 numbers"]),
    "timed wrench of two numbers": (
        force(Wrench(force=lambda t: (t, t)), body="ball"),
        ["'spring'", "3 numbers", "t = 0"],
    ),
    "rod of no length": (lambda m: m.add_rod("bar", ("tip", "base"), length=0.0), ["'bar'", "length", "above zero"]),
    "rod of negative length": (lambda m: m.add_rod("bar", ("tip", "base"), length=-2), ["'bar'", "-2", "above zero"]),
    "rod between one point": (coinciding, ["'bar'", "coincide", "Spherical"]),
    "rod of one marker": (lambda m: m.add_rod("bar", ("tip",)), ["'bar'", "two markers"]),
    "coupler of no joint": (coupler({"hing": 1.0, ANGLE: 2.0}), ["'chain'", "'hing'", "'hinge'"]),
    "coupler of a ball": (coupler({"hinge": 1.0, "socket": 2.0}), ["'chain'", "'socket'", "Spherical"]),
    "coupler without a coordinate": (coupler({"hinge": 1.0, "sleeve": 2.0}), ["'chain'", "'sleeve'", "say which"]),
    "coupler of ratio zero": (coupler({"hinge": 0.0, ANGLE: 2.0}), ["'chain'", "hinge.angle", "zero"]),
    "coupler of ratio NaN": (coupler({"hinge": NAN, ANGLE: 2.0}), ["'chain'", "hinge.angle", "nan"]),
    "coupler of one": (coupler({"hinge": 1.0}), ["'chain'", "1 coordinate", "two or more"]),
    "coupler of one twice": (coupler({"hinge": 1.0, ("hinge", "angle"): 2.0}), ["'chain'", "hinge.angle", "twice"]),
    "coupler of a list": (coupler(["hinge", "sleeve"]), ["'chain'", "dictionary"]),
    "coupler far apart": (coupler({"hinge": 1e-6, ANGLE: 1e6}), ["'chain'", "apart"]),
    "coupler offset": (coupler({"hinge": 1.0, ANGLE: 2.0}, INF), ["'chain'", "offset", "inf"]),
    "coupler follows nothing": (coupler({"hinge": 1.0, ANGLE: 2.0}, lambda t: t), ["'chain'", "3 numbers"]),
    "coupler twice": (twice(coupler({"hinge": 1.0, ANGLE: 2.0})), ["'chain'", "already a coupler"]),
    "gear of ratio zero": (lambda m: m.add_gear("mesh", "hinge", ANGLE, 0.0), ["gear 'mesh'", "zero"]),
    "screw of a hinge": (lambda m: m.add_screw("thread", "hinge", 0.1), ["'thread'", "'hinge'", "displacement"]),
    "screw of no pitch": (lambda m: m.add_screw("thread", "sleeve", 0.0), ["'thread'", "pitch", "zero"]),
    "rack without radius": (
        lambda m: m.add_rack_and_pinion("teeth", ("sleeve", "displacement"), "hinge", NAN),
        ["'teeth'", "radius", "nan"],
    ),
    "differential of one shaft": (
        lambda m: m.add_differential("axle", "hinge", ANGLE, ANGLE),
        ["'axle'", "sleeve.angle", "twice"],
    ),
    "spline unsorted": (made(Spline, **TABLE), ["Spline", "t[2] = 1.0", "must increase"]),
    "spline of one point": (made(Spline, (0.0,), (1.0,)), ["Spline", "at least two"]),
    "spline of two lengths": (made(Spline, (0.0, 1.0), (1.0, 2.0, 3.0)), ["Spline", "values", "2 numbers"]),
    "smooth step backwards": (driver(SmoothStep(2.0, 1.0, 0.0, 1.0)), ["'drive'", "t1", "later"]),
    "sine not a number": (driver(Sine(NAN, 1.0)), ["'drive'", "amplitude", "nan"]),
    "driver that returns not a number": (driver(Function(lambda t: NAN, float, float)), ["'drive'", "nan", "t = 0"]),
    "driver without derivatives": (driver(lambda t: t), ["'drive'", "3 numbers"]),
    "driver that is a number": (driver(3.0), ["'drive'", "3.0", "ConstantRate"]),
    "driver function missing": (driver(Function(math.sin, math.cos, 0.0)), ["'drive'", "fdd", "function of t"]),
    "driver that is a type": (driver(ConstantRate), ["'drive'", "not a profile", "ConstantRate(rate=1.0)"]),
    "motor of a number in words": (force(Motor("5"), joint="hinge"), ["'spring'", "value is '5'", "one number"]),
    "spline ragged": (made(Spline, [[0.0], [1.0, 2.0]], 1.0), ["Spline", "t is [[0.0], [1.0, 2.0]]", "times"]),
    "driver on a ball": (driver(ConstantRate(1.0), joint="socket"), ["'drive'", "'socket'", "Spherical"]),
    "driver on nothing": (
        lambda m: m.add_driver("drive", ConstantRate(1.0)),
        ["'drive'", "joint=, between=, body= or axes="],
    ),
    "driver of ground": (driver(ConstantRate(1.0), body=("ground", "x")), ["'drive'", "ground", "another body"]),
    "driver of no coordinate": (driver(ConstantRate(1.0), body=("crank", "w")), ["'drive'", "yaw, pitch", "'w'"]),
    "driver of a body alone": (driver(ConstantRate(1.0), body="crank"), ["'drive'", "'crank'", "(body, coordinate)"]),
    "driver of one axis": (driver(ConstantRate(1.0), axes=("tip",)), ["'drive'", "two markers"]),
    "driver of no axis": (driver(ConstantRate(1.0), axes=(("tip", "x"), "base")), ["'drive'", "('tip', 'x')", "'h'"]),
    "driver that joint coordinates cannot follow": (
        driver(ConstantRate(1.0), body=("crank", "yaw")),
        ["'drive'", "crank.yaw", "kinematic analysis"],
    ),
    "driven angle in joint coordinates": (
        driver(ConstantRate(1.0), axes=("tip", ("base", "f"))),
        ["'drive'", "angle of tip.h and base.f", "kinematic analysis"],
    ),
    "two drivers of one body coordinate": (
        twice(
            driver(ConstantRate(1.0), body=("crank", "x")),
            lambda m: m.add_driver("more", Sine(1.0, 1.0), body=("crank", "x")),
        ),
        ["'more'", "'drive'", "crank.x"],
    ),
    "two drivers of one coordinate": (
        twice(driver(ConstantRate(1.0)), lambda m: m.add_driver("again", ConstantRate(1.0), joint="hinge")),
        ["'again'", "'drive'", "hinge.angle"],
    ),
    "driver against a pinned position": (pinned_against_driver, ["'drive'", "hinge.angle", "0.5", "0.4"]),
    "driver against a pinned rate": (pinned_rate_against_driver, ["'drive'", "hinge.angle", "rate", "0.9"]),
    "initial value of no joint": (initial("hing", 1.0), ["'hing'", "'hinge'"]),
    "initial value of nothing": (initial("hinge"), ["'hinge'", "position=, rate="]),
    "initial value twice": (twice(initial("hinge", 1.0)), ["'hinge'", "before"]),
    "initial values too many": (initial("hinge", (1.0, 2.0)), ["'hinge'", "position", "1 number", "angle"]),
    "initial values too few": (initial("sleeve", 1.0), ["'sleeve'", "2 numbers", "displacement, angle"]),
    "initial quaternion short": (initial("socket", (1, 0, 0)), ["'socket'", "4 numbers", "quaternion"]),
    "initial quaternion zero": (initial("socket", (0, 0, 0, 0)), ["'socket'", "zero quaternion"]),
    "initial value not a number": (initial("hinge", NAN), ["'hinge'", "position", "nan"]),
    "initial values ragged": (initial("sleeve", [[1], [1, 2]]), ["'sleeve'", "[[1], [1, 2]]", "2 numbers"]),
    "initial pin a word": (initial("hinge", 1.0, pin="soft"), ["'hinge'", "pin is 'soft'", "True or False"]),
    "initial weight zero": (initial("hinge", 1.0, weight=0.0), ["'hinge'", "weight", "above zero"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_is_refused_by_name(case):
    spoil, words = CASES[case]
    model = machine()

    def spoil_and_compile():
        spoil(model)
        model.compile()

    with pytest.raises(ModelError) as refusal:
        spoil_and_compile()
    message = str(refusal.value)
    for word in words:
        assert word in message, message


def test_the_machine_that_the_cases_spoil_is_sound():
    assert machine().compile().n == 6


def test_there_are_enough_cases():
    assert len(CASES) >= 20


@pytest.mark.parametrize(
    ("extreme", "pull"),  # [N] over a distance of sqrt(10) m that grows by 3 / sqrt(10) m/s
    [
        ({"stiffness": -5.0, "length": 1.0}, -5.0 * (math.sqrt(10.0) - 1.0)),
        ({"stiffness": 0.0, "damping": -1.0}, -3.0 / math.sqrt(10.0)),
    ],
)
def test_negative_stiffness_and_damping_are_a_persons_choice(extreme, pull):
    model = machine()
    model.add_force("spring", SpringDamper(**extreme), between=("tip", "base"))
    model.set_initial("sleeve", rate=(1.0, 0.0))
    assert Simulation(model.compile())["spring.pull"] == pytest.approx(pull, rel=1e-12)


def test_a_refused_element_leaves_the_model_as_it_was():
    model = machine()
    with pytest.raises(ModelError):
        model.add_joint("bad", Revolute((0, 0, 0)), "crank", "ball")
    assert "bad" not in model.joints
    model.add_joint("bad", Revolute(X), "crank", "ball")


def test_a_model_that_cannot_move_is_refused():
    model = Model("rock")
    with pytest.raises(TopologyError, match="'rock'"):
        model.compile()
    model.add_body("stone", mass=1.0)
    model.add_joint("lie", Fixed(), "ground", "stone")
    with pytest.raises(TopologyError, match="'rock' has no coordinate"):
        model.compile()
    free = Model("bird")
    free.add_body("bird", mass=1.0, inertia=(1, 1, 1))
    free.add_joint("fly", Floating(), "ground", "bird")
    assert free.compile().n == 6


def test_errors_are_a_small_family():
    children = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(issubclass(child, RtmbsError | errors.RtmbsWarning) for child in children)
    assert issubclass(UnknownNameError, ModelError)
    assert issubclass(TopologyError, ModelError)


# ------------------------------------------------------------------------------------------------- what cannot be run


def system():
    """The sound machine with a motor, an input and a timed wrench, compiled."""
    model = machine()
    model.add_force("motor", Motor(Input(1.0)), joint="hinge")
    model.add_force("wind", Wrench(force=Input((0, 0, 0)), torque=lambda t: (t, 0, 0)), body="ball")
    model.add_rod("rod", ("tip", "post"))
    return model.compile()


def simulation(**options):
    return Simulation(system(), **by_name(**{"h": 1e-2, **options}))


def option(**wrong):
    return lambda: simulation(**wrong)


def changed(**wrong):
    return lambda: simulation().change(**wrong)


def running(t_end, **more):
    return lambda: simulation().run(t_end, **more)


def late(t_end):
    def act():
        sim = simulation()
        sim.run(0.05)
        sim.run(t_end)

    return act


def setting(name, value):
    def act():
        simulation().inputs[name] = value

    return act


def new_step(h):
    def act():
        simulation().h = h

    return act


def spoilt(spoil):
    """Compile the machine spoilt by what a start or a step stumbles over, and run it."""

    def act():
        model = machine()
        spoil(model)
        Simulation(model.compile(), h=1e-2).run(0.05, on_failure="raise")

    return act


def loop(width=1.0, pins=None, rates=None):
    """A square four-bar, its last pivot ``width`` from the first."""

    def act():
        model = Model("square")
        for name, place in (("left", (0, 0, 0)), ("top", (0, 0, 1)), ("right", (0, 1, 0))):
            model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=place)
        model.add_joint("A", Revolute(X), "ground", "left", point=(0, 0, 0))
        model.add_joint("B", Revolute(X), "left", "top", point=(0, 0, 1))
        model.add_joint("C", Revolute(X), "top", "right", point=(0, 1, 1), cut=True)
        model.add_joint("D", Revolute(X), "ground", "right", point_a=(0, width, 0), point_b=(0, 0, 0))
        for name, value in (pins or {}).items():
            model.set_initial(name, position=value)
        for name, value in (rates or {}).items():
            model.set_initial(name, rate=value)
        Simulation(model.compile(), h=1e-2)

    return act


def doubled_pin(off, **options):
    """A planar loop whose revolute sits off its plane."""

    def act():
        model = machine()
        model.add_body("arm", mass=1.0, inertia=(1, 1, 1))
        model.add_joint("shoulder", Revolute(X), "ground", "arm")
        model.add_joint("weld", Revolute(X), "crank", "arm", point_a=(off, 0, 0), point_b=(0, 0, 0), cut=True)
        Simulation(model.compile(), **by_name(**options))

    return act


def bead(model):
    model.add_body("bead", mass=1.0, position=(0, 0, 3))
    model.add_joint("spin", Revolute(Z), "ball", "bead", point=(0, 0, 3))


def coincident_spring(model):
    model.add_marker("other tip", "ball", point=(0, 0, 3))
    model.add_marker("same place", "ground", point=(0, 0, 3))
    model.add_force("coil", SpringDamper(10.0, length=1.0), between=("other tip", "same place"))


def from_now_on(f):
    """A motor that is sound at t = 0 and wrong later."""
    return lambda model: model.add_force("motor", Motor(lambda t: 0.0 if t == 0.0 else f(t)), joint="hinge")


def slow(model):
    """A motor far too strong for a step of 10 ms."""
    model.add_force("motor", TorsionSpring(-1e6), joint="hinge")
    model.set_initial("hinge", position=1.0, rate=500.0)


def weak():
    """A loop that next to nothing holds."""
    Simulation(library.build("crank_rocker").compile(), h=5e-3, method=PenaltyTrapezoidal(alpha=30.0)).run(0.5)


def state_file(change):
    """Save a state, change its bytes or entries, and go on from it."""

    def act():
        sim = simulation()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "state.npz"
            sim.state.save(path)
            change(path)
            sim.restore(path)

    return act


def truncated(path):
    path.write_bytes(path.read_bytes()[:700])


def entries(**changes):
    def change(path):
        with np.load(path) as file:
            kept = {name: file[name] for name in file.files} | changes
        kept.pop("checksum")
        form = int(kept.pop("format"))
        write_archive(path, form, ((name, value) for name, value in kept.items() if value is not None))

    return change


def state_of(change):
    """Change a copy of the state, and go on from it."""

    def act():
        sim = simulation()
        state = sim.state.copy()
        change(state)
        sim.restore(state)

    return act


def live(change):
    """Change the state that counts, and take a step."""

    def act():
        sim = simulation()
        change(sim.state)
        if not (report := sim.step()).outcome.accepted:
            raise error_of(sim, report)

    return act


def spoil_last_nameless(state):
    """Put a number beyond range into a slot of u that belongs to no input."""
    sim = simulation()
    named = {slot for place in sim.system.inputs.values() for slot in range(place.start, place.stop)}
    state.u[max(set(range(len(state.u))) - named)] = 1e160


def put(name, value):
    """Change the first number of an array, or all of an entry."""

    def change(state):
        values = state.memory[name] if name in state.memory else getattr(state, name)
        if isinstance(values, np.ndarray) and np.ndim(value) == 0:
            values.flat[0] = value
        elif name in state.memory:
            state.memory[name] = value
        else:
            setattr(state, name, value)

    return change


def other_model(path):
    model = machine()
    model.add_body("more", mass=1.0)
    model.add_joint("hold", Fixed(), "ball", "more")
    Simulation(model.compile()).state.save(path)


STATES = {
    "truncated": (truncated, ["truncated or no state file"]),
    "no state at all": (lambda path: path.write_text("a letter"), ["truncated or no state file"]),
    "absent": (lambda path: path.unlink(), ["does not exist"]),
    "of another model": (other_model, ["another model", "'machine'"]),
    "not finite": (entries(zd=np.full(6, NAN)), ["zd", "not finite"]),
    "without rates": (entries(zd=None), ["lacks zd"]),
    "of another format": (entries(format=np.array(7)), ["format 7", f"reads format {FORMAT}"]),
    "of fewer coordinates": (entries(z=np.zeros(5)), ["z has shape (5,)", "(6,)"]),
    "of whole numbers": (entries(z=np.zeros(6, int)), ["z is of type int64"]),
    "with a step of zero": (entries(h=np.array(0.0)), ["h is 0.0"]),
    "with a step beyond range": (entries(h=np.array(1e-300)), ["h is 1e-300", "between"]),
    "with a count below zero": (entries(k=np.array(-7)), ["k is -7", "from 0"]),
    "of a time that stands still": (entries(t_ref=np.array(1e300)), ["1e+300 s", "lost in rounding"]),
    "of numbers beyond range": (entries(z=np.full(6, 1e160)), ["z holds a number beyond 1e+100"]),
}

# case: (entry of a state that no step leaves behind, value, words)
NO_STATES = {
    "alpha of zero": ("alpha", 0.0, ["alpha holds 0", "positive"]),
    "alpha negative": ("alpha", -1.0, ["alpha holds -1", "positive"]),
    "k negative": ("k", -1, ["k is -1"]),
    "k no integer": ("k", 1.5, ["k is of type float64"]),
    "k beyond all floats": ("k", 10**400, ["k is of type object"]),
    "t_ref infinite": ("t_ref", INF, ["t_ref", "not finite"]),
    "t_ref a word": ("t_ref", "now", ["t_ref is of type <U3"]),
    "h beyond range": ("h", 1e200, ["h is 1e+200", "between"]),
    "R0 no rotation": ("R0", 2.0, ["R0", "rotation"]),
    "z open": ("z", np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0]), ["rod", "open by", "z, R0 or u"]),
    "lam infinite": ("lam", INF, ["lam", "not finite"]),
    "u not a number": ("u", NAN, ["u", "not finite"]),
}

# case: (what is done, its error, words that the message must contain)
RUNS = {
    "a model that is not compiled": (lambda: Simulation(machine()), InputError, ["compile()"]),
    "h zero": (option(h=0), InputError, ["h is 0", "positive"]),
    "h negative": (option(h=-1e-3), InputError, ["h is -0.001", "positive"]),
    "h not a number": (option(h=NAN), InputError, ["h is nan", "positive"]),
    "h infinite": (option(h=INF), InputError, ["h is inf", "positive"]),
    "h a word": (option(h="5 ms"), InputError, ["h is '5 ms'", "positive"]),
    "h beyond all measure": (option(h=1e-300), InputError, ["h is 1e-300", "between"]),
    "h set to zero": (new_step(0.0), InputError, ["h is 0.0", "positive"]),
    "h set to nothing": (new_step(None), InputError, ["h is None", "positive"]),
    "h a switch": (option(h=True), InputError, ["h is True", "positive"]),
    "h beyond all floats": (option(h=10**400), InputError, ["h is 1000", "positive"]),
    "h beyond all digits": (option(h=10**5000), InputError, ["h is a int that cannot be printed"]),
    "project_velocities a word": (option(project_velocities="off"), InputError, ["'off'", "True or False"]),
    "fixed_iterations a number": (option(fixed_iterations=1), InputError, ["fixed_iterations is 1", "True or False"]),
    "fused a word": (option(fused="no"), InputError, ["fused is 'no'", "True or False"]),
    "assembly_offset a word": (option(assembly_offset="no"), InputError, ["assembly_offset is 'no'", "True or False"]),
    "progress a word": (running(0.1, progress="bar"), InputError, ["progress is 'bar'", "True or False"]),
    "jacobian changed to an array": (changed(jacobian=np.zeros(3)), UnknownNameError, ["'structured'"]),
    "penalty beyond words, and alpha": (option(penalty=10**5000, alpha=1.0), InputError, ["cannot be printed"]),
    "jacobian a list": (option(jacobian=["trace"]), UnknownNameError, ["['trace']", "'structured'"]),
    "method a number": (option(method=1), InputError, ["method is 1", "rtmbs.PenaltyTrapezoidal()"]),
    "live time not a number": (live(put("t_ref", NAN)), StateError, ["this state", "time", "finite"]),
    "live time that stands still": (live(put("t_ref", 1e300)), StateError, ["1e+300 s", "lost in rounding"]),
    "live count beyond all floats": (live(put("k", 10**400)), StateError, ["this state", "no number"]),
    "live step beyond range": (live(put("h", 5e-324)), StateError, ["h is 5e-324", "between"]),
    "live multiplier infinite": (live(put("lam", INF)), NotFiniteError, ["beyond all range", "lam of rod"]),
    "live coordinate beyond range": (live(put("z", 1e160)), NotFiniteError, ["beyond all range", "z of hinge.angle"]),
    "live rate beyond range": (live(put("zd", -1e101)), NotFiniteError, ["beyond all range", "zd of hinge.angle"]),
    "live slot of no input": (live(spoil_last_nameless), NotFiniteError, ["beyond all range", "u["]),
    "live penalty negative": (live(put("alpha", -1.0)), NotFiniteError, ["beyond all range", "alpha of rod"]),
    "penalty zero": (option(penalty=0.0), InputError, ["penalty is 0.0", "positive"]),
    "penalty negative": (option(penalty=-1e6), InputError, ["penalty is -1000000.0", "positive"]),
    "penalty not a number": (option(penalty=NAN), InputError, ["penalty is nan"]),
    "alpha zero": (option(alpha=0.0), InputError, ["alpha is 0.0", "positive"]),
    "alpha negative": (option(alpha=-1.0), InputError, ["alpha is -1.0", "positive"]),
    "alpha not a number": (option(alpha=NAN), InputError, ["alpha is nan"]),
    "tol zero": (option(tol=0.0), InputError, ["tol is 0.0", "positive"]),
    "no projection": (option(max_projections=0), InputError, ["max_projections is 0", "from 1 to 100"]),
    "projection tol zero": (option(projection_tol=0.0), InputError, ["projection_tol is 0.0", "positive"]),
    "tol infinite": (option(tol=INF), InputError, ["tol is inf", "positive"]),
    "no iterations": (option(max_iterations=0), InputError, ["max_iterations is 0", "from 1 to 48"]),
    "half an iteration": (option(max_iterations=2.5), InputError, ["max_iterations is 2.5", "whole"]),
    "too many iterations": (option(max_iterations=1000), InputError, ["max_iterations is 1000", "48"]),
    "jacobian unknown": (option(jacobian="structred"), UnknownNameError, ["'structred'", "'structured'"]),
    "tangent terms unknown": (option(tangent_terms="innertia"), UnknownNameError, ["'innertia'", "'inertia'"]),
    "projection weight unknown": (option(projection_metric="masses"), UnknownNameError, ["'masses'", "'mass'"]),
    "method a word": (option(method="euler"), InputError, ["method is 'euler'", "rtmbs.PenaltyTrapezoidal()"]),
    "method a class": (option(method=RungeKutta), InputError, ["method is", "rtmbs.PenaltyTrapezoidal()"]),
    "tableau unknown": (lambda: RungeKutta(tableau="gill"), UnknownNameError, ["'gill'", "'classical'"]),
    "t_end before now": (late(0.02), InputError, ["t_end = 0.02", "t = 0.05 s", "later"]),
    "t_end not a number": (running(NAN), InputError, ["t_end is nan"]),
    "t_end a word": (running("soon"), InputError, ["t_end is 'soon'"]),
    "t_end between steps": (running(0.0345), InputError, ["t_end = 0.0345", "h = 0.01", "h = 0.0115000", "fits"]),
    "t_end within a step": (running(0.004), InputError, ["t_end = 0.004", "h = 0.004 fits"]),
    "on_failure unknown": (running(0.1, on_failure="half"), UnknownNameError, ["'half'", "'halve'"]),
    "halvings without number": (running(0.1, on_failure="halve", at_most=-1), InputError, ["at_most is -1"]),
    "input unknown": (setting("motr.torque", 1.0), UnknownNameError, ["'motr.torque'", "'motor.torque'"]),
    "input of two numbers": (setting("motor.torque", (1, 2)), InputError, ["'motor.torque'", "1 number,", "got 2"]),
    "input of one number": (setting("wind.force", 1.0), InputError, ["'wind.force'", "3 numbers", "got 1"]),
    "input not a number": (setting("motor.torque", NAN), InputError, ["'motor.torque'", "finite"]),
    "input a word": (setting("motor.torque", "full"), InputError, ["'motor.torque'", "'full'"]),
    "gravity down": (setting("gravity", -9.81), InputError, ["'gravity'", "3 numbers"]),
    "input that is a function": (setting("wind.torque", (1, 2, 3)), InputError, ["'wind.torque'", "function of time"]),
    "channel unknown": (
        lambda: simulation().run(0.01)["hinge.angel"],
        UnknownNameError,
        ["'hinge.angel'", "'hinge.angle'"],
    ),
    "reaction of no joint": (lambda: simulation().reaction("hing"), UnknownNameError, ["'hing'", "'hinge'"]),
    "loop that cannot close": (loop(width=4.0), StartError, ["'C' cannot close", "a gap of 1 m", "points and lengths"]),
    "positions against each other": (
        loop(pins={"A": 0.5, "D": -0.9}),
        StartError,
        ["'C' cannot close", "gap", "A.angle, D.angle"],
    ),
    "rates against each other": (
        loop(rates={"A": 1.0, "D": -1.0}),
        StartError,
        ["rates cannot all hold", "'C.", "A.angle, D.angle", "pin=False"],
    ),
    "pin off its plane": (
        doubled_pin(1e-3),
        StartError,
        ["'weld", "contradict each other by 0.001", "stress", "assembly_offset=True"],
    ),
    "massless tip on a spring": (
        spoilt(massless_tip),
        ModelError,
        ["'hand'", "massless", "wrist.angle", "mass or inertia"],
    ),
    "massless chain": (spoilt(massless_chain), ModelError, ["'first'", "massless", "one.angle"]),
    "bead without inertia": (spoilt(bead), StartError, ["'spin.angle'", "no inertia", "give"]),
    "spring without direction": (spoilt(coincident_spring), StartError, ["'coil'", "coincide"]),
    "Newton that does not converge": (
        spoilt(slow),
        NotConvergedError,
        ["step 1 to t = 0.01 s", "did not converge", "smaller step", "hinge.angle", "scaled corrections"],
    ),
    "loop that opens": (weak, LoopOpenError, ["knee.", "stays open", "penalty"]),
    "force that returns no number": (
        spoilt(from_now_on(lambda t: NAN)),
        NotFiniteError,
        ["step 1 to t = 0.01 s", "not finite", "motor.torque"],
    ),
    "force that returns infinity": (spoilt(from_now_on(lambda t: INF)), NotFiniteError, ["motor.torque"]),
    "force that raises": (
        spoilt(from_now_on(lambda t: 1 / 0)),
        ZeroDivisionError,
        ["division by zero", "'motor.torque' at t = 0.01 s"],
    ),
    "force that returns a word": (spoilt(from_now_on(lambda t: "much")), ValueError, ["'much'", "'motor.torque'"]),
    **{
        f"state with {case}": (state_of(put(name, value)), StateError, ["this state for model 'machine'", *words])
        for case, (name, value, words) in NO_STATES.items()
    },
    **{f"state file {case}": (state_file(change), StateError, words) for case, (change, words) in STATES.items()},
}


@pytest.mark.parametrize("case", RUNS)
def test_what_cannot_be_run_is_refused_by_name(case):
    act, kind, words = RUNS[case]
    with pytest.raises(kind) as refusal:
        act()
    message = " ".join((str(refusal.value), *getattr(refusal.value, "__notes__", ())))
    for word in words:
        assert word in message, message
    if case.startswith("state file"):
        assert "state.npz" in message


def test_the_machine_runs_as_it_is():
    sim = simulation()
    sim.run(0.02)
    assert sim.t == 0.02


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("wrong", [2.0 * np.eye(3), -np.eye(3), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan)])
def test_a_reference_rotation_that_is_none_ends_the_step(fused, wrong):
    """Written into the live State: what ``restore`` refuses no step takes, nor a twin, nor a run."""
    sim = Simulation(library.build("top").compile(), h=1e-3, method=PenaltyTrapezoidal(fused=fused))
    sim.step()
    sim.state.R0[0] = wrong
    for stepping in (sim, sim._twin()):
        report = stepping.step()
        assert report.outcome.name == "NOT_FINITE"
        assert any("R0 of" in name and "no rotation" in name for name in report.worst), report.worst
    with pytest.raises((NotFiniteError, StateError), match="R0"):
        sim.run(sim.t + 2e-3)


@pytest.mark.parametrize("on_failure", ["halve", "raise"])
@pytest.mark.parametrize(("entry", "value"), [("lam", np.nan), ("lam", 1e160), ("z", 1e160), ("zd", np.inf)])
def test_a_live_state_out_of_range_ends_a_run_by_the_name_of_its_entry(entry, value, on_failure):
    """No parts are tried: they begin from the same numbers."""
    sim = Simulation(library.build("crank_rocker").compile(), h=1e-3)
    getattr(sim.state, entry)[0] = value
    owner = sim.system.row_names[0] if entry == "lam" else sim.system.coordinate_names[0]
    with pytest.raises(NotFiniteError, match=f"{entry} of {owner}"):
        sim.run(sim.t + 2e-3, on_failure=on_failure)


@pytest.mark.parametrize("observers", [None, 3.5, "x", [3], [None]])
def test_what_cannot_watch_is_no_observer(observers):
    with pytest.raises(InputError, match="observers hold"):
        Simulation(library.build("top").compile(), h=1e-3).run(2e-3, observers=observers)


@pytest.mark.parametrize(("entry", "value"), [("u", "x"), ("u", np.zeros(99)), ("alpha", np.zeros((2, 2))), ("h", 1j)])
def test_what_no_state_holds_ends_a_step_in_words(entry, value):
    for go in (lambda sim: sim.step(), lambda sim: sim.run(sim.t + 1e-3)):
        sim = Simulation(library.build("crank_rocker").compile(), h=1e-3)
        put_entry(sim.state, entry, value)
        with pytest.raises(StateError):
            go(sim) if entry != "h" else sim.step()
