"""Forces with first-order states: closed forms, orders, a Simulation, and methods that refuse states."""

import numpy as np
import pytest
from scipy.linalg import expm

import rtmbs
from rtmbs.dae import (
    GILL,
    HEUN,
    METHODS,
    AdamsBashforthMoulton,
    HalfExplicit,
    MotionError,
    RungeKutta,
    TangentSpace,
    integrate,
)
from rtmbs.errors import InputError
from rtmbs.formulations import JointCoordinates, ReferencePointCoordinates, consistent_state
from rtmbs.methods import Capability
from tests.dae.motions import made
from tests.formulations.systems import system_of

WITHIN = 0.2  # of the slope
T_END = 0.8  # [s]
TAKEN = list(METHODS)
M, K, C = 2.0, 90.0, 7.0  # mass [kg], spring [N/m] and damper [N s/m] in series
J, R, L, KT, U = 0.4, 1.5, 0.3, 0.8, 5.0  # inertia, resistance, inductance, constant, voltage of a motor


def maxwell():
    """Return a mass on a rail and a spring with a damper in series, and A, b of y' = A y + b, y = (x, v, s)."""
    model = rtmbs.Model("Maxwell", gravity=(0, 0, 0))
    model.add_body("mass", mass=M, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 2, 2)), model.ground, "mass")

    def law(t, kinematics, parameters, states):
        pull = K * (kinematics.z - states["damper"])
        return -pull, pull / C

    model.add_force("element", law, joint="rail", states={"damper": 0.1}, units={"damper": "m"})
    return model, np.array([[0, 1, 0], [-K / M, 0, K / M], [K / C, 0, -K / C]]), np.zeros(3), (0.3, -1.0, 0.1)


def motor():
    """Return a wheel on an electric motor, L i' = U - R i - k w, likewise."""
    model = rtmbs.Model("motor")
    model.add_body("wheel", mass=1.0, inertia=(J, J, J))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 3, 4)), model.ground, "wheel")

    def law(t, kinematics, parameters, states):
        return KT * states["current"], (U - R * states["current"] - KT * kinematics.zd) / L

    model.add_force("motor", law, joint="axle", states={"current": 0.0}, units={"current": "A"})
    return model, np.array([[0, 1, 0], [0, 0, KT / J], [0, -KT / L, -R / L]]), np.array([0, 0, U / L]), (0.2, 3.0, 0.0)


def closed_form(A, b, y, t):
    """Return y at ``t`` of y' = A y + b."""
    return (expm(np.block([[A, b[:, None]], [np.zeros((1, 4))]]) * t) @ np.append(y, 1.0))[:3]


def error_of(method, make, steps):
    """Return the errors of coordinate, rate and state (3,), root mean squares of eight samples."""
    model, A, b, y = make()
    system = JointCoordinates(model.compile())
    found = integrate(system, method, np.array(y[:1]), np.array(y[1:2]), T_END, T_END / steps)
    np.testing.assert_array_equal(found.s[0], y[2:])
    samples = slice(steps // 8, None, steps // 8)
    parts = np.column_stack((found.q, found.v, found.s))[samples]
    expected = np.array([closed_form(A, b, y, t) for t in found.t[samples]])
    return np.sqrt(np.mean((parts - expected) ** 2, axis=0))


@pytest.mark.parametrize("make", [maxwell, pytest.param(motor, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("method", "order"),
    [
        (RungeKutta(GILL), 4),
        (RungeKutta(HEUN), 2),
        pytest.param(AdamsBashforthMoulton(3), 3, marks=pytest.mark.slow),
        pytest.param(HalfExplicit(), 4, marks=pytest.mark.slow),
        pytest.param(TangentSpace("adams", 4), 4, marks=pytest.mark.slow),
        (TangentSpace("bdf", 3), 3),
        ("penalty-trapezoidal", 2),
    ],
)
def test_order_against_the_closed_form(make, method, order):
    method = made(method) if isinstance(method, str) else method
    steps = np.array([64, 128, 256])
    errors = np.array([error_of(method, make, n) for n in steps])
    slopes = np.array([np.polyfit(-np.log(steps), np.log(errors[:, k]), 1)[0] for k in range(3)])
    assert np.all(np.abs(slopes - order) < WITHIN), (slopes, errors)


@pytest.mark.parametrize("make", [maxwell, motor])
@pytest.mark.parametrize("name", ["solve-ivp", "cvode", "ida"])
def test_tolerances_against_the_closed_form(make, name):
    error = error_of(made(name, rtol=1e-9, atol=1e-11), make, 8)
    assert error.max() < 1e-6, error


def test_reference_point_coordinates_carry_states_as_well():
    model, A, b, y = maxwell()
    system = ReferencePointCoordinates(model)
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    q, v = system.start.copy(), np.zeros(system.n)
    q[7:10], v[7:10], q[-1], v[-1] = y[0] * axis, y[1] * axis, *y[:2]
    found = integrate(system, RungeKutta(), q, v, T_END, T_END / 100)
    expected = closed_form(A, b, y, T_END)
    np.testing.assert_allclose((found.q[-1, -1], found.v[-1, -1], found.s[-1, 0]), expected, atol=1e-6)


def loop():
    """Return a four-bar with a Maxwell element across it and a motor with a current."""
    model = rtmbs.library.build("fourbar", ny=1, nz=1, closure="line")
    hinge = next(joint for joint in model.joints.values() if joint.type.coordinates and not joint.cut)
    body = list(model.bodies.values())[2]
    ends = model.add_marker("post", "ground", (0.3, 0.4, 0.2)), model.add_marker("eye", body, (0.1, 0.0, 0.0))

    def line(t, kinematics, parameters, states):
        length = np.sqrt(np.dot(kinematics.r, kinematics.r))
        pull = 40.0 * (length - 0.5 - states["creep"]) + 0.2 * np.sin(5.0 * t)
        return pull, pull / 3.0

    def drive(t, kinematics, parameters, states):
        return 0.6 * states["current"], (2.0 * np.cos(3.0 * t) - states["current"] - 0.6 * kinematics.zd) / 0.2

    model.add_force("line", line, between=ends, states={"creep": 0.05})
    model.add_force("drive", drive, joint=hinge, states={"current": 0.3})
    return model


@pytest.mark.parametrize("name", TAKEN)
def test_a_closed_loop_against_a_simulation_of_small_steps(name):
    compiled, method = loop().compile(), made(name)
    system = JointCoordinates(compiled)
    q, v = consistent_state(system, compiled.z0, compiled.zd0, 0.0)
    sim = rtmbs.Simulation(compiled, h=1e-4)
    sim.run(0.1)
    found = integrate(system, method, q, v, 0.1, 2e-3)
    apart = 3e-5 if method.orders == (2, 2, 2, 2) else 1e-6
    np.testing.assert_allclose(found.s[-1], sim.state.s, atol=apart)
    np.testing.assert_allclose(found.q[-1], sim.state.z, atol=apart)
    assert found.s.shape == (51, 2)
    np.testing.assert_array_equal(found.s[0], system.s)  # the system has its first values again


class Stateless(RungeKutta):
    """A method that says that it does not integrate force states."""

    capabilities = RungeKutta.capabilities - {Capability.FORCE_STATES}


def test_a_method_without_states_refuses_them_by_name():
    system = JointCoordinates(motor()[0].compile())
    says = "a system with 1 states of forces needs a method that integrates .*; Stateless does not: take Penalty.*HHT"
    with pytest.raises(InputError, match=says):
        integrate(system, Stateless(), np.zeros(1), np.zeros(1), 0.1, 1e-2)
    with pytest.raises(InputError, match="needs a method that integrates the first-order states"):
        rtmbs.Simulation(motor()[0].compile(), 1e-3, Stateless())


class Leaking:
    """The pendulum with a state of its own."""

    def __init__(self, rates):
        self.system, self.rates, self.s = system_of("pendulum in x, y"), rates, np.array([1.0])

    def __getattr__(self, name):
        return getattr(self.system, name)

    def state_rates(self, q, v, t):
        return self.rates(self.s)


@pytest.mark.parametrize(
    ("rates", "error", "says"),
    [
        (lambda s: np.zeros(2), InputError, r"state_rates\(q, v, t\) returned an array \(2,\); \(1,\) is wanted"),
        (lambda s: np.array([np.nan]), InputError, r"state_rates\(q, v, t\) returned nan at \(0,\)"),
        (lambda s: 1e3 * s, MotionError, r"RungeKutta stopped after t = .*s\[0\] is .*; a shorter step may help"),
    ],
)
def test_states_that_cannot_be_are_told(rates, error, says):
    q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    system = Leaking(rates)
    with pytest.raises(error, match=says):
        integrate(system, RungeKutta(), q, v, 1.0, 0.01)
    np.testing.assert_array_equal(system.s, [1.0])
