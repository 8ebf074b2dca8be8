"""Modes against closed forms."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.studies.analysis.cases import G, chain, sleeping_top, turning_pendulum


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


@pytest.mark.parametrize("length", [1.0, 1e3, 1e2, 1.0 / 0.0254, 1.0 / 0.3048, 1e-3])
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_a_rod_between_two_balls_turns_about_itself_once_in_any_unit(length, damping):
    """Rounding makes the double zero a real pair in one unit and an imaginary one in another."""
    model = rtmbs.Model("rod", gravity=(0.0, 0.0, -9.81 * length))
    a, b, foot = (length * np.array(p) for p in ((0.08, 0.0, 0.02), (0.45, 0.07, 0.25), (0.35, 0.1, 0.05)))
    reach = np.linalg.norm(b - a)
    along = (b - a) / reach
    inertia = 0.025 * reach**2 * (np.eye(3) - np.outer(along, along)) + 1e-6 * length**2 * np.outer(along, along)
    small = (1e-3 * length**2,) * 3
    model.add_body("crank", mass=0.4, center_of_mass=a / 2, inertia=small)
    model.add_body("rocker", mass=0.9, position=foot, center_of_mass=(b - foot) / 2, inertia=small)
    model.add_body("rod", mass=0.3, position=a, center_of_mass=(b - a) / 2, inertia=inertia)
    model.add_joint("A", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "crank", point=(0, 0, 0))
    model.add_joint("D", rtmbs.Revolute(axis=(0.3, 1.0, 0.2)), model.ground, "rocker", point=foot)
    model.add_joint("B", rtmbs.Spherical(), "crank", "rod", point=a)
    model.add_joint("C", rtmbs.Spherical(), "rod", "rocker", point=b)
    spring = rtmbs.TorsionSpring(stiffness=3.0 * length**2, damping=damping * length**2)
    model.add_force("spring", spring, joint="A")
    found = rtmbs.equilibrium(model.compile()).modes
    assert len(found.frequencies) == 2
    assert found.frequencies[0] < 1e-4 * found.frequencies[1]
    assert found.stable


def test_directions_that_nothing_holds_are_modes_once():
    """Two free rails are two modes, one with a damper decays and stands still; a slow saddle keeps both its ways."""
    model = rtmbs.Model("rails", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        model.add_body(name, mass=mass, inertia=(1, 1, 1))
        model.add_joint(f"rail_{name}", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", name)
    model.add_force("damper", rtmbs.TorsionSpring(stiffness=0.0, damping=6.0), joint="rail_c")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-2.0, 0.0, 0.0, 0.0], atol=1e-12)
    model.add_force("unstable", rtmbs.TorsionSpring(stiffness=-2.0, damping=0.0), joint="rail_b")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-2.0, -1.0, 0.0, 0.0, 1.0], atol=1e-12)


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
