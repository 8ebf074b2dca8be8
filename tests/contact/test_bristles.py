"""Bristles of compliant contact: found at every state, and forgotten by a contact that opened."""

import numpy as np
import pytest

import rtmbs
from rtmbs import contact

MU, DEPTH, STIFF = 0.2, 1e-3, 1e3


@pytest.mark.filterwarnings("ignore::rtmbs.RtmbsWarning")
def test_bristles_are_found_at_every_state():
    """Whole corrections cycled in 13 of these 600 states: the force was no number, and steps ended NOT_FINITE."""
    m = rtmbs.Model("pair", gravity=(0, 0, 0))
    for k in range(2):
        place = ((0.2 - DEPTH) * k, 0, 0)
        m.add_body(f"b{k}", mass=1.0, inertia=(1, 1, 1), position=place, shape=rtmbs.Sphere(0.1))
        m.add_joint(f"f{k}", rtmbs.Floating(), "ground", f"b{k}", point=place)
    m.add_contact("c", "b0", "b1", stiffness=STIFF, exponent=1.0, friction=MU, tangential_stiffness=5e5)
    sim = rtmbs.Simulation(m.compile(), 1e-3, method=rtmbs.TRBDF2())
    equations, ws, state = sim.equations, sim.equations.ws, sim.state
    for i in range(600):
        rng = np.random.default_rng(i)
        zd = np.zeros(12)
        zd[6:] = 10 ** rng.uniform(-1, 2) * rng.normal(size=6)
        zd[6], half = 0.0, 0.25 * 10 ** rng.uniform(-5, -2)
        base = rng.normal(size=3) * 1e-6 * 10 ** rng.uniform(-2, 0.7)
        equations.follow_states(base, half)
        equations.evaluate(0.0 * state.z, zd, state.zdd, state.R0)
        force = ws.law_wrench[0, :3]
        missed = np.abs(ws.s - base - half * ws.state_rate).max()
        assert missed <= 1e-9 * (np.abs(base).max() + half * np.abs(ws.state_rate).max())
        assert force @ force <= (STIFF * DEPTH) ** 2 * (1.0 + MU**2) * (1.0 + 1e-9)


def test_a_near_pair_of_a_set_that_opened_forgets_its_bristle():
    """It was left at 1e-6 m while the pair was near, and a force of that times its stiffness at the next touch."""
    m = rtmbs.Model("hop", gravity=(0, 0, -9.81))
    m.add_body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.1005), shape=rtmbs.Sphere(0.1))
    m.add_joint("free", rtmbs.Floating(), "ground", "ball", point=(0, 0, 0.1005))
    m.set_initial("free", rate=(0.5, 0.2, -0.2, 0, 0, 0))
    m.add_contacts("floor", [("ground", contact.Plane()), "ball"], stiffness=1e5, exponent=1.0, friction=0.4)
    sim = rtmbs.Simulation(m.compile(), 2e-4, method=rtmbs.TRBDF2())
    largest, opened = 0.0, 0.0
    for _ in range(150):
        sim.step()
        if len(rtmbs.touching(sim, "floor").penetrations) > 0:
            largest, opened = max(largest, float(np.abs(sim.state.s).max())), sim.t
    assert largest > 1e-6
    assert 0.015 < sim.t - opened < 0.03
    assert np.any(sim.state.s)  # the pair is still near
    assert np.abs(sim.state.s).max() <= 1.1 * largest * np.exp(-(sim.t - opened - 4e-4) / 2e-3)


@pytest.mark.parametrize("method", [rtmbs.TRBDF2(), rtmbs.PenaltyTrapezoidal()], ids=["trbdf2", "trapezoidal"])
def test_a_contact_that_opened_forgets_its_bristle(method):
    """It was left at 1e-6 m. It goes as exp(-t / 2 ms), and a restart has the same bytes."""
    m = rtmbs.Model("hop", gravity=(0, 0, -9.81))
    m.add_body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.11), shape=rtmbs.Sphere(0.1))
    m.add_joint("free", rtmbs.Floating(), "ground", "ball", point=(0, 0, 0.11))
    m.set_initial("free", rate=(0.5, 0.2, 0, 0, 0, 0))
    m.add_contact("floor", ("ground", contact.Plane()), "ball", stiffness=1e5, exponent=1.0, friction=0.4)
    sim = rtmbs.Simulation(m.compile(), 1e-4, method=method)
    largest = 0.0
    while sim["floor.penetration"] == 0.0 and sim.t < 0.1:
        sim.step()
    while sim["floor.penetration"] > 0.0 and sim.t < 0.2:
        sim.step()
        largest = max(largest, float(np.abs(sim.state.s).max()))
    opened = sim.t
    assert largest > 1e-6
    saved = sim.state.copy()
    sim.run(opened + 0.04)
    assert sim["floor.penetration"] == 0.0
    assert np.abs(sim.state.s).max() <= 1.1 * largest * np.exp(-20.0)
    again = rtmbs.Simulation(sim.system, 1e-4, method=method)
    again.restore(saved)
    again.run(opened + 0.04)
    assert again.state.s.tobytes() == sim.state.s.tobytes()
    assert again.state.z.tobytes() == sim.state.z.tobytes()
