"""Modes over an input, followed by their shapes."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from tests.studies.analysis.cases import G, chain, sleeping_top, turning_pendulum


def test_nutation_and_precession_over_the_spin():
    spins = np.linspace(95.0, 180.0, 6)
    found = rtmbs.campbell(lambda spin: rtmbs.Simulation(sleeping_top(spin).compile()), spins, "spin [rad/s]")
    It, axial = 0.03 + 0.5 * 0.2**2, 0.005
    wanted = np.array([np.sort(np.abs(np.roots([It, -axial * spin, 0.5 * G * 0.2]))) for spin in spins])
    moving = np.flatnonzero(found.frequencies.max(axis=0) > 1e-3)
    assert len(moving) == 2
    both = np.sort(found.frequencies[:, moving], axis=1)
    np.testing.assert_allclose(both, wanted / (2 * np.pi), rtol=1e-6)
    for column in found.frequencies[:, moving].T:  # each branch goes one way
        assert np.all(np.diff(column) > 0.0) or np.all(np.diff(column) < 0.0)


def test_where_an_order_meets_a_mode():
    """w = W sqrt(1 - (g / (l W^2))^2) is 0.9 W where g / (l W^2) = sqrt(1 - 0.81)."""
    rates = np.linspace(6.2, 7.2, 21)
    found = rtmbs.campbell(lambda rate: rtmbs.Simulation(turning_pendulum(rate).compile()), rates, "turn")
    wanted = np.sqrt(G / (0.5 * np.sqrt(1.0 - 0.81)))
    ((value, branch),) = found.critical(order=0.9)
    np.testing.assert_allclose(value, wanted, rtol=1e-7)
    assert branch == 0
    coarse = rtmbs.campbell(lambda rate: rtmbs.Simulation(turning_pendulum(rate).compile()), rates[::8], "turn")
    np.testing.assert_allclose(coarse.critical(order=0.9)[0][0], wanted, rtol=5e-4)
    assert found.critical(order=2.0) == []
    twice = np.repeat(rates[::8], 2)
    again = rtmbs.campbell(lambda rate: rtmbs.Simulation(turning_pendulum(rate).compile()), twice, "turn")
    np.testing.assert_allclose(again.critical(order=0.9)[0][0], wanted, rtol=5e-3)


def two_oscillators():
    """One on a spring that is an input, one on a fixed spring."""
    model = rtmbs.Model("two", gravity=(0, 0, 0))
    for name, stiffness in (("soft", 50.0), ("fixed", 200.0)):
        body = model.add_body(name, mass=2.0, inertia=(1, 1, 1))
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
        ends = model.add_marker(f"{name} a", "ground", (-1.0, 0, 0)), model.add_marker(f"{name} b", body, (0.0, 0, 0))
        model.add_force(f"{name} spring", rtmbs.SpringDamper(stiffness, 0.1, 1.0), between=ends)
    return rtmbs.Simulation(model.compile())


def test_branches_cross_without_changing_places():
    values = np.linspace(50.0, 450.0, 9)
    found = rtmbs.campbell(two_oscillators(), values, "soft spring.stiffness")
    grown = found.damped_frequencies[:, 0]
    np.testing.assert_allclose(grown, np.sqrt(values / 2.0 - (0.1 / 4.0) ** 2) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(found.frequencies[:, 1], found.frequencies[0, 1], rtol=1e-9)
    assert found.table().splitlines()[0].split()[0] == "soft"


def test_the_pose_follows_the_input():
    model = chain(1, 0.5, 2.0)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="hinge_link0")
    torques = np.array([0.0, 3.0, 6.0])
    found = rtmbs.campbell(rtmbs.Simulation(model.compile()), torques, "motor.torque")
    angle = np.arcsin(torques / (2.0 * G * 0.5))
    np.testing.assert_allclose(found.frequencies[:, 0], np.sqrt(G / 0.5 * np.cos(angle)) / (2 * np.pi), rtol=1e-9)


def test_the_picture(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = rtmbs.campbell(two_oscillators(), [50.0, 100.0, 300.0], "soft spring.stiffness")
    axes = found.plot(orders=(1.0,))
    assert [line.get_label() for line in axes.lines] == ["mode 0", "mode 1", "1 x"]
    assert axes.get_ylabel() == "damped frequency [Hz]"
    assert axes.get_xlabel() == "soft spring.stiffness [N/m]"
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1  # beside the curves
    assert axes.get_legend().get_window_extent().x1 <= axes.figure.bbox.x1
    frame = pytest.importorskip("pandas") and found.to_pandas()
    assert list(frame.index) == [50.0, 100.0, 300.0]


def test_bad_input():
    sim = two_oscillators()
    with pytest.raises(UnknownNameError, match=r"there is no input named 'soft sprin"):
        rtmbs.campbell(sim, [1.0], "soft spring.stifness")
    with pytest.raises(InputError, match=r"^values is \[\]; it must be a list of finite numbers"):
        rtmbs.campbell(sim, [], "soft spring.stiffness")
    with pytest.raises(InputError, match=r"^campbell takes a Simulation or a function that returns one, not 5"):
        rtmbs.campbell(5, [1.0])
    with pytest.raises(InputError, match=r"^the function of spin returned None at 1; it must return a Simulation"):
        rtmbs.campbell(lambda spin: None, [1.0], "spin")
    with pytest.raises(InputError, match=r"^the mechanism moves, and a change of an input does not say"):
        rtmbs.campbell(rtmbs.Simulation(turning_pendulum().compile()), [1.0], "gravity")
