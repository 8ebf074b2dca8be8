"""The mechanisms move as their sources say: short runs against exact references and published values."""

import math

import numpy as np
import pytest

from rtmbs import Simulation, library
from rtmbs.library import references


def simulation(name, h=1e-3, **options):
    return Simulation(library.build(name, **options).compile(), h=h)


def run(name, t, h=1e-3, **options):
    """Return a simulation of a library mechanism at time t, every step converged."""
    sim = simulation(name, h, **options)
    for _ in range(round(t / h)):
        assert sim.step().outcome.accepted
    return sim


def coordinate(sim, joint, values=None):
    """Return the coordinate of a one-step tree joint with the user's sign."""
    record = sim.system.joints[joint]
    value = (sim.state.z if values is None else values)[record.dofs[0]]
    return -value if record.reversed else value


@pytest.mark.parametrize(
    ("name", "degrees_of_freedom", "redundant"),
    [
        ("andrews", 1, 9),
        ("bricard", 1, 1),
        ("crank_rocker", 1, 3),
        ("driven_fourbar", 0, 3),
        ("fourbar", 1, 3),
        ("governor", 4, 0),
        ("loop", 12, 3),
        ("pendulum", 1, 0),
        ("planar_slider_crank", 1, 3),
        ("single_joint", 1, 0),
        ("slider_crank", 1, 0),
        ("top", 3, 0),
        ("windows", 1, 6),
    ],
)
def test_freedoms_and_redundant_equations(name, degrees_of_freedom, redundant):
    report = simulation(name).start_report
    assert report.degrees_of_freedom == degrees_of_freedom
    assert len(report.redundant) == redundant
    assert report.moved_position == 0.0, "the reference pose of a library mechanism is assembled"


def test_every_mechanism_is_counted_above():
    assert len(library.names()) == 13


def test_pendulum():
    q = coordinate(run("pendulum", 1.0), "pivot")
    np.testing.assert_allclose((math.sin(q), -math.cos(q)), (0.9862917511, -0.1650108531), atol=5e-6)


def test_windows():
    exact = references.windows(2, 1.0)
    sim = run("windows", 1.0, h=2.5e-3)
    assert math.pi / 2 + coordinate(sim, "pivot_0") == pytest.approx(exact.q[0], abs=1e-5)
    assert coordinate(sim, "pivot_0", sim.state.zd) == pytest.approx(exact.qd[0], abs=5e-5)


def test_andrews_first_accelerations():
    sim = simulation("andrews", h=1e-5)
    zdd = sim.state.zdd
    assert coordinate(sim, "O", zdd) == pytest.approx(14222.4439199541, rel=1e-12)
    assert coordinate(sim, "F", zdd) == pytest.approx(-10666.8329399656, rel=1e-12)
    for joint in ("B", "A5", "G", "A7", "H"):
        assert coordinate(sim, joint, zdd) == pytest.approx(0.0, abs=1e-7)


def test_bricard():
    assert coordinate(run("bricard", 0.5, h=5e-3), "joint_1") == pytest.approx(0.252528841, abs=1e-5)


def test_governor():
    assert 0.5 + coordinate(run("governor", 0.1), "slide") == pytest.approx(0.52383648, abs=1e-6)


def test_spatial_slider_crank_comes_back_after_a_period():
    assert coordinate(run("slider_crank", 0.602), "slide") == pytest.approx(0.0, abs=2e-4)


def test_crank_rocker():
    exact = references.crank_rocker(0.5)
    sim = run("crank_rocker", 0.5)
    assert math.radians(60.0) + coordinate(sim, "crank_pivot") == pytest.approx(exact.q[0], abs=1e-4)
    assert coordinate(sim, "crank_pivot", sim.state.zdd) == pytest.approx(exact.qdd[0], rel=1e-3)


def test_planar_slider_crank():
    exact = references.planar_slider_crank(0.5)
    sim = run("planar_slider_crank", 0.5)
    assert math.radians(40.0) + coordinate(sim, "pivot") == pytest.approx(exact.q[0], abs=1e-4)


@pytest.mark.parametrize("profile", ["sine", "constant"])
def test_driven_fourbar_follows_its_geometry(profile):
    rocker = references.driven_rocker([0.0, 0.35], profile)
    sim = run("driven_fourbar", 0.35, profile=profile)
    assert coordinate(sim, "rocker_pivot") == pytest.approx(rocker[1] - rocker[0], abs=1e-9)


@pytest.mark.parametrize(
    ("joint", "frame", "center"),
    [
        ("revolute", "origin", (-1.999680, 0.0, -0.0355587)),
        ("revolute", "tilted", (1.209960, 3.406400, 1.593600)),
        ("prismatic", "tilted", (3.0, -59.29160, -58.29160)),
    ],
)
def test_single_joints_end_where_adams_says(joint, frame, center):
    sim = run("single_joint", 5.0, h=2e-3, joint=joint, frame=frame)
    angle = coordinate(sim, "joint")
    turn = {"origin": math.radians(-90.0), "tilted": math.radians(-45.0)}[frame]
    origin = {"origin": (0.0, 0.0, 0.0), "tilted": (1.0, 2.0, 3.0)}[frame]
    if joint == "revolute":
        local = np.array([2.0 * math.cos(angle), 2.0 * math.sin(angle), 0.0])
    else:
        local = np.array([2.0, 0.0, angle])
    rotation = np.array([[1, 0, 0], [0, math.cos(turn), -math.sin(turn)], [0, math.sin(turn), math.cos(turn)]])
    np.testing.assert_allclose(origin + rotation @ local, center, atol=2e-3)
