"""The main job end to end on small sizes: JSON against its schema, the printed report, errors, closures, layouts."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from rtmbs.bench import fourbar
from rtmbs.bench.command import fourbar_parser, main
from rtmbs.library import references
from tests.patience import LONGEST

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((ROOT / "rtmbs" / "bench" / "schema.json").read_text(encoding="utf-8"))
DEFAULTS = {
    "ny": 1,
    "nz": 2,
    "layout": "stacked",
    "closure": "revolute",
    "angle": 30.0,
    "rate": 0.1,
    "h": 5e-3,
    "t_end": 0.5,
    "penalty": 1e6,
    "alpha": None,
    "tol": 1e-9,
    "jacobian": "structured",
}


def measure(**changes):
    return fourbar.measure(fourbar.Options(**{**DEFAULTS, **changes}))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The record and the JSON text of one run through the command line."""
    path = tmp_path_factory.mktemp("bench") / "run.json"
    assert main(["fourbar", "--ny", "2", "--nz", "3", "--t-end", "0.5", "--json", str(path)]) == 0
    return json.loads(path.read_text(encoding="utf-8"))


def test_json_fits_the_schema(written):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(written, SCHEMA)
    assert set(written) == set(SCHEMA["properties"]), "the schema names every key that is written, and no other"


def test_the_schema_refuses_what_it_should(written):
    for broken in ({"penalty": None, "alpha": None}, {"ny": 0}, {"energy_error": -1.0}, {"layout": "heap"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**written, **broken}, SCHEMA)


def test_a_tape_is_recorded_before_the_first_measured_step(monkeypatch):
    """The sources that prepare themselves at their first answer are asked once before."""
    asked, plain = [], fourbar.timed_steps

    def timed_steps(sim, *rest):
        made = sim.equations.source.derivatives
        asked.append("jacobian_entries" in vars(made))
        return plain(sim, *rest)

    monkeypatch.setattr(fourbar, "timed_steps", timed_steps)
    measure(jacobian="trace", t_end=0.05)
    assert asked[-1], "the tape of the measured mechanism is compiled"


def test_counts(written):
    assert written["bodies"] == (1 + 2 * 2) * 3 + 1
    assert written["coordinates"] == 15
    assert written["loop_equations"] == 2 * 3 * 5
    assert written["degrees_of_freedom"] == 3
    assert written["steps"] == 100
    assert written["newton_iterations"] > written["jacobians"] == written["factorisations"] >= written["steps"]
    assert written["penalty"] == 1e6
    assert written["alpha"] is None
    assert written["real_time_factor"] == pytest.approx(written["t_end"] / written["wall_s"])
    assert written["step_us"]["p50"] <= written["step_us"]["p99"] <= written["step_us"]["max"]
    assert sum(written["phases_s"].values()) <= 1.1 * written["wall_s"], "ticks are calibrated against the wall clock"


def test_errors_are_those_of_the_method(written):
    exact = references.fourbar(2, 3, 0.5)
    np.testing.assert_allclose(written["theta"], exact.q, atol=1e-4)
    np.testing.assert_allclose(written["thetad"], exact.qd, atol=1e-3)
    assert written["error_theta1"] == pytest.approx(abs(written["theta"][0] - exact.q[0]))
    assert written["error_theta_max"] == pytest.approx(np.max(np.abs(np.array(written["theta"]) - exact.q)))
    assert written["max_position_violation"] < 1e-6
    assert written["max_velocity_violation"] < 1e-9
    assert written["energy_error"] < 1e-2


def test_halving_the_step_quarters_the_error_at_least():
    coarse, fine = (measure(h=h)["error_theta_max"] for h in (5e-3, 2.5e-3))
    assert coarse / fine > 3.6


@pytest.mark.parametrize("layout", ["stacked", "parallel"])
def test_every_closure_gives_the_same_motion(layout):
    runs = {closure: measure(layout=layout, closure=closure, ny=2) for closure in ("line", "point", "revolute")}
    equations = {closure: run["loop_equations"] // (2 * 2) for closure, run in runs.items()}
    assert equations == {"line": 2, "point": 3, "revolute": 5}
    for closure in ("line", "point"):
        np.testing.assert_allclose(runs[closure]["theta"], runs["revolute"]["theta"], atol=1e-8)


def test_parallel_rows_meet_their_reference():
    run = measure(layout="parallel", nz=3)
    assert run["error_theta_max"] < 1e-4
    assert run["theta"][1] == pytest.approx(run["theta"][2], abs=1e-12)
    assert run["theta"][0] != pytest.approx(run["theta"][1], abs=1e-3)


def test_a_fixed_alpha():
    run = measure(penalty=None, alpha=1e9)
    jsonschema.validate(run, SCHEMA)
    assert run["penalty"] is None
    assert run["alpha"] == run["alpha_min"] == run["alpha_max"] == 1e9


def test_angle_and_rate_are_kept_exactly_at_the_start():
    options = fourbar.Options(**{**DEFAULTS, "ny": 2, "nz": 3, "angle": 17.0, "rate": 0.25})
    theta, thetad = fourbar.rod_angles(options.simulation(2, 3), options)
    assert theta[0] == math.radians(17.0)
    assert thetad[0] == 0.25
    np.testing.assert_allclose(theta, math.radians(17.0), atol=1e-14)
    np.testing.assert_allclose(thetad[1:], 0.0, atol=1e-14)


def test_the_report_says_what_was_measured(capsys):
    assert main(["fourbar", "--ny", "1", "--nz", "8", "--t-end", "0.1"]) == 0
    printed = capsys.readouterr().out
    for word in (
        "bodies                    25 with ground",
        "coordinates               24",
        "degrees of freedom        8",
        "real-time factor",
        "simulated time / wall time",
        "Newton iterations",
        "loop position",
        "exact reference",
        "rod of row 1 ",
        "rod of row 8 ",
        "...",
    ):
        assert word in printed
    assert all(line == line.rstrip() for line in printed.splitlines())


def test_the_command_line_holds_the_defaults_of_the_main_case():
    options = fourbar_parser("bench").read([])
    assert (options.ny, options.nz, options.layout, options.closure) == (4, 40, "stacked", "revolute")
    assert (options.angle, options.rate, options.h, options.t_end, options.tol) == (30.0, 0.1, 5e-3, 1.0, 1e-9)


def test_an_unknown_jacobian_is_named(capsys):
    assert main(["fourbar", "--jacobian", "finite-diference"]) != 0
    assert "'finite-difference'" in capsys.readouterr().err


COMMAND = [sys.executable, "-m", "rtmbs.bench", "fourbar", "--ny", "1", "--nz", "1", "--t-end", "0.05"]


def test_no_progress_bar_in_a_pipe():
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True)
    assert "\r" not in done.stderr
    assert "step/s" not in done.stderr
    assert done.stdout.startswith("multiple four-bar")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals on this system")
def test_a_progress_bar_on_a_terminal():
    termios = pytest.importorskip("termios")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))  # a new terminal has no columns to draw in
    command = subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b"".join(iter(lambda: read_terminal(ours), b""))
    printed, _ = command.communicate(timeout=LONGEST)
    os.close(ours)
    assert b"four-bar 1 x 1" in shown
    assert printed.startswith(b"multiple four-bar")


def read_terminal(terminal):
    """Return what was written to a terminal, nothing once its last writer has left."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_the_largest_error_comes_before_that_of_one_row(written, capsys):
    """The error of the first row passes through zero near 5 ms: no file and no report begins with it."""
    keys = list(written)
    assert keys.index("error_theta_max") < keys.index("error_theta1")
    assert written["error_theta_max"] >= written["error_theta1"]
    main(["fourbar", "--ny", "1", "--nz", "2", "--t-end", "0.1"])
    printed = capsys.readouterr().out
    assert -1 < printed.index("largest over all angles") < printed.index("angle of row 1")


def test_every_table_in_the_documents_states_the_largest_error_first():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("|") and "error of theta_1" in line:
                assert "largest error" in line.partition("error of theta_1")[0], (page.name, line)
