"""Compiled kernels against ``page.py``, on random mechanisms with every row and force, at states with open loops.

Values agree with the page to rounding; the closed-form tangent agrees with complex steps of the page to rounding and
with central differences of the kernels themselves to what differences can do.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.integrators.settings import EXACT, INERTIA, LAGGED, PAPER, StateArrays
from rtmbs.semirecursive import closure_jacobian, closures, page
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import assemble_mass_metric, assemble_tangent, evaluate_residual
from rtmbs.semirecursive.force_kernels import spring_energy
from rtmbs.semirecursive.passes import add_correction, commit_rotations, gravity_energy, kinetic_energy
from rtmbs.semirecursive.workspace import workspace
from tests.cases import quick
from tests.mechanisms import (
    committed,
    mechanism_of,
    random_model,
    random_motion,
    random_tables,
    random_units,
    size,
    turns,
)

EXACTLY = 1e-12  # relative to the largest entry
STEP = 1e-40
H = 0.01
SIZES = {1: 1, 2: 2, 3: 3, 4: 7, 5: 12, 6: 20, 7: 30, 8: 30}


@pytest.fixture(params=quick(SIZES, *range(1, 8)), ids=[f"{n} dofs, seed {seed}" for seed, n in SIZES.items()])
def case(request):
    """A mechanism, a state, and the workspace of kernels after one evaluation of the residual there."""
    mechanism = random_tables(request.param, SIZES[request.param])
    motion = random_motion(request.param, mechanism.tables)
    return mechanism, motion, evaluated(mechanism, motion)


def evaluated(mechanism, motion, dtype=float):
    """Return a workspace after the compiled evaluation at a state."""
    ws = workspace(mechanism.tables, dtype)
    ws.z[:], ws.zd[:], ws.zdd[:] = motion.z, motion.zd, motion.zdd
    evaluate_residual(mechanism.tables, mechanism.R0, mechanism.u, motion.alpha, ws)
    return ws


def error(found, expected) -> float:
    """Return the largest difference relative to the largest entry."""
    return np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-300)


def one(f, mechanism, *state):
    """Return a page function at one state, without the batch axis."""
    return f(np, *mechanism, *(x[None] for x in state))[0]


def jacobian(f, state, k):
    """Return the derivative (n, n) of a batched page function by argument ``k`` of its state, by complex steps."""
    rows = [np.tile(x, (len(x), 1)) for x in state]
    rows[k] = rows[k] + 1j * STEP * np.eye(len(state[k]))
    return f(*rows).imag.T / STEP


# ------------------------------------------------------------------------------------------------------------- values


def test_sweeps(case):
    mechanism, (z, zd, zdd, *_), ws = case
    tables, R0 = mechanism.tables, mechanism.R0
    T, A, r, S, V = page.motion(np, tables, R0, z[None], zd[None])
    Vd = page.accelerations(np, T, S, page.acceleration_rest(np, tables, V, S, zd), zdd)
    gravity = np.concatenate((mechanism.u[:3], np.zeros(3)))  # the kernels let ground accelerate with -g
    for found, expected in ((ws.A, A), (ws.r, r), (ws.V, V), (ws.acc, Vd - gravity)):
        assert error(found[: len(z)], expected[0]) < EXACTLY
    assert error(ws.S, S[0]) < EXACTLY


def test_body_inertias(case):
    mechanism, (z, *_), ws = case
    A, r = page.frames(np, mechanism.tables, mechanism.R0, z[None])
    M_bar = page.body_inertia(np, mechanism.tables, A, r)[0]
    tilde = page.tilde(np, ws.inertia[:, 1:4])
    assert error(ws.inertia[:, 0], M_bar[:, 0, 0]) < EXACTLY
    assert error(tilde, M_bar[:, 3:, :3]) < EXACTLY
    expected = M_bar[:, (3, 4, 5, 3, 3, 4), (3, 4, 5, 4, 5, 5)]
    assert error(ws.inertia[:, 4:], expected) < EXACTLY


def test_residual_and_force(case):
    mechanism, motion, ws = case
    expected = page.residual(np, *mechanism, motion.alpha, *(x[None] for x in motion[:3]))[0]
    assert error(ws.residual, expected) < EXACTLY
    assert error(ws.tau, one(page.inverse_dynamics, mechanism, *motion[:3])) < EXACTLY
    resting = evaluated(mechanism, motion._replace(zdd=0 * motion.zdd))
    assert error(-resting.tau, one(page.force, mechanism, motion.z, motion.zd)) < EXACTLY


def test_closures(case):
    mechanism, (z, zd, zdd, _, lam), ws = case
    tables, u = mechanism.tables, mechanism.u
    assert error(ws.Phi, one(page.closures, mechanism, z)) < EXACTLY
    closures.closure_velocities(tables, zd, u, ws)
    assert error(ws.Phid, one(page.closure_velocities, mechanism, z, zd)) < EXACTLY
    closures.closure_accelerations(tables, zd, zdd, u, ws)
    assert error(ws.Phidd, one(page.closure_accelerations, mechanism, z, zd, zdd)) < EXACTLY
    Phi_z = one(page.closure_jacobian, mechanism, z)
    rows, columns = np.zeros(len(lam)), np.zeros(len(z))
    closure_jacobian.apply_Phi_z(tables, ws, zd, rows)
    assert error(rows, Phi_z @ zd) < EXACTLY
    closure_jacobian.pull_back(tables, ws, lam, 1.0, columns)
    assert error(columns, Phi_z.T @ lam) < EXACTLY
    assert error(columns, page.loop_force(np, *mechanism, lam, z[None])[0]) < EXACTLY


def test_energies(case):
    mechanism, (z, zd, *_), ws = case
    M = one(page.mass_matrix, mechanism, z)
    assert kinetic_energy(ws) == pytest.approx(zd @ M @ zd / 2, rel=EXACTLY)
    A, r = page.frames(np, mechanism.tables, mechanism.R0, z[None])
    centres, _ = page.mass_geometry(np, mechanism.tables, A, r)
    weight = -np.sum(mechanism.tables.dofs.mass[:, None] * centres[0] * mechanism.u[:3])
    assert gravity_energy(mechanism.tables, ws, mechanism.u) == pytest.approx(weight, rel=1e-11, abs=1e-11)
    elastic = elastic_energy(mechanism, z[None], A, r)
    assert spring_energy(mechanism.tables, z, mechanism.u, ws) == pytest.approx(elastic, rel=EXACTLY)


def elastic_energy(mechanism, z, A, r):
    """Return stiffness times squared stretch over two, of springs and torsion springs [J]."""
    springs, joints, u = mechanism.tables.forces.springs, mechanism.tables.joint_forces, mechanism.u
    connector = springs.connector
    rest = np.zeros((*z.shape, 6))
    ends = ((mechanism.tables.connectors.a, springs.point_a), (mechanism.tables.connectors.b, springs.point_b))
    x_a, x_b = (page.points(np, A, r, rest, dofs[connector], local)[0][0] for dofs, local in ends)
    stretch = np.linalg.norm(x_b - x_a, axis=1) - u[springs.slot + 2]
    turned = z[0, joints.dof] - u[joints.slot + 2]
    return (u[springs.slot] @ stretch**2 + u[joints.slot] @ turned**2) / 2


# ------------------------------------------------------------------------------------------------------------ tangent


def compiled_tangent(case, mass, velocity, position, terms=PAPER, alpha=None, old=None):
    """Return the compiled Newton matrix (n, n); the tables of these tests have full row-major positions."""
    mechanism, motion, _ = case
    motion = motion if alpha is None else motion._replace(alpha=alpha)
    ws = evaluated(mechanism, motion)
    n, _ = size(mechanism.tables)
    values = np.full(n * n, np.nan)
    old = old or StateArrays(motion.z, motion.zd, motion.zdd, motion.lam, mechanism.R0, np.zeros((len(motion.z), 2)))
    assemble_tangent(mechanism.tables, terms, mass, velocity, position, mechanism.u, motion.alpha, old, ws, values)
    return values.reshape(n, n)


def expected_tangent(case, mass, velocity, position, terms=PAPER, alpha=None):
    """Return the same from complex steps of the page; ``lagged`` with the zdd and lam of the state itself.

    The page differentiates by z, the kernels by a small turn in body axes: d z = T^-1 d theta.
    """
    mechanism, (z, zd, zdd, given, lam), _ = case
    alpha = given if alpha is None else alpha
    if terms == PAPER:
        zdd = 0 * zdd
    M, P = one(page.mass_matrix, mechanism, z), one(page.closure_jacobian, mechanism, z)
    K, C = (jacobian(partial(page.inverse_dynamics, np, *mechanism), (z, zd, zdd), k) for k in (0, 1))
    if terms in (LAGGED, EXACT):
        lam = lam if terms == LAGGED else alpha * one(page.closures, mechanism, z)
        K = K + jacobian(partial(page.loop_force, np, *mechanism, lam), (z,), 0)
    changes = np.linalg.inv(turns(mechanism.tables, z))
    return (mass * M + velocity * C + position * K) @ changes + position * P.T @ (alpha[:, None] * P)


ALL_TERMS = pytest.mark.parametrize(
    "terms", [PAPER, INERTIA, LAGGED, EXACT], ids=["paper", "inertia", "lagged", "exact"]
)


@pytest.mark.parametrize(
    ("mass", "velocity", "position"), [(1, 0, 0), (0, 1, 0), (0, 0, 1)], ids=["mass", "velocity", "position"]
)
@ALL_TERMS
def test_each_part_of_the_tangent(case, mass, velocity, position, terms):
    """M, C and K apart, without penalty, so that no large term hides a small one."""
    alpha = 0 * case[1].alpha
    found = compiled_tangent(case, mass, velocity, position, terms, alpha)
    assert error(found, expected_tangent(case, mass, velocity, position, terms, alpha)) < EXACTLY


@ALL_TERMS
def test_the_newton_matrix(case, terms):
    """M + h/2 C + h^2/4 (K + Phi_z^T alpha Phi_z) as a step takes it (Eq. 17)."""
    parts = (1.0, H / 2, H * H / 4, terms)
    assert error(compiled_tangent(case, *parts), expected_tangent(case, *parts)) < EXACTLY


def test_exact_tangent_is_the_derivative_of_the_compiled_residual(case):
    """Central differences know nothing of the page."""
    mechanism, motion, _ = case

    def residual(dz):
        moved = motion._replace(z=motion.z + dz, zd=motion.zd + 3 * dz, zdd=motion.zdd + 10 * dz)
        return evaluated(mechanism, moved).residual

    step = 1e-6
    units = step * np.eye(len(motion.z))
    difference = np.stack([(residual(e) - residual(-e)) / (2 * step) for e in units], axis=1)
    found = compiled_tangent(case, 10.0, 3.0, 1.0, EXACT) @ turns(mechanism.tables, motion.z)
    assert error(found, difference) < 1e-8


def test_exact_tangent_is_the_complex_step_of_the_compiled_residual(case):
    """The same kernels run with complex numbers."""
    mechanism, motion, _ = case
    columns = []
    for e in 1j * STEP * np.eye(len(motion.z)):
        moved = motion._replace(z=motion.z + e, zd=motion.zd + 3 * e, zdd=motion.zdd + 10 * e)
        columns.append(evaluated(mechanism, moved, complex).residual.imag / STEP)
    found = compiled_tangent(case, 10.0, 3.0, 1.0, EXACT) @ turns(mechanism.tables, motion.z)
    assert error(found, np.stack(columns, axis=1)) < EXACTLY


def test_lagged_terms_come_from_the_last_step(case):
    """zdd_n and lam_n, not those of the iterate."""
    mechanism, motion, ws = case
    other = random_motion(99, mechanism.tables)
    old = StateArrays(motion.z, motion.zd, other.zdd, other.lam, mechanism.R0, np.zeros((len(motion.z), 2)))
    found = compiled_tangent(case, 0.0, 0.0, 1.0, LAGGED, old=old)
    swapped = mechanism, motion._replace(zdd=other.zdd, lam=other.lam), ws
    assert error(found, expected_tangent(swapped, 0.0, 0.0, 1.0, LAGGED)) < EXACTLY


def test_mass_weight(case):
    mechanism, motion, ws = case
    n, _ = size(mechanism.tables)
    values = np.full(n * n, np.nan)
    assemble_mass_metric(mechanism.tables, H * H / 4, motion.alpha, ws, values)
    assert error(values.reshape(n, n), expected_tangent(case, 1.0, 0.0, H * H / 4)) > 0  # holds K as well
    P = one(page.closure_jacobian, mechanism, motion.z)
    expected = one(page.mass_matrix, mechanism, motion.z) + H * H / 4 * P.T @ (motion.alpha[:, None] * P)
    assert error(values.reshape(n, n), expected) < EXACTLY


# ---------------------------------------------------------------------------------------- compiled models, as a class

MODELS = {1: 6, 2: 9, 3: 18, 4: 30}


@pytest.fixture(
    params=[pytest.param(seed, marks=[pytest.mark.slow] * (n > 9)) for seed, n in MODELS.items()],
    ids=[f"{n} bodies, seed {seed}" for seed, n in MODELS.items()],
)
def compiled(request):
    """Equations of a random model with every joint, closure, force and driver type; page arguments; a state."""
    seed = request.param
    system = random_model(seed, MODELS[seed]).compile()
    mechanism = mechanism_of(seed, system)
    motion = random_motion(seed, system.tables)
    equations = SemiRecursiveEquations(system)
    equations.u[:], equations.alpha[:] = mechanism.u, motion.alpha
    return equations, mechanism, motion


def test_equations_of_a_model(compiled):
    equations, mechanism, (z, zd, zdd, alpha, lam) = compiled
    R0 = mechanism.R0
    assert error(equations.force(z, zd, R0), one(page.force, mechanism, z, zd)) < EXACTLY
    residual = page.residual(np, *mechanism, alpha, z[None], zd[None], zdd[None])[0]
    assert error(equations.residual(z, zd, zdd, R0), residual) < EXACTLY
    assert error(equations.mass_matrix(), one(page.mass_matrix, mechanism, z)) < EXACTLY
    assert error(equations.close(z, R0), one(page.closures, mechanism, z)) < EXACTLY
    Phi_z = one(page.closure_jacobian, mechanism, z)
    assert error(equations.closure_jacobian(), Phi_z) < EXACTLY
    assert error(equations.apply_Phi_z(zd), Phi_z @ zd) < EXACTLY
    assert error(equations.pull_back(lam), Phi_z.T @ lam) < EXACTLY
    assert error(equations.closure_velocities(zd), one(page.closure_velocities, mechanism, z, zd)) < EXACTLY
    expected = one(page.closure_accelerations, mechanism, z, zd, zdd)
    assert error(equations.closure_accelerations(zd, zdd), expected) < EXACTLY


@ALL_TERMS
def test_newton_matrix_of_a_model(compiled, terms):
    """Through the sparse pattern that compile laid out."""
    equations, mechanism, motion = compiled
    old = StateArrays(motion.z, motion.zd, motion.zdd, motion.lam, mechanism.R0, np.zeros((len(motion.z), 2)))
    for parts in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, H / 2, H * H / 4)):
        equations.residual(motion.z, motion.zd, motion.zdd, mechanism.R0)
        found = equations.assemble(*parts, terms, old)
        assert error(found, expected_tangent((mechanism, motion, None), *parts, terms)) < EXACTLY


@ALL_TERMS
def test_newton_matrix_from_a_source(compiled, terms):
    """K and C of the page through the door for other sources give the structured matrix."""
    equations, mechanism, motion = compiled

    def source(z, zd, R0, u):
        there, moved = committed(mechanism._replace(R0=R0), motion._replace(z=z))
        f = partial(page.force, np, mechanism.tables, u, there.R0)
        return -jacobian(f, (moved.z, zd), 0), -jacobian(f, (moved.z, zd), 1)

    h, old = 2 * H, StateArrays(motion.z, motion.zd, motion.zdd, motion.lam, mechanism.R0, np.zeros((len(motion.z), 2)))
    equations.residual(motion.z, motion.zd, motion.zdd, mechanism.R0)
    structured = equations.assemble(1.0, h / 2, h * h / 4, terms, old)
    equations.residual(motion.z, motion.zd, motion.zdd, mechanism.R0)
    equations.source = source
    equations.fill_from_source(h / 2, h * h / 4, terms, old)
    assert error(np.asarray(equations.matrix), structured) < EXACTLY


def test_committed_rotations_move_nothing(compiled):
    """New reference rotations and zero coordinates, the same frames, velocities and accelerations of every body."""
    equations, mechanism, motion = compiled
    tables, first = mechanism.tables, np.flatnonzero(mechanism.tables.dofs.reference >= 0)
    state = StateArrays(*(x.copy() for x in (*motion[:3], motion.lam, mechanism.R0, np.zeros((len(motion.z), 2)))))
    equations.commit(state)
    turned = (first[:, None] + np.arange(3)).ravel()
    assert len(turned) > 0
    assert np.all(state.z[turned] == 0.0)
    assert np.array_equal(np.delete(state.z, turned), np.delete(motion.z, turned))
    for after, before in ((state.zd, motion.zd), (state.zdd, motion.zdd), (state.lam, motion.lam)):
        assert np.array_equal(after, before)

    def swept(z, zd, zdd, R0):
        T, A, r, S, V = page.motion(np, tables, R0, z[None], zd[None])
        rest = page.acceleration_rest(np, tables, V, S, zd[None])
        return A, r, V, page.accelerations(np, T, S, rest, zdd[None])

    after = swept(state.z, state.zd, state.zdd, state.R0)
    for found, expected in zip(after, swept(*motion[:3], mechanism.R0), strict=True):
        assert error(found, expected) < EXACTLY
    assert np.abs(np.swapaxes(state.R0, 1, 2) @ state.R0 - np.eye(3)).max() < 1e-15


def test_rotation_factors_are_exact_at_every_angle():
    """The series and the closed forms, against rotation vectors of SciPy, from no turn to beyond half a turn."""
    first = single_rotation()
    rng = np.random.default_rng(7)
    for angle in (0.0, 1e-9, 1e-4, 0.1, 0.99, 1.01, 2.0, 3.1, 3.2, 4.5, 6.0):
        d = angle * random_units(rng, 1)[0]
        z, R0 = d.copy(), np.eye(3)[None].copy()
        commit_rotations(first, z, R0)
        assert np.abs(R0[0] - Rotation.from_rotvec(d).as_matrix()).max() < 1e-15
        increment, dz = np.zeros(3), rng.normal(size=3)
        add_correction(first, d, dz, increment)
        T = turns(SimpleNamespace(dofs=first), d)
        assert error(T @ increment, dz) < 1e-13


def single_rotation():
    """Return the dofs of one ball joint."""
    model = rtmbs.Model("ball")
    model.add_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("j", rtmbs.Spherical(), model.ground, "b")
    return model.compile().tables.dofs
