"""The saddle point solver on mechanisms: [[M, Phi_z^T], [Phi_z, 0]] gives the accelerations that the start finds."""

import numpy as np
import pytest

import rtmbs
from rtmbs import library
from rtmbs.linear.kkt_solver import KKTSolver
from rtmbs.linear.solver import Unsolved
from rtmbs.start.penalty import effective_masses
from rtmbs.start.rates import consistent_rates
from tests.contracts import machines
from tests.contracts.machines import closed_model
from tests.start.cases import MODELS, closed_pose, dense_loops, fourbar

SAME = 1e-9


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


def uneven(seed, monkeypatch):
    """Return a random closed model with skew axes whose masses and inertias span six orders."""
    plain = machines.add_random_body

    def body(rng, model, name):
        plain(rng, model, name)
        factor = 10.0 ** rng.uniform(-3, 3)
        record = model.bodies[name]
        model.bodies[name] = type(record)(**{**vars(record), "mass": record.mass * factor, "inertia": record.inertia * factor})

    monkeypatch.setattr(machines, "add_random_body", body)
    return closed_model(seed)


def check(system):
    """Hold both answers together; return the solver."""
    equations, z, zd, R0 = moving(system)
    solver, status, right = saddle(equations, z, zd, R0)
    assert status == 0
    zdd, lam = solver.solve_parts(*right, refined=True)
    expected, multipliers = equations.accelerations(z, zd, R0)
    assert np.abs(zdd - expected).max() <= SAME * np.abs(expected).max()
    assert np.abs(lam - multipliers).max(initial=0.0) <= SAME * np.abs(multipliers).max(initial=0.0)
    return solver
