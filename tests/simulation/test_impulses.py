"""Impulses against mass matrices by hand, and against the independent equations of formulations over bodies."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, StartError, UnknownNameError
from rtmbs.library import build


def double_pendulum():
    """Two links of 0.5 m; the first row of the mass matrix at e = 0 by hand."""
    length, inertia = 0.5, 0.5**2 / 12
    model = rtmbs.Model("stop", gravity=(0, 0, -9.81))
    hinge = rtmbs.Revolute(axis=(0, -1, 0))
    for name, x in (("upper", 0.0), ("lower", length)):
        model.add_body(
            name, mass=1.0, center_of_mass=(length / 2, 0, 0), inertia=(1e-3, inertia, inertia), position=(x, 0, 0)
        )
    model.add_joint("s", hinge, model.ground, "upper", point=(0, 0, 0))
    model.add_joint("e", hinge, "upper", "lower", point=(length, 0, 0))
    model.set_initial("e", position=0.5)
    first = 2 * inertia + length**2 / 4 + 2.25 * length**2, inertia + 0.75 * length**2
    return rtmbs.Simulation(model.compile(), h=1e-3), first


@pytest.mark.slow
def test_an_impact_at_the_elbow_keeps_the_momentum_about_the_shoulder():
    sim, (a, c) = double_pendulum()
    seen = []

    def bounce(sim):
        w, v = sim["s.rate"], sim["e.rate"]
        sim.set("e.rate", -0.5 * v, consistent="impulse")
        seen.append((sim["s.rate"] - (w + c / a * 1.5 * v), sim["e.rate"] + 0.5 * v))

    sim.run(0.5, tolerance=1e-7, when=rtmbs.Event(lambda s: s["e.angle"], direction=-1, action=bounce))
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], 0.0, atol=1e-7)  # e = 0 to the tolerance of the event


def test_an_impulse_along_a_coordinate_is_the_product_with_the_mass_matrix():
    sim, (a, c) = double_pendulum()
    sim.set("e.angle", 0.0)
    before = np.array([sim["s.rate"], sim["e.rate"]])
    sim.apply_impulse("s.angle", 0.7)
    change = np.array([sim["s.rate"], sim["e.rate"]]) - before
    d = 0.5**2 / 12 + 0.25 * 0.25
    np.testing.assert_allclose(np.array([[a, c], [c, d]]) @ change, (0.7, 0.0), atol=1e-12)


def test_an_impulse_on_a_free_body_is_that_of_newton_and_euler():
    model = rtmbs.Model("free", gravity=(0, 0, 0))
    inertia = np.array([[0.5, 0.05, 0.02], [0.05, 0.7, -0.03], [0.02, -0.03, 0.9]])
    turn = np.array([0.5, 0.5, 0.5, 0.5])  # x to y, y to z, z to x
    model.add_body(
        "b", mass=3.0, center_of_mass=(0.1, 0.2, -0.1), inertia=inertia, position=(1, 2, 3), orientation=turn
    )
    model.add_joint("f", rtmbs.Floating(), "ground", "b")
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    push, moment, point = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.2]), np.array([0.4, 0.0, 0.3])
    sim.apply_impulse("b", push, point=point, moment=moment)
    R = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    about = np.cross(R @ (point - np.array([0.1, 0.2, -0.1])), push) + moment
    w = np.linalg.solve(R @ inertia @ R.T, about)
    np.testing.assert_allclose(sim["b.angular_velocity"], w, atol=1e-12)
    center = push / 3.0
    np.testing.assert_allclose(sim["b.velocity"], center - np.cross(w, R @ np.array([0.1, 0.2, -0.1])), atol=1e-12)
    np.testing.assert_allclose(sim["momentum.linear"], push, atol=1e-12)


def open_rates(sim):
    """Return the largest rate at which a loop opens [m/s or rad/s]."""
    return max(np.abs(sim[name]).max() for name in sim if name.endswith(".violation_rate"))


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "slider_crank"])
def test_an_impulse_on_closed_loops_is_the_limit_of_a_large_force(name):
    """A force p / T during a short T of many steps changes rates by the same, up to the order of T."""
    model = build(name)
    body = next(one for one in model.bodies if one != "ground")
    push, turn = np.array([0.3, -0.2, 0.5]), np.array([0.05, 0.02, -0.07])
    model.add_force("push", rtmbs.Wrench(rtmbs.Input((0.0,) * 3), rtmbs.Input((0.0,) * 3)), body=body)
    system = model.compile()
    duration = 1e-6
    slow = rtmbs.Simulation(system, duration / 20)
    slow.inputs["gravity"] = (0.0, 0.0, 0.0)
    state = slow.snapshot()
    slow.inputs["push.force"], slow.inputs["push.torque"] = push / duration, turn / duration
    slow.run(duration)
    sudden = rtmbs.Simulation(system, duration / 20)
    sudden.restore(state)
    sudden.apply_impulse(body, push, point=(0, 0, 0), moment=turn)
    np.testing.assert_allclose(sudden.state.zd, slow.state.zd, rtol=2e-4, atol=2e-4 * np.abs(slow.state.zd).max())
    assert open_rates(sudden) < 1e-10


def test_a_rate_set_by_an_impulse_closes_the_loops():
    sim = rtmbs.Simulation(build("crank_rocker").compile(), 1e-3)
    sim.run(0.3)
    names = [name for name in sim if name.endswith(".rate")]
    sim.set(names[0], 2.0, consistent="impulse")
    assert sim[names[0]] == pytest.approx(2.0, abs=1e-12)
    assert open_rates(sim) < 1e-10


def test_what_no_impulse_can_do_is_refused():
    sim, _ = double_pendulum()
    before = sim.snapshot()
    for call, kind, word in (
        (lambda: sim.apply_impulse("ground", (1, 0, 0)), InputError, "does not move"),
        (lambda: sim.apply_impulse("upperr", (1, 0, 0)), UnknownNameError, "upper"),
        (lambda: sim.apply_impulse("s.rate", 1.0), UnknownNameError, "along its coordinate"),
        (lambda: sim.apply_impulse("s.angle", 1.0, point=(0, 0, 0)), InputError, "belong to a body"),
        (lambda: sim.apply_impulse(3, 1.0), InputError, "by name"),
        (lambda: sim.apply_impulse("upper", (1, 0)), Exception, "impulse"),
        (lambda: sim.set("s.angle", 1.0, consistent="impulse"), InputError, "is a position"),
        (lambda: sim.set("s.rate", 1.0, consistent="sudden"), UnknownNameError, "sudden"),
    ):
        with pytest.raises(kind, match=word):
            call()
    assert sim.snapshot() == before
    rocker = rtmbs.Simulation(build("crank_rocker").compile(), 1e-3)
    with pytest.raises((InputError, StartError, UnknownNameError)):
        rocker.set("nothing.rate", 1.0, consistent="impulse")
