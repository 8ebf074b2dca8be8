"""The saddle point solver on mechanisms: [[M, Phi_z^T], [Phi_z, 0]] gives the accelerations that the start finds."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from rtmbs import library
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import Unsolved
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.prepare import consistent_rates
from rtmbs.semirecursive.start.rank import effective_masses
from tests import mechanisms
from tests.contracts.machines import closed_model
from tests.semirecursive.start.cases import MODELS, closed_pose, dense_loops, fourbar

SAME = 1e-9  # relative
SHARED = 1e-6  # of multipliers of redundant rows: conjugate gradients share loads less exactly
SMALL = 1e-3  # below, differences are compared with this


def moving(system, seed=3):
    """Return the equations, z, zd, R0 of a system at a closed pose, with consistent random rates."""
    assembly, z = closed_pose(system)
    equations = assembly.equations
    equations.masses, _ = effective_masses(equations, assembly.jacobian)
    assembly.gap(z)
    wanted = system.typical * np.random.default_rng(seed).normal(size=system.n)
    zd = consistent_rates(assembly, wanted, np.zeros(system.n, bool), system.weights)
    return equations, z, zd, assembly.R0


def saddle(equations, z, zd, R0):
    """Return a solver with the factor of [[M, Phi_z^T], [Phi_z, 0]] at a state, its status, and [Q; -gamma]."""
    P, gamma = dense_loops(equations, z, zd, np.zeros(equations.n), R0)
    Q = equations.force(z, zd, R0)
    sizes = equations.sizes
    solver = KKTSolver(row_size=sizes.scale, column_size=sizes.typical, weight=equations.masses)
    return solver, solver.factor(equations.mass_matrix(), P), (Q, -gamma)


def uneven_model(seed, monkeypatch):
    """Return a random closed model with skew axes whose masses and inertias span six orders."""
    plain = mechanisms.add_random_body

    def body(rng, model, name):
        plain(rng, model, name)
        factor, record = 10.0 ** rng.uniform(-3, 3), model.bodies[name]
        model.bodies[name] = replace(record, mass=record.mass * factor, inertia=record.inertia * factor)

    monkeypatch.setattr(mechanisms, "add_random_body", body)
    return closed_model(seed, driven=False)


def check(system):
    """Hold both answers together; return the solver."""
    equations, z, zd, R0 = moving(system)
    solver, status, right = saddle(equations, z, zd, R0)
    assert status == 0
    zdd, lam = solver.solve_parts(*right, refined=True)
    expected, multipliers, _ = equations.accelerations(z, zd, R0, equations.system.s0)
    full_rank = solver.rank == equations.m
    for found, wanted, same in ((zdd, expected, SAME), (lam, multipliers, SAME if full_rank else SHARED)):
        assert np.abs(found - wanted).max(initial=0.0) <= same * max(np.abs(wanted).max(initial=0.0), SMALL)
    return solver


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_and_multipliers(name):
    """Redundant loops too: both share the load in the norm of the effective masses."""
    solver = check(MODELS[name]().compile())
    assert np.any(solver.redundant) == (solver.rank < len(solver.redundant))


@pytest.mark.parametrize("seed", range(12))
def test_uneven_masses(seed, monkeypatch):
    check(uneven_model(seed, monkeypatch).compile())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 100))
def test_many_uneven_masses(seed, monkeypatch):
    check(uneven_model(seed, monkeypatch).compile())


def test_a_doubled_pin_is_redundant_and_carries_half():
    plain, doubled = fourbar(), fourbar()
    doubled.add_joint("C2", rtmbs.Revolute(axis=(1, 0, 0)), "coupler", "rocker", point=(0, 2, 1), cut=True)
    one, two = check(plain.compile()), check(doubled.compile())
    assert two.rank == one.rank
    assert two.redundant.sum() == len(two.redundant) - one.rank


def test_a_tower_with_condensed_unknowns():
    system = library.build("fourbar", ny=2, nz=60).compile()
    assert system.lu.total > system.lu.n == system.n
    check(system)


def test_a_massless_coupler_is_held_by_its_loop():
    system = fourbar(closure="line", masses=(1.0, 0.0, 1.0)).compile()
    equations, *_ = state = moving(system)
    assert np.linalg.matrix_rank(equations.mass_matrix()) < system.n
    assert saddle(*state)[1] == 0
    check(system)


def test_what_has_no_inertia_is_named():
    """A point mass that turns about itself: the start refuses it, and so does the solver."""
    model = rtmbs.Model("bead")
    model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0.5, 0))
    model.add_body("bead", mass=1.0, position=(0, 1, 0))
    model.add_joint("shoulder", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm", point=(0, 0, 0))
    model.add_joint("spin", rtmbs.Revolute(axis=(1, 0, 0)), "arm", "bead", point=(0, 1, 0))
    system = model.compile()
    equations = SemiRecursiveEquations(system)
    solver, status, _ = saddle(equations, system.z0, np.zeros(2), system.R0)
    assert system.coordinate_names[status - 1] == "spin.angle"
    with pytest.raises(Unsolved, match="singular"):
        solver.solve(np.zeros(2))


def test_loops_that_contradict_each_other_are_refused():
    """Accelerations wanted of redundant rows that no mechanism can have."""
    doubled = fourbar()
    doubled.add_joint("C2", rtmbs.Revolute(axis=(1, 0, 0)), "coupler", "rocker", point=(0, 2, 1), cut=True)
    solver, status, (Q, wanted) = saddle(*moving(doubled.compile()))
    assert status == 0
    solver.solve_parts(Q, wanted)
    wanted[np.flatnonzero(solver.redundant)[0]] += 1.0
    with pytest.raises(Unsolved, match="contradicts"):
        solver.solve_parts(Q, wanted)
