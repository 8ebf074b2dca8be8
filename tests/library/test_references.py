"""The exact references reproduce their published digits, keep their energy, and agree with geometry."""

import math

import numpy as np
import pytest

from rtmbs.library import references
from rtmbs.library.benchmarks import TOP_CENTER, TOP_INERTIA, TOP_MASS, TOP_RATE
from rtmbs.library.linkages import LENGTHS, START, corners
from rtmbs.library.references import _fourbar_inertia, _fourbar_potential_energy, top


@pytest.mark.parametrize(
    ("ny", "nz", "theta_1", "theta_2", "theta_n"),
    [
        (1, 10, 0.10130464, 0.11562646, 0.52219732),
        (4, 10, 0.10275302, 0.11512196, 0.52318885),
        (4, 40, 0.29297813, 0.30046655, 0.52359878),
    ],
)
def test_stacked_fourbar(ny, nz, theta_1, theta_2, theta_n):
    theta = references.fourbar(ny, nz, 1.0).q
    np.testing.assert_allclose(theta[[0, 1, -1]], (theta_1, theta_2, theta_n), atol=5.1e-9)


def test_parallel_rows_are_single_frames():
    rows = references.fourbar(3, 4, [0.5, 1.0], layout="parallel")
    alone = references.fourbar(3, 1, [0.5, 1.0])
    still = references.fourbar(3, 1, [0.5, 1.0], rate=0.0)
    np.testing.assert_array_equal(rows.q[:, 0], alone.q[:, 0])
    for k in (1, 2, 3):
        np.testing.assert_array_equal(rows.qd[:, k], still.qd[:, 0])


def test_the_order_of_the_times_does_not_matter():
    forward, backward = references.pendulum([0.2, 0.7]), references.pendulum([0.7, 0.2])
    np.testing.assert_array_equal(forward.q, backward.q[::-1])


def test_pendulum():
    q = references.pendulum([1.0, 5.0, 2.3678419475762]).q[:, 0]
    np.testing.assert_allclose((np.sin(q[0]), -np.cos(q[0])), (0.9862917511, -0.1650108531), atol=1e-10)
    np.testing.assert_allclose((np.sin(q[1]), -np.cos(q[1])), (-0.9423054350, -0.3347543384), atol=1e-10)
    assert q[2] == pytest.approx(-math.pi / 2, abs=1e-11)


def test_windows():
    motion = references.windows(2, [1.0, 5.0, 10.0])
    published = [(-0.1950203019, -0.9807992057), (-0.8113104610, -0.5846155454), (0.3284581115, 0.9445185382)]
    b0 = np.column_stack([np.cos(motion.q[:, 0]), np.sin(motion.q[:, 0])])
    np.testing.assert_allclose(b0, published, atol=1e-10)
    energy = references.windows_energy(2, motion.q, motion.qd)
    np.testing.assert_allclose(energy, 3.5 * 9.81 + 1.5, atol=1e-10)


def test_crank_rocker_keeps_its_energy():
    motion = references.crank_rocker([0.0, 0.4, 0.9, 2.0])
    energy = 0.5 * _fourbar_inertia(motion.q) * motion.qd**2 + _fourbar_potential_energy(motion.q)
    np.testing.assert_allclose(energy[:, 0], energy[0, 0], rtol=1e-11)


def test_crank_rocker_inertia_is_that_of_the_moving_bars():
    """J(q) against the kinetic energy of points along the bars, moved by differences of the closed-form corners."""
    q, d = 1.3, 1e-6
    before, after = (np.array(corners(q + sign * d)) for sign in (-1.0, 1.0))
    speed = (after - before) / (2.0 * d)
    bars = (
        (LENGTHS.crank, speed[0], speed[1]),
        (LENGTHS.coupler, speed[1], speed[2]),
        (LENGTHS.rocker, speed[3], speed[2]),
    )
    # a uniform bar with end velocities u and v carries m (u.u + u.v + v.v) / 3 of twice the kinetic energy
    inertia = sum(mass * (u @ u + u @ v + v @ v) / 3.0 for mass, u, v in bars)
    assert _fourbar_inertia(q) == pytest.approx(inertia, rel=1e-8)


def test_planar_slider_crank_turns_over_and_keeps_its_energy():
    crank, rod, slider = 0.3, 1.0, 1.0
    start = math.radians(40.0)
    motion = references.planar_slider_crank([0.0, 0.3, 1.0])
    energies = []
    for q, qd in zip(motion.q[:, 0], motion.qd[:, 0], strict=True):
        d = 1e-6

        def points(angle):
            pin = np.array([crank * np.cos(angle), crank * np.sin(angle)])
            return pin, np.array([pin[0] + np.sqrt(rod**2 - pin[1] ** 2), 0.0])

        (pin_a, end_a), (pin_b, end_b) = points(q - d), points(q + d)
        u, v = (pin_b - pin_a) / (2 * d) * qd, (end_b - end_a) / (2 * d) * qd
        kinetic = 0.5 * (crank * (u @ u) / 3 + rod * (u @ u + u @ v + v @ v) / 3 + slider * (v @ v))
        energies.append(kinetic + 9.81 * 0.5 * crank * np.sin(q) * (crank + rod))
    np.testing.assert_allclose(energies, energies[0], rtol=1e-8)
    assert motion.q[0, 0] == start


def test_driven_rocker_follows_the_corners():
    times = np.array([0.0, 0.1, 0.35])
    for t, angle in zip(times, references.driven_rocker(times), strict=True):
        c, d = (np.array(corner) for corner in corners(START + 0.8 * math.sin(5.0 * t))[2:])
        assert angle == pytest.approx(math.atan2(c[2] - d[2], c[1] - d[1]), abs=1e-12)


def test_top_keeps_energy_and_length():
    motion = top([0.0, 0.5, 2.0])
    np.testing.assert_allclose(np.linalg.norm(motion.quaternion, axis=1), 1.0, atol=1e-11)
    center = np.array(TOP_CENTER)
    inertia = np.diag(TOP_INERTIA) + TOP_MASS * (center @ center * np.eye(3) - np.outer(center, center))
    energies = []
    for (w, x, y, z), omega in zip(motion.quaternion, motion.omega, strict=True):
        up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
        energies.append(0.5 * omega @ inertia @ omega + TOP_MASS * 9.81 * up @ center)
    np.testing.assert_allclose(energies, energies[0], rtol=1e-11)
    np.testing.assert_array_equal(motion.omega[0], TOP_RATE)
