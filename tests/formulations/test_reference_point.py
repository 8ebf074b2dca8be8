"""Reference-point coordinates against joint coordinates: the same accelerations of every body.

Every kind of force, coupler and constraint in reference-point coordinates against joint coordinates.
"""

import numpy as np
import pytest

import rtmbs
from bench.measures.forced import as_bodies, both_systems, consistent, sizes
from rtmbs.dae import DORMAND_PRINCE, RungeKutta, integrate
from rtmbs.errors import ModelError
from rtmbs.formulations import (
    FORMULATIONS,
    QR,
    SVD,
    ConstrainedSystem,
    JointCoordinates,
    Partitioning,
    ReferencePointCoordinates,
    consistent_state,
)
from rtmbs.formulations.reference_point import cross_matrices
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.numerics.rotations.quaternions import rotations, world_rates
from rtmbs.results.reactions import reaction
from rtmbs.state import State
from tests.cases import quick, spread
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


OPEN = (1, 5, 7)  # seeds whose loops cannot close together with their drivers
SEEDS = [seed for seed in range(103) if seed not in OPEN]
WITHIN = {"penalty": 1e-9}  # of the accelerations; others 1e-10
NAMES = list(FORMULATIONS)


def seeds(taken):
    """Return the mark of a test that takes four seeds, and the others where slow tests run."""
    return pytest.mark.parametrize("seed", quick(taken, *taken[:4]))


@seeds(SEEDS)
def test_accelerations_are_those_of_joint_coordinates(seed):
    model, unit, joints, bodies = both_systems(seed)
    t, name = 0.3 * unit.time, NAMES[seed % len(NAMES)]
    form = FORMULATIONS[name]()
    q, v = consistent(joints, unit, seed, t)
    a = form.accelerations(joints, q, v, t)[0]
    x, xd, expected = as_bodies(model, joints, bodies, q, v, a, t)
    size = sizes(bodies, unit)
    np.testing.assert_allclose(bodies.constraints(x, t), 0.0, atol=1e-11 * max(1.0, unit.length**2))
    found = form.accelerations(bodies, x, xd, t)[0]
    scale = np.abs(expected / size).max()
    np.testing.assert_allclose(found / size, expected / size, rtol=0.0, atol=WITHIN.get(name, 1e-10) * scale)


@seeds(SEEDS)
def test_reactions_of_joints_are_those_of_joint_coordinates(seed):
    """Multipliers are unique in both, as Direct demands."""
    model, unit, joints, bodies = both_systems(seed)
    t, form, equations = 0.3 * unit.time, FORMULATIONS["direct"](), joints.equations
    q, v = consistent(joints, unit, seed, t)
    a, lam = form.accelerations(joints, q, v, t)
    x, xd, _ = as_bodies(model, joints, bodies, q, v, a, t)
    pulled = bodies.constraint_jacobian(x, t).T * -form.accelerations(bodies, x, xd, t)[1]
    rates = joints.joint_rates(q, v), joints.vectors.turning(q) @ a + joints.vectors.rate_terms(q, v)
    state = State("", t, 0, 1.0, q, *rates, lam, joints.R0, joints.u)
    size = np.repeat((unit.force, unit.torque), 3)
    expected = {name: reaction(equations, state, name) / size for name in model.joints}
    largest = max(np.abs(wrench).max() for wrench in expected.values())
    for name, joint in model.joints.items():
        of_joint = [row.startswith(name + ".") for row in bodies.row_names]
        if any(driver.joint and driver.joint[0] is joint for driver in model.drivers.values()):
            of_joint = np.logical_or(of_joint, [row.startswith("driver.") for row in bodies.row_names])
        b = list(model.bodies).index(joint.b.name)
        found = wrench_at(pulled[:, of_joint].sum(axis=1), x, b, joint.point_b) / size
        if joint.b is not model.ground:
            np.testing.assert_allclose(found, expected[name], rtol=0.0, atol=1e-9 * largest, err_msg=name)


def wrench_at(pulled, q, body, point):
    """Return force and torque at a point of a body from generalised forces (n,) of its coordinates."""
    own = slice(SIZE * body, SIZE * (body + 1))
    e, Q = q[own][3:][None], pulled[own]
    torque = world_rates(e)[0] @ Q[3:] / 4.0
    return np.concatenate((Q[:3], torque - np.cross(rotations(e)[0] @ point, Q[:3])))


@pytest.mark.parametrize("seed", [30, 34, 35, 42])
def test_rows_of_free_bodies_against_differences_off_the_norms(seed):
    _, unit, _, bodies = both_systems(seed)
    free, rng, t, h = bodies.free, np.random.default_rng((seed, 34)), 0.4 * unit.time, 1e-6
    size = sizes(bodies, unit)
    q, v = bodies.start + 0.3 * size * rng.normal(size=bodies.n), size * rng.normal(size=bodies.n)
    later = unit.time * h
    assert free.m > 0

    def rate(q, t):
        return free.constraint_jacobian(q, t) @ v + free.constraint_rate_terms(q, v, t)[0]

    v = v / unit.time
    scale = unit.length**2 + 1.0
    before, after = (free.constraints(q + s * later * v, t + s * later) for s in (-1.0, 1.0))
    np.testing.assert_allclose((after - before) / (2 * h), rate(q, t) * unit.time, atol=1e-7 * scale)
    gamma = free.constraint_rate_terms(q, v, t)[1] * unit.time**2
    before, after = (rate(q + s * later * v, t + s * later) * unit.time for s in (-1.0, 1.0))
    np.testing.assert_allclose((after - before) / (2 * h), -gamma, atol=1e-6 * (scale + np.abs(gamma).max()))


def winding():
    """Two wheels on skew axles, geared and driven, each on a spring that winds up."""
    model = rtmbs.Model("winding")
    for name, axis, place in (("wheel", (1, 2, 3), (1, 0, 0)), ("pinion", (-2, 0, 1), (0, 1, 0))):
        model.add_body(name, mass=2.0, inertia=(0.1, 0.2, 0.25), center_of_mass=(0.1, 0.0, -0.05), position=place)
        model.add_joint(f"{name} axle", rtmbs.Revolute(axis=axis), model.ground, name, point=place)
    model.add_gear("mesh", "wheel axle", "pinion axle", 0.37)
    model.add_force("spring", rtmbs.TorsionSpring(0.3, 0.02, 8.0), joint="pinion axle")
    model.add_force("motor", rtmbs.Motor(lambda t: 60.0 * np.exp(-t)), joint="wheel axle")
    return model


@pytest.mark.slow
def test_angles_of_springs_and_gears_count_turns():
    model = winding()
    joints, bodies = JointCoordinates(model.compile()), ReferencePointCoordinates(model)
    found = []
    for system, start in ((joints, joints.equations.compiled.z0), (bodies, bodies.start)):
        q, v = consistent_state(system, start, np.zeros(system.n), 0.0)
        found.append(integrate(system, RungeKutta(DORMAND_PRINCE, Partitioning()), q, v, 1.0, 1e-2))
    assert np.abs(found[0].q).max() > 6.0 * np.pi
    np.testing.assert_allclose(found[1].q[:, -2:], found[0].q[:, ::-1], atol=1e-3)
    assert bodies.coordinate_names[-2:] == ["pinion axle.angle", "wheel axle.angle"]
    assert found[1].violations.max() < 1e-6


def test_all_coordinates_are_those_of_the_tree():
    """The loop is cut in one of its joints, which a law on all coordinates leaves out."""
    model = rtmbs.library.build("crank_rocker")
    model.add_force("all", lambda t, k, p: -0.1 * k.zd, joints="all")
    system, compiled = ReferencePointCoordinates(model), model.compile()
    assert system.coordinate_names[SIZE * len(model.bodies) :] == compiled.coordinate_names


def test_gravity_is_an_input():
    system = ReferencePointCoordinates(winding())
    system.u[system.inputs["gravity"]] = (1.0, 2.0, 3.0)
    np.testing.assert_array_equal(system.gravity, (1.0, 2.0, 3.0))
    F = system.force(system.start, np.zeros(system.n), 0.0)
    np.testing.assert_allclose(F[SIZE : SIZE + 3], (2.0, 4.0, 6.0))


class TurnAndSlide(rtmbs.model.JointType):
    """Slides after it turned, across the axis of the turn."""

    coordinates = ("angle", "displacement")

    def dofs(self):
        turn, slide = rtmbs.Revolute(axis=(0.0, 0.0, 1.0)), rtmbs.Prismatic(axis=(1.0, 0.0, 0.0))
        return (*turn.dofs(), *slide.dofs())

    def equations(self):
        return ()

    def checked(self, what):
        return self


def test_a_slide_behind_a_turn_is_a_coordinate_of_its_own():
    """m (r'' - r w^2) = F and (I + m r^2) w' = - 2 m r r' w in polar coordinates of the mass centre."""
    model = rtmbs.Model("arm")
    model.add_body("hand", mass=2.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(1, 0, 0))
    model.add_joint("boom", TurnAndSlide(), model.ground, "hand")
    model.add_force("jack", rtmbs.Motor(3.0), joint=("boom", "displacement"))
    system = ReferencePointCoordinates(model)
    assert system.coordinate_names[-2:] == ["boom.angle", "boom.displacement"]
    w, slide, v = 2.0, 0.5, np.zeros(system.n)
    v[[SIZE, 2 * SIZE - 1, -2, -1]] = slide, 0.5 * w, w, slide
    a = QR().accelerations(system, system.start, v, 0.0)[0]
    np.testing.assert_allclose(a[-2:], (-2.0 * 2.0 * slide * w / 2.1, 3.0 / 2.0 + w * w), atol=1e-9)


def test_names_that_free_bodies_would_take_are_left_to_the_user():
    """A joint that has the name of a body, on which a motor acts."""
    model = rtmbs.Model("namesakes")
    model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(1, 0, 0))
    model.add_joint("arm", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "arm")
    model.add_force("motor", rtmbs.Motor(3.0), joint="arm")
    system = ReferencePointCoordinates(model)
    a = QR().accelerations(system, system.start, np.zeros(system.n), 0.0)[0]
    assert a[-1] == pytest.approx(3.0 / 1.1)
