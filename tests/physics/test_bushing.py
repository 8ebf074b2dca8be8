"""Bushings as physics: static deflection, natural frequencies, order of the method, energy, large turns."""

import numpy as np
import pytest

import rtmbs
from tests.mechanisms import exponential, random_rotation


def hung(K, C=0.0, mass=27.0, gravity=(0.0, 0.0, 0.0), **more):
    """Return a body of uneven inertia on one bushing to ground at its mass centre, axes of both skew."""
    rng = np.random.default_rng(3)
    model = rtmbs.Model("hung", gravity=gravity)
    orientation, axes = random_rotation(rng), random_rotation(rng)
    model.add_body("body", mass=mass, inertia=(0.7, 1.1, 1.6), position=(0.3, 0.2, 0.1), orientation=orientation)
    model.add_joint("free", rtmbs.Floating(), "ground", "body", point=(0.3, 0.2, 0.1))
    model.add_marker("a", "ground", (0.3, 0.2, 0.1), axes=axes)
    model.add_marker("b", "body", (0.3, 0.2, 0.1), axes=axes)
    model.add_force("bush", rtmbs.Bushing(K, C, **more), between=("a", "b"))
    return model, axes, orientation


def stiffness():
    """Return a full stiffness of four orders of magnitude."""
    B = np.random.default_rng(5).normal(size=(6, 6))
    scale = np.array((100.0, 60.0, 30.0, 5.0, 4.0, 3.0))
    return scale[:, None] * (B @ B.T + 2.0 * np.eye(6)) * scale


def test_static_deflection_is_the_load_over_the_stiffness():
    """A force at the marker and no torque ask p = K q + load = 0 in every axis, however far it turns."""
    K = stiffness()
    model, axes, _ = hung(K, 0.5 * K / 10.0)
    load = np.array((900.0, -500.0, 700.0))
    model.add_force("load", rtmbs.Wrench(force=load), body="body")
    sim = rtmbs.Simulation(model.compile(), h=5e-3, method=rtmbs.PenaltyTrapezoidal(tol=1e-12))
    result = sim.run(20.0, record=rtmbs.Every(1.0))
    q = np.concatenate((result["bush.displacement"][-1], result["bush.rotation"][-1]))
    wanted = np.linalg.solve(K, np.concatenate((axes.T @ load, np.zeros(3))))
    np.testing.assert_allclose(q, wanted, rtol=1e-6, atol=1e-8)


def test_preload_moves_the_rest():
    K, preload = stiffness(), np.array((300.0, 200.0, -100.0, 20.0, 10.0, -15.0))
    model, _, _ = hung(K, 0.05 * K, force=preload[:3], torque=preload[3:])
    sim = rtmbs.Simulation(model.compile(), h=5e-3, method=rtmbs.PenaltyTrapezoidal(tol=1e-12))
    result = sim.run(20.0, record=rtmbs.Every(1.0))
    q = np.concatenate((result["bush.displacement"][-1], result["bush.rotation"][-1]))
    np.testing.assert_allclose(q, np.linalg.solve(K, preload), rtol=1e-6, atol=1e-8)


def test_natural_frequencies():
    """Of the tangent at rest against K and the mass in the axes of the bushing, written here."""
    from scipy.linalg import eigh, eigvals

    K = stiffness()
    model, axes, orientation = hung(K)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    state, equations = sim.state, sim.equations
    equations.residual(state.z, state.zd, np.zeros(sim.system.n), state.R0)
    found = np.sort(eigvals(equations.assemble(0.0, 0.0, 1.0), equations.mass_matrix()).real)
    J = axes.T @ orientation @ np.diag((0.7, 1.1, 1.6)) @ orientation.T @ axes
    M = np.block([[27.0 * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), J]])
    np.testing.assert_allclose(found, eigh(K, M, eigvals_only=True), rtol=1e-9)


def test_a_small_swing_has_the_frequency():
    """Twenty periods about one axis, counted; the trapezoidal rule is late by (w h)^2 / 12."""
    k, m = 4.0e3, 27.0
    K = np.diag((k, 2.0 * k, 3.0 * k, 50.0, 60.0, 70.0))
    model, axes, _ = hung(K)
    w, h = np.sqrt(k / m), 1e-3
    model.set_initial("free", rate=(*(1e-3 * axes[:, 0]), 0.0, 0.0, 0.0))
    sim = rtmbs.Simulation(model.compile(), h=h)
    end = 40.0 * np.pi / w
    result = sim.run(round(end / h) * h)
    x, t = result["bush.displacement"][:, 0], np.asarray(result["t"])
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = t[up] - x[up] * (t[up + 1] - t[up]) / (x[up + 1] - x[up])
    period = np.mean(np.diff(crossing))
    assert period == pytest.approx(2.0 * np.pi / w * (1.0 + (w * h) ** 2 / 12.0), rel=1e-6)


def swinging(h, end=0.4, damping=0.002, closed=False):
    """Return states of an arm on a ball with a bushing in skew axes, far turned, at the end; curves but no kink."""
    rng = np.random.default_rng(11)
    B = rng.normal(size=(6, 6))
    K = 20.0 * (B @ B.T + np.eye(6))
    model = rtmbs.Model("swinging")
    model.add_body("arm", mass=2.0, center_of_mass=(0.3, 0.1, 0.0), inertia=(0.05, 0.2, 0.25))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "arm")
    model.add_body("tip", mass=17.0, inertia=(0.5, 0.3, 0.4), position=(0.6, 0.0, 0.0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0.2, 1.0, 0.3)), "arm", "tip", point=(0.6, 0.0, 0.0))
    turn = random_rotation(rng)
    model.add_marker("a", "ground", (0.2, 0.5, 0.1), axes=turn)
    model.add_marker("b", "tip", (0.7, 0.1, 0.0), axes=turn @ exponential(np.array((0.5, -0.3, 0.4))))
    model.add_force("bush", rtmbs.Bushing(K, damping * K, force=(5.0, 3.0, -2.0)), between=("a", "b"))
    model.set_initial("pin", rate=3.0)
    if closed:
        model.add_marker("c", "ground", (0.0, -1.0, 0.0))
        model.add_rod("rod", between=("b", "c"))
    sim = rtmbs.Simulation(model.compile(), h=h, method=rtmbs.PenaltyTrapezoidal(tol=1e-12))
    result = sim.run(end, record=rtmbs.Every(end / 10.0))
    names = ("tip.position", "tip.velocity", "tip.acceleration", "ball.reaction", "bush.force", "bush.torque")
    return {name: np.asarray(result[name][-1]) for name in names}, result


@pytest.mark.parametrize("closed", [False, True])
def test_order_two(closed):
    """Position, rate, acceleration, reaction and the forces of the bushing itself."""
    reference, _ = swinging(1.25e-4, closed=closed)
    coarse, fine = (swinging(h, closed=closed)[0] for h in (4e-3, 2e-3))
    for name in reference:
        errors = [np.linalg.norm(run[name] - reference[name]) for run in (coarse, fine)]
        order = np.log2(errors[0] / errors[1])
        assert 1.8 < order < 2.3, (name, order, errors)


def test_energy_is_kept_to_order_two():
    drift = []
    for h in (4e-3, 2e-3):
        _, result = swinging(h, end=2.0, damping=0.0)
        E = np.asarray(result["energy.total"])
        size = np.ptp(result["energy.kinetic"])
        drift.append(np.max(np.abs(E - E[0])) / size)
    assert drift[1] < 2e-3
    assert 3.0 < drift[0] / drift[1] < 5.5


def test_turns_far_about_one_axis():
    """A rotor on a torsional bushing swings through 2.9 rad each way as a linear oscillator in its angle."""
    k, J = 3.0, 0.4
    model = rtmbs.Model("rotor", gravity=(0, 0, 0))
    model.add_body("rotor", mass=1.0, inertia=(0.2, 0.3, J))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rotor")
    axes = random_rotation(np.random.default_rng(13))
    model.add_marker("a", "ground", axes=axes)
    model.add_marker("b", "rotor", axes=axes)
    turning = k * np.outer(axes[2], axes[2])  # about the axle, in axes of the bushing
    K = np.block([[np.zeros((3, 3)), np.zeros((3, 3))], [np.zeros((3, 3)), turning]])
    model.add_force("bush", rtmbs.Bushing(K), between=("a", "b"))
    w = np.sqrt(k / J)
    model.set_initial("axle", rate=2.9 * w)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    result = sim.run(5.0, record=rtmbs.Every(0.05))
    late = 1.0 - (w * 1e-3) ** 2 / 12.0
    wanted = 2.9 * np.sin(w * late * np.asarray(result["t"]))
    np.testing.assert_allclose(result["axle.angle"], wanted, atol=2e-5)
    np.testing.assert_allclose(np.linalg.norm(result["bush.rotation"], axis=1), np.abs(wanted), atol=2e-5)
