"""Force laws with states of their own, against closed forms and an independent integration, at order two."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import rtmbs
from rtmbs import Simulation

STEPS = (4e-3, 2e-3, 1e-3)
QUANTITIES = ("z", "zd", "zdd", "s", "sd")


def order_of(system, T, exact, steps=STEPS, prepare=None):
    """Return the least order in which all quantities come near ``exact`` at T, and the error of the finest step."""
    errors = []
    for h in steps:
        sim = Simulation(system, h)
        if prepare:
            prepare(sim)
        sim.run(T)
        found = np.concatenate([getattr(sim.state, name) for name in QUANTITIES])
        errors.append(np.abs(found - np.concatenate([np.atleast_1d(exact[name]) for name in QUANTITIES])))
    coarse, fine = errors[-2], errors[-1]
    size = np.maximum(np.abs(np.concatenate([np.atleast_1d(exact[name]) for name in QUANTITIES])), 1.0)
    told = fine > 1e-11 * size
    assert told.any()
    return float(np.log2(coarse[told] / fine[told]).min()), float((fine / size).max())


def slider(law, mass=2.0, position=0.0, rate=0.0, **options):
    """Return a mass on a straight rail under a law."""
    model = rtmbs.Model("slider", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=mass, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    model.add_force("law", law, joint="rail", **options)
    model.set_initial("rail", position=position, rate=rate)
    return model.compile()


def linear_answer(A, y0, T):
    """Return z, zd, zdd, s and sd at T of y' = A y, y = (z, zd, s...)."""
    y = expm(A * T) @ y0
    yd = A @ y
    return {"z": y[0], "zd": y[1], "zdd": yd[1], "s": y[2:], "sd": yd[2:]}


# ------------------------------------------------------------------------------------------------------ Maxwell element


MASS, K, K2, C = 2.0, 200.0, 300.0, 20.0


def maxwell(t, kinematics, parameters, states):
    """A spring, and beside it a spring with a damper in series; the state is the way of the damper [m]."""
    z = kinematics.z
    pull = K2 * (z - states["way"])
    return -K * z - pull, pull / C


def test_a_maxwell_element_at_order_two():
    system = slider(maxwell, MASS, 0.1, states={"way": 0.0}, units={"way": "m"})
    A = np.array([[0.0, 1.0, 0.0], [-(K + K2) / MASS, 0.0, K2 / MASS], [K2 / C, 0.0, -K2 / C]])
    order, error = order_of(system, 0.4, linear_answer(A, (0.1, 0.0, 0.0), 0.4))
    assert order > 1.9
    assert error < 2e-4


def test_a_maxwell_element_between_two_markers():
    """The same element as a law between markers, which gives a scalar along the line."""

    def along(t, kinematics, parameters, states):
        length = np.sqrt(np.dot(kinematics.r, kinematics.r))
        pull = K2 * (length - 1.0 - states["way"])
        return K * (length - 1.0) + pull, pull / C

    model = rtmbs.Model("markers", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=MASS, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    ends = model.add_marker("wall", "ground", (-1.0, 0.0, 0.0)), model.add_marker("eye", body)
    model.add_force("law", along, between=ends, states={"way": 0.0})
    model.set_initial("rail", position=0.1)
    one, other = (
        Simulation(system, 2e-3) for system in (model.compile(), slider(maxwell, MASS, 0.1, states={"way": 0}))
    )
    one.run(0.4)
    other.run(0.4)
    for name in QUANTITIES:
        np.testing.assert_allclose(getattr(one.state, name), getattr(other.state, name), rtol=1e-7, atol=1e-9)


# ----------------------------------------------------------------------------------------------------------------- tyre


def test_the_relaxation_length_of_a_tyre():
    """sigma/v F' + F = c slip at a constant speed: the force builds up over the length sigma."""
    sigma, speed, stiffness, slip = 0.4, 5.0, 1000.0, 0.03

    def tyre(t, kinematics, parameters, states):
        lag = kinematics.v[0] / sigma * (stiffness * slip - states["side"])
        return (np.array([0.0, states["side"], 0.0]), np.zeros(3)), lag

    model = rtmbs.Model("tyre", gravity=(0.0, 0.0, 0.0))
    wheel = model.add_body("wheel", mass=10.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", wheel)
    model.add_force("tyre", tyre, body=wheel, states={"side": 0.0}, units={"side": "N"})
    model.set_initial("rail", rate=speed)
    system, T, errors = model.compile(), 0.2, []
    for h in STEPS:
        result = Simulation(system, h).run(T)
        exact = stiffness * slip * (1.0 - np.exp(-speed * result["t"] / sigma))
        errors.append(np.abs(result["tyre.side"] - exact).max())
        np.testing.assert_allclose(result["tyre.force"][:, 1], result["tyre.side"], rtol=1e-12)
        assert result.read("tyre.side").unit == "N"
    assert np.log2(errors[1] / errors[2]) > 1.95
    assert errors[2] < 5e-4


# ---------------------------------------------------------------------------------------------------------------- motor


def test_a_motor_with_the_lag_of_its_current():
    """L i' = U - R i - k w, torque k i on an inertia J: two real poles, the closed form of a linear system."""
    J, L, R, k, U = 0.05, 0.02, 1.0, 0.3, 12.0

    def motor(t, kinematics, parameters, states):
        i = states["current"]
        return k * i, (parameters["voltage"] - R * i - k * kinematics.zd) / L

    model = rtmbs.Model("motor", gravity=(0.0, 0.0, 0.0))
    rotor = model.add_body("rotor", mass=1.0, inertia=(J, J, J))
    model.add_joint("shaft", rtmbs.Revolute(axis=(0, 0, 1)), "ground", rotor)
    where = {"joint": "shaft", "states": {"current": 0.0}, "units": {"current": "A"}}
    model.add_force("motor", motor, parameters={"voltage": 0.0}, **where)
    A = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, k / J, 0.0], [0.0, -k / L, -R / L, 1.0 / L], [0.0] * 4])
    T = 0.1
    y = expm(A * T) @ np.array([0.0, 0.0, 0.0, U])
    yd = A @ y
    exact = {"z": y[0], "zd": y[1], "zdd": yd[1], "s": y[2:3], "sd": yd[2:3]}

    def switch_on(sim):
        sim.inputs["motor.voltage"] = U

    order, error = order_of(model.compile(), T, exact, prepare=switch_on)
    assert order > 1.9
    assert error < 5e-4


def test_an_input_that_jumps_moves_the_rate_of_a_state_at_once():
    model = rtmbs.Model("lag", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), "ground", body)
    law = {"parameters": {"wanted": 0.0}, "states": {"x": 0.0}}
    model.add_force("lag", lambda t, k, p, s: (0.0 * k.z, (p["wanted"] - s["x"]) / 0.05), joint="pin", **law)
    system, errors = model.compile(), []
    for h in STEPS:
        sim = Simulation(system, h)
        sim.run(0.04)
        sim.inputs["lag.wanted"] = 3.0
        assert sim.state.sd[0] == pytest.approx(60.0)
        sim.run(0.16)
        errors.append(abs(sim.state.s[0] - 3.0 * (1.0 - np.exp(-0.12 / 0.05))))
    assert np.log2(errors[1] / errors[2]) > 1.95


# ----------------------------------------------------------------------------------------------------------- cart-pole


M, m, LENGTH, G = 1.0, 0.2, 0.5, 9.81
GAINS = {"kp": 60.0, "ki": 40.0, "kd": 9.0, "filter": 0.01, "kx": 2.0, "kv": 3.0}


def controller(t, kinematics, parameters, states):
    """Hold the pole upright by PID of its angle, derivative filtered, and bring the cart back slowly."""
    x, angle = kinematics.z
    p = parameters
    slope = (angle - states["angle"]) / p["filter"]
    force = p["kp"] * angle + p["ki"] * states["integral"] + p["kd"] * slope + p["kx"] * x + p["kv"] * kinematics.zd[0]
    return np.array([force, 0.0]), np.array([angle, slope])


def cart_pole():
    model = rtmbs.Model("cart-pole", gravity=(0.0, 0.0, -G))
    cart = model.add_body("cart", mass=M, inertia=(1.0, 1.0, 1.0))
    bob = model.add_body("bob", mass=m, inertia=(0.0, 0.0, 0.0), center_of_mass=(0.0, 0.0, LENGTH))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", cart)
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), cart, bob)
    states = {"integral": 0.0, "angle": 0.15}
    model.add_force("pid", controller, joints=["rail", "pin"], parameters=GAINS, states=states)
    model.set_initial("pin", position=0.15)
    return model.compile()


def by_hand(t, y):
    """The same cart-pole, written down apart: x, angle, their rates, integral and filtered angle."""
    x, a, v, w, integral, held = y
    slope = (a - held) / GAINS["filter"]
    F = GAINS["kp"] * a + GAINS["ki"] * integral + GAINS["kd"] * slope + GAINS["kx"] * x + GAINS["kv"] * v
    A = np.array([[M + m, m * LENGTH * np.cos(a)], [m * LENGTH * np.cos(a), m * LENGTH**2]])
    b = np.array([F + m * LENGTH * w * w * np.sin(a), m * G * LENGTH * np.sin(a)])
    acc = np.linalg.solve(A, b)
    return np.array([v, w, *acc, a, slope])


def test_a_controller_of_a_cart_pole_at_order_two():
    system, T = cart_pole(), 0.5
    y = solve_ivp(by_hand, (0.0, T), (0.0, 0.15, 0.0, 0.0, 0.0, 0.15), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    yd = by_hand(T, y)
    exact = {"z": y[:2], "zd": y[2:4], "zdd": yd[2:4], "s": y[4:], "sd": yd[4:]}
    order, error = order_of(system, T, exact, steps=(1e-3, 5e-4, 2.5e-4))
    assert order > 1.85
    assert error < 5e-4


def test_the_controller_holds_the_pole_up():
    result = Simulation(cart_pole(), 2e-3).run(6.0)
    assert abs(result["pin.angle"][0]) == pytest.approx(0.15)
    assert np.abs(result["pin.angle"][-500:]).max() < 0.02
    assert np.abs(result["pid.integral"]).max() > 1e-3


# ---------------------------------------------------------------------------------------------------------------- stiff


def test_a_stiff_state_stays_stable():
    """A time constant of 1 us in steps of 5 ms: the state rings at most, and the motion is that of no lag."""

    def late(t, kinematics, parameters, states):
        return states["late"], (-50.0 * kinematics.z - 2.0 * kinematics.zd - states["late"]) / 1e-6

    def prompt(t, kinematics, parameters):
        return -50.0 * kinematics.z - 2.0 * kinematics.zd

    h, T = 5e-3, 5.0
    one = Simulation(slider(late, position=0.1, states={"late": -5.0}), h).run(T)
    other = Simulation(slider(prompt, position=0.1), h).run(T)
    assert np.abs(one["rail.displacement"] - other["rail.displacement"]).max() < 1e-3
    assert one.outcomes == {"CONVERGED": round(T / h)}


@pytest.mark.parametrize("method", [rtmbs.RungeKutta(), rtmbs.AdamsBashforth()], ids=["RungeKutta", "AdamsBashforth"])
def test_explicit_methods_integrate_states_too(method):
    A = np.array([[0.0, 1.0, 0.0], [-(K + K2) / MASS, 0.0, K2 / MASS], [K2 / C, 0.0, -K2 / C]])
    exact, system = linear_answer(A, (0.1, 0.0, 0.0), 0.4), slider(maxwell, MASS, 0.1, states={"way": 0.0})
    errors = []
    for h in STEPS[1:]:
        sim = Simulation(system, h, method)
        sim.run(0.4)
        errors.append(max(abs(float(np.ravel(getattr(sim.state, q))[0] - np.ravel(exact[q])[0])) for q in QUANTITIES))
    assert np.log2(errors[0] / errors[1]) > method.order - 0.2
