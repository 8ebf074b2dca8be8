"""The start: pinned values, what moved, singular poses, redundant closures, massless bodies."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bench.measures.mechanisms import parallelogram, three_posts
from rtmbs import IterationMeter, Simulation, ViolationMeter, library
from rtmbs.errors import StartError
from rtmbs.simulation.options import by_name

# ------------------------------------------------------------------------------------------------- what the user wrote


def test_pinned_values_are_kept_exactly():
    model = library.build("fourbar", ny=2, nz=3, angle=0.5, rate=0.1)
    sim = Simulation(model.compile(), h=5e-3)
    for k, rate in ((1, 0.1), (2, 0.0), (3, 0.0)):
        step = sim.system.joints[f"pin_{k}_0"].dofs[0]
        assert sim.state.z[step] == 0.5
        assert sim.state.zd[step] == rate


def test_the_report_says_what_moved_and_by_how_much():
    model = library.build("crank_rocker", rate=2.0)
    model.set_initial("rocker_pivot", position=0.1, pin=False)
    report = Simulation(model.compile()).start_report
    assert report.moved_coordinate == "rocker_pivot.angle"
    assert report.moved_position == pytest.approx(0.1, abs=1e-12), "the crank is pinned to its assembled pose"
    assert report.moved_rate_coordinate == "pin.angle"
    assert "rocker_pivot.angle by 0.1" in str(report)
    assert report.gap < 1e-12


def test_nothing_moved():
    report = Simulation(library.build("bricard").compile()).start_report
    assert (report.moved_coordinate, report.moved_position) == ("", 0.0)
    assert "assembly moved       nothing" in str(report)


def test_the_smallest_weighted_change_is_taken():
    """Without a pin the crank gives way too; the heavier a coordinate weighs, the less it moves."""
    moved = []
    for weight in (1.0, 1e3):
        model = library.build("crank_rocker")
        del model.initials["crank_pivot"]
        model.set_initial("crank_pivot", position=0.0, pin=False)
        model.set_initial("rocker_pivot", position=0.1, pin=False, weight=weight)
        sim = Simulation(model.compile())
        moved.append(abs(0.1 - sim.state.z[sim.system.joints["rocker_pivot"].dofs[0]]))
    assert moved[0] > 0.01
    assert moved[1] < 2e-2 * moved[0]


def test_pins_that_contradict_each_other_are_refused_by_name():
    model = library.build("crank_rocker")
    model.set_initial("rocker_pivot", position=0.1, rate=0.0)
    with pytest.raises(StartError, match=r"knee.*gap.*crank_pivot\.angle, rocker_pivot\.angle"):
        Simulation(model.compile())


# ----------------------------------------------------------------------------------------------------- singular poses


@pytest.mark.parametrize("n", [1, 2])
def test_a_singular_start_is_warned_about_and_allowed(n):
    model = parallelogram(n, angle=math.pi / 2, weight=0.0)
    sim = Simulation(model.compile(), h=5e-3)
    report = sim.start_report
    assert report.singular
    assert (report.degrees_of_freedom, report.degrees_of_freedom_nearby) == (n + 1, 1)
    assert any("RankDrop" in warning for warning in report.warnings)
    result = sim.run(1.0)
    for k in range(1, n + 1):  # the rates at the start are those of the parallelogram branch, and it is kept
        np.testing.assert_allclose(result[f"pivot_{k}.angle"], result["pivot_0.angle"], atol=1e-6)
    np.testing.assert_allclose(result["pivot_0.rate"], -1.0, atol=1e-5)


def test_a_regular_start_is_not_warned_about():
    report = Simulation(parallelogram(2, angle=0.3).compile()).start_report
    assert not report.singular
    assert not any("RankDrop" in warning for warning in report.warnings)


# ------------------------------------------------------------------------------------------------- redundant closures


def run(mismatch, **options):
    sim = Simulation(three_posts(mismatch).compile(), h=5e-3, **by_name(**options))
    return sim, sim.run(0.5)


def test_consistent_redundancy_changes_nothing():
    """The third post takes part of the load; the motion is that of two posts with its inertia and weight."""
    sim, result = run(0.0)
    assert sim.start_report.degrees_of_freedom == 1
    assert len([name for name in sim.start_report.redundant if name.startswith("middle.")]) == 4
    load, inertia = 3 * 0.5 + 1.0, 3 / 3.0 + 1.0  # three posts and a beam

    def slope(_, y):
        return y[1], 9.81 * load / inertia * math.sin(y[0])

    exact = solve_ivp(slope, (0.0, 0.5), (0.3, 1.0), rtol=1e-12, atol=1e-12).y[0, -1]
    assert 0.3 - result["pivot_0.angle"][-1] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("mismatch", [1e-10, 1e-8, 1e-6, 1e-5])
def test_inconsistent_redundancy_is_refused_with_its_stress(mismatch):
    with pytest.raises(
        StartError, match=r"redundant.*'middle\..*stress the mechanism with .* N .*assembly_offset=True"
    ) as refused:
        run(mismatch)
    stress = float(str(refused.value).split("stress the mechanism with ")[1].split(" N")[0])
    assert stress / mismatch == pytest.approx(3.2e10, rel=0.1), "alpha times the mismatch"


@pytest.mark.parametrize("mismatch", [1e-10, 1e-8, 1e-7, 1e-6])
def test_an_assembly_offset_takes_the_stress_out(mismatch):
    sim, result = run(mismatch, assembly_offset=True)
    _, exact = run(0.0)
    assert any(warning.startswith("assembly offset") and "middle" in warning for warning in sim.start_report.warnings)
    assert sim.start_report.gap < 1e-12
    np.testing.assert_allclose(result["middle.reaction"][0], exact["middle.reaction"][0], atol=1e-3 + 1e6 * mismatch)
    assert abs(result["pivot_0.angle"][-1] - exact["pivot_0.angle"][-1]) < 1e-6 + 1e3 * mismatch


def test_a_rounding_error_is_no_inconsistency():
    _, result = run(1e-13)
    _, exact = run(0.0)
    np.testing.assert_allclose(result["pivot_0.angle"], exact["pivot_0.angle"], atol=1e-9)


def test_a_loop_that_cannot_close_is_no_case_for_an_assembly_offset():
    with pytest.raises(StartError, match="cannot close"):
        run(0.1, assembly_offset=True)


# ---------------------------------------------------------------------------------------------------- massless bodies


@pytest.mark.parametrize("n", [1, 2])
def test_massless_couplers(n):
    """METHODS 1.21: no order is lost, two iterations a step, loops closed to rounding."""

    def slope(_, y):
        return y[1], 1.5 * 9.81 * math.sin(y[0])  # posts only, from the upright pose

    exact = solve_ivp(slope, (0.0, 1.0), (0.0, 1.0), rtol=1e-13, atol=1e-13).y[0, -1]
    steps, errors = (10e-3, 5e-3, 2.5e-3, 1.25e-3), []
    system = parallelogram(n, coupler=0.0).compile()
    for h in steps:
        meter, violations = IterationMeter(), ViolationMeter()
        result = Simulation(system, h).run(1.0, observers=[meter, violations])
        errors.append(abs(-result["pivot_0.angle"][-1] - exact))
        assert meter.mean < 2.01
        assert meter.dense == 0
        assert violations.largest["position_violation"] < 1e-13
        assert violations.largest["velocity_violation"] < 1e-8
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(3.0, abs=0.05), "METHODS 1.7"
