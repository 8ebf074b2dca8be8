"""Modes of bodies that spin on ball and floating joints: in axes in which the motion is steady."""

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import rtmbs
from tests.studies.analysis.cases import G, sleeping_top

SPIN = 300.0  # [rad/s]
TURNED = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix()


def rotor(joint, inertia=(0.25, 0.16, 0.16), across=(1e4, 1e4), spin=SPIN, world=None, rod=False):
    """A disc about its first axis on a ball joint, held by springs at both ends; its axes and all else turned."""
    world = np.eye(3) if world is None else world
    model = rtmbs.Model("rotor", gravity=(0, 0, 0))
    frame = {"orientation": world}
    if joint == "gimbal":
        for name in ("outer", "inner"):
            model.add_body(name, mass=0.0, inertia=(0, 0, 0), **frame)
    model.add_body("disc", mass=10.0, inertia=inertia, **frame)
    if joint == "gimbal":
        chain = ("ground", "outer", "inner", "disc")
        for k, axis in enumerate((1, 2, 0)):
            model.add_joint(f"hinge{k}", rtmbs.Revolute(tuple(world[:, axis])), chain[k], chain[k + 1], point=(0, 0, 0))
        model.set_initial("hinge2", rate=spin)
    else:
        model.add_joint("ball", joint, model.ground, "disc", point=(0, 0, 0))
        rates = (spin, 0.0, 0.0)
        model.set_initial("ball", rate=(0.0, 0.0, 0.0, *rates) if isinstance(joint, rtmbs.Floating) else rates)
    stiffness = world @ np.diag((0.0, *across)) @ world.T
    for side in (-1.0, 1.0):
        ends = [
            model.add_marker(f"{name} {side:g}", name, tuple(side * world[:, 0]), frame="ground")
            for name in ("ground", "disc")
        ]
        model.add_force(
            f"spring {side:g}",
            lambda t, kinematics, p: np.concatenate((-stiffness @ kinematics.r, 0.0 * kinematics.r)),
            between=tuple(ends),
        )
    if rod:
        foot = model.add_marker("foot", "ground", tuple(world @ (1.0, 0.0, -0.7)))
        model.add_rod("rod", between=("disc 1", foot))
    return rtmbs.Simulation(model.compile())


def paces(found):
    """Return |Im s| of all modes that oscillate, in order."""
    return np.sort(np.abs(found.eigenvalues.imag[np.abs(found.eigenvalues) > 1e-3 * SPIN]))


def whirl(k, inertia, spin):
    """Return w of It w^2 +- Ip W w - 2 k = 0, of a symmetric disc on springs at a distance of 1 m."""
    p, q = inertia[0] * spin / (2.0 * inertia[1]), 2.0 * k / inertia[1]
    return np.sort([np.sqrt(p * p + q) - p, np.sqrt(p * p + q) + p])


@pytest.mark.parametrize("world", [np.eye(3), TURNED], ids=["upright", "turned"])
def test_whirls_of_a_ball_jointed_rotor(world):
    found = rtmbs.modes(rotor(rtmbs.Spherical(), world=world))
    np.testing.assert_allclose(paces(found), whirl(1e4, (0.25, 0.16, 0.16), SPIN), rtol=1e-9)
    assert found.axes.name == "parent"
    assert found.axes.steady
    assert "axes of the parent" in found.table()
    for i in range(len(found.eigenvalues)):  # what the eigenvectors belong to
        L, matrix = found.axes.map, np.linalg.solve(found.axes.map, found.axes.matrix @ found.axes.map)
        size = np.abs(matrix).max() * np.abs(found.right[:, i]).max()
        assert np.abs(matrix @ found.right[:, i] - found.eigenvalues[i] * found.right[:, i]).max() < 1e-9 * size
        assert L.shape == matrix.shape


@pytest.mark.parametrize("world", [np.eye(3), TURNED], ids=["upright", "turned"])
@pytest.mark.parametrize("rod", [False, True], ids=["free", "in a loop"])
def test_uneven_supports_as_in_a_gimbal(world, rod):
    """Supports that do not turn are uneven: only axes of the parent have constant coefficients."""
    found = rtmbs.modes(rotor(rtmbs.Spherical(), across=(1e4, 3e4), world=world, rod=rod))
    other = rtmbs.modes(rotor("gimbal", across=(1e4, 3e4), world=world, rod=rod))
    assert found.axes.steady
    assert other.axes.steady
    np.testing.assert_allclose(paces(found), paces(other), rtol=1e-8)
    if rod:  # the rod holds one tilt, so nothing is left of the gyroscope
        np.testing.assert_allclose(paces(found), np.sqrt(2e4 / 0.16), rtol=1e-8)


def test_a_floating_rotor_has_the_same_whirls():
    found = rtmbs.modes(rotor(rtmbs.Floating(), world=TURNED))
    aside = np.sqrt(2e4 / 10.0)
    np.testing.assert_allclose(paces(found)[-4:], [aside, aside, *whirl(1e4, (0.25, 0.16, 0.16), SPIN)], rtol=1e-8)


def test_an_uneven_rotor_is_looked_at_in_its_own_axes():
    """Euler's equations beside the spin: with theta a small turn in body axes, w = theta' + W e1 x theta."""
    p, a, b = inertia = (0.25, 0.16, 0.21)
    found = rtmbs.modes(rotor(rtmbs.Spherical(), inertia=inertia))
    W, k = SPIN, 2e4
    A = np.zeros((4, 4))  # of theta2, theta3, w2, w3
    A[0, [1, 2]], A[1, [0, 3]] = (W, 1.0), (-W, 1.0)
    A[2, [0, 3]], A[3, [1, 2]] = (-k / a, (b - p) * W / a), (-k / b, (p - a) * W / b)
    wanted = scipy.linalg.eigvals(A)
    np.testing.assert_allclose(paces(found), np.sort(wanted.imag[wanted.imag > 0.0]), rtol=1e-9)
    assert found.axes.name == "body"
    assert found.axes.steady
    assert "turn with the body" in found.table()


def test_what_is_uneven_on_both_sides_is_said():
    found = rtmbs.modes(rotor(rtmbs.Spherical(), inertia=(0.25, 0.16, 0.21), across=(1e4, 3e4)))
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_a_ball_jointed_top_is_the_gimballed_one():
    spin, mass, height, transverse, axial = 60.0, 0.5, 0.2, 0.03, 0.005
    model = rtmbs.Model("top", gravity=(0, 0, -G))
    model.add_body("rotor", mass=mass, inertia=(transverse, transverse, axial), center_of_mass=(0, 0, height))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "rotor")
    model.set_initial("ball", rate=(0, 0, spin))
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    other = rtmbs.modes(rtmbs.Simulation(sleeping_top(spin, mass, height, transverse, axial).compile()))
    np.testing.assert_allclose(np.abs(found.eigenvalues), np.abs(other.eigenvalues), rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("spin", [600.0, 1200.0])
def test_a_slow_precession_of_a_fast_top_is_not_steady(spin):
    """In neither axes: its nutation would be off by 4e-3, and its precession too."""
    mass, reach, across, along, tilt = 2.0, 0.1, 0.03, 0.005, 1.0
    pivot = across + mass * reach**2
    pace = np.roots((pivot * np.cos(tilt), -along * spin, mass * G * reach)).real.min()
    model = rtmbs.Model("top")
    axes = Rotation.from_euler("x", tilt).as_matrix()
    model.add_body("top", mass=mass, center_of_mass=(0, 0, reach), inertia=(across, across, along), orientation=axes)
    model.add_joint("ball", rtmbs.Spherical(), "ground", "top", point=(0, 0, 0))
    upright = np.array((0.0, 0.0, 1.0))
    turn = pace * upright + (spin - pace * np.cos(tilt)) * axes[:, 2]
    model.set_initial("ball", rate=tuple(axes.T @ turn))
    found = rtmbs.modes(rtmbs.Simulation(model.compile(), h=1e-4))
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_a_swing_at_its_lowest_point_is_not_steady():
    """Its coefficients are even in the angle, so they have no slope there."""
    model = rtmbs.Model("swing", gravity=(0, 0, -G))
    model.add_body("bob", mass=1.0, inertia=(0.1, 0.2, 0.3), center_of_mass=(0, 0, -0.5))
    model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", "bob")
    model.set_initial("hinge", rate=2.0)
    assert not rtmbs.modes(rtmbs.Simulation(model.compile())).axes.steady


def test_a_crank_in_motion_is_not_steady():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile())
    found = rtmbs.modes(sim)
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_campbell_says_where_the_motion_is_not_steady():
    def at(spin):
        return rotor(rtmbs.Spherical(), inertia=(0.25, 0.16, 0.21), across=(1e4, 3e4), spin=spin)

    assert "not steady at spin = 100, 200" in rtmbs.campbell(at, [0.0, 100.0, 200.0], "spin").table()
    even = rtmbs.campbell(lambda spin: rotor(rtmbs.Spherical(), spin=spin), np.linspace(0.0, 800.0, 17), "spin")
    backward = np.sqrt(2e4 / (0.16 + 0.25))
    assert min(abs(value - backward) for value, _ in even.critical(1.0)) < 1e-4 * backward
    assert "not steady" not in even.table()
