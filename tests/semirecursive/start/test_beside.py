"""Reference poses between several ways to assemble, loops out of reach, and hinges with one axis."""

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.assembly import CAMPAIGN
from rtmbs import Simulation
from rtmbs.errors import StartError
from rtmbs.semirecursive.start.assembly import bounded_change


def fourbar(lengths, ground, turned=(0.0, 0.0, 0.0)):
    """Return a four-bar by its bars, each turned about z at the reference pose [rad]."""
    model = rtmbs.Model("four-bar", gravity=(0, -9.81, 0))
    names = ("crank", "coupler", "rocker")
    for name, angle in zip(names, turned, strict=True):
        turn = Rotation.from_euler("z", angle).as_matrix()
        model.add_body(name, mass=1.0, inertia=(0.01,) * 3, orientation=turn)
    hinge = rtmbs.Revolute(axis=(0, 0, 1))
    zero = (0.0, 0.0, 0.0)
    model.add_joint("a", hinge, "ground", "crank", point_a=zero, point_b=zero)
    model.add_joint("b", hinge, "crank", "coupler", point_a=(lengths[0], 0, 0), point_b=zero)
    model.add_joint("c", hinge, "coupler", "rocker", point_a=(lengths[1], 0, 0), point_b=(lengths[2], 0, 0))
    model.add_joint("d", hinge, "ground", "rocker", point_a=(ground, 0, 0), point_b=zero)
    return model


def test_bars_in_one_line_are_assembled_and_the_other_way_is_told():
    sim = Simulation(fourbar((0.4, 0.8, 0.5), 1.5).compile(), h=1e-3)
    assert sim.start_report.gap < 1e-12
    told = [text for text in sim.start_report.warnings if "several ways to assemble" in text]
    assert len(told) == 1
    np.testing.assert_allclose(sim["rocker.position"], (1.5, 0.0, 0.0), atol=1e-12)
    again = Simulation(fourbar((0.4, 0.8, 0.5), 1.5).compile(), h=1e-3)
    np.testing.assert_array_equal(again.state.z, sim.state.z)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_initial_value_chooses_the_way(side):
    model = fourbar((0.4, 0.8, 0.5), 1.5)
    model.set_initial("a", position=0.1 * side, pin=False)
    sim = Simulation(model.compile(), h=1e-3)
    assert np.sign(sim["a.angle"]) == side
    assert not [text for text in sim.start_report.warnings if "several ways" in text]


@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (0.3, 1.0, -2.0), (0.0, np.pi, 0.0)])
def test_a_loop_out_of_reach_is_refused_with_its_gap(turned):
    lengths = (0.4, 0.8, 0.27)
    with pytest.raises(StartError, match=r"the loop at '[abcd]' cannot close: a gap of 0\.07"):
        Simulation(fourbar(lengths, 1.05 * sum(lengths), turned).compile(), h=1e-3)


def test_a_direction_without_a_singular_value_takes_no_part():
    J = csc_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(bounded_change(J, np.array([0.1, 0.0]), np.ones(2)), [0.1, 0.0])


def test_hinges_with_one_axis_are_named():
    model = rtmbs.Model("gimbal", gravity=(0, 0, 0))
    previous = "ground"
    for name, axis in (("rx", (1, 0, 0)), ("ry", (0, 1, 0)), ("rz", (0, 0, 1))):
        last = name == "rz"
        body = "ball" if last else f"after {name}"
        model.add_body(body, mass=float(last), inertia=(0.4 * last,) * 3)
        model.add_joint(name, rtmbs.Revolute(axis=axis), previous, body, point=(0, 0, 0))
        previous = body
    model.set_initial("ry", position=np.pi / 2)
    with pytest.raises(StartError, match=r"'rx.angle' and 'rz.angle' are one and the same at this pose"):
        Simulation(model.compile(), h=1e-3)


def test_some_loops_of_the_campaign():
    tally = CAMPAIGN.run(2, 0)
    assert tally.survived == tally.tried, tally.failures


@pytest.mark.parametrize("seed", [1000606, 1000708])
def test_loops_with_slides_in_a_plane_are_assembled_from_afar(seed):
    tally = CAMPAIGN.run(1, seed)
    assert tally.survived == tally.tried, tally.failures
