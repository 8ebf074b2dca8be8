"""The consistent start as the user meets it: what the report says, what is warned of, what is refused."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.errors import StartError
from tests.contracts.machines import accepted_steps, closed_model
from tests.semirecursive.start.cases import MODELS, fourbar, system_of

X = rtmbs.Revolute(axis=(1, 0, 0))


@pytest.mark.parametrize("name", MODELS)
def test_a_start_is_consistent(name):
    """Loops closed, rates and accelerations on them, one finite penalty a row."""
    sim = Simulation(system_of(name))
    report, state = sim.start_report, sim.state
    assert report.gap < 1e-9
    assert report.gap_rotation < 1e-9
    assert np.abs(sim.equations.close(state.z, state.R0)).max() < 1e-9
    assert np.abs(sim.equations.closure_velocities(state.zd)).max() < 1e-8
    assert np.all(state.memory["alpha"] > 0.0)
    assert report.rank + report.degrees_of_freedom == sim.system.n
    assert len(report.redundant) == sim.system.m - report.rank
    assert set(report.redundant) <= set(sim.system.row_names)
    assert report.alpha_min <= report.alpha_max
    assert report.warnings == ()


def closed_angles(crank):
    """Angles of B and D of ``fourbar`` at an angle of the crank, by the two circles that meet in C."""
    tip, foot = np.array([-np.sin(crank), np.cos(crank)]), np.array([2.0, -0.5])  # (y, z)
    d = foot - tip
    share = (d @ d + 2.0**2 - 1.5**2) / (2.0 * d @ d)
    pin = tip + share * d + np.sqrt(2.0**2 / (d @ d) - share**2) * np.array([-d[1], d[0]])
    coupler, rocker = np.arcsin((pin[1] - tip[1]) / 2.0), np.arcsin((foot[0] - pin[0]) / 1.5)
    return np.array([coupler - crank, rocker])


def test_the_report_says_what_moved():
    """The largest changes of angle and of rate, of the joints that were not given."""
    model = fourbar()
    model.set_initial("A", position=0.3, rate=2.0)
    report = Simulation(model.compile()).start_report
    angles, rates = closed_angles(0.3), 2.0 * closed_angles(0.3 + 1e-30j).imag / 1e-30
    assert report.moved_coordinate == ("B.angle", "D.angle")[np.argmax(np.abs(angles))]
    assert report.moved_position == pytest.approx(np.abs(angles).max(), rel=1e-9)
    assert report.moved_rate_coordinate == ("B.angle", "D.angle")[np.argmax(np.abs(rates))]
    assert report.moved_rate == pytest.approx(np.abs(rates).max(), rel=1e-9)
    text = str(report)
    for words in (report.moved_coordinate, f"by {report.moved_position:.3g}", "degrees of freedom   1", "c = 1e+06"):
        assert words in text


def test_a_start_from_a_start_moves_nothing():
    """Assembled values written back into the model are kept."""
    first = fourbar()
    first.set_initial("A", position=0.3, rate=2.0)
    one = Simulation(first.compile())
    again = fourbar()
    for name in ("A", "B", "D"):
        info = one.system.joints[name]
        sign = -1.0 if info.reversed else 1.0
        dof = info.dofs[0]
        again.set_initial(name, position=sign * one.state.z[dof], rate=sign * one.state.zd[dof])
    other = Simulation(again.compile())
    assert other.start_report.moved_position < 1e-12
    assert other.start_report.moved_rate < 1e-9
    np.testing.assert_allclose(other.state.zdd, one.state.zdd, atol=1e-7)


@pytest.mark.parametrize(
    ("trace", "says"), [(True, "recorded, compiled, exact derivatives"), (False, "called in Python, differentiated by")]
)
def test_the_report_says_how_a_law_is_evaluated(trace, says):
    model = library.build("pendulum")
    joint = next(iter(model.joints))
    model.add_force("law", lambda t, k, p: -0.1 * k.zd, joint=joint, trace=trace)
    report = Simulation(model.compile()).start_report
    assert report.laws[0].startswith(f"law: {says}")
    assert report.laws[0] in str(report)


def test_everything_in_place_is_said_so():
    report = Simulation(library.build("crank_rocker").compile()).start_report
    assert report.moved_coordinate == ""
    assert "assembly moved       nothing" in str(report)


def test_a_tree_is_as_free_as_it_has_coordinates():
    report = Simulation(library.build("pendulum").compile()).start_report
    assert (report.rank, report.degrees_of_freedom, report.degrees_of_freedom_nearby) == (0, 1, 1)
    assert not report.singular


def test_a_singular_start_is_warned_of_and_allowed():
    """A flat parallelogram may leave on two branches (METHODS 1.14)."""
    sim = Simulation(library.build("fourbar", ny=1, nz=1, angle=math.pi / 2).compile(), h=1e-3)
    report = sim.start_report
    assert report.singular
    assert (report.degrees_of_freedom, report.degrees_of_freedom_nearby) == (2, 1)
    assert "RankDrop" in report.warnings[0]
    assert "2 (1 nearby)" in str(report)
    accepted_steps(sim, 3)
    assert not Simulation(library.build("fourbar", ny=1, nz=1, angle=1.0).compile()).start_report.singular


def test_a_joint_assembled_the_wrong_way_round():
    """Dot products accept an axis pointing backwards; the start does not (METHODS 1.25)."""

    def hinged(quaternion):
        model = rtmbs.Model("hinged")
        model.add_body("door", mass=1.0, inertia=(0.1, 0.2, 0.3))
        model.add_joint("ball", rtmbs.Spherical(), "ground", "door")
        model.add_joint("hinge", X, "ground", "door", cut=True)
        model.set_initial("ball", position=quaternion)
        return Simulation(model.compile())

    assert hinged((1, 0, 0, 0)).start_report.degrees_of_freedom == 1
    assert hinged((0.6, 0.8, 0, 0)).start_report.degrees_of_freedom == 1
    with pytest.raises(StartError, match="cut joint 'hinge' assembled the wrong way round"):
        hinged((0, 0, 1, 0))


def test_a_joint_assembled_a_third_of_a_turn_off():
    """The three dot products of a weld are zero as well when x, y and z change places, up to rounding."""
    model = rtmbs.Model("welded")
    model.add_body("box", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "box")
    model.add_joint("weld", rtmbs.Fixed(), "ground", "box", cut=True)
    model.set_initial("ball", position=(0.5, 0.5, 0.5, 0.5))
    with pytest.raises(StartError, match="cut joint 'weld' assembled the wrong way round: its axes do not point"):
        Simulation(model.compile())


# ----------------------------------------------------------------------------------------- redundant and inconsistent


@pytest.mark.parametrize("gap", [1e-6, 1e-4])
def test_an_inconsistent_redundant_closure_is_refused_with_its_stress(gap):
    with pytest.raises(StartError, match="redundant loop equations at 'C") as refusal:
        Simulation(fourbar(off=gap).compile())
    assert f"contradict each other by {gap:.3g}" in str(refusal.value)
    stress = float(str(refusal.value).split("stress the mechanism with ")[1].split()[0])
    alpha = Simulation(fourbar().compile()).start_report.alpha_min
    assert stress == pytest.approx(alpha * gap, rel=0.1)
    assert "assembly_offset=True" in str(refusal.value)


def test_an_assembly_offset_takes_the_pose_as_it_is():
    plain, adjusted = Simulation(fourbar().compile()), Simulation(fourbar(off=1e-5).compile(), assembly_offset=True)
    assert adjusted.start_report.gap < 1e-10
    assert not any(adjusted.system.tables.closures.assembly_offset), "the System never changes"
    accepted_steps(plain, 20)
    accepted_steps(adjusted, 20)
    np.testing.assert_allclose(adjusted.state.z, plain.state.z, atol=1e-7)
    np.testing.assert_allclose(adjusted.state.lam, plain.state.lam, atol=1e-3 * np.abs(plain.state.lam).max())


def test_rounding_is_no_contradiction():
    assert Simulation(fourbar(off=1e-13).compile()).step().outcome.accepted


def test_a_gap_too_large_for_an_assembly_offset():
    """A tenth of a metre is a wrong model, asked for an assembly offset or not."""
    for assembly_offset in (False, True):
        with pytest.raises(StartError, match=r"'C' cannot close: a gap of 0\.1"):
            Simulation(fourbar(off=0.1).compile(), assembly_offset=assembly_offset)


# --------------------------------------------------------------------------------------------------------- not finite


def test_gravity_beyond_all_numbers():
    with pytest.raises(rtmbs.errors.ModelError, match=r"gravity is .*; no number may be beyond 1e\+100"):
        rtmbs.Model("heavy", gravity=(0.0, 0.0, -1e308))


def test_a_function_that_is_finite_only_once():
    """Asked at t = 0 by compile, and again by the start."""
    values = iter([1.0, math.nan])
    model = library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(lambda t: next(values)), joint="pivot")
    system = model.compile()
    with pytest.raises(rtmbs.errors.InputError, match=r"motor\.torque: not finite at t = 0"):
        Simulation(system)


def test_random_mechanisms_start():
    """Drawn with drivers they cannot follow, some are refused by name; without, all start."""
    for seed in range(12):
        sim = Simulation(closed_model(seed, driven=False).compile())
        assert sim.start_report.gap < 1e-9
        assert sim.step().outcome.accepted
