"""Every item of the documents on kinematics and recursion, and of their improvements: works, or not.

``python -m bench.document_rows [--only WORD] [--part N]``. An item is a computation of this file, a bounded campaign,
or tests of the project against closed forms and own solvers. Tests run once, in one process. The exit code is 1 when
an item does not work.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import rtmbs
from bench.campaigns.campaign import campaigns, held

ROOT = Path(__file__).parents[1]
NOT_RUN = "(not run: "
K, L, C, R = "tests/kinematics/test_", "tests/language/test_", "tests/commands/test_", "tests/recursive/test_"


@dataclass(frozen=True)
class Item:
    """An item: its part, words, and how it is tried; ``answer`` returns what is wrong, or a measured text in ()."""

    part: str
    text: str
    tests: tuple[str, ...] = ()
    campaign: tuple[str, int] | None = None
    answer: Callable[[], str] | None = None


def many_four_bars() -> str:
    """Return what is wrong with the time of 10,000 four-bars of 37 samples."""
    from rtmbs.kinematics.design import four_bars

    lengths = np.exp(0.2 * np.random.default_rng(0).normal(size=(10_000, 4)))
    four_bars(lengths[:2], np.zeros(1), (1.0, 0.5))  # the kernel is loaded
    before = time.process_time()
    found = four_bars(lengths, np.linspace(0.0, 2.0 * np.pi, 37), points=(1.0, 0.5))
    seconds = time.process_time() - before
    assert found.point.shape == (10_000, 37, 2)
    return f"({seconds:.3f} s)" if seconds <= 5.0 else f"it took {seconds:.2f} s"


def crank_in_time() -> str:
    """Return what is wrong with the processor time of 60 s of the slider-crank on one rank."""
    from bench.recursion.slider_crank import of_ranks

    seconds = of_ranks(0.01)["processor"]["60"]
    return f"({seconds:.2f} s)" if seconds < 4.768 else f"it took {seconds:.2f} s, the document 4.768 s"


def crank_is_right() -> str:
    """Return what is wrong with the motion of the slider-crank, against the one equation of its energy."""
    from bench.measures.closed_chains import crank_motion
    from bench.recursion.slider_crank import GAINS, start
    from rtmbs.dae import run_bdf
    from rtmbs.recursive.motion import launch

    system, q, v = start()
    times = np.arange(61.0)
    compiled = system.equations.compiled
    found = launch(lambda exchange: run_bdf(compiled, q, v, times, exchange, *GAINS, 1e-11, 1e-13))["pivot.angle"]
    apart = np.abs(found - crank_motion(times))
    words = f"{apart[:11].max():.0e} rad up to 10 s, {apart.max():.0e} rad up to 60 s"
    return f"({words})" if apart[:11].max() < 1e-5 and apart.max() < 1e-3 else words


def crank_table() -> str:
    """Return what lacks of the document's table: 8 spans, 2 output steps, 2 numbers of ranks, and both plots."""
    from bench.recursion.__main__ import PICTURE, VALUES
    from bench.recursion.slider_crank import OUTPUT, SPANS

    kept = json.loads(VALUES.read_text(encoding="utf-8"))["crank"]
    numbers = [kept[f"{step:g}"][ranks]["processor"][f"{span:g}"] for step in OUTPUT for ranks in ("one", "two")
               for span in SPANS]  # fmt: skip
    page = PICTURE.with_name("recursion.md").read_text(encoding="utf-8")
    shown = [f"| {number:.2f} |" in page for number in numbers]
    if len(numbers) != 32 or min(numbers) <= 0.0 or not all(shown) or PICTURE.name not in page:
        return f"{sum(shown)} of {len(numbers)} numbers stand on the page"
    return f"({len(numbers)} numbers, two plots in {PICTURE.name})"


def loops_are_right() -> str:
    """Return what is wrong with loops of five lengths from rest, against own equations in headings."""
    from bench.measures.closed_chains import GAIN, OwnChain
    from rtmbs.numerics.rotations.quaternions import rotations
    from rtmbs.recursive import run

    worst = {}
    for k, span in ((15, 0.3), (51, 0.3), (101, 0.2), (151, 0.2), (251, 0.1)):
        system = rtmbs.library.build("loop", k=k).compile()
        times = np.array([0.0, span])
        motion = run(system, system.z0, np.zeros(k - 1), times, 1e-3, alpha=GAIN, beta=GAIN)
        bodies = [name for name in system.bodies if name != system.topology.bodies[0]]
        turns = np.array([rotations(motion[f"{name}.orientation"]) for name in bodies])
        turned = turns[:, 1] @ np.swapaxes(turns[:, 0], 1, 2)
        angles = np.arctan2(turned[:, 2, 1], turned[:, 1, 1])
        worst[k] = float(np.abs(angles - OwnChain(k).motion(span)).max())
    words = ", ".join(f"{k}: {value:.0e}" for k, value in worst.items())
    return f"(rad: {words})" if max(worst.values()) < 1e-6 else words


def two_hosts_agree() -> str:
    """Return what is wrong with a motion on two hosts, or why there are none."""
    from bench.recursion import two_hosts
    from bench.recursion.slider_crank import of_steps

    try:
        shared = np.array(two_hosts.on_two_hosts("steps", "1.0", "0.01"))
    except two_hosts.Unable as reason:
        return f"{NOT_RUN}{reason})"
    apart = float(np.abs(shared - np.array(of_steps(1.0, 0.01))).max())
    return f"(apart {apart:.0e})" if apart < 1e-12 else f"the motions differ by {apart:.1e}"


def four_ranks_help() -> str:
    """Return what is wrong with a loop of 251 on four ranks: bodies of the busiest, and accelerations."""
    from bench.recursion import divide, growth

    system, z, zd = growth.starts((251,))[251]
    one, two, four = (divide.InTurn(system, z, zd, ranks) for ranks in (1, 2, 4))
    right = one.accelerations()
    apart = float(np.abs(four.accelerations() - right).max() / np.abs(right).max())
    passed = [divide.counts(work)["dofs"] for work in (one, two, four)]
    if apart > 1e-9 or not passed[2] < 0.6 * passed[1]:
        return f"dofs {passed}, accelerations apart {apart:.1e}"
    return f"(dofs of the busiest rank {passed}, apart {apart:.0e})"


ITEMS = (
    Item("000", "slider-crank of the paper against its closed form, 81 rows", (K + "slider_crank.py",)),
    Item(
        "000",
        "table of the paper: 28 coordinates, 27 equations, DOF 1, free spin named",
        (C + "model_files.py::test_check_prints_the_table_of_the_paper",),
    ),
    Item("000", "input file: keywords, units, pqr, triads, cg", (L + "read.py",)),
    Item("000", "what the print has wrong is refused at its place", (L + "bad_files.py",)),
    Item("000", "spherical, universal, cylindrical, revolute, translational joints", (K + "mechanisms.py",)),
    Item(
        "000", "absolute drivers: x, y, z, Euler angles", (K + "analysis.py::test_euler_angles_of_a_body_are_driven",)
    ),
    Item(
        "000",
        "assembly tolerance, lu tolerance",
        (K + "analysis.py::test_assembly_reports_what_moved", L + "read.py", L + "bad_files.py"),
    ),
    Item(
        "000",
        "singular poses, beyond reach: told with time and joints",
        (
            K + "analysis.py::test_a_singular_pose_between_samples_is_found_and_passed",
            K + "analysis.py::test_a_driver_that_asks_too_much_ends_with_the_motion_so_far",
        ),
    ),
    Item("000", "all joints in the tree and cut, behind all others", ("tests/contracts/test_joints.py",)),
    Item("000", "driven mechanisms against a Simulation", campaign=("kinematics", 12)),
    Item("000", "assembly from disturbed poses", campaign=("assembly", 20)),
    Item("000", "distance driver: Stewart platform", (K + "mechanisms.py::test_stewart_platform", L + "cookbook.py")),
    Item("000", "Newton with two tolerances, counters", (K + "slider_crank.py::test_counters_count_what_was_done",)),
    Item("000", "velocity and acceleration by Phi_q and the Hessian term", (K + "equations.py",)),
    Item("000", "redundant rows named", (K + "analysis.py::test_redundant_rows_are_named_and_must_hold",)),
    Item(
        "000",
        "under-constrained: smooth, least motion",
        (
            K + "analysis.py::test_free_motion_is_smooth_and_its_own_derivative",
            K + "path_solver.py::test_least_norm_weighs_by_sizes",
        ),
    ),
    Item(
        "000",
        "recorder: tape, forward, reverse, Jacobian",
        (K + "equations.py::test_the_tape_is_made_once_and_its_jacobian_is_sparse",),
    ),
    Item(
        "000",
        "result file and animation",
        (
            C + "model_files.py::test_run_saves_a_result",
            C + "kinematic_runs.py::test_a_result_is_shown_with_a_model_that_no_simulation_could_step",
        ),
    ),
    Item(
        "1",
        "angle driver in space: an axis counts as kept only when joints keep it",
        (
            K + "analysis.py::test_an_angle_in_space_is_held_by_its_cosine",
            K + "analysis.py::test_an_axis_that_joints_carry_on_counts_turns_between_bodies_far_apart",
        ),
    ),
    Item(
        "1",
        "angle driver: refusal where a cosine does not tell",
        (K + "analysis.py::test_an_angle_that_a_cosine_does_not_tell_is_refused",),
    ),
    Item(
        "1",
        "freeze puts frozen unknowns back at their value",
        (K + "path_solver.py::test_frozen_unknowns_keep_their_place_along_a_motion",),
    ),
    Item("1", "every statement in space against an own solver", campaign=("kinematic_files", 30)),
    Item(
        "2",
        "run says how much freedom is left",
        (C + "kinematic_runs.py::test_a_run_says_what_is_free_and_what_is_redundant",),
    ),
    Item(
        "2",
        "end off the grid, jumps, splines past their end are told",
        (C + "kinematic_runs.py::test_a_run_notes_what_a_user_may_not_mean",),
    ),
    Item("2", "STATIC EQUILIBRIUM runs", (C + "kinematic_runs.py::test_static_equilibrium",)),
    Item(
        "2",
        "view RESULT --of MODEL",
        (C + "kinematic_runs.py::test_a_result_is_shown_with_a_model_that_no_simulation_could_step",),
    ),
    Item("3", "profiles compose, with exact rates; if", (L + "blocks.py::test_profiles_compose_with_exact_rates",)),
    Item("3", "points of bodies driven along curves, measures", (L + "blocks.py::test_a_driven_triad_and_measures",)),
    Item("3", "point on curve", (L + "blocks.py::test_a_point_on_a_curve_of_a_turning_body_with_derivatives",)),
    Item("3", "cam and follower", (K + "mechanisms.py::test_cam_with_follower",)),
    Item("3", "gear, screw, rack", (K + "mechanisms.py::test_gear_rack_and_screw_count_turns",)),
    Item(
        "3",
        "submodels with parameters, arrays, loops",
        (
            L + "blocks.py::test_a_loop_writes_its_statements_for_every_value",
            L + "blocks.py::test_instances_of_submodels_have_names_and_parameters_of_their_own",
        ),
    ),
    Item("3", "--set NAME=VALUE", (C + "kinematic_runs.py::test_constants_are_set_from_the_command_line",)),
    Item("3", "sweeps of a file", (C + "kinematic_runs.py::test_a_file_is_run_for_many_values",)),
    Item(
        "3",
        "driver forces and reactions of a driven file",
        (
            C + "kinematic_runs.py::test_forces_of_drivers_and_reactions",
            "tests/studies/analysis/test_driving_forces.py",
        ),
    ),
    Item("3", "format and round trip", (L + "write.py",)),
    Item("3", "cookbook of 25 mechanisms, each against a closed form", (L + "cookbook.py",)),
    Item("3", "changed and damaged files are refused or run", campaign=("language_fuzz", 300)),
    Item("4", "coupler curves as pictures", (K + "design.py::test_a_path_is_drawn_over_two_coordinates",)),
    Item("4", "transmission angle", (K + "design.py::test_transmission_is_worst_with_the_crank_on_the_ground_line",)),
    Item("4", "type of Grashof", (K + "design.py::test_the_type_of_grashof",)),
    Item("4", "dead centres as a list", (K + "design.py::test_dead_centres_are_where_rates_vanish",)),
    Item("4", "all assembly branches", (K + "design.py::test_all_assemblies_of_a_four_bar_and_of_a_slider_crank",)),
    Item("4", "velocity and acceleration poles", (K + "design.py::test_poles_stand_still",)),
    Item("4", "cognates of Roberts", (K + "design.py::test_cognates_trace_the_same_curve",)),
    Item(
        "4",
        "synthesis for path, function and motion, exact derivatives",
        (
            K + "design.py::test_synthesis_meets_points_functions_and_poses",
            K + "design.py::test_the_derivatives_of_a_path_are_those_of_its_residuals",
        ),
    ),
    Item("4", "branch, circuit and order defects told and avoided", (K + "defects.py",)),
    Item("4", "10,000 four-bars of 37 samples in 5 s", answer=many_four_bars),
    Item("4", "tolerance analysis", (K + "design.py::test_tolerances_to_first_order_and_by_random_four_bars",)),
    Item("4", "a body dragged with loops kept, against closed forms", ("tests/simulation/test_drag.py",)),
    Item("4", "a mechanism dragged by the mouse in the window", ("tests/viewer/qt/test_drag.py",)),
    Item("4", "a kinematic file opened to be dragged", (C + "view_kinematic.py",)),
    Item("002", "recursion with cut joints and multipliers, Baumgarte", (R + "recursion.py", R + "reduced_system.py")),
    Item("002", "redundant constraints found by name", (R + "recursion.py::test_dependent_rows_are_named",)),
    Item("002", "accelerations against the augmented system", campaign=("recursion", 40)),
    Item("002", "BDF (CVODE) on one rank and on two", ("tests/dae/test_sundials.py",)),
    Item("002", "ranks and threads are one motion", (R + "motion.py",)),
    Item("002", "message passing: ends with one sentence", (R + "motion.py",)),
    Item("002", "slider-crank to 60 s against the one equation of its energy", answer=crank_is_right),
    Item("002", "60 s of the slider-crank below the document's 4.77 s", answer=crank_in_time),
    Item("002", "its table of 32 numbers, and both plots", answer=crank_table),
    Item("002", "loops of 15, 51, 101, 151, 251 against own equations", answer=loops_are_right),
    Item("10", "rtmbs run --ranks, --recursion, and from a file", (C + "recursion.py",)),
    Item("10", "springs and laws across the cut, branches divided", (R + "part.py", R + "partition.py")),
    Item("10", "the same over random mechanisms", campaign=("shared_recursion", 20)),
    Item("10", "four ranks on one loop of 251", answer=four_ranks_help),
    Item("10", "a run over two hosts (network namespaces)", answer=two_hosts_agree),
)


def main() -> int:
    """Try the items and print a line each."""
    parser = argparse.ArgumentParser(prog="python -m bench.document_rows", description=__doc__.splitlines()[0])
    parser.add_argument("--part", help="items of this part alone: 000, 002, 1, 2, 3, 4 or 10")
    parser.add_argument("--only", default="", metavar="WORD", help="items whose words have this")
    options = parser.parse_args()
    items = [one for one in ITEMS if options.part in (None, one.part) and options.only in one.text]
    outcomes = run_tests(sorted({test for one in items for test in one.tests}))
    known, good = {one.name: one for one in campaigns()}, True
    for one in items:
        try:
            said = judged(one, outcomes, known)
        except Exception as error:  # noqa: BLE001 (whatever an item raises, the next one is tried)
            said = f"{type(error).__name__}: {error}"
        works = not said or said.startswith("(")
        good &= works
        verdict = "not run" if said.startswith(NOT_RUN) else "works" if works else "FAILS"
        print(f"{one.part:<4}{verdict:<8}{one.text} {said}".rstrip(), flush=True)
    return 0 if good else 1


def judged(item: Item, outcomes: dict[str, str], known: dict[str, object]) -> str:
    """Return what is wrong with an item; nothing, or a measured text in (), where it works."""
    found = [f"{test}: {why}" for test in item.tests if (why := outcome_of(test, outcomes))]
    if item.campaign is not None:
        name, cases = item.campaign
        campaign = known[name]
        tally = campaign.run(cases, 0)  # type: ignore[attr-defined]
        if not held(campaign, tally):  # type: ignore[arg-type]
            return f"{name}: {tally.failures[:1]}"
        return f"({tally.survived} of {tally.tried} cases)"
    if item.answer is not None:
        return item.answer()
    return "; ".join(found)


def run_tests(tests: Iterable[str]) -> dict[str, str]:
    """Return the outcome of every test by file and name: passed, or failed or skipped with its words."""
    chosen = list(tests)
    if not chosen:
        return {}
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *chosen]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        found: dict[str, str] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{(case.get('classname') or '').replace('.', '/')}.py::{(case.get('name') or '').partition('[')[0]}"
            marks = [child for child in case if child.tag in ("failure", "error", "skipped")]
            text = f"{marks[0].tag}: {(marks[0].get('message') or '').splitlines()[0][:90]}" if marks else ""
            found[name] = found.get(name) or text
    return found


def outcome_of(test: str, outcomes: dict[str, str]) -> str:
    """Return what is wrong with a test, or with the tests of a file; empty where all passed."""
    own = [why for name, why in outcomes.items() if name == test or name.startswith(f"{test}::")]
    if not own:
        return "no such test"
    failed = [why for why in own if why and not why.startswith("skipped")]
    if failed:
        return failed[0]
    return "" if any(not why for why in own) else own[0]


if __name__ == "__main__":
    raise SystemExit(main())
