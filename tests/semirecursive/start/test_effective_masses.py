"""Penalty factors: effective masses of blocks against the dense formula, blind blocks, fixed alpha."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import InputError
from rtmbs.integrators.contract import penalty_factors
from rtmbs.library.linkages import add_bar
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.rank import effective_masses
from tests.semirecursive.start.cases import MODELS, closed_pose, fourbar, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def dense_mobilities(assembly, z):
    """Return the rows of every block and lambda_max(P_l M^-1 P_l^T).

    Where massless frames make M singular, a mean mass on every loop equation holds them (METHODS 1.21).
    """
    system, equations = assembly.equations.system, assembly.equations
    equations.residual(z, np.zeros(system.n), np.zeros(system.n), assembly.R0)
    M, P = equations.mass_matrix(), equations.closure_jacobian()
    if np.linalg.matrix_rank(M) < len(M):
        mass = system.tables.dofs.mass
        M = M + P.T @ (np.where(system.row_is_rotation, system.length**2, 1.0)[:, None] * P) * mass[mass > 0].mean()
    blocks = [np.flatnonzero(system.block_of_row == block) for block in range(system.block_of_row.max() + 1)]
    return [(rows, np.linalg.eigvalsh(P[rows] @ np.linalg.solve(M, P[rows].T))[-1]) for rows in blocks]


@ALL
def test_effective_masses_of_blocks(name):
    assembly, z = closed_pose(system_of(name))
    system = assembly.equations.system
    masses, blind = effective_masses(assembly.equations, assembly.jacobian)
    assert np.all(masses > 0.0)
    for rows, mobility in dense_mobilities(assembly, z):
        assert len(set(masses[rows])) == 1, "one mass a block"
        assert len(set(system.row_is_rotation[rows])) == 1
        if not blind[rows[0]]:
            assert masses[rows[0]] == pytest.approx(1.0 / mobility, rel=1e-9)
        else:
            assert mobility < 1e-10


def test_planar_pins_have_blind_rotations():
    """A revolute cut in a planar loop: its two rotation rows see nothing, and take the inertia against its own turn."""
    system = fourbar().compile()
    assembly, _ = closed_pose(system)
    equations = assembly.equations
    masses, blind = effective_masses(equations, assembly.jacobian)
    rotation = system.row_is_rotation
    np.testing.assert_array_equal(blind, rotation)
    equations.residual(system.z0, np.zeros(system.n), np.zeros(system.n), assembly.R0)
    turn = np.array([-1.0 if name[0] in "AB" else 1.0 for name in system.coordinate_names])  # of rocker against coupler
    expected = 1.0 / (turn @ np.linalg.solve(equations.mass_matrix(), turn))
    np.testing.assert_allclose(masses[rotation], expected, rtol=1e-9)
    report = Simulation(system).start_report
    assert any("C" in name for name in report.without_effect)
    assert len(report.redundant) == 3


@pytest.mark.parametrize("factor", [1e-6, 1e3, 1e6])
def test_masses_scale_the_penalty(factor):
    """alpha is proportional to mass, so the dimensionless motion is the same for a gram and a ton."""
    one, other = (Simulation(fourbar(masses=(m, 2 * m, m)).compile(), h=5e-3) for m in (1.0, factor))
    np.testing.assert_allclose(other.state.memory["alpha"], factor * one.state.memory["alpha"], rtol=1e-9)
    for _ in range(20):
        assert one.step().iterations == other.step().iterations
    np.testing.assert_allclose(other.state.z, one.state.z, atol=1e-8)


def test_penalties_of_a_step():
    system = system_of("crank_rocker")
    equations = SemiRecursiveEquations(system)
    masses = equations.masses = np.linspace(1.0, 2.0, system.m)
    np.testing.assert_array_equal(penalty_factors(equations, 2e-3, 1e6, None), 1e6 * 4.0 / 2e-3**2 * masses)
    fixed = penalty_factors(equations, 2e-3, None, 1e8)
    np.testing.assert_array_equal(fixed, np.where(system.row_is_rotation, 1e8 * system.length**2, 1e8))
    for bad in ({"c": 1e300, "alpha": None}, {"c": None, "alpha": np.inf}):
        with pytest.raises(InputError, match="not finite"):
            penalty_factors(equations, 1e-50, **bad)


def test_a_driven_coordinate_is_a_block_of_its_own():
    system = system_of("driven_fourbar")
    rows = np.flatnonzero(system.closure_of_row < 0)
    assert len(rows) == 1
    assert np.count_nonzero(system.block_of_row == system.block_of_row[rows[0]]) == 1


def test_every_row_of_a_large_model_has_its_penalty():
    model = rtmbs.library.build("fourbar", ny=3, nz=4)
    sim = Simulation(model.compile())
    assert np.all(sim.state.memory["alpha"] > 0.0)
    assert sim.start_report.alpha_min == sim.state.memory["alpha"].min()
    assert sim.start_report.alpha_max == sim.state.memory["alpha"].max()


@pytest.mark.parametrize("light", [1e-9, 1e-6, 0.0])
@pytest.mark.parametrize("body", ["rod", "slider"])
def test_a_light_body_does_not_open_a_loop_of_heavy_ones(body, light):
    """The load of a light body is that of its neighbours: alpha follows them, not its own mass."""
    model, masses = rtmbs.Model("light"), {"crank": 1.0, "rod": 1.0, "slider": 1.0, body: light}
    tip, wrist = (0.0, 0.08, 0.06), (0.0, 0.08 + 0.32**0.5 / 1.4, 0.0)
    add_bar(model, "crank", (0.0, 0.0, 0.0), tip, masses["crank"])
    add_bar(model, "rod", tip, wrist, masses["rod"], axial=1e-3 * masses["rod"])
    model.add_body("slider", mass=masses["slider"], inertia=(1e-3 * masses["slider"],) * 3, position=wrist)
    axis = rtmbs.Revolute((1, 0, 0))
    model.add_joint("A", axis, "ground", "crank", point=(0, 0, 0))
    model.add_joint("B", axis, "crank", "rod", point=tip)
    model.add_joint("S", rtmbs.Prismatic((0, 1, 0)), "ground", "slider", point=wrist)
    model.add_joint("C", axis, "rod", "slider", point=wrist, cut=True)
    model.set_initial("A", position=0.0, rate=20.0)
    meter = rtmbs.ViolationMeter()
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.3, observers=[meter])
    assert meter.largest["position_violation"] < 1e-8
    assert set(result.outcomes) == {"CONVERGED"}


def linkage(model, tag, size, mass):
    """Add an uneven four-bar of bars of ``mass`` [kg], 1.1 ``size`` [m] wide."""
    points = size * np.array([(0, 0, 0), (0, 0.2, 0.35), (0, 1.1, 0.8), (0, 1.0, 0)])
    for name, start, end in (("crank", 0, 1), ("coupler", 1, 2), ("rocker", 3, 2)):
        add_bar(model, f"{tag} {name}", points[start], points[end], mass, axial=1e-3 * mass * size**2)
    for name, outer, inner, place in (
        ("A", "ground", f"{tag} crank", 0), ("B", f"{tag} crank", f"{tag} coupler", 1),
        ("D", "ground", f"{tag} rocker", 3), ("C", f"{tag} coupler", f"{tag} rocker", 2),
    ):  # fmt: skip
        axis = rtmbs.Revolute(axis=(1, 0, 0))
        model.add_joint(f"{tag} {name}", axis, outer, inner, point=points[place], cut=name == "C")


def test_a_small_loop_beside_a_large_one_blinds_no_block():
    """30 m and 10 t beside 1 cm and 1 g: penalties, rank and blind blocks are those of each alone."""
    sizes = {"big": (30.0, 1e4), "small": (0.01, 1e-3)}
    found = {}
    for wanted in (("big",), ("small",), ("big", "small")):
        model = rtmbs.Model(" and ".join(wanted))
        for tag in wanted:
            linkage(model, tag, *sizes[tag])
        sim = Simulation(model.compile(), h=2e-4)
        for row, alpha in zip(sim.system.row_names, sim.state.memory["alpha"], strict=True):
            found.setdefault(row, []).append(alpha)
        assert sim.start_report.without_effect == tuple(f"rotation of {tag} C" for tag in wanted)
        assert sim.start_report.degrees_of_freedom == len(wanted)
    assert len(found) == 10
    for row, (alone, together) in found.items():
        assert together == pytest.approx(alone, rel=1e-9), row
