"""Slowdowns beyond noise are told, noise and trifles are not; on made-up rounds, so that the right answer is known."""

import json
import math

import numpy as np
import pytest

from bench.compare import FINE, MISUSED, SLOWER, compare, main, read

ROUNDS = 60


def written(path, seconds, machine="a machine"):
    """Write rounds by name as pytest-benchmark does."""
    benchmarks = [{"fullname": name, "stats": {"data": list(map(float, data))}} for name, data in seconds.items()]
    info = {"node": "here", "machine": "x86_64", "cpu": {"brand_raw": machine}}
    path.write_text(json.dumps({"machine_info": info, "benchmarks": benchmarks}), encoding="utf-8")
    return path


def noisy(seed, median=1e-3, spread=0.05, rounds=ROUNDS):
    """Return rounds as they are measured: log-normal, with a long tail of interruptions."""
    rng = np.random.default_rng(seed)
    tail = np.where(rng.random(rounds) < 0.1, rng.uniform(1.0, 4.0, rounds), 1.0)
    return median * np.exp(spread * rng.normal(size=rounds)) * tail


def verdicts(tmp_path, old, new, **options):
    found = compare(read(written(tmp_path / "old.json", old)), read(written(tmp_path / "new.json", new)), **options)
    return {verdict.name: verdict for verdict in found}


def test_a_slowdown_is_told_and_ends_with_one(tmp_path, capsys):
    old = written(tmp_path / "old.json", {"step": noisy(1), "factor": noisy(2)})
    new = written(tmp_path / "new.json", {"step": noisy(3, 1.25e-3), "factor": noisy(4)})
    assert main([str(old), str(new)]) == SLOWER
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].startswith("step")
    assert printed[1].endswith("SLOWER")
    assert not printed[2].endswith("SLOWER")
    assert printed[-1] == "1 of 2 slower by more than 10 %"


def test_noise_is_no_slowdown(tmp_path):
    """Two hundred benchmarks that have not changed: none is told."""
    old = {f"case {k}": noisy(2 * k) for k in range(200)}
    new = {f"case {k}": noisy(2 * k + 1) for k in range(200)}
    assert {verdict.words for verdict in verdicts(tmp_path, old, new).values()} == {""}


def test_every_slowdown_of_a_fifth_is_told(tmp_path):
    old = {f"case {k}": noisy(2 * k) for k in range(100)}
    new = {f"case {k}": noisy(2 * k + 1, 1.2e-3) for k in range(100)}
    assert {verdict.words for verdict in verdicts(tmp_path, old, new).values()} == {"SLOWER"}


def test_a_trifle_that_is_certain_is_not_told(tmp_path):
    old, new = {"step": noisy(1, spread=0.01, rounds=4000)}, {"step": noisy(2, 1.03e-3, spread=0.01, rounds=4000)}
    found = verdicts(tmp_path, old, new)["step"]
    assert found.p < 1e-10
    assert found.words == ""
    assert verdicts(tmp_path, old, new, least=0.02)["step"].words == "SLOWER"


def test_a_hiccup_of_a_few_rounds_is_not_told(tmp_path):
    old, new = noisy(1, rounds=20), noisy(2, rounds=20)
    new[:5] *= 10.0
    assert verdicts(tmp_path, {"step": old}, {"step": new})["step"].words == ""


def test_a_busy_machine_is_no_slowdown(tmp_path):
    """Two thirds of the rounds share the processor with somebody: they last twice as long, the others as before."""
    old, new = noisy(1), noisy(2)
    new[: 2 * ROUNDS // 3] *= 2.0
    found = verdicts(tmp_path, {"step": old}, {"step": new})["step"]
    assert found.p < 1e-6
    assert found.ratio > 1.5
    assert found.words == ""


def test_a_gain_is_no_failure(tmp_path):
    old, new = {"step": noisy(1, 1.5e-3)}, {"step": noisy(2)}
    assert verdicts(tmp_path, old, new)["step"].words == "faster"
    assert main([str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == FINE


def test_too_few_rounds_cannot_tell(tmp_path):
    found = verdicts(tmp_path, {"import": [1.0, 1.01, 1.02, 1.0]}, {"import": [2.0, 2.01, 2.02, 2.0]})["import"]
    assert math.isnan(found.p)
    assert found.words == "fewer than 5 rounds: cannot be told"


def test_a_file_against_itself_shows_nothing(tmp_path, capsys):
    path = written(tmp_path / "one.json", {"step": noisy(1), "constant": np.full(10, 1e-6)})
    assert main([str(path), str(path)]) == FINE
    assert "0 of 2 slower" in capsys.readouterr().out


def test_what_is_in_one_file_only_and_other_machines_are_said(tmp_path, capsys):
    old = written(tmp_path / "old.json", {"step": noisy(1), "gone": noisy(2)})
    new = written(tmp_path / "new.json", {"step": noisy(1), "added": noisy(3)}, machine="another machine")
    assert main([str(old), str(new)]) == FINE
    printed = capsys.readouterr().out
    assert f"only in {old}: gone" in printed
    assert f"only in {new}: added" in printed
    assert "different machines: a machine, here; another machine, here" in printed


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("not json", "is not what `pytest --benchmark-json PATH` writes"),
        (json.dumps({"rows": []}), "is not what `pytest --benchmark-json PATH` writes"),
        (json.dumps([1, 2]), "is not what `pytest --benchmark-json PATH` writes"),
    ],
)
def test_other_files_are_refused_by_name(content, words, tmp_path, capsys):
    good, bad = written(tmp_path / "good.json", {"step": noisy(1)}), tmp_path / "bad.json"
    if content is not None:
        bad.write_text(content, encoding="utf-8")
    assert main([str(good), str(bad)]) == MISUSED
    printed = capsys.readouterr().err
    assert words in printed
    assert "bad.json" in printed


@pytest.mark.parametrize("data", [[], [1.0, float("nan")], [0.0, 1.0]])
def test_rounds_that_are_no_times_are_refused_by_name(data, tmp_path, capsys):
    good, bad = written(tmp_path / "good.json", {"step": noisy(1)}), written(tmp_path / "bad.json", {"step": data})
    assert main([str(good), str(bad)]) == MISUSED
    assert "the rounds of step are not positive times" in capsys.readouterr().err


def test_nothing_in_common(tmp_path, capsys):
    one, other = written(tmp_path / "one.json", {"a": noisy(1)}), written(tmp_path / "other.json", {"b": noisy(1)})
    assert main([str(one), str(other)]) == MISUSED
    assert "no benchmark in common" in capsys.readouterr().err
