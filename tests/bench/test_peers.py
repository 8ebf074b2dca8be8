"""The description that all programs share is the four-bar of the library, and programs that are there agree with it.

What another program needs to be there for is skipped without it.
"""

import importlib
import json

import numpy as np
import pytest

from bench.documents import inserted
from bench.peers import campaign, registry, rtmbs_joints, rtmbs_threads
from bench.peers import mechanism as description
from bench.peers.__main__ import DERIVATIVES, MARKER, PAGE, VALUES
from bench.peers.campaign import available, medians, run
from bench.peers.mechanism import LAYOUTS, Outcome, build, first_angles, largest_gap
from bench.peers.registry import KERNELS, PEERS, RTMBS, THREADED, Peer
from bench.peers.report import draw, jacobians, text, time_to
from bench.peers.rtmbs_joints import prepared, simulate
from bench.peers.targets import TARGETS, line
from rtmbs import Simulation, library
from rtmbs.library import references
from rtmbs.simulation.simulation import thread_groups

STEP = 5e-3


def at_start(mechanism):
    starts = np.array([bar.start for bar in mechanism.bars])
    return Outcome(0.0, starts, np.array([bar.direction() for bar in mechanism.bars]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_and_closed_at_the_start(layout):
    mechanism = build(layout, 4, 3)
    assert len(mechanism.bars) == len(mechanism.tree) == (1 + 2 * 4) * 3
    assert len(mechanism.loops) == 4 * 3
    start = at_start(mechanism)
    assert largest_gap(mechanism, start, mechanism.tree + mechanism.loops) < 1e-14
    assert first_angles(mechanism, start) == pytest.approx(np.full(3, np.radians(30.0)), abs=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rates_are_consistent_at_the_start(layout):
    mechanism = build(layout, 2, 3)
    for pin in mechanism.tree + mechanism.loops:
        there = mechanism.bars[pin.b].point_velocity(pin.along_b)
        here = np.zeros(3) if pin.a == description.GROUND else mechanism.bars[pin.a].point_velocity(pin.along_a)
        np.testing.assert_allclose(there, here, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_description_is_the_fourbar_of_the_library(layout):
    """Same names, same coordinates but for their zero, same rates and first accelerations."""
    mechanism = build(layout, 2, 3)
    shared = prepared(mechanism, STEP)
    own = Simulation(library.build("fourbar", ny=2, nz=3, layout=layout).compile(), h=STEP)
    assert shared.system.coordinate_names == own.system.coordinate_names
    turns = np.zeros(len(mechanism.bars))
    for pin in mechanism.tree:
        hanging = mechanism.bars[pin.b].name.startswith("rod")
        turn = mechanism.relative_turn(pin)
        if pin.a == description.GROUND or mechanism.bars[pin.a].name.startswith("coupler"):
            turn -= description.HANGING if hanging else 0.0
        elif not hanging:
            turn += description.HANGING
        turns[own.system.joints[pin.name].dofs[0]] = turn
    np.testing.assert_allclose(own.state.z, turns, atol=1e-9)
    np.testing.assert_allclose(own.state.zd, shared.state.zd, atol=1e-9)
    np.testing.assert_allclose(own.state.zdd, shared.state.zdd, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rtmbs_finds_the_exact_motion(layout):
    mechanism = build(layout, 2, 3)
    outcome = simulate(mechanism, STEP, 100)
    exact = references.fourbar(2, 3, 0.5, layout).q
    np.testing.assert_allclose(first_angles(mechanism, outcome), exact, atol=1e-4)
    assert largest_gap(mechanism, outcome, mechanism.loops) < 1e-6
    assert outcome.seconds > 0.0


@pytest.mark.parametrize(
    "peer", [peer for peer in PEERS if peer not in (RTMBS, THREADED)], ids=lambda peer: peer.module
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_peer_runs_the_same_mechanism(peer, layout):
    """First-order programs come close, and closer with a smaller step."""
    if not peer.installed():
        pytest.skip(f"{peer.package} is not installed")
    module = importlib.import_module(f"bench.peers.{peer.module}")
    mechanism = build(layout, 2, 2)
    exact = references.fourbar(2, 2, 0.5, layout).q
    errors = []
    for h in (STEP, STEP / 5):
        outcome = module.simulate(mechanism, h, round(0.5 / h))
        errors.append(float(np.abs(first_angles(mechanism, outcome) - exact).max()))
        assert largest_gap(mechanism, outcome, mechanism.loops + mechanism.tree) < 1e-4
    assert errors[0] < 1e-2
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pinocchio_has_the_same_tree(layout):
    """Inverse dynamics and their derivatives with respect to accelerations agree with rtmbs without cuts."""
    pinocchio = pytest.importorskip("pinocchio")
    from bench.peers.kernels_pinocchio import arguments

    mechanism = build(layout, 2, 2)
    mechanism.loops = []
    sim = prepared(mechanism, STEP)
    model, data, q, v, a = arguments(mechanism)
    residual = sim.equations.residual(sim.state.z, sim.state.zd, np.zeros(len(a)), sim.state.R0)
    M = sim.equations.mass_matrix()
    tau = np.asarray(pinocchio.rnea(model, data, q, v, a))
    mass = np.asarray(pinocchio.computeRNEADerivatives(model, data, q, v, a)[2])
    to = [model.joints[model.getJointId(pin.name)].idx_v for pin in mechanism.tree]
    of = [sim.system.joints[pin.name].dofs[0] for pin in mechanism.tree]
    np.testing.assert_allclose(residual[of], tau[to], atol=1e-9)
    np.testing.assert_allclose(M[np.ix_(of, of)], mass[np.ix_(to, to)], atol=1e-9)


def test_two_threads_move_the_same_mechanism():
    """Each thread has rows of its own; the bench would not say so if there was nothing to share."""
    mechanism = build("parallel", 2, 3)
    assert len(thread_groups(prepared(mechanism, STEP, rtmbs_threads.THREADS))) == THREADED.cores == 2
    assert len(thread_groups(prepared(build("stacked", 2, 3), STEP, rtmbs_threads.THREADS))) == 1
    one, two = (module.simulate(mechanism, STEP, 100) for module in (rtmbs_joints, rtmbs_threads))
    np.testing.assert_allclose(first_angles(mechanism, one), first_angles(mechanism, two), atol=1e-11)


def test_relative_rates_follow_the_tree():
    mechanism = build("stacked", 1, 1, rate=0.1)
    assert [mechanism.relative_rate(pin) for pin in mechanism.tree] == pytest.approx([0.1, 0.1, -0.1])


def test_a_missing_peer_is_skipped_with_a_line(capsys):
    missing = Peer("Nobody *", "nobody", "no_such_package_anywhere", "nobody-at-all")
    assert available([missing, RTMBS]) == [RTMBS]
    assert "Nobody: nobody-at-all is not installed, skipped" in capsys.readouterr().err


def test_a_campaign_asks_in_turns_and_outlives_a_peer_that_fails(monkeypatch, capsys):
    """Round after round, every job once; who fails is a line in the log and no row of the tables."""
    asked = []

    def work(peer, *arguments):
        asked.append((peer, arguments))
        if peer is broken:
            raise RuntimeError("no such joint")
        if len(arguments) == 5:
            theta = references.fourbar(4, 1, 1.0, arguments[0]).q.tolist()
            return {"seconds": len(asked), "theta": theta, "loop_gap": 0.0, "pin_gap": 0.0}, 0.99
        return {"residual, tree": 1.0}, 0.5

    broken = Peer("Broken", "broken", "rtmbs", "rtmbs")
    monkeypatch.setattr(campaign, "work", work)
    for group, peers in {"PEERS": (RTMBS, broken), "KERNELS": KERNELS[:1], "JACOBIANS": (), "SMALL": ()}.items():
        monkeypatch.setattr(campaign, group, peers)
    record = campaign.measure(3, (STEP,), nz=1)
    assert asked == asked[: len(asked) // 3] * 3
    assert [(run["module"], run["layout"]) for run in record["runs"]] == [(RTMBS.module, layout) for layout in LAYOUTS]
    assert record["runs"][0]["seconds"] == 1 + len(asked) // 3, "the median of three rounds"
    assert record["runs"][0]["error_max"] == 0.0
    assert len(record["kernels"]) == 2
    assert record["disturbed"] == [6, 12]
    assert "Not a quiet machine: 6 of 12 runs had less than 95 % of their core." in text(record)
    assert "Broken ('stacked', 4, 1, 0.005, 1.0): no such joint" in capsys.readouterr().err


MADE_UP = {
    "kernels": {
        "kernels_rtmbs": {"residual, tree": 10.0, "tangent, tree": 50.0, "factor, loops": 401.0},
        "kernels_pinocchio": {"residual, tree": 20.0, "tangent, tree": 50.0},
    },
    "jacobians": {
        "jacobian_trace": {"pair_ms": 0.5, "prepare_s": 1.0, "operations": 1000, "entries": 10},
        "jacobian_casadi": {"pair_ms": 0.25, "prepare_s": 2.0, "operations": 2000, "entries": 10},
    },
    "small": {"small_rtmbs": {"A01": 5.0, "A02": 30.0}, "small_exudyn": {"A01": 4.0}},
}


def made_up_record(nz=40):
    """A campaign in which the first peer is slower than rtmbs by fifty times and the last is faster."""
    theta = [angle + 1e-7 for angle in campaign.exact_angles("stacked", 40)]
    seconds = {"rtmbs_joints": 0.2, "rtmbs_threads": 0.12, "exudyn_spatial": 10.0, "mujoco_connect": 0.1}
    record = {"machine": "a machine", "disturbed": [0, 66], "rounds": 3, "nz": nz}
    record |= {"runs": [], "kernels": [], "jacobians": [], "small": []}
    for layout in LAYOUTS:
        for module, time in seconds.items():
            peer, gaps = Peer(module, module, "rtmbs", "rtmbs"), {"loop_gap": 1e-9, "pin_gap": 2e-9}
            answers = [{"seconds": factor * time, "theta": theta, **gaps} for factor in (1.0, 3.0, 0.5)]
            record["runs"] += [run(peer, (layout, 4, 40, h, 1.0), answers, 40) for h in (STEP, 1e-3)]
        for group, modules in MADE_UP.items():
            for module, values in modules.items():
                peer, lower = Peer(module, module, "rtmbs", "rtmbs"), dict.fromkeys(values, 0.0)
                answers = [values, lower, {name: 9.0 * value for name, value in values.items()}]
                record[group].append(medians(peer, (layout, 4, nz), answers))
    return record


def test_the_report_takes_medians_and_says_who_is_slower():
    lines = text(made_up_record()).splitlines()
    spatial = next(line for line in lines if line.startswith("| exudyn_spatial"))
    assert "| 10.000 | 5.000, 30.000 |" in spatial
    assert spatial.endswith("| 2e-09 | 0.02 |  |"), "the largest gap of all joints, the ratio"
    mujoco = next(line for line in lines if line.startswith("| mujoco_connect"))
    assert mujoco.endswith("| 2.00 | rtmbs is slower |")
    assert "| residual, tree | stacked | 10.0 | 20.0 | 0.50 |  |" in lines
    assert "| factor, loops | parallel | 401.0 |  |  |  |" in lines
    assert "| A01 | 5.0 | 4.0 | 1.25 | rtmbs is slower |" in lines
    assert "| jacobian_casadi | stacked | 0.25 | 2 | 2,000 | 10 | 2.00 | rtmbs is slower |" in lines
    tables = [block.splitlines() for block in text(made_up_record()).split("\n\n") if block.startswith("|")]
    assert len(tables) == 7
    for rows in tables:
        assert len({row.count("|") for row in rows}) == 1, "every row has the cells of its head"


def test_times_to_one_error_are_read_off_the_line():
    assert time_to(1e-6, [1e-4, 1e-8], [1.0, 100.0]) == "10.000"
    assert time_to(1e-4, [1e-8, 1e-4], [100.0, 1.0]) == "1.000"
    assert time_to(1e-9, [1e-8, 1e-4], [100.0, 1.0]) == "more than 1e+02"
    assert time_to(1e-6, [1e-6], [1.0]) is None


def test_every_target_is_printed_with_its_verdict():
    printed = text(made_up_record())
    for words in (
        "| stacked: largest error | 0.0002 rad | 1e-07 rad | reached |",
        "| stacked: run, over Exudyn spatial | 0.1 | 0.02 | reached |",
        "| stacked: run, over MuJoCo | 0.5 | 2 | not reached, rtmbs is slower |",
        "| parallel: run, over Exudyn planar | 0.15 |  | not measured |",
        "| parallel: run on two threads, over MuJoCo on one | 1 | 1.2 | not reached, rtmbs is slower |",
        "| stacked: residual, tree, over Pinocchio | 1 | 0.5 | reached |",
        "| parallel: residual, loops, over Pinocchio | 1.5 |  | not measured |",
        "| stacked: tangent, tree, over Pinocchio | 0.7 | 1 | not reached |",
        "| stacked: one factorisation | 400 us | 4e+02 us | not reached |",
        "| A02 with two windows: a step inside run | 25 us | 30 us | not reached |",
        "| stacked: K, C by trace, over CasADi | 1.5 | 2 | not reached, rtmbs is slower |",
    ):
        assert words in printed
    assert all(target.name in printed for target in TARGETS)


def test_the_pages_hold_what_was_measured():
    """Whoever measures again does it with ``--docs``."""
    record = json.loads(VALUES.read_text(encoding="utf-8"))
    for path, words in ((PAGE, text(record)), (DERIVATIVES, jacobians(record))):
        page = path.read_text(encoding="utf-8")
        assert inserted(page, MARKER, words) == page, f"{path.name} holds the tables of another campaign"


def test_what_is_measured_later_takes_its_place_and_says_so():
    old, new = made_up_record(), made_up_record()
    later = [entry for entry in new["runs"] if entry["module"] == "mujoco_connect" and entry["h"] == STEP]
    for entry in later:
        entry["seconds"] = 0.05
    fresh = {**later[0], "peer": "another", "module": "another"}
    record = campaign.added(old, {"runs": [*later, fresh], "kernels": [], "jacobians": [], "small": []})
    assert len(record["runs"]) == len(old["runs"]) + 1
    assert [entry["module"] for entry in record["runs"][:-1]] == [entry["module"] for entry in old["runs"]]
    assert "By itself, later: another, mujoco_connect." in text(record)
    assert "| parallel: run on two threads, over MuJoCo on one | 1 | 2.4 |" in text(record)
    assert "later" not in text(old)


def test_a_machine_with_too_few_cores_is_said(monkeypatch, capsys):
    monkeypatch.setattr(registry, "cores", lambda: 1)
    assert available([RTMBS, THREADED]) == [RTMBS]
    assert "rtmbs, 2 threads: 2 cores are not there, skipped" in capsys.readouterr().err
    assert available([RTMBS, THREADED], ["rtmbs_threads"]) == []


def test_an_empty_campaign_measured_nothing():
    empty = {"runs": [], "kernels": [], "jacobians": [], "small": []}
    assert all(line(target, empty)[3].startswith("not measured") for target in TARGETS)


def test_targets_are_for_the_full_size_only():
    assert "wanted at 4 x 40" not in text(made_up_record(nz=2))
    assert "quiet" not in text(made_up_record())


def test_the_plot_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw(made_up_record(), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_small_mechanisms_are_the_benchmarks():
    """A02 moves as the mechanism of the library does; A01 is one bar, level and at rest."""
    shared, own = prepared(description.windows(), 1e-3), Simulation(library.build("windows").compile(), h=1e-3)
    for sim in (shared, own):
        for _ in range(200):
            assert sim.step().outcome.accepted
    np.testing.assert_allclose(np.abs(shared.state.z[0]), np.abs(own.state.z[0]), rtol=1e-9)
    np.testing.assert_allclose(np.abs(shared.state.zd[0]), np.abs(own.state.zd[0]), rtol=1e-9)
    (bar,) = description.pendulum().bars
    assert bar.point(1.0) == pytest.approx([0.0, 1.0, 0.0])
    assert (bar.rate, description.pendulum().loops) == (0.0, [])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_casadi_differentiates_the_same_force(layout):
    """The record, translated step by step, has the value of Q; its Jacobian by CasADi is ours."""
    casadi = pytest.importorskip("casadi")
    from bench.peers import jacobian_casadi
    from bench.peers.jacobian_trace import recorded

    mechanism = build(layout, 2, 2)
    evaluator, x, p, _ = recorded(mechanism)
    sx, sp = casadi.SX.sym("x", evaluator.n), casadi.SX.sym("p", evaluator.k)
    value = casadi.Function("Q", [sx, sp], [jacobian_casadi.translated(evaluator.tape, sx, sp)])
    np.testing.assert_allclose(np.array(value(x, p)).ravel(), evaluator.value(x, p), rtol=1e-13, atol=1e-13)
    answer = jacobian_casadi.measure(mechanism)
    assert answer["entries"] == len(evaluator.row)
    assert 0.0 < answer["pair_ms"] < 100.0
