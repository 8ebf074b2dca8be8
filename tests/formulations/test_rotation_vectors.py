"""Rotation vectors as coordinates: T, its rate, the energies and motions of a Simulation, and the limit of 2 pi."""

from functools import cache

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import RK4, MotionError, PenaltyTrapezoidal, RungeKutta, SolveIVP, integrate
from rtmbs.errors import InputError
from rtmbs.formulations import QR, SVD, Baumgarte, Direct, JointCoordinates, NullSpace, Partitioning, Penalty
from rtmbs.formulations.joint_coordinates import LARGEST_TURN
from rtmbs.numerics.rotations.quaternions import body_rates, right_jacobian
from tests.cases import spread
from tests.formulations.systems import T, states, system_of

TURNING = ("top", "floating chain", "floating door on two hinges")
FORMS = (Direct(), Partitioning(), QR(), SVD(), NullSpace(), Penalty(), Baumgarte())


def energy(system, q, v):
    return sum(system.equations.energies(q, system.joint_rates(q, v), system.R0))


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.02, 0.5, 2.0, 3.14, 4.5, LARGEST_TURN])
def test_the_rate_of_T_against_differences(size):
    rng, h = np.random.default_rng(3), 1e-5
    for _ in range(50):
        delta, rate = rng.normal(size=3), rng.normal(size=3)
        delta *= size / np.linalg.norm(delta)
        there, back = (right_jacobian(delta + s * h * rate) for s in (1.0, -1.0))
        found = body_rates(delta, rate, np.zeros(3))[1]
        np.testing.assert_allclose(found, (there - back) @ rate / (2 * h), atol=2e-9)


def test_T_leads_from_rotation_vectors_to_body_rates():
    """R^T dR/dt = omega~ by differences of the exponential of the whole rotation."""
    from scipy.spatial.transform import Rotation

    rng, h = np.random.default_rng(4), 1e-6
    for _ in range(50):
        delta, rate = 1.5 * rng.normal(size=3), rng.normal(size=3)
        there, back = (Rotation.from_rotvec(delta + s * h * rate) for s in (1.0, -1.0))
        np.testing.assert_allclose((back.inv() * there).as_rotvec() / (2 * h), right_jacobian(delta) @ rate, atol=1e-8)


@pytest.mark.parametrize("where", TURNING)
def test_kinetic_energy_is_that_of_the_system(where):
    system = system_of(where)
    for q, v in states(where, 30):
        kinetic = system.equations.energies(q, system.joint_rates(q, v), system.R0)[0]
        np.testing.assert_allclose(0.5 * v @ system.mass(q, T) @ v, kinetic, rtol=1e-12)


@pytest.mark.parametrize("where", TURNING)
def test_power_balances_at_random_states(where):
    """d(energy)/dt = 0 along a consistent state and its accelerations: gyroscopic terms and dT/dt together."""
    system, h = system_of(where), 1e-5
    for q, v in states(where, 30):
        a = SVD().accelerations(system, q, v, T)[0]
        there, back = (energy(system, q + s * h * v + 0.5 * h * h * a, v + s * h * a) for s in (1.0, -1.0))
        size = max(1.0, np.abs(v @ system.mass(q, T) @ a), np.abs(v @ system.force(q, v, T)))
        assert abs(there - back) / (2 * h) < 1e-6 * size


@pytest.mark.parametrize("where", TURNING)
def test_another_reference_gives_the_same_motion(where):
    """Accelerations of the joints about the own rotations of a state, where T = 1 and dT/dt v = 0."""
    system = system_of(where)
    for q, v in states(where, 30):
        a = SVD().accelerations(system, q, v, T)[0]
        fresh, z, zd = system.recentred(q, v)
        assert not np.any(z[fresh.vectors.first])
        right = SVD().accelerations(fresh, z, zd, T)[0]
        found = system.vectors.turning(q) @ a + system.vectors.rate_terms(q, v)
        np.testing.assert_allclose(found, right, atol=1e-10 * max(1.0, np.abs(right).max()))


@cache
def simulated(h):
    """Return the rotation (3, 3) of the top after 0.2 s of a Simulation."""
    sim = rtmbs.Simulation(rtmbs.library.build("top").compile(), h=h)
    sim.run(0.2)
    return sim.state.R0[0]


@pytest.mark.parametrize("form", spread(FORMS, 3), ids=lambda form: type(form).__name__)
def test_the_top_keeps_its_energy_and_follows_a_simulation(form):
    system = system_of("top")
    q, v = system.equations.compiled.z0, system.equations.compiled.zd0
    found = integrate(system, RungeKutta(RK4, form), q, v, 0.2, 2e-3)
    energies = np.array([energy(system, *state) for state in zip(found.q, found.v, strict=True)])
    assert np.ptp(energies) < 1e-8 * energies[0]
    rotation = system.recentred(found.q[-1], found.v[-1])[0].R0[0]
    errors = [np.abs(simulated(h) - rotation).max() for h in (2e-3, 1e-3)]
    assert errors[1] < 1e-4
    assert 3.5 < errors[0] / errors[1] < 4.5  # all of it the error of order two of the Simulation


def test_the_order_of_runge_kutta_stays():
    system = system_of("top")
    q, v = system.equations.compiled.z0, system.equations.compiled.zd0
    right = integrate(system, SolveIVP("DOP853", Partitioning(), rtol=1e-12, atol=1e-13), q, v, 0.4, 0.4).q[-1]
    found = [
        np.abs(integrate(system, RungeKutta(RK4, Partitioning()), q, v, 0.4, h).q[-1] - right).max()
        for h in (2e-2, 1e-2)
    ]
    assert 12.0 < found[0] / found[1] < 20.0


def test_loops_of_rotation_vectors_keep_energy_and_stay_closed():
    for where, form in (("floating chain", Partitioning()), ("floating door on two hinges", QR())):
        system, (q, v) = system_of(where), states(where, 1)[0]
        found = integrate(system, RungeKutta(RK4, form), q, 0.3 * v, 0.1, 2e-3)
        energies = np.array([energy(system, *state) for state in zip(found.q, found.v, strict=True)])
        kinetic = max(0.5 * rate @ system.mass(place, 0.0) @ rate for place, rate in zip(found.q, found.v, strict=True))
        assert np.ptp(energies) < 1e-6 * max(1.0, kinetic)
        assert found.violations[:, 0].max() < 1e-11


def test_a_turn_near_two_pi_is_refused():
    system, v = system_of("top"), system_of("top").equations.compiled.zd0
    system.mass(np.array([0.0, 0.0, 0.89 * 2.0 * np.pi]), 0.0)
    for size in (0.91, 1.0, 1.5):
        far = np.array([0.0, 0.0, size * 2.0 * np.pi])
        for call in (system.mass, system.constraint_jacobian):
            with pytest.raises(InputError, match=r"^the rotation vector of pivot.* rad long.*recentred"):
                call(far, 0.0)
        with pytest.raises(InputError, match="2 pi is singular"):
            system.force(far, v, 0.0)


def test_a_fast_spin_goes_on_about_another_reference():
    system = system_of("top")
    q, v = np.zeros(3), np.array([3.0, 5.0, -40.0])
    with pytest.raises(MotionError, match=r"stopped after .* 2 pi is singular") as caught:
        integrate(system, RungeKutta(RK4, Partitioning()), q, v, 1.0, 2e-3)
    reached = caught.value.result
    assert np.linalg.norm(reached.q[-1]) < LARGEST_TURN
    fresh, place, rate = system.recentred(reached.q[-1], reached.v[-1])
    found = integrate(fresh, RungeKutta(RK4, Partitioning()), place, rate, 0.1, 2e-3)
    before, after = energy(system, q, v), energy(fresh, found.q[-1], found.v[-1])
    assert abs(after - before) < 1e-4 * before


def test_the_trapezoidal_method_of_the_bench_refuses_rotation_dofs():
    system = system_of("top")
    q, v = system.equations.compiled.z0, system.equations.compiled.zd0
    with pytest.raises(InputError, match="PenaltyTrapezoidal takes no rotation dofs"):
        integrate(system, PenaltyTrapezoidal(), q, v, 0.1, 1e-2)


@pytest.mark.parametrize(
    ("R0", "says"),
    [
        (np.eye(3)[:2], r"R0 is an array \(1, 3, 3\) of rotations, not \(2, 3\)"),
        (np.full((1, 3, 3), np.nan), r"R0\[0\] is no rotation"),
        (1.001 * np.eye(3)[None], r"R0\[0\] is no rotation"),
        (-np.eye(3)[None], r"R0\[0\] is no rotation"),
    ],
)
def test_a_reference_that_is_no_rotation_is_refused(R0, says):
    with pytest.raises(InputError, match=says):
        JointCoordinates(rtmbs.library.build("top").compile(), R0)
