"""Modes against closed forms."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.analysis.cases import G, chain, sleeping_top, turning_pendulum


def test_a_hanging_chain_has_the_zeros_of_a_laguerre_polynomial():
    """20 equal masses: w^2 = g / l times the zeros of L_20; for many links the zeros of Bessel's J0 (METHODS 1.35)."""
    count, length = 20, 0.3
    found = rtmbs.modes(rtmbs.Simulation(chain(count, length).compile()))
    zeros = np.polynomial.laguerre.lagroots(np.eye(count + 1)[count])
    np.testing.assert_allclose(found.frequencies, np.sqrt(G / length * zeros) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(found.damping, 0.0, atol=1e-9)
    assert found.stable
    assert found.shapes.shape == (count, count)


def test_a_long_chain_comes_near_to_bessel():
    count, whole = 60, 2.0
    found = rtmbs.modes(rtmbs.Simulation(chain(count, whole / count).compile()))
    bessel = np.array([2.404825557695773, 5.520078110286311]) / 2.0 * np.sqrt(G / whole) / (2 * np.pi)
    np.testing.assert_allclose(found.frequencies[:2], bessel, rtol=2e-2)


def test_nutation_and_precession_of_a_top():
    """It w^2 - Iz W w + m g l = 0 of an upright top on its pivot, It about the pivot."""
    spin, mass, height, transverse, axial = 60.0, 0.5, 0.2, 0.03, 0.005
    found = rtmbs.modes(rtmbs.Simulation(sleeping_top(spin, mass, height, transverse, axial).compile()))
    It = transverse + mass * height**2
    roots = np.abs(np.roots([It, -axial * spin, mass * G * height]))
    np.testing.assert_allclose(
        np.sort(found.frequencies[found.frequencies > 1e-3]), np.sort(roots) / (2 * np.pi), rtol=1e-6
    )


def test_a_governor_in_its_turn():
    rate, length = 8.0, 0.5
    found = rtmbs.modes(rtmbs.Simulation(turning_pendulum(rate, length).compile()))
    wanted = rate * np.sqrt(1.0 - (G / (length * rate**2)) ** 2) / (2.0 * np.pi)
    np.testing.assert_allclose(found.frequencies, [wanted], rtol=1e-6)


def damped(c):
    model = rtmbs.Model("damped", gravity=(0, 0, 0))
    body = model.add_body("mass", mass=2.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    ends = model.add_marker("a", "ground", point=(-1.0, 0, 0)), model.add_marker("b", body, point=(0.0, 0, 0))
    model.add_force("spring", rtmbs.SpringDamper(200.0, c, 1.0), between=ends)
    return rtmbs.Simulation(model.compile())


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.9, 1.5])
def test_damping_ratios(ratio):
    w = 10.0
    found = rtmbs.modes(damped(2.0 * ratio * w * 2.0))
    if ratio < 1.0:
        np.testing.assert_allclose([found.frequencies[0], found.damping[0]], [w / (2 * np.pi), ratio], atol=1e-9)
        np.testing.assert_allclose(found.damped_frequencies, [w * np.sqrt(1 - ratio**2) / (2 * np.pi)])
    else:
        np.testing.assert_allclose(found.eigenvalues, w * (-ratio + np.array([1, -1]) * np.sqrt(ratio**2 - 1)))
        np.testing.assert_allclose(found.damping, 1.0)
    assert found.stable


def test_left_and_right_eigenvectors():
    sim = rtmbs.Simulation(chain(4).compile())
    found = rtmbs.modes(sim)
    A = found.linearisation.A
    np.testing.assert_allclose(A @ found.right, found.right * found.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(found.left.conj().T @ A, found.eigenvalues[:, None] * found.left.conj().T, atol=1e-7)
    np.testing.assert_allclose(np.diag(found.left.conj().T @ found.right), 1.0)


def test_what_falls_over_grows():
    model = chain(1, 0.5)
    model.set_initial("hinge_link0", position=np.pi, rate=0.0)
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    assert not found.stable
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-np.sqrt(G / 0.5), np.sqrt(G / 0.5)])


def test_the_table_names_what_moves():
    text = str(rtmbs.modes(rtmbs.Simulation(chain(3).compile())))
    assert text.splitlines()[0].split() == ["Hz", "damping", "s", "[1/s]", "moves", "most"]
    assert "hinge_link2.angle 1" in text


def test_a_held_mechanism_has_no_modes():
    model = turning_pendulum()
    start = -np.arccos(G / (0.5 * 8.0**2))
    model.add_driver("hold", rtmbs.ConstantRate(0.0, start=start), joint="hinge_ball")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    assert len(found.eigenvalues) == 0
    assert found.stable


def test_bad_input():
    with pytest.raises(InputError, match=r"^modes takes a Simulation or a Linearisation, not 'fourbar'"):
        rtmbs.modes("fourbar")
