"""Contact sets: their tangent by complex steps, their law beside that of declared pairs, GMRES, and the search."""

import numpy as np
import pytest

import rtmbs
from rtmbs.integrators.settings import INERTIA
from rtmbs.jit.compiled import kernel
from rtmbs.semirecursive.contact_set_tangent import apply_coupling
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual
from rtmbs.semirecursive.workspace import workspace

LAW = {"stiffness": 1e4, "exponent": 1.5, "dissipation": 0.3, "friction": 0.4, "static_ratio": 1.3}


@kernel
def coupling(tables, x, ws, out):
    """Call the inner kernel."""
    apply_coupling(tables, x, ws, out)


def on_a_tilting_tray(rng, pairs: bool = False, **law: float) -> rtmbs.Model:
    """Return three balls of uneven inertia on a tray with a skew hinge, and a ball at the end of a pendulum."""
    law = LAW | law
    m = rtmbs.Model("tray", gravity=(0.3, -0.2, -9.81))
    m.add_body("tray", mass=3.0, inertia=(0.2, 0.3, 0.4), center_of_mass=(0.1, 0.0, -0.1))
    axis = rng.normal(size=3)
    m.add_joint("hinge", rtmbs.Revolute(axis=axis / np.linalg.norm(axis)), "ground", "tray", point=(0.2, 0.1, -0.1))
    members = [("tray", rtmbs.contact.Plane(normal=(0.1, -0.2, 1.0)))]
    for k, place in enumerate(((0.0, 0.0, 0.1), (0.19, 0.02, 0.13), (0.08, 0.16, 0.14))):
        center = tuple(0.02 * rng.normal(size=3))
        m.add_body(f"ball{k}", mass=0.3 + 0.2 * k, inertia=(1e-3, 1.3e-3, 0.8e-3), position=place)
        m.add_joint(f"free{k}", rtmbs.Floating(), "ground", f"ball{k}", point=place)
        members.append((f"ball{k}", rtmbs.Sphere(0.1, center=center)))
    m.add_body("rod", mass=0.4, inertia=(2e-3, 2e-3, 1e-3), position=(0.1, 0.0, 0.5), center_of_mass=(0, 0, -0.2))
    m.add_joint("pin", rtmbs.Revolute(axis=(0.6, 0.8, 0.0)), "tray", "rod", point=(0.1, 0.0, 0.5))
    members.append(("rod", rtmbs.Sphere(0.09, center=(0.0, 0.0, -0.22))))
    if not pairs:
        m.add_contacts("heap", members, **law)
        return m
    for i, one in enumerate(members):
        for other in members[i + 1 :]:
            if one[0] != other[0]:
                m.add_contact(f"{one[0]} {other[0]}", one, other, **law)
    return m


@pytest.mark.parametrize("half", [0.0, 2e-3])
def test_tangent_is_that_of_complex_steps(half: float) -> None:
    rng = np.random.default_rng(7)
    system = on_a_tilting_tray(rng).compile()
    sim = rtmbs.Simulation(system, h=1e-3, method=rtmbs.TRBDF2())
    state, tables, n = sim.state, sim.equations.tables, system.n
    u, alpha = state.u, np.zeros(0)
    zd, zdd = rng.normal(size=n), rng.normal(size=n)
    base = 1e-3 * rng.normal(size=len(state.s))
    real, complexes = workspace(tables), workspace(tables, complex)
    for ws in (real, complexes):
        ws.z[:], ws.zd[:], ws.zdd[:] = state.z, zd, zdd
        ws.state_half[0], ws.state_base[:] = half, base
    evaluate_residual(tables, state.R0, u, alpha, real)
    assert np.sum(real.touch[:, 0]) >= 3
    mass, velocity, position = 1.0, 0.01, 0.003
    values = np.zeros_like(sim.equations.matrix.values)
    old = sim.equations.state_arrays()
    assemble_tangent(tables, INERTIA, mass, velocity, position, u, alpha, old, real, values)
    sim.equations.matrix.values[:] = values
    found, out = np.array(sim.equations.matrix), np.zeros(n)
    for k in range(n):
        coupling(tables, np.eye(n)[k], real, out)
        found[:, k] += out
    wanted = np.zeros((n, n))
    for k in range(n):
        step = 1e-30j * np.eye(n)[k]
        complexes.z[:], complexes.zd[:] = state.z + position * step, zd + velocity * step
        complexes.zdd[:] = zdd + mass * step
        evaluate_residual(tables, state.R0, u.astype(complex), alpha.astype(complex), complexes)
        wanted[:, k] = complexes.residual.imag / 1e-30
    assert np.max(np.abs(found - wanted)) < 1e-9 * np.max(np.abs(wanted))
    assert np.max(np.abs(out)) > 0.0


def test_forces_are_those_of_declared_pairs() -> None:
    """Declared pairs have a law of their own in Python. The balls of both stand in one order."""
    sims = [
        rtmbs.Simulation(on_a_tilting_tray(np.random.default_rng(7), pairs).compile(), 1e-3, method=rtmbs.TRBDF2())
        for pairs in (False, True)
    ]
    for _ in range(30):
        for sim in sims:
            sim.step()
    one, other = (sim.state for sim in sims)
    assert np.max(np.abs(one.s)) > 1e-5
    assert np.max(np.abs(one.z - other.z)) < 1e-12
    assert np.max(np.abs(one.zd - other.zd)) < 1e-9
