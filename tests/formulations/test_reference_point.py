"""Reference-point coordinates against joint coordinates: the same accelerations of every body."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import ModelError
from rtmbs.formulations import SVD, ConstrainedSystem, JointCoordinates, ReferencePointCoordinates, consistent_state
from rtmbs.formulations.reference_point import cross_matrices
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.numerics.rotations.quaternions import rotations
from tests.cases import spread
from tests.formulations.systems import skew_loop

T = 0.2


def driven():
    model = skew_loop(5, bodies=8)
    model.add_driver("motor", rtmbs.Sine(amplitude=0.4, frequency_rad_s=3.0), joint="j0")
    return model


def moved(system, seed):
    rng = np.random.default_rng(seed)
    q = system.start + 0.1 * rng.normal(size=system.n)
    return consistent_state(system, q, rng.normal(size=system.n), T)


@pytest.mark.parametrize("seed", spread(range(10), 3))
@pytest.mark.parametrize("make", [driven, lambda: skew_loop(3), lambda: rtmbs.library.build("bricard")])
def test_joint_accelerations_are_those_of_joint_coordinates(make, seed):
    """q and v of the joints are read off the bodies: relative rotations of the tree, joint by joint."""
    model = make()
    bodies, joints = ReferencePointCoordinates(model), JointCoordinates(model.compile())
    assert isinstance(bodies, ConstrainedSystem)
    q, v = moved(bodies, seed)
    a = SVD().accelerations(bodies, q, v, T)[0]
    z, zd, zdd = read_off(model, bodies, joints, q, v, a)
    np.testing.assert_allclose(joints.constraints(z, T), 0.0, atol=1e-10)
    found = SVD().accelerations(joints, z, zd, T)[0]
    np.testing.assert_allclose(zdd, found, atol=1e-9 * max(1.0, np.abs(found).max()))


def read_off(model, system, joints, q, v, a):
    """Return z, zd, zdd of the revolutes of the tree from the motion of the bodies."""
    B, _, _ = system.poses(q)
    w, wd = (np.einsum("kij,kj->ki", B, x.reshape(-1, SIZE))[:, 3:] for x in (v, a))
    R, number = rotations(q.reshape(-1, SIZE)[:, 3:]), {name: k for k, name in enumerate(model.bodies)}
    found = np.zeros((3, joints.n))
    for k, name in enumerate(joints.coordinate_names):
        joint = model.joints[name.rpartition(".")[0]]
        i, j = number[joint.a.name], number[joint.b.name]
        own = np.asarray(joint.type.axis, float) / np.linalg.norm(joint.type.axis)
        turn, axis = R[i].T @ R[j], R[i] @ own
        sines = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        found[0, k] = np.arctan2(sines @ own, np.trace(turn) - 1.0)
        found[1, k] = axis @ (w[j] - w[i])
        found[2, k] = axis @ (wd[j] - wd[i] - np.cross(w[i], w[j] - w[i]))
    return found


def test_the_rate_by_time_is_the_slope_of_the_rows():
    """Phi_t by central differences; the row of a driven distance bends with the distance."""
    model, h = driven(), 1e-5
    ends = (
        model.add_marker("far", "ground", point=(4.0, 3.0, 2.0)),
        model.add_marker("tip", "b4", point=(0.1, 0.2, 0.3)),
    )
    reach = rtmbs.Function(lambda t: 3.0 + np.sin(t), np.cos, lambda t: -np.sin(t))
    model.add_driver("reach", reach, between=ends)
    system = ReferencePointCoordinates(model)
    Phi_t, _ = system.constraint_rate_terms(system.start, np.zeros(system.n), T)
    slope = (system.constraints(system.start, T + h) - system.constraints(system.start, T - h)) / (2.0 * h)
    assert np.count_nonzero(Phi_t) == 2
    np.testing.assert_allclose(Phi_t, slope, rtol=0.0, atol=1e-8)


def test_quadratic_terms_and_mass_against_the_kinetic_energy():
    """d/dt (dT/dqd) - dT/dq by differences of T = qd^T M qd / 2, along directions that keep the norms."""
    model = skew_loop(7)
    system, rng, h = ReferencePointCoordinates(model), np.random.default_rng(2), 1e-5
    system.gravity[:] = 0.0
    q = system.start.reshape(-1, SIZE).copy()
    q[:, 3:] += 0.5 * rng.normal(size=(len(q), 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    v = rng.normal(size=q.shape)
    v[:, 3:] -= np.sum(v[:, 3:] * q[:, 3:], axis=1)[:, None] * q[:, 3:]
    q, v = q.ravel(), v.ravel()
    M_rate = (system.mass(q + h * v, 0.0) - system.mass(q - h * v, 0.0)) / (2.0 * h)
    slope = np.zeros(system.n)
    for i, e in enumerate(np.eye(system.n)):
        slope[i] = v @ (system.mass(q + h * e, 0.0) - system.mass(q - h * e, 0.0)) @ v / (4.0 * h)
    left = M_rate @ v - slope + system.force(q, v, 0.0)
    across = left.reshape(-1, SIZE)
    across[:, 3:] -= np.sum(across[:, 3:] * q.reshape(-1, SIZE)[:, 3:], axis=1)[:, None] * q.reshape(-1, SIZE)[:, 3:]
    np.testing.assert_allclose(across, 0.0, atol=1e-7)


def test_cross_matrices():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 4.0])
    np.testing.assert_allclose(cross_matrices(a[None])[0] @ b, np.cross(a, b))


def test_what_has_no_mass_is_refused_by_name():
    model = rtmbs.Model("light")
    model.add_body("rod", mass=0.0, inertia=(0, 0, 0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "rod")
    with pytest.raises(ModelError, match=r"^body 'rod' has no mass"):
        ReferencePointCoordinates(model)
