"""Kernels of the variational step against the page, and the whole step against a dense solution of its equations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import Outcome, Simulation, VariationalMidpoint
from rtmbs.semirecursive import page
from rtmbs.semirecursive import page as pages
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.momenta import (
    assemble_end,
    assemble_midpoint,
    evaluate_momenta,
    half_turn_back,
    turn_back,
    undo_jacobian,
)
from rtmbs.semirecursive.passes import add_correction
from rtmbs.semirecursive.workspace import workspace
from tests.cases import spread
from tests.contracts.machines import MOBILE, closed_model
from tests.mechanisms import committed, random_motion, random_tables, size

H = 0.01
SIZES = {1: 1, 2: 2, 3: 3, 4: 7, 5: 12, 6: 20}
STEP = 1e-40


@pytest.fixture(params=SIZES, ids=[f"{n} dofs, seed {seed}" for seed, n in SIZES.items()])
def case(request):
    """A random mechanism with every force, and a state at a step boundary."""
    mechanism = random_tables(request.param, SIZES[request.param])
    return committed(mechanism, random_motion(request.param, mechanism.tables))


def error(found, expected):
    """Return the largest difference relative to the largest entry."""
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def evaluated(mechanism, z, zd):
    """Return the workspace and the momenta of the kernel at a state."""
    ws, p = workspace(mechanism.tables), np.zeros(len(z))
    ws.z[:], ws.zd[:] = z, zd
    evaluate_momenta(mechanism.tables, mechanism.R0, mechanism.u, ws, p)
    return ws, p


def test_momenta_and_forces_are_those_of_the_page(case):
    mechanism, motion = case
    ws, p = evaluated(mechanism, motion.z, motion.zd)
    state = motion.z[None], motion.zd[None]
    assert error(p, pages.momenta(np, mechanism.tables, mechanism.R0, *state)[0]) < 1e-12
    force = pages.lagrange_force(np, mechanism.tables, mechanism.u, mechanism.R0, *state)[0]
    assert error(ws.tau, -force) < 1e-12


def test_rotations_are_those_of_the_page(case):
    mechanism, motion = case
    y, x = 0.3 * motion.zd, motion.zdd
    for kernel, function in ((undo_jacobian, pages.undone), (half_turn_back, pages.half_turned)):
        found = x.copy()
        kernel(mechanism.tables.dofs, y, found)
        assert error(found, function(np, mechanism.tables, y[None], x[None])[0]) < 1e-12


def test_momenta_are_turned_back_by_the_whole_turn(case):
    """exp(-turn~) by SciPy; momenta of other coordinates stay."""
    mechanism, motion = case
    dofs, turn, found = mechanism.tables.dofs, 0.3 * motion.zd, motion.zdd.copy()
    expected = found.copy()
    for i in np.flatnonzero(dofs.reference >= 0):
        expected[i : i + 3] = Rotation.from_rotvec(-turn[i : i + 3]).apply(found[i : i + 3])
    turn_back(dofs, turn, found)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("speed", [1.0, 0.1])
def test_the_matrix_is_the_derivative_of_the_residual(case, speed):
    """By central differences of the page along small turns; what is left out is of the third order of a step's turn."""
    mechanism, motion = case
    tables, u, R0, n, e = mechanism.tables, mechanism.u, mechanism.R0, len(motion.z), 1e-6
    y = 0.5 * H * speed * motion.zd
    start = speed * pages.momenta(np, tables, R0, motion.z[None], motion.zd[None])

    def residual(y):
        return 0.5 * H * pages.step_residual(np, tables, u, R0, motion.z[None], start, H, 0.0, y[None])[0]

    columns = []
    for direction in e * np.eye(n):
        turned = np.zeros(n)
        add_correction(tables.dofs, y, direction, turned)
        columns.append((residual(y + turned) - residual(y - turned)) / (2 * e))
    ws, _ = evaluated(mechanism, motion.z + y, 2.0 / H * y)
    values = np.full(n * n, np.nan)
    assemble_midpoint(tables, H, u, y, start[0], ws, values)
    turn = np.abs(H * speed * motion.zd).max()
    assert error(values.reshape(n, n), np.stack(columns, axis=1)) < 1e-9 + 0.03 * turn**3


def test_the_metric_of_the_end_is_mass_and_loops(case):
    mechanism, motion = case
    n, m = size(mechanism.tables)
    ws, _ = evaluated(mechanism, motion.z, motion.zd)
    evaluate_closures(mechanism.tables, ws.z, mechanism.u, ws)
    values, weight, diagonal = np.full(n * n, np.nan), np.linspace(0.5, 2.0, m), np.full(n, np.nan)
    assemble_end(mechanism.tables, weight, ws, diagonal, values)
    P = page.closure_jacobian(np, mechanism.tables, mechanism.u, mechanism.R0, motion.z[None])[0]
    M = page.mass_matrix(np, mechanism.tables, mechanism.u, mechanism.R0, motion.z[None])[0]
    assert error(values.reshape(n, n), M + P.T @ (weight[:, None] * P)) < 1e-12
    assert error(diagonal, np.diagonal(M)) < 1e-12


# ---- a whole step ---------------------------------------------------------------------------------------------------


def dense_step(sim):
    """Return coordinates and rates at the end of a step: least squares on the equations of the page, no penalty."""
    state, tables, h, n = sim.state, sim.equations.tables, sim.h, sim.equations.n
    after = Simulation(sim.system, h, VariationalMidpoint())
    after.step()
    u0, u1, R0 = state.u, after.state.u, state.R0
    z0, um = state.z[None], 0.5 * (u0 + u1)
    p0 = pages.momenta(np, tables, R0, z0, state.zd[None])
    P0 = page.closure_jacobian(np, tables, u0, R0, z0)[0]

    def equations(x):
        y, impulse = x[:, :n], x[:, n:]
        pulled = np.sum(P0[None] * impulse[:, :, None], axis=1)
        return np.concatenate(
            (
                pages.step_residual(np, tables, um, R0, z0, p0, h, pulled, y),
                page.closures(np, tables, u1, R0, z0 + 2.0 * y) / h,
            ),
            axis=1,
        )

    x = np.concatenate((0.5 * h * state.zd + 0.25 * h * h * state.zdd, 0.5 * h * state.lam))[None]
    for _ in range(8):
        J = np.concatenate([equations(x + 1j * STEP * row).imag.T / STEP for row in np.eye(x.shape[1])], axis=1)
        x = x - np.linalg.lstsq(J, equations(x)[0], rcond=1e-12)[0]
    y, pulled = x[:, :n], P0.T @ x[0, n:]
    p1 = pages.step_momenta(np, tables, um, R0, z0, p0, h, pulled[None], y)[0]
    z1 = z0 + 2.0 * y
    M, P1 = page.mass_matrix(np, tables, u1, R0, z1)[0], page.closure_jacobian(np, tables, u1, R0, z1)[0]
    gone = page.closure_velocities(np, tables, u1, R0, z1, 0.0 * z1)[0]
    K = np.block([[M, P1.T], [P1, np.zeros((len(P1), len(P1)))]])
    return z1[0], np.linalg.lstsq(K, np.concatenate((p1, -gone)), rcond=1e-12)[0][:n], after.state


@pytest.mark.parametrize("seed", spread(MOBILE, 1))
def test_a_step_is_the_dense_solution_of_its_equations(seed):
    """Multipliers by least squares, derivatives by complex steps: no penalty, no factor, no kernel."""
    sim = Simulation(closed_model(seed).compile(), 2e-3, VariationalMidpoint())
    z, zd, found = dense_step(sim)
    rotating = sim.system.tables.dofs.kind == rtmbs.system.tables.ROTATION
    np.testing.assert_allclose(found.z[~rotating], z[~rotating], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.zd, zd, rtol=0, atol=1e-9 * np.abs(zd).max())
    assert sim.step().outcome is Outcome.CONVERGED
