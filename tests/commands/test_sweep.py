"""``rtmbs sweep``: a table in a folder, one sentence for what is wrong, and exit codes."""

import pytest

from rtmbs.commands.cli import main
from tests.studies.sweeps.studies import MEASURE

STUDY = """
model = "studies_of_a_command.py:make"
t_end = 0.1
h = 0.01
folder = "rows"
[parameters]
length = [1.0, {second}]
[measures]
"""
MODEL = "from tests.studies.sweeps.studies import fragile\n\n\ndef make(length):\n    return fragile(length)\n"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write a study; its runs are made in this process."""
    monkeypatch.setattr("rtmbs.studies.sweeps.engines.Processes.open", lambda self, alone=False: serial())
    (tmp_path / "studies_of_a_command.py").write_text(MODEL, encoding="utf-8")

    def write(second="2.0", change=("", "")):
        words = STUDY.format(second=second) + "".join(f'{name} = "{what}"\n' for name, what in MEASURE.items())
        (tmp_path / "study.toml").write_text(words.replace(*change), encoding="utf-8")
        return str(tmp_path / "study.toml")

    monkeypatch.delitem(__import__("sys").modules, "studies_of_a_command", raising=False)
    return write


def serial():
    from rtmbs.studies.sweeps.engines import Serial

    return Serial().open()


def test_a_study_goes_into_its_folder_and_goes_on(study, tmp_path, capsys):
    path = study()
    assert main(["sweep", path]) == 0
    first = capsys.readouterr().out
    assert "2 runs, 2 of them made now; the table is in" in first
    assert "peak: " in first
    assert list((tmp_path / "rows").glob("rows-*.parquet"))
    assert main(["sweep", path, "--out", str(tmp_path / "t.csv")]) == 0
    assert "2 runs, 0 of them made now" in capsys.readouterr().out
    assert (tmp_path / "t.csv").read_text().startswith("run,length,end,peak,error\n0,1.0,")


def test_failed_runs_are_told_and_the_others_kept(study, capsys):
    assert main(["sweep", study("3.0")]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "run 1 failed: RuntimeError: three metres are too long",
        "1 of 2 runs failed; the column error says why",
    ]
    assert "2 runs, 2 of them made now" in said.out


@pytest.mark.parametrize(
    ("change", "words", "sentence"),
    [
        (("length =", "lenght ="), [], "no parameter of make named 'lenght'; did you mean 'length'?"),
        (("t_end", "t_ned"), [], "no key of a study named 't_ned'; did you mean 't_end'"),
        (('folder = "rows"', ""), [], "names no folder; write folder = 'rows', or give --folder PATH or --out PATH"),
        (("", ""), ["--out", "t.txt"], "--out t.txt must end in one of .parquet, .csv"),
        (("", ""), ["--dask", "tcp://x:1", "--workers", "2"], "a cluster with an address has its own"),
    ],
)
def test_what_is_wrong_is_one_sentence(change, words, sentence, study, capsys):
    assert main(["sweep", study(change=change), *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
