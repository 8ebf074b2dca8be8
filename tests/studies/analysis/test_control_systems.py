"""Systems of python-control: names, derivatives against closed form, and a regulator that holds the mechanism."""

import numpy as np
import pytest
import scipy.linalg

import rtmbs

control = pytest.importorskip("control")

M, m, L, G = 1.0, 0.1, 0.5, 9.81  # cart, pole, its mass centre


@pytest.fixture(scope="module")
def sim():
    model = rtmbs.Model("cart", gravity=(0.0, 0.0, -G))
    model.add_body("cart", mass=M)
    model.add_body("pole", mass=m, inertia=(0.01, 0.01, 0.01), center_of_mass=(0.0, 0.0, L))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    return rtmbs.Simulation(model.compile(), h=5e-3)


def accelerations(x, xd, th, thd, F):
    """Return accelerations of the cart and of the pole, from Lagrange's equations (the angle is from upright)."""
    mass = np.array([[M + m, m * L * np.cos(th)], [m * L * np.cos(th), m * L * L + 0.01]])
    return np.linalg.solve(mass, [F + m * L * thd**2 * np.sin(th), m * G * L * np.sin(th)])


def test_a_state_space_has_names_and_the_matrices_of_the_closed_form(sim):
    system = rtmbs.linearise(sim, ["push.force"], ["pivot.angle"]).control_state_space()
    assert system.input_labels == ["push_force"]
    assert system.output_labels == ["pivot_angle"]
    assert len(system.state_labels) == 4
    assert all(label.endswith("_rate") for label in system.state_labels[2:])
    D = np.linalg.inv([[M + m, m * L], [m * L, m * L * L + 0.01]])
    A = np.zeros((4, 4))
    A[:2, 2:], A[2:, 1] = np.eye(2), D @ [0.0, m * G * L]
    np.testing.assert_allclose(system.A, A, atol=1e-9)
    np.testing.assert_allclose(system.B[:, 0], [0.0, 0.0, *D[:, 0]], atol=1e-9)


def test_a_nonlinear_system_has_the_accelerations_of_lagrange(sim):
    system = rtmbs.control_system(sim, ["push.force"], ["pivot.angle", "pole.mass_center"])
    assert system.output_labels[0] == "pivot_angle"
    x = np.array([0.3, 0.7, -0.4, 1.9])
    found = system.dynamics(0.0, x, [2.5])
    np.testing.assert_allclose(found[:2], x[2:], rtol=1e-14)
    np.testing.assert_allclose(found[2:], accelerations(*x[[0, 2, 1, 3]], 2.5), rtol=1e-10)
    out = system.output(0.0, x, [2.5])
    np.testing.assert_allclose(out, [0.7, 0.3 + L * np.sin(0.7), 0.0, L * np.cos(0.7)], atol=1e-12)
    linear = control.linearize(system, np.zeros(4), [0.0])
    np.testing.assert_allclose(linear.A, rtmbs.linearise(sim, ["push.force"]).A, atol=1e-4)


def test_a_regulator_by_lqr_holds_the_pole(sim):
    lin = rtmbs.linearise(sim, inputs=["push.force"])
    gain, _, poles = control.lqr(lin.control_state_space(), np.diag([1.0, 1.0, 0.1, 0.1]), [[0.1]])
    assert poles.real.max() < 0.0
    X = scipy.linalg.solve_continuous_are(lin.A, lin.B, np.diag([1.0, 1.0, 0.1, 0.1]), np.array([[0.1]]))
    np.testing.assert_allclose(gain, lin.B.T @ X / 0.1, rtol=1e-6)
    own = rtmbs.Simulation(sim.system, h=5e-3)
    own.set("pivot.angle", 0.3)
    for _ in range(1600):
        x = own.read(["rail.displacement", "pivot.angle", "rail.rate", "pivot.rate"])
        own.inputs["push.force"] = -float(gain[0] @ x)
        assert own.step().outcome.accepted
    assert np.abs(own.read(["rail.displacement", "pivot.angle"])).max() < 2e-3


def test_refusals(sim):
    top = rtmbs.Simulation(rtmbs.library.build("top").compile(), h=1e-3)
    with pytest.raises(rtmbs.RtmbsError, match="ball or floating"):
        rtmbs.control_system(top)
    with pytest.raises(rtmbs.RtmbsError, match="needs inputs"):
        rtmbs.linearise(sim).control_state_space()
    with pytest.raises(rtmbs.errors.UnknownNameError):
        rtmbs.control_system(sim, ["push"], [])
