"""The fused step and the readable step are one step: same numbers, same counts, on whatever is registered.

The fused kernel exists for the structured tangent; the readable step works with any equations and any source. Both do
the same arithmetic in the same order, so tens of steps agree to the last bits.
"""

import numpy as np
import pytest

import rtmbs
from bench.measures.random_mechanisms import random_simulation
from rtmbs import PenaltyTrapezoidal, Simulation, library
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import TANGENT_TERMS
from rtmbs.numerics.linear.solver import DenseSolver
from rtmbs.semirecursive.machine_code import SMALL_PIVOT
from tests.cases import spread
from tests.contracts.machines import (
    LIBRARY,
    MOBILE,
    accepted_steps,
    closed_simulation,
    difference,
    library_simulation,
    library_system,
)

SAME = 1e-12
COUNTS = ("outcome", "iterations", "jacobians", "factorisations", "projections", "dense", "worst")
VIOLATIONS = [
    f"{what}_violation{kind}" for what in ("position", "velocity", "acceleration") for kind in ("", "_rotation")
]

OPTIONS = {
    "fixed alpha": {"alpha": 1e9},
    "small penalty": {"penalty": 1e4},
    "mass metric": {"projection_metric": "mass"},
    "fixed iterations": {"fixed_iterations": True, "max_iterations": 3},
    "matrix every iteration": {"refactor": "every-iteration"},
    "matrix every step": {"refactor": "every-step"},
    "no velocity projection": {"project_velocities": False},
    "energy as the rule leaves it": {"hold_energy": False},
    "no acceleration projection": {"project_accelerations": False},
    "loose tolerance": {"tol": 1e-4},
    **{f"{terms} tangent": {"tangent_terms": terms} for terms in TANGENT_TERMS},
}
MACHINES = {
    "crank_rocker": lambda **options: library_simulation("crank_rocker", **options),
    "driven_fourbar": lambda **options: library_simulation("driven_fourbar", **options),
    "bricard": lambda **options: library_simulation("bricard", **options),
    "closed 0": lambda **options: closed_simulation(0, **options),
}


def hold_together(make, steps=30, apart=0.0):
    """Step two simulations made alike, fused and readable; every state and every report must agree.

    ``apart`` is what they may begin with: accelerations that follow an input come from a kernel, or from Python.
    """
    fused, readable = make(fused=True), make(fused=False)
    assert fused._store.work.fused is not None
    assert readable._store.work.fused is None
    assert difference(fused.state, readable.state) <= apart
    if apart:
        readable.restore(fused.state)
    for _ in range(steps):
        one, other = fused.step(), readable.step()
        assert one.outcome is Outcome.CONVERGED or (one.outcome.accepted and not fused.method.project_velocities), str(
            one
        )
        for name in COUNTS:
            assert getattr(one, name) == getattr(other, name), name
        np.testing.assert_allclose(one.corrections, other.corrections, rtol=1e-6, atol=1e-9)
        for name in VIOLATIONS:
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6, abs=1e-12), name
        assert difference(fused.state, readable.state) <= SAME
    return fused


@pytest.mark.parametrize("name", LIBRARY)
def test_library_mechanisms(name):
    hold_together(lambda **options: library_simulation(name, **options))


@pytest.mark.parametrize("seed", MOBILE)
def test_random_closed_mechanisms(seed):
    hold_together(lambda **options: closed_simulation(seed, **options))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_option(machine, options):
    hold_together(lambda **form: MACHINES[machine](**OPTIONS[options], **form), steps=12)


def test_rotations_are_committed_alike():
    sim = hold_together(lambda **options: library_simulation("top", h=5e-3, **options), steps=200)
    assert not np.array_equal(sim.state.R0, sim.system.R0), "the top has turned"


def test_inputs_and_a_new_step_in_between():
    def machine(**options):
        sim = closed_simulation(2, **options)
        accepted_steps(sim, 3)
        sim.inputs["push.force"], sim.inputs["gravity"] = (5.0, -3.0, 2.0), (0.0, 3.0, -1.0)
        sim.inputs["spring 0.stiffness"] = 40.0
        accepted_steps(sim, 3)
        sim.h = 4e-4
        return sim

    hold_together(machine, steps=10, apart=1e-6)  # the fused step answers the jump by its Newton matrix


@pytest.mark.parametrize("seed", [0, 2, 8, 9, 29, 36])
def test_further_tries_are_the_same_tries(seed):
    """Steps of 20 ms that are too large for random mechanisms: the same ways are tried, to the same end."""
    fused, readable = (random_simulation(seed, 2e-2, fused=form) for form in (True, False))
    helped = failed = 0
    for _ in range(25):
        one, other = fused.step(), readable.step()
        for name in ("outcome", "tries", "shortened", "evaluations", "iterations", "factorisations", "worst"):
            assert getattr(one, name) == getattr(other, name), name
        assert difference(fused.state, readable.state) <= SAME
        helped += one.tries > 0 and one.outcome.accepted
        if not one.outcome.accepted:
            failed += 1
            break
    assert helped + failed > 0


# ------------------------------------------------------------------------------------------------- the dense fallback


@pytest.mark.parametrize("machine", ["crank_rocker", "driven_fourbar", "bricard", "top"])
def test_dense_fallback_takes_the_same_step(machine, monkeypatch):
    """A kernel that says SMALL_PIVOT sends the step to the pivoted dense factor, from the old state again."""
    sparse, dense = library_simulation(machine), library_simulation(machine)
    expected = accepted_steps(sparse, 10)
    monkeypatch.setattr("rtmbs.semirecursive.compiled_steps.FusedKernel.__call__", lambda *arguments: (SMALL_PIVOT, 0))
    monkeypatch.setattr("rtmbs.simulation.prepared_step.PreparedStep.take", lambda *arguments: (None, False))
    reports = accepted_steps(dense, 10)
    assert all(report.dense for report in reports)
    assert [report.iterations for report in reports] == [report.iterations for report in expected]
    for name in ("z", "zd", "zdd"):
        scale = np.abs(getattr(sparse.state, name)).max()
        np.testing.assert_allclose(getattr(dense.state, name), getattr(sparse.state, name), atol=1e-11 * scale)
    np.testing.assert_allclose(dense.state.lam, sparse.state.lam, rtol=1e-3, atol=1e-3)  # alpha times rounding


def test_readable_step_falls_back_too(monkeypatch):
    sparse, dense = (library_simulation("crank_rocker", fused=False) for _ in range(2))
    accepted_steps(sparse, 5)
    monkeypatch.setattr("rtmbs.numerics.linear.sparse_solver.factor", lambda *arguments: 1)
    assert all(report.dense for report in accepted_steps(dense, 5))
    np.testing.assert_allclose(dense.state.z, sparse.state.z, rtol=1e-10, atol=1e-10)


STEP, BAND = 0.5, 32.0  # powers of two: the pivots of ``carts`` are zero to the last bit


def cart_model():
    """Two carts on a rail with a band between them, each pushed off its place by just what makes its pivot zero."""
    model = rtmbs.Model("carts", gravity=(0.0, 0.0, 0.0))
    for name in ("left", "right"):
        model.add_body(name, mass=1.0)
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", name)
        model.add_force(f"{name} push", rtmbs.TorsionSpring(-4.0 / STEP**2 - BAND), joint=f"{name} rail")
        model.set_initial(f"{name} rail", position=0.125 if name == "left" else 1.25, rate=0.5)
    marks = [model.add_marker(f"{name} hook", name) for name in ("left", "right")]
    model.add_force("band", rtmbs.SpringDamper(BAND, length=1.0), between=marks)
    return model


def carts():
    return Simulation(cart_model().compile(), h=STEP)


def test_zero_pivots_of_a_regular_matrix():
    """M + q4 K = [[0, -q4 k], [-q4 k, 0]]: no static order factors it, exchanging rows does."""
    sim, old, q4, push = carts(), np.array([0.125, 1.25]), STEP**2 / 4, 4.0 / STEP**2 + BAND
    report = sim.step()
    assert report.outcome is Outcome.CONVERGED
    assert report.dense
    K = BAND * np.array([[1.0, -1.0], [-1.0, 1.0]]) - push * np.eye(2)  # the trapezoidal rule for a linear system
    force = push * old + BAND * (old[1] - old[0] - 1.0) * np.array([1.0, -1.0])
    moved = np.linalg.solve(np.eye(2) + q4 * K, STEP * 0.5 + 2.0 * q4 * force)
    np.testing.assert_allclose(sim.state.z, old + moved, rtol=1e-12)
    np.testing.assert_allclose(sim.state.zd, 2.0 / STEP * moved - 0.5, rtol=1e-12)


def test_a_singular_matrix_is_reported_by_name():
    sim = carts()
    sim.inputs["band.stiffness"] = 0.0
    sim.inputs["right push.stiffness"] = sim.inputs["left push.stiffness"] = -4.0 / STEP**2
    report = sim.step()
    assert report.outcome is Outcome.SINGULAR_TANGENT
    assert report.worst[0] in ("left rail.displacement", "right rail.displacement")


def test_dense_factor_is_left_when_it_is_not_needed():
    """After a dense step the next one is sparse again."""
    sim = carts()
    assert sim.step().dense
    sim.inputs["left push.stiffness"] = sim.inputs["right push.stiffness"] = 1.0
    report = sim.step()
    assert report.outcome.accepted
    assert not report.dense


# ------------------------------------------------------------------------------------------------------------ sources


@pytest.mark.parametrize("terms", spread(TANGENT_TERMS, 2))
@pytest.mark.parametrize("machine", spread(["crank_rocker", "driven_fourbar", "governor"], 1))
def test_every_source_takes_the_same_step(machine, terms):
    """K and C only steer Newton's iteration: another source ends at the same state."""
    from rtmbs.semirecursive.sources import source_names

    system = library_system(machine)
    ends = {}
    for name in source_names():
        sim = Simulation(system, h=2e-3, jacobian=name, method=PenaltyTrapezoidal(tangent_terms=terms))
        reports = accepted_steps(sim, 8)
        ends[name] = sim.state, sum(report.iterations for report in reports)
    reference, iterations = ends["structured"]
    for name, (state, count) in ends.items():
        np.testing.assert_allclose(state.z, reference.z, rtol=1e-9, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(state.zd, reference.zd, rtol=1e-6, atol=1e-6, err_msg=name)
        assert abs(count - iterations) <= 1, name


def test_dense_lu_refuses_what_the_fallback_must_not_use():
    assert DenseSolver(np.ones((3, 3))).singular
    assert DenseSolver(np.full((2, 2), np.nan)).singular


def test_library_is_complete():
    assert set(LIBRARY) == set(library.names())
