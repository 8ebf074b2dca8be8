"""The bench of methods: its table, its JSON, its refusals; and the figures of Andrews and of the long pendulum."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import rtmbs
from bench.methods import comparison, problems
from bench.methods.__main__ import main
from bench.methods.problems import ANDREWS_END
from rtmbs.dae import DORMAND_PRINCE, HalfExplicit, RadauGGL, RungeKutta, SolveIVP, integrate
from rtmbs.formulations import FORMULATIONS, Direct, Formulation, Partitioning
from tests.cases import marked
from tests.dae.motions import made


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_json(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert main(["--problem", "pendulum", "--methods", "hht,half-explicit", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["rows"]
    assert [row["method"] for row in rows] == ["hht"] * 3 + ["half-explicit"] * 3
    assert all(row["error"] < 0.02 and row["evaluations"] > 0 for row in rows)
    printed = capsys.readouterr().out
    assert printed.startswith("problem")
    assert printed.count("half-explicit") == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--problem", "pendulums"], "there is no problem named 'pendulums'; did you mean 'pendulum'"),
        (["--methods", "rungekutta"], "there is no method named 'rungekutta'"),
        (["--json", "/nowhere/at/all.json"], "there is no folder"),
    ],
)
def test_bad_words_are_refused(words, says, capsys):
    assert main(words) != 0
    assert says in capsys.readouterr().err


def test_a_method_that_refuses_has_a_remark():
    rows = comparison.measure(["bricard"], ["runge-kutta, direct"])  # HHT leaves dependent rows out
    assert [row.error for row in rows] == [None]
    assert all("depends on the other rows" in row.remark for row in rows)
    assert "depends on the other rows" in comparison.text(rows)


@pytest.mark.slow
def test_extrapolated_runs_lead_the_plain_ones():
    found = comparison.measure(["fourbar"], ["penalty-trapezoidal", "refined"])
    rows = {row.method: row for row in found}  # the finest
    plain, two, three = (rows[name].error for name in ("penalty-trapezoidal", "refined 2 runs", "refined 3 runs"))
    assert three < 1e-3 * two < 1e-6 * plain
    assert rows["refined 2 runs"].evaluations is None


@pytest.mark.parametrize("name", [marked(name, slow=name == "andrews") for name in problems.PROBLEMS])
def test_starts_are_consistent_and_energy_is_kept(name):
    problem = problems.PROBLEMS[name]()
    form = comparison.FORMULATIONS["qr" if problem.redundant else "partitioning"]()
    found = integrate(problem.system, RungeKutta(DORMAND_PRINCE, form), problem.q, problem.v, 0.02, min(problem.steps))
    energies = [problem.energy(q, v) for q, v in zip(found.q, found.v, strict=True)]
    assert np.ptp(energies) < 1e-7 * max(1.0, abs(energies[0]))


@pytest.mark.parametrize(
    ("method", "h"),
    [
        (SolveIVP("DOP853", Partitioning(), 1e-11, 1e-11), 1e-3),
        (RungeKutta(DORMAND_PRINCE, Partitioning()), 3e-5),
        (HalfExplicit(), 2e-5),
        (RadauGGL(), 5e-5),
        ("cvode", 1e-3),
        ("ida", 1e-3),
    ],
)
@pytest.mark.slow
def test_andrews_to_eight_digits(method, h):
    method = made(method, rtol=1e-11, atol=1e-11) if isinstance(method, str) else method
    problem = problems.andrews_problem()
    found = integrate(problem.system, method, problem.q, problem.v, 0.03, h)
    assert np.abs(found.q[-1] / ANDREWS_END - 1.0).max() < 1e-8


@pytest.mark.slow
def test_errors_of_cvode_fall_with_the_tolerance_and_no_step_is_lost():
    """At 1e-11 and 1e-12 it had taken 4,800 steps, half of them of rounding, and ended 2e-7 aside."""
    problem = problems.andrews_problem()
    for tolerance, bound, steps in ((1e-7, 1e-4, 700), (1e-9, 1e-6, 1200), (1e-11, 1e-8, 2000), (1e-12, 2e-9, 2200)):
        method = made("cvode", rtol=tolerance, atol=tolerance)
        found = integrate(problem.system, method, problem.q, problem.v, 0.03, 1e-3)
        assert np.abs(found.q[-1] / ANDREWS_END - 1.0).max() < bound
        assert found.counts.steps < steps


@pytest.mark.slow
def test_a_hundred_seconds_of_the_pendulum():
    """Direct integration drifts, reductions stay at rounding."""
    problem = problems.pendulum_problem()
    for form in (Partitioning(), Direct()):
        found = integrate(problem.system, RungeKutta(formulation=form), problem.q, problem.v, 100.0, 1e-2)
        tenth, whole = found.violations[: len(found.t) // 10, 0].max(), found.violations[:, 0].max()
        if isinstance(form, Direct):
            assert whole > 30 * tenth > 1e-5
        else:
            assert found.violations[:, :2].max() < 1e-10


def test_a_formulation_and_a_method_of_the_user_join_the_bench_by_name():
    """As ``rtmbs.register`` makes them known; a name of the bench may hold a comma."""

    @rtmbs.register
    @dataclass(frozen=True)
    class UdwadiaKalaba(Formulation):
        redundant = True

        def memory(self):
            return None

        def accelerations(self, system, q, v, t, memory=None):
            M, A = system.mass(q, t), system.constraint_jacobian(q, t)
            free = np.linalg.solve(M, system.force(q, v, t))
            pull = A @ np.linalg.solve(M, A.T)
            lam = np.linalg.pinv(pull) @ (A @ free - system.constraint_rate_terms(q, v, t)[1])
            return free - np.linalg.solve(M, A.T @ lam), lam

    @rtmbs.register
    @dataclass(frozen=True)
    class FineGill(RungeKutta):
        """Gill's method as one of the user."""

    try:
        assert {"runge-kutta, udwadia-kalaba", "fine-gill"} <= set(comparison.configurations(False))
        assert comparison.named("runge-kutta, svd, ida") == ["runge-kutta, svd", "ida"]
        rows = comparison.measure(["pendulum"], ["runge-kutta, udwadia-kalaba", "fine-gill"])
        assert {row.method for row in rows} == {"runge-kutta, udwadia-kalaba", "fine-gill"}
        assert all(row.error < 1e-3 for row in rows)
    finally:
        del FORMULATIONS.added["udwadia-kalaba"]
        del rtmbs.METHODS.added["fine-gill"]


def test_a_file_of_the_user_is_loaded_and_its_method_measured(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "import rtmbs\nfrom rtmbs.dae import RungeKutta\n\n\n@rtmbs.register\nclass OwnGill(RungeKutta):\n    pass\n"
    )
    try:
        assert main(["--load", str(file), "--problem", "pendulum", "--methods", "own-gill"]) == 0
        assert "own-gill" in capsys.readouterr().out
    finally:
        rtmbs.METHODS.added.pop("own-gill", None)
    assert main(["--load", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err
