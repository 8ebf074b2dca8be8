"""Interfaces: where they stand, that they leave the equations as they are, that their cost grows with the tree only."""

import numpy as np
import pytest

from rtmbs import Model, PenaltyTrapezoidal, Prismatic, Revolute, Simulation, Spherical, library
from rtmbs.integrators.settings import TANGENT_TERMS, arrays_of
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.system.pattern import SPACING, choose_interfaces, give_places, no_interfaces, uncondensed
from tests.cases import spread
from tests.mechanisms import random_model

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8))


def chain(bodies, foot=False):
    """Return a hanging chain of bodies, each with a short tip beside it; ``foot`` closes a loop over the lower half."""
    model, above = Model("chain"), "ground"
    for k in range(bodies):
        for name, mass in ((f"link {k}", 1.0), (f"tip {k}", 0.2)):
            model.add_body(name, mass=mass, inertia=(0.1, 0.2, 0.15), position=(0.0, 0.05 * (k % 3), -0.1 * k - 0.05))
        point = (0.0, 0.0, -0.1 * k)
        model.add_joint(f"joint {k}", Revolute(AXES[k % 3]), above, f"link {k}", point=point)
        model.add_joint(f"side {k}", Revolute(AXES[(k + 1) % 3]), f"link {k}", f"tip {k}", point=point)
        above = f"link {k}"
    if foot:
        model.add_joint("foot", Revolute(AXES[0]), f"link {bodies // 2}", above, cut=True, closure="line")
    return model


@pytest.fixture
def always(monkeypatch):
    """Take interfaces wherever they can stand, whatever they cost."""
    monkeypatch.setattr("rtmbs.system.pattern.WORTH_WHILE", np.inf)


def random_state(system, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, system.n), rng.normal(size=system.n), rng.normal(size=system.n)


def pair(system):
    """Return the equations with interfaces and without, with the same penalties."""
    both = SemiRecursiveEquations(system), SemiRecursiveEquations(uncondensed(system))
    for equations in both:
        equations.alpha[:] = np.random.default_rng(1).uniform(10.0, 1e4, equations.m)
    return both


# --------------------------------------------------------------------------------------------------- where they stand


def test_interfaces_are_apart_from_each_other_and_from_the_tips():
    interfaces, of = choose_interfaces(np.arange(-1, 99), np.arange(100))
    assert list(interfaces) == list(range(SPACING - 1, 100 - SPACING, SPACING))
    assert list(of[[SPACING - 1, SPACING, 2 * SPACING - 1, 2 * SPACING]]) == [-1, 0, 0, 1]
    assert of[99] == len(interfaces) - 1


def test_none_stands_within_an_element():
    """A chain of ball joints: the thirtieth dof and so on would often be the first or second of three."""
    system = balls(20)
    interfaces, of = choose_interfaces(system.tables.dofs.parent, system.tables.dofs.tip)
    assert len(interfaces) >= 3
    assert np.all(system.tables.dofs.tip[interfaces] == interfaces)
    for first in np.flatnonzero(system.tables.dofs.reference >= 0):
        assert len(set(of[first : first + 3])) == 1


def balls(bodies):
    """Return a compiled chain that hangs in ball joints, behind a slide that puts them out of step with SPACING."""
    model, above = Model("balls"), "slide"
    model.add_body("slide", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("slide", Prismatic(AXES[2]), model.ground, "slide", point=(0.0, 0.0, 0.0))
    for k in range(bodies):
        position = (0.01 * (k % 3), 0.02 * (k % 2), -0.1 * k - 0.05)
        model.add_body(f"b{k}", mass=1.0 + 0.1 * k, inertia=(0.1, 0.2, 0.15), position=position)
        model.add_joint(f"j{k}", Spherical(), above, f"b{k}", point=(0.0, 0.0, -0.1 * k))
        above = f"b{k}"
    return model.compile()


@pytest.mark.parametrize("terms", range(len(TANGENT_TERMS)))
def test_a_chain_of_ball_joints_at_an_iterate(terms, always):
    """The tangent is that without interfaces, where rotation dofs are not at a step boundary."""
    system = balls(20)
    answers = []
    z, zd, zdd = random_state(system, 3)
    for equations in pair(system):
        equations.residual(z, zd, zdd, system.R0)
        old = equations.state_arrays()._replace(lam=np.zeros(0), R0=system.R0)
        answers.append(equations.assemble(1.0, 0.01, 1e-4, terms, old))
    assert len(give_places(system.tables)[1].interfaces.dof) >= 3
    assert np.abs(answers[0] - answers[1]).max() < 1e-11 * np.abs(answers[1]).max()


def test_twigs_and_bushes_have_none():
    stem = np.arange(-1, 2 * SPACING - 2)
    assert len(choose_interfaces(stem, np.arange(len(stem)))[0]) == 0
    bush = np.concatenate([[-1], np.zeros(500, np.int64)])
    assert len(choose_interfaces(bush, np.arange(len(bush)))[0]) == 0
    assert len(library.build("fourbar", ny=4, nz=10).compile().tables.interfaces.dof) == 0
    assert len(library.build("fourbar", ny=4, nz=40, layout="parallel").compile().tables.interfaces.dof) == 0


def test_they_are_taken_only_where_they_save_arithmetic():
    few, many = (library.build("fourbar", ny=4, nz=nz).compile() for nz in (16, 40))
    assert len(few.tables.interfaces.dof) == 0
    assert len(many.tables.interfaces.dof) > 0
    assert many.lu.factor_flops < 0.5 * uncondensed(many).lu.factor_flops


@pytest.mark.parametrize("body", ["link 3", "link 60"])
def test_a_force_on_a_body_low_in_a_tree_leaves_them(body):
    """Its connector couples the path to the body; above it interfaces still pay."""
    model = chain(100)
    plain = model.compile()
    model.add_force("hand", lambda t, k, p: (-p["k"] * k.r, 0.0 * k.r), body=body, parameters={"k": 10.0})
    system = model.compile()
    assert len(system.tables.interfaces.dof) == len(plain.tables.interfaces.dof) > 0
    assert plain.lu.factor_flops <= system.lu.factor_flops < uncondensed(system).lu.factor_flops


@pytest.mark.parametrize("nz", spread([40, 80], 1))
def test_entries_and_arithmetic_grow_with_the_tower(nz):
    lu, twice = (library.build("fourbar", ny=4, nz=k).compile().lu for k in (nz, 2 * nz))
    assert twice.factor_nonzeros < 2.2 * lu.factor_nonzeros
    assert twice.factor_flops < 2.2 * lu.factor_flops
    assert twice.size < 2.2 * lu.size


# ------------------------------------------------------------------------------------------------- the same equations


@pytest.mark.parametrize("terms", range(len(TANGENT_TERMS)), ids=TANGENT_TERMS)
@pytest.mark.parametrize("foot", [False, True], ids=["open", "closed"])
def test_the_tangent_is_that_without_them(terms, foot, always):
    system = chain(40, foot).compile()
    assert len(system.tables.interfaces.dof) >= 2
    short, full = pair(system)
    state = random_state(system, 0)
    for weights in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.3, 0.2)):
        matrices = []
        for equations in (short, full):
            equations.residual(*state, system.R0)
            matrices.append(equations.assemble(*weights, terms))
        scale = np.abs(matrices[1]).max()
        np.testing.assert_allclose(matrices[0], matrices[1], rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("seed", range(6))
def test_the_tangent_of_random_mechanisms_is_that_without_them(seed, monkeypatch, always):
    monkeypatch.setattr("rtmbs.system.pattern.SPACING", 4)
    system = random_model(seed, 30).compile()
    assert len(system.tables.interfaces.dof) > 0
    short, full = pair(system)
    state = random_state(system, seed)
    for equations in (short, full):
        equations.residual(*state, system.R0)
    one, other = (equations.assemble(1.0, 0.4, 0.2) for equations in (short, full))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * np.abs(other).max())


def test_solutions_are_those_without_them_and_need_no_refinement():
    system = library.build("fourbar", ny=2, nz=60).compile()
    sim = Simulation(system, h=5e-3)
    sim.run(0.05)
    short, full = pair(system)
    b = np.random.default_rng(2).normal(size=system.n)
    answers = []
    for equations in (short, full):
        equations.u, equations.alpha = sim.state.u, sim.state.memory["alpha"]
        equations.residual(sim.state.z, sim.state.zd, sim.state.zdd, sim.state.R0)
        h, (sparse, dense) = sim.h, equations.solvers
        equations.solver = sparse
        equations.factor(0.5 * h, 0.25 * h**2, 1, arrays_of(sim.state))
        answers.append(equations.solve(b, refined=True))
        again = equations.solve(b)
        np.testing.assert_allclose(again, answers[-1], rtol=1e-7, atol=1e-10 * np.abs(again).max())
        equations.solver = dense
        equations.factor(0.5 * h, 0.25 * h**2, 1, arrays_of(sim.state))
        answers.append(equations.solve(b))
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=0, atol=1e-7 * np.abs(answers[0]).max())


def test_a_source_of_whole_jacobians_gets_all_pairs(always):
    system = chain(40).compile()
    source = make_source("finite-difference", system)
    equations = SemiRecursiveEquations(system, source)
    assert len(equations.tables.interfaces.dof) == 0
    z, zd, zdd = random_state(system, 4)
    equations.residual(z, zd, zdd, system.R0)
    full = SemiRecursiveEquations(uncondensed(system))
    full.residual(z, zd, zdd, system.R0)
    np.testing.assert_array_equal(equations.assemble(1.0, 0.0, 0.0), full.assemble(1.0, 0.0, 0.0))


def test_the_source_may_change_between_steps():
    """There and back: tables, pattern and scratch follow."""
    build = library.build("fourbar", ny=1, nz=60).compile
    plain, changing = Simulation(build(), h=5e-3), Simulation(build(), h=5e-3)
    assert len(changing.equations.tables.interfaces.dof) > 0
    for source in ("structured", "finite-difference", "structured"):
        changing.change(jacobian=source)
        assert (len(changing.equations.tables.interfaces.dof) > 0) == (source == "structured")
        plain.step()
        changing.step()
        np.testing.assert_allclose(changing.state.z, plain.state.z, rtol=0, atol=1e-9)


def test_both_forms_of_the_step_agree_in_a_deep_tree():
    system = library.build("fourbar", ny=1, nz=80).compile()
    assert len(system.tables.interfaces.dof) > 0
    fused, readable = Simulation(system, h=5e-3), Simulation(system, h=5e-3, method=PenaltyTrapezoidal(fused=False))
    for _ in range(5):
        fused.step()
        readable.step()
    np.testing.assert_allclose(fused.state.z, readable.state.z, rtol=0, atol=1e-11)
    np.testing.assert_allclose(fused.state.zd, readable.state.zd, rtol=0, atol=1e-9)


def test_a_tree_without_interfaces_has_empty_tables():
    assert [len(part) for part in no_interfaces(3)] == [0, 3, 3, 1, 0, 0, 0, 0, 0]
