"""Linear solvers handed to formulations and to Newton's iteration: one answer, whichever solver is taken."""

from dataclasses import fields

import numpy as np
import pytest
from scipy.sparse import csc_array

from bench.methods.solvers import chain
from rtmbs.dae import METHODS, integrate
from rtmbs.errors import InputError
from rtmbs.formulations import (
    FORMULATIONS,
    QR,
    Baumgarte,
    Direct,
    FormulationError,
    JointCoordinates,
    Penalty,
    ReferencePointCoordinates,
)
from rtmbs.formulations.augmented_system import SPARSE_FROM, solver_for
from rtmbs.formulations.contract import SparseForms
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import DenseSolver, SuperLUSolver
from rtmbs.numerics.linear.sparse_solver import SparseSolver
from tests.cases import spread
from tests.dae.motions import made, motions_for, start_of
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of, wanted

SPARSE = [name for name in (*MAKERS, *REDUNDANT) if isinstance(system_of(name), SparseForms)]
TAKING = [name for name in FORMULATIONS if "solver" in {field.name for field in fields(FORMULATIONS[name])}]
NEWTON = [
    name for name in METHODS if any(f.name == "solver" and f.default is DenseSolver for f in fields(METHODS[name]))
]
SAME = 1e-10


def agree(found, right):
    np.testing.assert_allclose(found, right, rtol=0.0, atol=SAME * max(1.0, np.abs(right).max(initial=0.0)))


@pytest.mark.parametrize("where", SPARSE)
def test_sparse_forms_are_the_dense_ones(where):
    system = system_of(where)
    for q, _ in states(where, 5):
        M, P = system.sparse_mass(q, T), system.sparse_constraint_jacobian(q, T)
        assert isinstance(M, csc_array)
        assert isinstance(P, csc_array)
        np.testing.assert_allclose(M.toarray(), system.mass(q, T), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(P.toarray(), system.constraint_jacobian(q, T), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("solver", [DenseSolver, SuperLUSolver, KKTSolver])
@pytest.mark.parametrize("where", spread([*MAKERS, *REDUNDANT], 6))
@pytest.mark.parametrize("name", TAKING)
def test_every_solver_gives_the_same_motion(name, where, solver):
    if name == "penalty" and solver is KKTSolver:
        pytest.skip("refused, see below")
    method, system = FORMULATIONS[name](solver=solver), system_of(where)
    if where in REDUNDANT and not method.redundant:
        with pytest.raises(FormulationError, match=r"^rows? \d.* of Phi_q depends? on the other rows"):
            method.accelerations(system, *states(where, 1)[0], T)
        return
    for q, v in states(where, 20):
        a, lam = method.accelerations(system, q, v, T)
        right, right_lam = wanted(system, q, v, T)
        agree(a, right)
        P = system.constraint_jacobian(q, T)
        agree(P.T @ lam, P.T @ right_lam)


def test_dependent_rows_share_their_load_by_the_masses_that_they_feel():
    """Rows twice, the second -3 times the first: -3 times as much of lam is 9 times the work on the same motion."""
    system = system_of("double pendulum with rows twice")
    q, v = states("double pendulum with rows twice", 3)[2]
    lam = Direct(solver=KKTSolver).accelerations(system, q, v, T)[1]
    np.testing.assert_allclose(lam[2:], -lam[:2] / 3.0, rtol=1e-9)
    np.testing.assert_allclose(lam, Penalty(penalty=1e8).accelerations(system, q, v, T)[1], rtol=1e-5)


def test_a_long_chain_in_frames_takes_the_sparse_solver_by_itself():
    model = chain(30)
    frames, joints = ReferencePointCoordinates(model), JointCoordinates(chain(30).compile())
    assert solver_for(frames, None) is SuperLUSolver
    assert solver_for(joints, None) is DenseSolver
    assert solver_for(frames, DenseSolver) is DenseSolver
    assert frames.n + frames.m > SPARSE_FROM > joints.n + joints.m
    q = frames.start
    v = QR().correct(frames, q, np.random.default_rng(1).normal(size=frames.n), 0.0)[1]
    right = QR().accelerations(frames, q, v, 0.0)[0]
    for method in (Direct(), Baumgarte(), Direct(solver=DenseSolver), Penalty()):
        agree(method.accelerations(frames, q, v, 0.0)[0], right)


def test_a_method_of_time_over_sparse_forms_counts_and_stabilises_as_over_dense_ones():
    system = system_of("slider-crank in frames")
    q, v = states("slider-crank in frames", 1)[0]
    method = METHODS["runge-kutta"]
    found = [
        integrate(system, method(formulation=Baumgarte(solver=solver)), q, v, T + 0.02, 1e-3, T)
        for solver in (DenseSolver, SuperLUSolver)
    ]
    assert found[0].counts == found[1].counts
    np.testing.assert_allclose(found[0].q, found[1].q, atol=1e-11)


@pytest.mark.parametrize("solver", [SuperLUSolver, KKTSolver])
@pytest.mark.parametrize("name", NEWTON)
def test_newtons_iteration_by_every_solver(name, solver):
    kind = METHODS[name]
    system, q, v = start_of(motions_for(made(name))[1])
    found = [integrate(system, kind(solver=one), q, v, 0.02, 2e-3) for one in (DenseSolver, solver)]
    np.testing.assert_allclose(found[0].q, found[1].q, atol=1e-11)
    np.testing.assert_allclose(found[0].lam, found[1].lam, atol=1e-6 * np.abs(found[0].lam).max())


class Sparse:
    """The pendulum with sparse forms, one of which may be wrong."""

    def __init__(self, **wrong):
        self.n, self.m, self.right, self.wrong = 2, 1, system_of("pendulum in x, y"), wrong
        self.row_names = ["length"]

    def __getattr__(self, name):
        if name == "coordinate_names":
            raise AttributeError(name)
        return getattr(self.right, name)

    def sparse_mass(self, q, t):
        return self.wrong.get("sparse_mass", csc_array(self.right.mass(q, t)))

    def sparse_constraint_jacobian(self, q, t):
        return self.wrong.get("sparse_constraint_jacobian", csc_array(self.right.constraint_jacobian(q, t)))


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"sparse_mass": 5.0}, InputError, r"^sparse_mass\(q, t\) returned 5.0; a sparse array of SciPy is"),
        (
            {"sparse_mass": csc_array(np.eye(3))},
            InputError,
            r"^sparse_mass\(q, t\) returned an array \(3, 3\); \(2, 2\)",
        ),
        ({"sparse_mass": csc_array([[1.0, 0.0], [np.nan, 1.0]])}, InputError, r"returned nan at \(1, 0\); finite"),
        ({"sparse_mass": csc_array([[1.0, 0.5], [0.0, 1.0]])}, InputError, r"^mass\(q, t\) is not symmetric"),
        ({"sparse_mass": csc_array((2, 2))}, FormulationError, r"^coordinate \d can move without inertia"),
        ({"sparse_constraint_jacobian": csc_array((1, 2))}, FormulationError, r"^row 0 \(length\) of Phi_q depends on"),
        (
            {"sparse_constraint_jacobian": csc_array([[1.0]])},
            InputError,
            r"^sparse_constraint_jacobian\(q, t\) returned an array \(1, 1\); \(1, 2\) is wanted",
        ),
    ],
)
@pytest.mark.parametrize("method", [Direct(solver=SuperLUSolver), Baumgarte(solver=SuperLUSolver)])
def test_wrong_sparse_forms_are_refused(method, wrong, error, says):
    with pytest.raises(error, match=says):
        method.accelerations(Sparse(**wrong), np.array([0.6, -0.8]), np.array([0.8, 0.6]), 0.0)


def test_contradicting_rows_are_named_by_the_solver_that_accepts_dependent_ones():
    system = system_of("double pendulum with rows twice")

    class Torn:
        def __getattr__(self, name):
            return getattr(system, name)

        def constraint_rate_terms(self, q, v, t):
            Phi_t, gamma = system.constraint_rate_terms(q, v, t)
            return Phi_t, gamma + np.array([0.0, 0.0, 1.0, 0.0])

    with pytest.raises(FormulationError, match=r"^row [02] of Phi_q a = gamma contradicts the rows it depends on by"):
        Direct(solver=KKTSolver).accelerations(Torn(), *states("double pendulum with rows twice", 1)[0], T)


@pytest.mark.parametrize("bad", [5, "dense", DenseSolver(), dict, SparseSolver])
@pytest.mark.parametrize("kind", [FORMULATIONS[name] for name in TAKING] + [METHODS[name] for name in NEWTON])
def test_bad_solvers(kind, bad):
    with pytest.raises(InputError, match=rf"^solver of {kind.__name__} is .*; a class of linear solver that exchanges"):
        kind(solver=bad)


def test_penalties_refuse_the_solver_of_dependent_rows():
    with pytest.raises(InputError, match=r"^solver of Penalty is KKTSolver, which has no use beside penalties"):
        Penalty(solver=KKTSolver)
