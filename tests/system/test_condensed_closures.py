"""Closures over long branches: tangent and motion of whole blocks, and costs that grow with the bodies."""

import numpy as np
import pytest

from bench.campaigns.large_structures import NaturalCoordinates, model_of, nodes_of, structure
from rtmbs import Model, PenaltyTrapezoidal, Revolute, Simulation, Spherical, VariationalMidpoint
from rtmbs.integrators.settings import TANGENT_TERMS
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.components import restricted
from rtmbs.system.pattern import factor_text, uncondensed, with_blocks

AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8))


@pytest.fixture
def always(monkeypatch):
    """Condense every closure that leaves its section, whatever that costs."""
    monkeypatch.setattr("rtmbs.system.pattern.WORTH_WHILE", np.inf)
    monkeypatch.setattr("rtmbs.system.pattern.least_flops", lambda *_: np.inf)
    monkeypatch.setattr("rtmbs.system.pattern.LONG", 6)


def forked(links, twigs):
    """Return two skew chains of hinges and ball joints on one stem, tied to each other, to the stem and to ground."""
    model, above, ends = Model("forked"), "ground", []
    for k in range(links):
        model.add_body(
            f"b{k}", mass=1 + 0.1 * k, inertia=(0.1, 0.2, 0.15), position=(0.01 * (k % 3), 0.02 * (k % 2), -0.1 * k)
        )
        joint = Spherical() if k % 3 else Revolute(AXES[k % 2])
        model.add_joint(f"j{k}", joint, above, f"b{k}", point=(0, 0, -0.1 * k))
        above = f"b{k}"
    for side in range(2):
        above = f"b{links // 2}" if side else above
        for k in range(twigs):
            name = f"s{side} {k}"
            model.add_body(name, mass=1 + 0.1 * k, inertia=(0.1, 0.2, 0.15), position=(0.1 * k, 0.3 * side, -2.0))
            joint = Spherical() if k % 3 == 1 else Revolute(AXES[k % 3])
            model.add_joint(f"j{name}", joint, above, name, point=(0.1 * k, 0.0, -2.0))
            above = name
        ends.append(above)
    model.add_joint("between", Revolute((0.0, 0.6, 0.8)), ends[0], ends[1], point=(0.4, 0.3, -2.0), cut=True)
    model.add_joint("stem", Spherical(), "b3", ends[1], point=(0.4, 0.3, -2.0), cut=True)
    model.add_marker("end", ends[0], (0.4, 0.3, -2.0))
    model.add_marker("wall", "ground", (1.0, 0.3, -2.0))
    model.add_rod("rod", ("end", "wall"))
    return model


def rope(links):
    """Return a hanging rope between two points, links of one length."""
    one = structure("rope", links, np.random.default_rng(links), 0.2)
    return one, model_of(one, np.eye(3)).compile()


# ----------------------------------------------------------------------------------------------------- the same matrix


@pytest.mark.parametrize("terms", range(len(TANGENT_TERMS)), ids=TANGENT_TERMS)
@pytest.mark.parametrize("seed", range(2))
def test_the_tangent_is_that_of_whole_blocks(terms, seed, always):
    system = forked(24, 14).compile()
    assert list(system.tables.condensed.closure) == [0, 1, 2]
    rng, answers = np.random.default_rng(seed), []
    z, zd, zdd = rng.uniform(-1, 1, system.n), rng.normal(size=system.n), rng.normal(size=system.n)
    alpha, lam = rng.uniform(10.0, 1e4, system.m), rng.normal(size=system.m)
    for one in (system, uncondensed(system), with_blocks(system)):
        equations = SemiRecursiveEquations(one)
        equations.alpha[:] = alpha
        equations.residual(z, zd, zdd, system.R0)
        old = equations.state_arrays()._replace(lam=lam, R0=system.R0)
        answers.append([])
        for weights in ((1.0, 0.3, 0.2), (0.0, 0.0, 1.0)):  # the second takes the matrix of the same state anew
            answers[-1].append(equations.assemble(*weights, terms, old))
    for found in (answers[0], answers[2]):
        for matrix, wanted in zip(found, answers[1], strict=True):
            np.testing.assert_allclose(matrix, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())


def test_a_part_is_condensed_as_the_whole_is(always):
    tables = forked(24, 14).compile().tables
    part = restricted(tables, np.arange(len(tables.dofs.kind)))
    np.testing.assert_array_equal(part.tables.condensed.closure, tables.condensed.closure)
    whole = uncondensed(forked(24, 14).compile()).tables
    assert len(restricted(whole, np.arange(len(whole.dofs.kind))).tables.condensed.closure) == 0


# ----------------------------------------------------------------------------------------------------- the same motion


def test_a_rope_moves_as_own_natural_coordinates_do():
    """Order two, and the reference has neither tree nor cut."""
    one, system = rope(120)
    assert len(system.tables.condensed.closure) == 1
    wanted, errors = NaturalCoordinates(one).motion(0.1), []
    for steps in (50, 100):
        sim = Simulation(system, h=0.1 / steps)
        assert all(sim.step().outcome.name == "CONVERGED" for _ in range(steps))
        errors.append(np.abs(nodes_of(sim, one, np.eye(3)) - wanted).max() / np.abs(wanted - one.places).max())
    assert errors[1] < 2e-4
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_all_forms_of_the_step_agree():
    """Fused and readable, with whole blocks, and the reactions with them."""
    _, system = rope(100)
    sims = [
        Simulation(system, h=1e-3),
        Simulation(system, h=1e-3, method=PenaltyTrapezoidal(fused=False)),
        Simulation(with_blocks(system), h=1e-3),
    ]
    for _ in range(5):
        for sim in sims:
            assert sim.step().outcome.name == "CONVERGED"
    for other in sims[1:]:
        np.testing.assert_allclose(other.state.z, sims[0].state.z, rtol=0, atol=1e-9)
        np.testing.assert_allclose(other.state.zd, sims[0].state.zd, rtol=0, atol=1e-6)
        np.testing.assert_allclose(other.state.lam, sims[0].state.lam, rtol=1e-5, atol=1e-5)


def test_the_midpoint_rule_takes_whole_blocks():
    _, system = rope(100)
    plain, variational = Simulation(system, h=5e-4), Simulation(system, h=5e-4, method=VariationalMidpoint())
    for sim in (plain, variational):
        for _ in range(10):
            assert sim.step().outcome.name == "CONVERGED"
    np.testing.assert_allclose(variational.state.z, plain.state.z, rtol=0, atol=1e-5)


def test_a_rope_at_a_large_step_needs_no_further_try():
    """Tension is a part of the Newton matrix: without it the iteration of a taut rope diverges."""
    _, system = rope(250)
    sim = Simulation(system, h=5e-3)
    for _ in range(10):
        report = sim.step()
        assert report.outcome.name == "CONVERGED"
        assert report.tries == 0


# ------------------------------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("kind", ["rope", "ladder", "wheel"])
def test_arithmetic_and_memory_grow_with_the_bodies(kind):
    sizes = []
    for count in (300, 1200):
        one = structure(kind, count, np.random.default_rng(0), 0.2)
        system = model_of(one, np.eye(3)).compile()
        sizes.append((system.lu.factor_flops, system.lu.size, len(system.tables.connectors.dof)))
    assert all(many < 6.0 * few for few, many in zip(*sizes, strict=True))


def test_a_chain_of_many_links_starts_and_hangs_still():
    """The sums of all inertias below a joint would hide what the joint feels: 6,000 links were refused."""
    model, above = Model("long", gravity=(0.0, 0.0, -9.81)), "ground"
    for k in range(6500):
        model.add_body(f"b{k}", mass=0.1, inertia=(1e-4,) * 3, position=(0, 0, -0.1 * k), center_of_mass=(0, 0, -0.05))
        model.add_joint(f"j{k}", Revolute((0.0, 1.0, 0.0)), above, f"b{k}", point=(0.0, 0.0, -0.1 * k))
        above = f"b{k}"
    sim = Simulation(model.compile(), h=1e-3)
    assert sim.step().outcome.name == "CONVERGED"
    assert np.abs(sim.state.z).max() < 1e-9


def test_the_form_of_the_matrix_is_told():
    _, system = rope(120)
    assert "9 interfaces between sections of the tree, 1 long loops closed by multipliers" in factor_text(system)
    assert "all pairs of a path" in factor_text(uncondensed(system))
