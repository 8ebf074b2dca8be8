"""Gradients of differentiable runs against Richardson-extrapolated differences of separate runs.

Independent and redundant loops, few coordinates and many, a force with a state, inputs that hold and inputs in time.
"""

import numpy as np
import pytest

import rtmbs
from rtmbs.studies.sensitivities import saddles, sensitivity

TIGHT = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)
ALLOWED = 1e-7  # of the largest derivative of a value
OF_A_STEP = 3e-6  # the same for an input at one time: Newton's iteration leaves 1e-12 of a position, 5e-10 of a rate


def pushed(name, joint, **options):
    """Return a mechanism of the library with a load in a joint that is an input."""
    model = rtmbs.library.build(name, **options)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    return model


def with_a_motor():
    """Return a crank-rocker whose motor has a current."""

    def motor(t, kinematics, parameters, states):
        rate = (parameters["voltage"] - 2.0 * states["current"] - 0.8 * kinematics.zd) / parameters["inductance"]
        return 0.8 * states["current"], rate

    model = pushed("crank_rocker", "rocker_pivot")
    values = {"voltage": 12.0, "inductance": 0.05}
    model.add_force("motor", motor, joint="crank_pivot", states={"current": 0.3}, parameters=values)
    return model


def skewed_bricard():
    """Return Bricard's loop with loads in two of its joints."""
    model = rtmbs.library.build("bricard")
    joints = list(model.joints)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=joints[1])
    return model


def two_windows():
    """Return two windows of a four-bar, whose closures are redundant in space, with a spring on skew points."""
    model = rtmbs.library.build("fourbar", ny=1, nz=2)
    joints, bodies = list(model.joints), list(model.bodies)[1:]
    model.add_marker("tip", bodies[2], tuple(np.array([0.01, 0.2, 0.3])), frame=bodies[2])
    model.add_marker("post", "ground", (0.03, 1.1, 1.7))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=7.0, damping=0.3, length=0.9), between=("post", "tip"))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=joints[0])
    return model


CASES = {
    "crank_rocker": (lambda: pushed("crank_rocker", "crank_pivot"), ["crank_pivot.rate", "gravity"]),
    "slider_crank": (lambda: pushed("slider_crank", "pivot"), ["gravity"]),
    "bricard": (skewed_bricard, ["gravity"]),
    "two windows": (two_windows, ["spring.stiffness", "spring.damping", "gravity"]),
    "motor": (with_a_motor, ["motor.voltage", "motor.inductance", "motor.current"]),
}


def cost(body):
    def of(result):
        place, rate = result[f"{body}.mass_center"], result[f"{body}.velocity"]
        ends = np.concatenate([place[-1], 0.1 * rate[-1]])
        return np.concatenate([ends, np.stack([np.sum(place[:, 2] ** 2)])])

    return of


def made(name):
    """Return the differentiable run of a case."""
    build, by = CASES[name]
    sim = rtmbs.Simulation(build().compile(), h=4e-3, method=TIGHT)
    body = list(sim.system.bodies)[-1]
    control = next(one for one in sim.inputs if one.startswith("push"))
    return rtmbs.differentiable(sim, 0.12, cost(body), by, controls=[control])


def richardson(function, step):
    """Return the derivative at 0 by central differences, extrapolated to order six, and their own error."""
    one, two, four = ((function(s) - function(-s)) / (2.0 * s) for s in (step, 0.5 * step, 0.25 * step))
    a, b = (4.0 * two - one) / 3.0, (4.0 * four - two) / 3.0
    return (16.0 * b - a) / 15.0, np.abs(b - a).max()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("held", [True, False])
def test_gradients_are_those_of_separate_runs(name, held, monkeypatch):
    if held:
        monkeypatch.setattr(saddles, "LARGE", 1)  # passes, as in large mechanisms
    run, rng = made(name), np.random.default_rng(7)
    p = np.array(run.start)
    U = 0.3 * (np.ones((run.steps + 1, 1)) if held else rng.normal(size=(run.steps + 1, 1)))
    _, by_p, by_u = run.jacobians(p, U)
    scale = np.maximum(np.abs(by_p).max(axis=1), 1e-3 * np.abs(by_p).max())
    for j, one in enumerate(np.eye(len(p))):
        step = 0.02 * max(abs(p[j]), 0.1)
        found, _ = richardson(lambda s: run(p + s * one, U), step)  # noqa: B023
        np.testing.assert_array_less(np.abs(by_p[:, j] - found) / scale, ALLOWED, err_msg=run.names[j])
    ways = [np.ones_like(U)] if held else [np.eye(run.steps + 1)[k][:, None] for k in (0, 7, run.steps)]
    for way in ways:
        found, _ = richardson(lambda s: run(p, U + s * way), 0.05 if name == "slider_crank" else 0.2)  # noqa: B023
        mine, size = np.einsum("ksc,sc->k", by_u, way), np.abs(by_u).max(axis=(1, 2)) * way.sum()
        size = np.maximum(size, 1e-3 * size.max())
        np.testing.assert_array_less(np.abs(mine - found) / size, ALLOWED if held else OF_A_STEP)


def test_another_thread_may_take_a_kept_tape_away(monkeypatch):
    """Threads that differentiate runs of one System share the place of its last tape."""
    sim = rtmbs.Simulation(pushed("crank_rocker", "rocker_pivot").compile(), 4e-3, TIGHT)
    before = rtmbs.sensitivity(sim, 0.02, "crank_pivot.angle", ["gravity"])
    equal = np.array_equal

    def cleared(*arrays):
        sensitivity.RECORDED[sim.system].clear()
        return equal(*arrays)

    monkeypatch.setattr(sensitivity.np, "array_equal", cleared)
    after = rtmbs.sensitivity(sim, 0.02, "crank_pivot.angle", ["gravity"])
    assert equal(before.jacobian, after.jacobian)
