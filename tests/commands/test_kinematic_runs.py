"""``rtmbs run`` of kinematic and static files: freedom, notes, constants, sweeps, measures, forces, pictures."""

import csv

import numpy as np
import pytest

import rtmbs
from rtmbs import language, load_result
from rtmbs.commands.cli import main
from rtmbs.kinematics import Analysis
from rtmbs.model import Floating

FOUR_BAR = """MODEL fourbar
SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 50 ms, gravity = (0, 0, 0));
constant a = 2;
BODY crank (mass = 1, inertia = (1, 1, 1), center of mass = (1, 0, 0));
BODY coupler (mass = 1, inertia = (1, 1, 1), position = (a, 0, 0));
BODY rocker (mass = 1, inertia = (1, 1, 1), position = (8, 0, 0));
revolute joint A (body = ground, body = crank, axis = (0, 0, 1));
revolute joint B (body = crank, body = coupler, axis = (0, 0, 1), point = (a, 0, 0));
revolute joint C (body = coupler, body = rocker, axis = (0, 0, 1), point = (7, 5, 0));
revolute joint D (body = ground, body = rocker, axis = (0, 0, 1), point = (8, 0, 0));
triad tip (body = coupler, origin = (3, 1, 0));
driver drive (A = 2 * pi * TIME);
measure swing (D.angle);
measure height (tip.y);
ENDMODEL
"""
DRIVER = "driver drive (A = 2 * pi * TIME);"
WHEEL = """MODEL wheel
SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 0.1);
constant c = 1;
BODY wheel (mass = 2, inertia = (2, 2, 3));
revolute joint axle (body = ground, body = wheel, axis = (0, 0, 1));
driver drive (axle = WAY);
ENDMODEL
"""
PLATE = """MODEL plate
SYSTEM (KINEMATIC ANALYSIS, ending time = 0.2, print interval = 0.1);
BODY plate (position = (0, 0, 1)); triad o (body = ground); triad c (body = plate, origin = (0.1, 0.2, 0));
driver x (plate.x = TIME); driver y (plate.y = 0); driver z (c.z = 1);
driver a (plate.yaw = TIME); driver b (plate.pitch = 0); driver c (plate.roll = 0);
ENDMODEL
"""


@pytest.fixture
def run(tmp_path, capsys):
    def ran(text, *words, code=0):
        path = tmp_path / "model.mks"
        path.write_text(text)
        assert main(["run", str(path), *words]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err + printed.out

    return ran


def test_a_run_says_what_is_free_and_what_is_redundant(run):
    held = run(FOUR_BAR)
    assert "0 free: joints and drivers hold every body" in held
    assert "3 redundant: D.z, D.tilt_1, D.tilt_2" in held
    free = run(FOUR_BAR.replace(DRIVER, ""))
    assert "1 free: crank turns about (0, 0, " in free
    assert "--out PATH, such as --out run.h5, saves it" in free
    assert "4 redundant: D.z, D.tilt_1, D.tilt_2, again.yaw" in run(
        FOUR_BAR.replace(DRIVER, f"{DRIVER} driver again (crank.yaw = 2 * pi * TIME);")
    )


@pytest.mark.parametrize(
    ("way", "interval", "note"),
    [
        ("0.5 * (1 + sign(TIME - 0.44))", "0.1", "driver 'drive' jumps by 1 at t = 0.44 s"),
        ("spline([0, 0.5], [0, 1])", "0.1", "its table is from 0 s to 0.5 s; beyond, its spline goes on straight"),
        ("2 * spline([0.1, 2], [0, 1])", "0.1", "its table is from 0.1 s to 2 s"),
        ("TIME", "0.3", "ending time 1 s is no whole number of print intervals of 0.3 s; the last row is at 0.9 s"),
        ("TIME", "5", "print interval is 5 s and the analysis takes 1 s: the result has one row"),
        ("360 * TIME", "0.01", "turns by up to 3.6 rad from one row to the next; angles are in rad, a turn is 2 * pi"),
    ],
)
def test_a_run_notes_what_a_user_may_not_mean(way, interval, note, run):
    assert note in run(WHEEL.replace("WAY", way).replace("print interval = 0.1", f"print interval = {interval}"))


@pytest.mark.parametrize("way", ["TIME", "sin(60 * TIME)", "atan(100 * (TIME - 0.44))", "spline([0, 1], [0, 1])"])
def test_a_driver_that_is_steep_does_not_jump(way, run):
    assert "note:" not in run(WHEEL.replace("WAY", way))


def test_two_drivers_that_contradict_each_other_are_shown_at_the_second(run):
    text = FOUR_BAR.replace(DRIVER, f"{DRIVER}\ndriver second (D = 0.3 * TIME);")
    assert "model.mks:13:8: equation second.angle follows from others" in run(text, code=2)


def test_a_distance_cannot_be_driven_from_zero(run):
    ends = "triad o (body = ground, origin = (1, 0, 0)); triad p (body = wheel, origin = (1, 0, 0));"
    text = WHEEL.replace("driver", f"{ends} driver apart (distance(o, p) = TIME); driver").replace("WAY", "0")
    assert "driver 'apart' begins with a distance of 0" in run(text, code=2)


def test_constants_are_set_from_the_command_line(run):
    assert "measure swing: -0.102" in run(FOUR_BAR)
    changed = run(FOUR_BAR, "--set", "a=2100 mm")
    document = language.build(FOUR_BAR, constants={"a": 2.1})
    motion = Analysis(document.model).run(0.0, 1.0, 0.05)
    assert f"to {motion['D.angle'].max():.6g} rad" in changed
    assert "there is no constant named 'b'" in run(FOUR_BAR, "--set", "b=2", code=2)
    assert "--set takes NAME=VALUE" in run(FOUR_BAR, "--set", "b", code=2)


def test_a_file_is_run_for_many_values(run, tmp_path):
    table = tmp_path / "table.csv"
    printed = run(FOUR_BAR, "--sweep", "a=1:2:3", "--out", str(table))
    assert printed.count("largest height") == 3
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["a", "least swing", "largest swing", "least height", "largest height", "error"]
    for words in rows[1:]:
        model = language.build(FOUR_BAR, constants={"a": float(words[0])}).model
        swing = Analysis(model).run(0.0, 1.0, 0.05)["D.angle"]
        assert [float(word) for word in words[1:3]] == pytest.approx([swing.min(), swing.max()], abs=1e-9)
    failed = run(FOUR_BAR, "--sweep", "a=2,60", code=1)
    assert "a = 60, error = " in failed
    assert "--sweep takes NAME=FIRST:LAST:COUNT" in run(FOUR_BAR, "--sweep", "a=1:2", code=2)
    assert "at most 100,000" in run(FOUR_BAR, "--sweep", "a=1:2:1000", "--sweep", "b=1:2:1000", code=2)
    assert "has no measure" in run(WHEEL.replace("WAY", "c * TIME"), "--sweep", "c=1:2:3", code=2)


RAILS = """MODEL rails
SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 0.5);
constant n = 1; constant A = [1, 2]; constant L = 2;
repeat k (from = n, to = 3);
BODY b[k] (); prismatic joint p[k] (body = ground, body = b[k], axis = (1, 0, 0)); driver d[k] (p[k] = k * TIME);
measure x[k] (p[k]);
end repeat;
ENDMODEL
"""


@pytest.mark.parametrize("values", ["1,2,3", "3,2,4,2.5,1"])
def test_a_sweep_writes_each_value_under_the_name_of_its_measure(values, run, tmp_path):
    """Rail k moves k TIME; from n on there are measures, and none for n = 4."""
    table = tmp_path / "table.csv"
    bad = [one for one in values.split(",") if float(one) not in (1.0, 2.0, 3.0)]
    printed = run(RAILS, "--sweep", f"n={values}", "--out", str(table), code=1 if bad else 0)
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["n"] for row in rows] == values.split(",")
    for row in rows:
        for k in (1, 2, 3):
            there = row["n"] not in bad and float(row["n"]) <= k
            assert row[f"least x_{k}"] == ("0" if there else "")
            assert row[f"largest x_{k}"] == (str(k) if there else "")
        assert bool(row["error"]) == (row["n"] in bad)
    assert "n = 2, least x_2 = 0, largest x_2 = 2, least x_3 = 0, largest x_3 = 3\n" in printed


def test_a_value_that_the_file_refuses_is_a_row_and_a_broken_file_none(run, tmp_path):
    text = WHEEL.replace("WAY", "TIME").replace("(mass = 2,", "(pqr = [(0, 0, 0), (0, 0, 1), (c - 2, 0, 0)], mass = 2,")
    text = text.replace("ENDMODEL", "measure turn (axle); ENDMODEL")
    table = tmp_path / "table.csv"
    run(text, "--sweep", "c=1:3:3", "--out", str(table), code=1)
    errors = [line.split(",", 3)[3] for line in table.read_text().splitlines()[1:]]
    assert [bool(error) for error in errors] == [False, True, False]
    assert "lie on one line" in errors[1]
    assert "a = " not in run(text.replace("c - 2", "2 - 2"), "--sweep", "c=1:3:3", code=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sweep", "A=3,2"], "constant 'A' holds several values, and a sweep is over constants of one number"),
        (["--sweep", "nn=3,2"], "there is no constant named 'nn'; did you mean 'n'?"),
        (["--sweep", "n=3,2", "--sweep", "n=1,2"], "constant 'n' is given twice on the command line"),
        (["--set", "n=3", "--sweep", "n=1,2"], "constant 'n' is given twice on the command line"),
        (["--set", "n=3", "--set", "n=1"], "constant 'n' is given twice on the command line"),
        (["--set", "n=L*7"], "constant 'n' is given as L*7, with the name 'L'; a value from outside does not know"),
        (["--set", "L=TIME"], "constant 'L': its value takes a number, and this is a function of time"),
    ],
)
def test_values_from_outside_that_no_run_can_take_are_told(words, says, run):
    assert says in run(RAILS, *words, code=2)


HANGING = """MODEL st
constant k = 100;
SYSTEM (KIND, gravity = (0, 0, -10), ending time = 0.1);
BODY w (mass = 2, inertia = (1, 1, 1));
prismatic joint rail (body = ground, body = w, axis = (0, 0, 1));
torsion spring s (joint = rail, stiffness = k);
measure z (w.z);
ENDMODEL"""


def swept(printed):
    return [float(line.split("least z = ")[1].split(",")[0]) for line in printed.splitlines() if "least z" in line]


def test_a_sweep_makes_the_analysis_that_the_file_asks_for(run):
    """A weight on a spring: at rest z = -m g / k, and falling z = -m g / k (1 - cos(w t))."""
    static = HANGING.replace("KIND", "STATIC EQUILIBRIUM")
    assert swept(run(static, "--sweep", "k=100,200")) == pytest.approx([-0.2, -0.1], abs=1e-9)
    assert "--method belongs to a DYNAMIC" in run(static, "--sweep", "k=1,2", "--method", "hht", code=2)
    dynamic = HANGING.replace("KIND", "DYNAMIC ANALYSIS")
    exact = [-20.0 / k * (1.0 - np.cos(np.sqrt(k / 2.0) * 0.1)) for k in (100.0, 200.0)]
    explicit = swept(run(dynamic, "--sweep", "k=100,200", "--method", "runge-kutta", "tableau=classical"))
    assert explicit == pytest.approx(exact, abs=1e-7)
    assert swept(run(dynamic, "--sweep", "k=100,200", "--recursion", "rk4")) == pytest.approx(exact, abs=1e-7)
    bdf = dynamic.replace("ending time", "recursion = rk4, ending time")
    assert swept(run(bdf, "--sweep", "k=100,200")) == pytest.approx(exact, abs=1e-7)
    for option in (["--ranks", "2"], ["--channels", "w.position"], ["--blocks"]):
        assert f"{option[0]} belongs to one run" in run(dynamic, "--sweep", "k=1,2", *option, code=2)
    ranks = bdf.replace("ending time", "ranks = 2, ending time")
    assert "--sweep runs in one process" in run(ranks, "--sweep", "k=1,2", code=2)
    assert "note: ending time 0.1 s" in run(
        dynamic.replace("0.1)", "0.1, step = 0.01, print interval = 0.03)"), "--sweep", "k=1,2"
    )


def test_forces_of_drivers_and_reactions(run, tmp_path):
    out = tmp_path / "wheel.npz"
    printed = run(WHEEL.replace("WAY", "0.5 * sin(3 * TIME)"), "--forces", "--out", str(out))
    assert "1 drive" in printed
    result = load_result(out)
    np.testing.assert_allclose(result["drive.drive"], -13.5 * np.sin(3.0 * result["t"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.abs(result["axle.reaction"][:, 2]), 2.0 * 9.81, rtol=0, atol=1e-9)
    dynamic = WHEEL.replace("WAY", "TIME").replace("KINEMATIC", "DYNAMIC")
    assert "belongs to a KINEMATIC ANALYSIS" in run(dynamic, "--forces", code=2)
    curved = WHEEL.replace("WAY", "TIME").replace(
        "driver",
        "BODY p (mass = 1, inertia = (1, 1, 1), position = (1, 0, 0)); triad t (body = p);"
        " floating joint f (body = ground, body = p);"
        " point on curve k (triad = t, body = wheel, curve = (s, 0, 0), start = 1); driver",
    )
    assert "no driver holds" in run(curved, "--forces")
    assert "belongs to one run" in run(dynamic, "--forces", "--sweep", "c=1:2:2", code=2)


def test_static_equilibrium(run, tmp_path):
    text = """MODEL p SYSTEM (STATIC EQUILIBRIUM, gravity = (0, -9.81, 0));
    BODY bob (mass = 1, inertia = (1, 1, 1), center of mass = (1, 0, 0));
    revolute joint pin (body = ground, body = bob, axis = (0, 0, 1)); ENDMODEL"""
    out = tmp_path / "rest.npz"
    assert "stable" in run(text, "--out", str(out))
    assert load_result(out)["pin.angle"][0] == pytest.approx(-np.pi / 2, abs=1e-9)
    assert "belong to a DYNAMIC ANALYSIS" in run(text, "--channels", "pin.angle", code=2)


AT_A_TIME = """MODEL st
SYSTEM (STATIC EQUILIBRIUM, starting time = 2, gravity = (0, 0, -9.81));
BODY b (mass = 2, inertia = (1, 1, 1)); BODY w (mass = 1, inertia = (1, 1, 1));
prismatic joint p (body = ground, body = b, axis = (0, 0, 1));
prismatic joint r (body = ground, body = w, axis = (0, 0, 1));
triad a (body = ground, origin = (0, 0, 3)); triad c (body = b); triad d (body = w);
spring s (triad = a, triad = c, stiffness = 100, length = 2);
spring below (triad = c, triad = d, stiffness = 50, length = 0.1);
motor f (joint = p, force = 10 * TIME);
driver down (r = WAY);
measure z (b.z);
ENDMODEL
"""


def test_static_equilibrium_is_that_of_the_starting_time(run, tmp_path):
    """100 (1 - z) + 10 t = 2 g + 50 (z - r - 0.1) with the motor and the driver at t = 2: r = -7."""
    out = tmp_path / "rest.npz"
    resting = AT_A_TIME.replace("WAY", "smooth step(0, 1, 0, -7)")
    assert "at t = 2 s" in run(resting, "--out", str(out))
    result = load_result(out)
    assert result.t.tolist() == [2.0]
    z = (100.0 + 20.0 - 2.0 * 9.81 - 50.0 * 6.9) / 150.0
    assert result["z"][0] == pytest.approx(z, abs=1e-9)
    assert swept(
        run(resting.replace("100,", "k,").replace("MODEL st", "MODEL st\nconstant k = 1;"), "--sweep", "k=100")
    )
    assert "'down' moves at t = 2 s" in run(AT_A_TIME.replace("WAY", "TIME"), code=2)
    assert "alone follows" in run(AT_A_TIME.replace("driver down (r = WAY)", "driver down (c.z = 1)"), code=2)
    late = resting.replace("STATIC EQUILIBRIUM", "KINEMATIC ANALYSIS")
    assert "ending time is 1 where none is given, and starting time 2; it must be later" in run(late, code=2)


def test_what_a_simulation_does_not_follow_is_told(run):
    text = PLATE.replace("KINEMATIC", "DYNAMIC").split("driver x")[0]
    assert "KINEMATIC ANALYSIS alone follows" in run(f"{text} driver z (c.z = 1); ENDMODEL", code=2)


def test_a_result_is_shown_with_a_model_that_no_simulation_could_step(run, tmp_path):
    out, page = tmp_path / "plate.npz", tmp_path / "plate.html"
    run(PLATE, "--out", str(out))
    assert main(["view", str(out), "--of", str(tmp_path / "model.mks"), "--html", str(page)]) == 0
    assert page.stat().st_size > 10_000
    document = language.build(PLATE)
    motion = Analysis(document.model, document.constraints).run(0.0, 0.2, 0.1)
    for name, model in (("again.html", document.model), ("alone.html", None)):
        rtmbs.view(motion, model=model, html=tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    assert len(document.model.drivers) == 5  # the model of the user stays as it is
    assert not any(isinstance(joint.type, Floating) for joint in document.model.joints.values())
