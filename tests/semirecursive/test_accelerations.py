"""First accelerations and multipliers against the dense constrained equations."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import StartError
from rtmbs.semirecursive.equations import first_accelerations
from rtmbs.semirecursive.start.prepare import consistent_rates
from rtmbs.semirecursive.start.rank import effective_masses
from tests.semirecursive.start.cases import MODELS, bar, closed_pose, dense_loops, fourbar, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def moving(name):
    """Return an assembly at a closed pose with consistent random rates, and the effective masses there."""
    system = system_of(name)
    assembly, z = closed_pose(system)
    masses, _ = effective_masses(assembly.equations, assembly.jacobian)
    assembly.gap(z)
    rng = np.random.default_rng(3)
    zd = consistent_rates(
        assembly, system.typical * rng.normal(size=system.n), np.zeros(system.n, bool), system.weights
    )
    return assembly, z, zd, masses


def dense_answer(equations, z, zd, R0, masses):
    """Solve [M P^T; P 0] [zdd; lam] = [Q; -gamma]; lam least in the norm of 1 / masses."""
    n = len(z)
    P, gamma = dense_loops(equations, z, zd, np.zeros(n), R0)
    Q = equations.force(z, zd, R0)
    M = equations.mass_matrix()
    root = np.sqrt(masses)
    K = np.block([[M, (root[:, None] * P).T], [root[:, None] * P, np.zeros((len(P), len(P)))]])
    answer = np.linalg.lstsq(K, np.concatenate((Q, -root * gamma)), rcond=1e-13)[0]
    return answer[:n], root * answer[n:]


@ALL
def test_against_the_dense_equations(name):
    assembly, z, zd, masses = moving(name)
    equations, R0 = assembly.equations, assembly.R0
    zdd, lam = first_accelerations(equations, z, zd, R0, masses)
    expected, multipliers = dense_answer(equations, z, zd, R0, masses)
    size = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(zdd, expected, atol=1e-8 * size)
    np.testing.assert_allclose(lam, multipliers, atol=1e-6 * max(np.abs(multipliers).max(), 1.0))


@ALL
def test_equations_of_motion_hold(name):
    """M zdd - Q + Phi_z^T lam = 0 and Phidd = 0, with the accelerations that a Simulation starts from."""
    sim = Simulation(system_of(name))
    state, equations = sim.state, sim.equations
    P, Phidd = dense_loops(equations, state.z, state.zd, state.zdd, state.R0)
    force = equations.ws.tau + P.T @ state.lam
    assert np.abs(force).max() < 1e-7 * max(np.abs(equations.ws.tau).max(), 1.0)
    assert np.abs(Phidd).max() < 1e-7 * max(np.abs(state.zdd).max(), 1.0)


def test_the_penalty_of_the_iterations_does_not_matter():
    assembly, z, zd, masses = moving("closed 7")
    answers = [first_accelerations(assembly.equations, z, zd, assembly.R0, masses, c)[0] for c in (1e3, 1e6, 1e8)]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], atol=1e-7 * np.abs(answers[0]).max())


def test_redundant_loops_share_the_load():
    """A coupler pinned twice at the same point: each pin carries half, and nothing else changes."""
    plain, doubled = fourbar(), fourbar()
    doubled.add_joint("C2", rtmbs.Revolute(axis=(1, 0, 0)), "coupler", "rocker", point=(0, 2, 1), cut=True)
    one, two = Simulation(plain.compile()), Simulation(doubled.compile())
    np.testing.assert_allclose(two.state.zdd, one.state.zdd, atol=1e-9)
    half = len(one.state.lam)
    np.testing.assert_allclose(two.state.lam[:half], two.state.lam[half:], atol=1e-9)
    np.testing.assert_allclose(two.state.lam[:half] * 2.0, one.state.lam, atol=1e-7)


def test_a_massless_coupler_is_held_by_its_loop():
    """M is singular, M + tau Phi_z^T Phi_z is not (METHODS 1.21): the limit of a light coupler."""
    ends = [Simulation(fourbar(closure="line", masses=(1.0, mass, 1.0)).compile()).state for mass in (0.0, 1e-9)]
    np.testing.assert_allclose(ends[0].zdd, ends[1].zdd, atol=1e-5)


def test_what_no_loop_holds_needs_inertia():
    """A point mass that turns about itself: named, at the start."""
    model = rtmbs.Model("bead")
    bar(model, "arm", (0, 0, 0), (0, 1, 0))
    model.add_body("bead", mass=1.0, position=(0, 1, 0))
    model.add_joint("shoulder", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm")
    model.add_joint("spin", rtmbs.Revolute(axis=(1, 0, 0)), "arm", "bead", point=(0, 1, 0))
    with pytest.raises(StartError, match=r"'spin\.angle' has no inertia") as refusal:
        Simulation(model.compile())
    assert "mass or inertia" in str(refusal.value)


def test_never_zero_by_default():
    """A wrong first acceleration costs an order (METHODS 1.8): a released pendulum starts with what gravity says."""
    sim = Simulation(rtmbs.library.build("pendulum").compile())
    assert abs(sim.state.zdd[0]) == pytest.approx(9.81, rel=1e-12)
