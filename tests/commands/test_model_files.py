"""check, run and format on model files: what they print, and one line and code 2 for a file that is refused."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rtmbs import load_result
from rtmbs.commands.cli import main
from rtmbs.simulation.observers import IterationMeter
from tests.cases import spread
from tests.language.files import RICH, SLIDER_CRANK
from tests.language.test_bad_files import CASES
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
PENDULUM = """MODEL pendulum
SYSTEM (DYNAMIC ANALYSIS, ending time = 0.2, print interval = 0.02, step = 0.005);
BODY bob (mass = 1, inertia = (0.1, 0.1, 0.1), center of gravity = (1, 0, 0));
revolute joint pin (body = ground, body = bob, axis = (0, 1, 0));
ENDMODEL
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="model.mks"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return written


def refused(words, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("rtmbs: ")
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed


def test_check_of_a_dynamic_model(write, capsys):
    assert main(["check", write(RICH)]) == 0
    printed = capsys.readouterr().out
    for word in ("rich machine: dynamic analysis from 0 s to 0.2 s", "elbow", "degrees of freedom   12", "hinge.angle"):
        assert word in printed


def test_a_dynamic_model_is_shown_with_its_own_step(write, tmp_path, capsys):
    """As a run that is made for a page, and as the model of its recorded result."""
    path, result, page = write(PENDULUM), tmp_path / "run.npz", tmp_path / "page.html"
    assert main(["view", path, "--html", str(page), "--t-end", "0.2", "--fps", "1000"]) == 0
    assert "41 pictures" in capsys.readouterr().out
    assert main(["run", path, "--out", str(result)]) == 0
    assert main(["view", str(result), "--of", path, "--html", str(page)]) == 0
    assert '"part":"joints"' in page.read_text()


def test_check_points_at_what_is_wrong(write, capsys):
    path = write(PENDULUM.replace("mass", "mas"))
    printed = refused(["check", path], capsys)
    told = f"{path}:3:11: body 'bob' takes no 'mas'; did you mean 'mass'?"
    assert printed.err == f"rtmbs: {told} [docs/errors.md#unknown-name]\n"
    line, caret = printed.out.splitlines()
    assert line == PENDULUM.replace("mass", "mas").split("\n")[2]
    assert caret == " " * 10 + "^"


@pytest.mark.parametrize("case", ["missing ENDMODEL", "brackets too deep", "unknown triad", "empty", "name not closed"])
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_bad_file_is_one_line_and_code_2(case, command, write, capsys):
    path = write(CASES[case][0])
    assert refused([command, path], capsys).err.startswith(f"rtmbs: {path}:")


def test_files_that_are_none(tmp_path, capsys):
    for command in ("check", "run", "format"):
        assert "does not exist" in refused([command, str(tmp_path / "none.mks")], capsys).err
        assert "is a folder" in refused([command, str(tmp_path)], capsys).err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("BODY b (mass = 1);", "4:6: body 'b' is not connected to ground"),
        (
            "BODY b (inertia = (0, 0, 0)); revolute joint j (body = ground, body = b, axis = (1, 0, 0));",
            "4:6: body 'b' is massless, and no heavier body or closure holds j.angle",
        ),
        (
            "BODY b (mass = 1, inertia = (1, 1, 1)); revolute joint j (body = ground, body = b, axis = (1, 0, 0));"
            "driver d (b.x = TIME);",
            "driver 'd' prescribes b.x, which only a kinematic analysis follows",
        ),
        (
            "BODY b (mass = 1, inertia = (1, 1, 1)); revolute joint j (body = ground, body = b, axis = (1, 0, 0));"
            "spherical joint k (body = ground, body = b, point a = (5, 0, 0), point b = (1, 0, 0), cut = yes);",
            "4:118: the loop at 'k' cannot close",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_model_that_cannot_be_names_the_element(text, sentence, command, write, capsys):
    path = write(f"MODEL m\nSYSTEM (DYNAMIC ANALYSIS);\n\n{text}\nENDMODEL")
    message = refused([command, path], capsys).err
    assert sentence in message
    assert message.startswith(f"rtmbs: {path}:")


def test_the_line_of_an_element_is_shown_for_what_the_whole_model_is_refused(write, capsys):
    text = SLIDER_CRANK.replace("ENDMODEL", "driver d2 (pend1.x = 5); ENDMODEL")
    line, caret = refused(["check", write(text)], capsys).out.splitlines()
    assert line[len(caret) - 1 :].startswith("d2 (pend1.x = 5)")
    assert caret.strip() == "^"


def test_of_many_loose_bodies_some_are_named(write, capsys):
    bodies = "".join(f"BODY b{k} (mass = 1, inertia = (1, 1, 1));\n" for k in range(140))
    path = write(f"MODEL m SYSTEM (DYNAMIC ANALYSIS);\n{bodies}ENDMODEL")
    error = refused(["check", path], capsys).err
    assert error.startswith(f"rtmbs: {path}:2:6: bodies 'b0', 'b1',")
    assert " and 134 more are not connected to ground" in error


FLAT = """MODEL flat SYSTEM (KINEMATIC ANALYSIS);
BODY crank; BODY coupler (position = (0.3, 0, 0)); BODY rocker (position = (1, 0, 0));
revolute joint A (body = ground, body = crank, axis = (0, 0, 1));
revolute joint B (body = crank, body = coupler, axis = (0, 0, 1), point = (0.3, 0, 0));
revolute joint C (body = coupler, body = rocker, axis = (0, 0, 1), point a = (0.9, 0, 0), point b = (BEND));
revolute joint D (body = ground, body = rocker, axis = (0, 0, 1), point = (1, 0, 0));
driver d (A = TIME); ENDMODEL
"""


def test_bars_in_one_line_lie_between_two_ways_to_assemble(write, capsys):
    error = refused(["check", write(FLAT.replace("BEND", "0.8, 0, 0"))], capsys).err
    assert "cannot be assembled" in error
    assert "stands between several ways to assemble" in error
    assert main(["check", write(FLAT.replace("BEND", "0.8, 0.1, 0"))]) == 0
    assert re.match(r"assembly (moved \w+ by \S+ m and )?turned \w+ by", capsys.readouterr().out.splitlines()[-1])


def test_a_loop_that_cannot_close_names_the_joint(write, capsys):
    text = """MODEL far SYSTEM (DYNAMIC ANALYSIS);
    BODY arm (mass = 1, inertia = (1, 1, 1));
    revolute joint root (body = ground, body = arm, axis = (0, 0, 1));
    spherical joint socket (body = ground, body = arm, point a = (5, 0, 0), point b = (1, 0, 0), cut = yes); ENDMODEL"""
    assert "socket" in refused(["check", write(text)], capsys).err


def test_run_saves_a_result(write, tmp_path, capsys):
    out = tmp_path / "pendulum.npz"
    assert main(["run", write(PENDULUM), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "40 steps" in printed
    assert "11 samples of" in printed
    result = load_result(out)
    np.testing.assert_allclose(result["t"], np.arange(11) * 0.02, atol=1e-12)
    assert result["pin.angle"][-1] == pytest.approx(0.5 * 9.81 / 1.1 * 0.2**2, rel=0.02)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("step = 0.005", "step = 0.003", "whole number of steps"),
        ("ending time", "starting time = 0.1, ending time", "a dynamic analysis starts at 0"),
        ("ending time = 0.2", "ending time = 0.2001", "no whole number of steps"),
    ],
)
def test_what_cannot_be_run(old, new, sentence, write, capsys):
    assert sentence in refused(["run", write(PENDULUM.replace(old, new))], capsys).err


def test_a_place_that_no_result_can_be_written_to(write, tmp_path, capsys):
    assert (
        "there is no folder" in refused(["run", write(PENDULUM), "--out", str(tmp_path / "no" / "a.npz")], capsys).err
    )
    assert "cannot be written" in refused(["run", write(PENDULUM), "--out", str(tmp_path)], capsys).err


def test_format_prints_or_writes(write, capsys):
    path = write(SLIDER_CRANK)
    assert main(["format", path]) == 0
    usual = capsys.readouterr().out
    assert usual.startswith("MODEL slider_crank\nSYSTEM (\n    KINEMATIC ANALYSIS, ")
    assert Path(path).read_text() == SLIDER_CRANK
    assert main(["format", path, "--in-place"]) == 0
    assert (capsys.readouterr().out, Path(path).read_text()) == ("", usual)
    assert main(["format", path]) == 0
    assert capsys.readouterr().out == usual


def test_format_leaves_a_bad_file_as_it_is(write, capsys):
    path = write("MODEL a b ENDMODEL")
    assert "expected" in refused(["format", path, "--in-place"], capsys).err
    assert Path(path).read_text() == "MODEL a b ENDMODEL"


def test_the_console_script_ends_with_code_2(write):
    command = [sys.executable, "-m", "rtmbs", "check", write(CASES["no SYSTEM"][0])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_reading_a_file_loads_no_compiler(write):
    code = (
        "import sys; from rtmbs.language import read, write; write(read(sys.argv[1]));"
        "print([name for name in ('numba', 'scipy', 'autograd', 'matplotlib') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, write(SLIDER_CRANK)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True)
    assert done.stdout.strip() == "[]"


# --------------------------------------------------------------------------------------------------------- kinematics


def test_check_prints_the_table_of_the_paper(write, capsys):
    """Seven coordinates a body, one equation left to the rod, which may spin about itself."""
    assert main(["check", write(SLIDER_CRANK)]) == 0
    printed = capsys.readouterr().out
    rows = {tuple(line.split()[:-1]): line.split()[-1] for line in printed.splitlines() if line}
    assert "28 generalised coordinates" in printed
    assert (rows[("equations",)], rows[("rank",)], rows[("free",)], rows[("redundant",)]) == ("27", "27", "1", "0")
    assert "free: pend2 turns about" in printed


def test_run_of_the_slider_crank(write, tmp_path, capsys):
    out = tmp_path / "slider.npz"
    assert main(["run", write(SLIDER_CRANK), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Newton iterations" in printed
    assert re.search(
        r"^evaluations +values and Jacobian \d+, derivatives by drivers \d+, second derivatives", printed, re.M
    )
    assert "81 samples of" in printed
    result = load_result(out)
    x = 8.0 + 3.0 * np.sin(4.0 * result["t"])
    np.testing.assert_allclose(result["block.position"][:, 0], x, atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "origin = (5, 0, 0),  pqr = [(5, 0, 0), (5, 0, 1), (6, 0, 0)]",
            "origin = (1, 0, 0)",
            [":18:17: ", "'sph2'", "open by 3.2"],
        ),
        ("ENDMODEL", "driver d2 (pend1.x = 5); ENDMODEL", [":21:8: ", "'d2'", "contradict"]),
        ("8.00 + 3", "800 + 30", [":20:8: ", "cannot be assembled", "'d1'"]),
        ("ENDMODEL", "driver d2 (tran1.displacement = TIME); ENDMODEL", ["d2.displacement", "contradicts"]),
    ],
)
def test_what_kinematics_refuses(old, new, words, write, capsys):
    text = SLIDER_CRANK.replace(old, new)
    assert text != SLIDER_CRANK
    message = refused(["run", write(text)], capsys).err
    assert all(word in message for word in words), message


def test_a_driver_that_asks_for_too_much_ends_the_run(write, tmp_path, capsys):
    out = tmp_path / "part.npz"
    assert main(["run", write(SLIDER_CRANK.replace("8.00 + 3", "8.00 + 9")), "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "no position was found at t = " in printed.err
    assert f"the result so far is in {out}" in printed.out
    assert len(load_result(out)) >= 1


def test_an_interrupted_run_saves_what_there_is(write, tmp_path, capsys, monkeypatch):
    """Ctrl+C after some steps: the record so far, which the exception carries, ends in the file."""
    out = tmp_path / "part.npz"

    class Stops(IterationMeter):
        def observe(self, sim, report):
            super().observe(sim, report)
            if sim.t > 0.1:
                raise KeyboardInterrupt

        @property
        def takes_chunks(self):
            return False

    monkeypatch.setattr("rtmbs.simulation.observers.IterationMeter", Stops)
    assert main(["run", write(PENDULUM), "--out", str(out)]) == 130
    assert f"the result so far is in {out}" in capsys.readouterr().out
    assert load_result(out).t[-1] == pytest.approx(0.1)


TANGENT = """MODEL tangent
SYSTEM (KINEMATIC ANALYSIS);
BODY arm (pqr = [(0, 0, 0), (0, 0, 1), (1, 0, 0)]);
BODY slider (position = (1, 0, 0));
revolute joint shoulder (body = ground, body = arm, axis = (0, 0, 1));
prismatic joint groove (body = arm, body = slider, axis = (1, 0, 0), point a = (1, 0, 0), point b = (0, 1, 0));
revolute joint bolt (body = ground, body = slider, axis = (0, 0, 1), point = (1, 0, 0));
ENDMODEL
"""


def test_a_motion_that_ends_before_its_first_time_is_one_line(write, tmp_path, capsys):
    """The bolt touches the circle of the groove in one point: assembly comes near it, and nothing is solved there."""
    out = tmp_path / "none.npz"
    assert main(["run", write(TANGENT), "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "no position was found at t = 0 s, 0 samples are good" in printed.err
    assert not out.exists()


def test_a_driver_too_fast_to_be_followed_is_named(write, capsys):
    text = """MODEL fast SYSTEM (KINEMATIC ANALYSIS, ending time = 1, print interval = 0.1);
BODY arm;
revolute joint pin (body = ground, body = arm, axis = (0, 0, 1));
driver motor (pin = 1e6 * TIME);
ENDMODEL
"""
    assert main(["run", write(text)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        "rtmbs: no position was found at t = 0.1 s, 1 samples are good; driver 'motor' goes too fast"
    )
    assert "between t = 0 s and 0.000195313 s it changes by 195 rad" in error


@pytest.mark.parametrize("words", spread([["check"], ["run"], ["format"]], 1))
def test_a_large_file_is_taken_when_the_user_says_so(words, write, capsys):
    many = "".join(f"constant c{k} = {k};\n" for k in range(9_000))
    path = write(PENDULUM.replace("ENDMODEL", many + "ENDMODEL"))
    assert "more than 30,000 words" in refused([*words, path], capsys).err
    assert main([*words, path, "--large"]) == 0


def test_the_rows_of_a_large_result_are_taken_when_the_user_says_so(write, tmp_path, capsys):
    text = PENDULUM.replace("print interval = 0.02, step = 0.005", "print interval = 4e-6")
    assert "rows of the result times bodies are 5e+04" in refused(["run", write(text)], capsys).err
    assert main(["run", write(text), "--large", "--out", str(tmp_path / "result.npz")]) == 0
    assert len(load_result(tmp_path / "result.npz")) == 50_001


def test_a_run_is_written_in_blocks_with_chosen_channels(write, tmp_path, capsys):
    pytest.importorskip("h5py")
    path, out = write(RICH), str(tmp_path / "run.h5")
    assert main(["run", path, "--out", out, "--blocks", "--channels", "hinge.angle"]) == 0
    assert "samples of 2 channels in" in capsys.readouterr().out
    assert load_result(out).names() == ["t", "hinge.angle"]
    for words, told in (
        (["run", path, "--blocks"], "--blocks needs --out PATH, such as --out run.h5"),
        (["run", path, "--out", str(tmp_path / "a.npz"), "--blocks"], "cannot be written while a run goes on"),
        (["run", path, "--out", out, "--blocks", "--channels", "hinge.anlge"], "did you mean 'hinge.angle'"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
