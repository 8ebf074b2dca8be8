"""The console script: what it prints, and what it answers to a misspelt word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rtmbs
from bench.campaigns import momentum
from rtmbs.commands.cli import COMMANDS, main
from rtmbs.commands.files import suited_method
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]


def test_no_word_prints_every_command(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version(capsys, word):
    assert main([word]) == 0
    assert capsys.readouterr().out == f"rtmbs {rtmbs.__version__}\n"


def test_the_version_is_that_of_the_package():
    import tomllib

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == rtmbs.__version__


def test_info_says_versions_threads_and_the_cache_folder(capsys):
    from rtmbs.jit.cache_folder import PLACE

    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for word in ("rtmbs", "Python", "numpy", "numba", "threads", str(PLACE.folder)):
        assert word in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["wramup"], "there is no command named 'wramup'; did you mean 'warmup'?"),
        (["check", "forbar"], "there is no mechanism named 'forbar'; did you mean 'fourbar'"),
        (["bench", "fourbra"], "there is no bench problem named 'fourbra'; did you mean 'fourbar'?"),
        (["check", "fourbar", "--layout", "heap"], "layout is 'heap'; it must be one of stacked, parallel"),
        (["bench", "fourbar", "--t-end", "1", "--h", "0.3"], "the nearest h is 0.333"),
        (["bench", "fourbar", "--json", "/no/such/folder/a.json"], "there is no folder /no/such/folder"),
    ],
)
def test_misuse_is_one_line_that_helps(capsys, words, sentence):
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert sentence in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["bench", "fourbar", "--nyy", "3"], "there is no argument named '--nyy'; did you mean '--ny'"),
        (["bench", "fourbar", "--ny", "0"], "0 is not at least 1"),
        (["bench", "fourbar", "--ny", "two"], "'two' is not a whole number"),
        (["bench", "fourbar", "--h", "-1"], "greater than 0"),
        (["bench", "fourbar", "--h", "nan"], "nan is not a finite number"),
        (["bench", "fourbar", "--angle", "steep"], "'steep' is not a number"),
        (["bench", "fourbar", "--alpha", "1e9", "--penalty", "1e6"], "not allowed with"),
        (["bench", "fourbar", "--layout", "heap"], "invalid choice"),
        (["check", "slider_crank", "--rat", "3"], "did you mean '--rate'"),
        (["info", "--all"], "there is no argument named '--all'"),
    ],
)
def test_a_wrong_option_ends_with_code_2(capsys, words, sentence):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("words", ["check --help", "check", "check fourbar -h", "bench", "warmup -h"])
def test_help(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_warmup_says_where_the_kernels_are(capsys):
    from rtmbs.jit.cache_folder import FILES, PLACE

    assert main(["warmup"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("kernels ready in ")
    assert printed.out.endswith(f"{PLACE}\n")
    assert "\r" not in printed.err, "no progress bar in a pipe"
    assert any(PLACE.folder.glob(FILES)) or os.environ.get("NUMBA_DISABLE_JIT") == "1"


def test_the_module_is_the_console_script():
    command = [sys.executable, "-m", "rtmbs", "version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True)
    assert done.stdout == f"rtmbs {rtmbs.__version__}\n"


def test_a_reader_that_goes_away_is_no_error():
    command = f"'{sys.executable}' -m rtmbs info | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["check", "fourbar", "--ny", "2", "--nz", "2"], ["check", "slider_crank"]])
def test_check_prints_tree_and_cuts(capsys, words):
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "cut" in printed
    assert "degrees of freedom" in printed


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: rtmbs.library.build("crank_rocker"), "PenaltyTrapezoidal, the default: ground or gravity acts"),
        (lambda: rtmbs.library.build("top"), "PenaltyTrapezoidal, the default: a tree without loops"),
        (
            lambda: momentum.mechanism(0)[0],
            "VariationalMidpoint: it keeps the conserved momentum and angular momentum of the base",
        ),
        (lambda: momentum.mechanism(1)[0], "VariationalMidpoint: it keeps the conserved momentum of the base"),
        (lambda: momentum.mechanism(3)[0], "VariationalMidpoint: it keeps the conserved angular momentum of the base"),
    ],
)
def test_check_names_the_method_that_suits(make, says):
    """A floating, a sliding and a turning base with a loop, a loop on ground, and a tree."""
    assert suited_method(rtmbs.Simulation(make().compile(), 1e-3)).startswith(says)


def test_check_prints_the_method(capsys):
    assert main(["check", "crank_rocker"]) == 0
    assert "method               PenaltyTrapezoidal, the default" in capsys.readouterr().out
