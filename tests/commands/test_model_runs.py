"""``rtmbs run --ranks`` and ``--recursion``: from the command line and from a model file."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.cli import main

SPRUNG = """MODEL sprung_pair
SYSTEM (DYNAMIC ANALYSIS, ending time = 0.1, print interval = 10 ms, step = 1 ms{});
BODY left (mass = 1 kg, inertia = (0.1, 0.2, 0.15), center of mass = (0, 0.1, -0.4));
BODY right (mass = 2 kg, inertia = (0.1, 0.2, 0.15), center of mass = (0, 0, -0.3), position = (1, 0, 0));
triad knee (associated body = left, origin = (0, 0, -0.5));
triad foot (associated body = right, origin = (0, 0, -0.5));
revolute joint hinge1 (body = ground, body = left, axis = (0, -1, 0), point a = (0, 0, 0), point b = (0, 0, 0));
revolute joint hinge2 (body = ground, body = right, axis = (0, -1, 0), point a = (1, 0, 0), point b = (0, 0, 0));
initial hinge1 (position = 20 deg, rate = 1);
spring tie (triad = knee, triad = foot, stiffness = 30, length = 0.9, damping = 0.4);
ENDMODEL
"""
MPIEXEC = shutil.which("mpiexec") or shutil.which("mpiexec", path=str(Path(sys.executable).parent))


def text_of(*said):
    """Return the model file with more words in SYSTEM."""
    return SPRUNG.replace("{}", "".join(f", {word}" for word in said))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Return angles at the end by the Simulation in extrapolated small steps."""
    path = tmp_path_factory.mktemp("reference") / "pair.mks"
    path.write_text(text_of(), encoding="utf-8")
    model = rtmbs.language.read(path).model
    found = rtmbs.refined(model.compile(), 1e-3, 0.1, runs=3)
    return {name: found[name][-1] for name in ("hinge1.angle", "hinge2.angle")}


def test_a_file_names_the_method_of_time(tmp_path, reference, capsys):
    path, out = tmp_path / "pair.mks", tmp_path / "pair.npz"
    path.write_text(text_of("recursion = rk4"), encoding="utf-8")
    assert main(["run", str(path), "--out", str(out)]) == 0
    assert "recursion by rk4" in capsys.readouterr().out
    found = rtmbs.load_result(out)
    assert len(found) == 11
    for name, value in reference.items():
        assert found[name][-1] == pytest.approx(value, abs=1e-9)


@pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed")
def test_the_command_starts_ranks(tmp_path, reference, capfd):
    pytest.importorskip("mpi4py")
    path, out = tmp_path / "pair.mks", tmp_path / "pair.npz"
    path.write_text(text_of("ranks = 1"), encoding="utf-8")
    assert main(["run", str(path), "--ranks", "2", "--out", str(out)]) == 0
    assert capfd.readouterr().out.count("2 ranks or threads with 1, 1 dofs") == 1
    for name, value in reference.items():
        assert rtmbs.load_result(out)[name][-1] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("said", "words", "sentence"),
    [
        (["ranks = 1.5"], [], "ranks is 1.5; it must be a whole number"),
        ([], ["--alpha", "1"], "alpha is a setting of the recursion; say --ranks N or --recursion bdf as well"),
        ([], ["--ranks", "1", "--method", "hht"], "--method does not go with --ranks"),
    ],
)
def test_refusals(said, words, sentence, tmp_path, capsys):
    path = tmp_path / "pair.mks"
    path.write_text(text_of(*said), encoding="utf-8")
    assert main(["run", str(path), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_launcher_with_another_number_of_ranks(tmp_path, capsys, monkeypatch):
    path = tmp_path / "pair.mks"
    path.write_text(text_of(), encoding="utf-8")
    monkeypatch.setenv("PMI_SIZE", "4")
    assert main(["run", str(path), "--ranks", "2"]) == 2
    assert "ranks is 2, and the launcher started 4" in capsys.readouterr().err


def test_written_files_keep_the_settings(tmp_path):
    path = tmp_path / "pair.mks"
    path.write_text(text_of("recursion = bdf", "ranks = 2", "alpha = 5", "relative tolerance = 1e-6"), encoding="utf-8")
    first = rtmbs.language.read(path)
    again = tmp_path / "again.mks"
    again.write_text(rtmbs.language.write(first), encoding="utf-8")
    assert rtmbs.language.read(again).analysis == first.analysis
    assert (first.analysis.recursion, first.analysis.ranks, first.analysis.rtol) == ("bdf", 2, 1e-6)
    assert np.isclose(first.analysis.alpha, 5.0)
