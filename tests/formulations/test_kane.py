"""Systems in generalised speeds against Newton's and Euler's equations that SciPy integrates."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtmbs.dae import HHT, HaugYen, RadauGGL, SolveIVP, integrate
from rtmbs.errors import InputError
from rtmbs.formulations import QR, FunctionSystem, KaneSystem, check_system, consistent_state

J, MASS, ARM = np.array([0.5, 0.7, 0.3]), 2.0, np.array([0.1, 0.05, 0.4])  # of the top, about its mass centre
TIP = np.diag(J) + MASS * (ARM @ ARM * np.eye(3) - np.outer(ARM, ARM))


def L(p):
    a, b, c, d = p
    return [[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]]


def pull(p):
    """Return the moment of the weight about the tip, in body axes."""
    a, b, c, d = p / np.linalg.norm(p)
    down = -np.array([2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d])
    return MASS * 9.81 * np.cross(ARM, down)


def top():
    """Return a heavy top: four Euler parameters and three body rates."""
    return KaneSystem(
        4, 3, 1,
        lambda p, u, t: [0.5 * sum(L(p)[i][j] * u[i] for i in range(3)) for j in range(4)],
        lambda p, t: TIP,
        lambda p, u, t: pull(p) - np.cross(u, TIP @ u),
        lambda p, t: [0.5 * (p[0] ** 2 + p[1] ** 2 + p[2] ** 2 + p[3] ** 2 - 1.0)],
    )  # fmt: skip


def euler(t, y):
    p, w = y[:4], y[4:]
    return np.concatenate((0.5 * np.array(L(p)).T @ w, np.linalg.solve(TIP, pull(p) - np.cross(w, TIP @ w))))


def sleigh():
    """Return Chaplygin's sleigh on a plane that accelerates along x: forward speed and turning, three coordinates."""
    m, a, inertia = 1.3, 0.4, 0.3
    return KaneSystem(
        3, 2, 0,
        lambda q, u, t, xp=np: [u[0] * xp.cos(q[2]) + 0.2 * t, u[0] * xp.sin(q[2]), u[1]],
        lambda q, t: np.diag([m, inertia + m * a * a]),
        lambda q, u, t: np.array([
            m * a * u[1] ** 2 - m * 0.2 * np.cos(q[2]), -m * a * u[0] * u[1] + m * a * 0.2 * np.sin(q[2])]),
        lambda q, t: [],
        nonholonomic=True,
    )  # fmt: skip


def own_sleigh(t, y):
    m, a, inertia = 1.3, 0.4, 0.3
    phi, u, w = y[2:]
    return [u * np.cos(phi) + 0.2 * t, u * np.sin(phi), w, a * w * w - 0.2 * np.cos(phi),
            (-m * a * u * w + m * a * 0.2 * np.sin(phi)) / (inertia + m * a * a)]  # fmt: skip


def reference(rates, y, t_end):
    return solve_ivp(rates, (0.0, t_end), y, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


SPIN, UPRIGHT = np.array([0.4, -0.3, 6.0]), np.array([np.cos(0.2), np.sin(0.2), 0.0, 0.0])


@pytest.mark.parametrize(
    ("method", "allowed"),
    [
        (SolveIVP("DOP853", QR(), 1e-10, 1e-12), 1e-8),
        (RadauGGL(rtol=1e-7, atol=1e-9), 1e-5),
        (HaugYen("adams", 4, rtol=1e-7, atol=1e-9), 1e-4),
        (HHT(rtol=1e-4, atol=1e-5), 1e-1),
    ],
)
def test_the_top_follows_eulers_equations(method, allowed):
    system, wanted = top(), reference(euler, np.concatenate((UPRIGHT, SPIN)), 0.5)
    start = system.coordinate_rates(UPRIGHT, SPIN, 0.0)
    found = integrate(system, method, UPRIGHT, start, 0.5, 0.25)
    assert np.abs(found.q[-1] - wanted[:4]).max() < allowed
    assert np.abs(system.speeds(found.q[-1], found.v[-1], 0.5) - wanted[4:]).max() < 10.0 * allowed
    assert found.violations[:, 0].max() < 1e-10


def test_the_first_order_form_is_the_same_motion():
    system, start = top(), np.concatenate((UPRIGHT, SPIN))
    np.testing.assert_allclose(system.state_rate(0.3, start), euler(0.3, start), rtol=1e-12, atol=1e-12)
    found = reference(system.state_rate, start, 0.2)
    np.testing.assert_allclose(found, reference(euler, start, 0.2), atol=1e-9)
    assert np.abs(system.invariants(0.2, found)).max() < 1e-9
    bent = start + np.array([0.1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(system.invariants(0.0, bent), [0.5 * (bent[:4] @ bent[:4] - 1.0), 0.0], atol=1e-14)


@pytest.mark.parametrize(("method", "allowed"), [(SolveIVP("DOP853", QR(), 1e-10, 1e-12), 1e-8),
                                                 (RadauGGL(rtol=1e-7, atol=1e-9), 1e-5)])  # fmt: skip
def test_fewer_speeds_than_freedoms_hold_the_rates(method, allowed):
    system, q, u = sleigh(), np.array([0.1, -0.2, 0.3]), np.array([0.4, 1.5])
    wanted = reference(own_sleigh, np.concatenate((q, u)), 0.5)
    found = integrate(system, method, q, system.coordinate_rates(q, u, 0.0), 0.5, 0.25)
    assert np.abs(found.q[-1] - wanted[:3]).max() < allowed
    assert np.abs(system.speeds(found.q[-1], found.v[-1], 0.5) - wanted[3:]).max() < 10.0 * allowed
    check_system(system, found.q[-1], found.v[-1], 0.5)


def test_constraints_are_those_of_the_coordinates():
    """A point on a circle, in polar speeds about a moving place."""
    system = KaneSystem(
        2, 2, 1, lambda q, u, t: [u[0] + q[1] * u[1], 2.0 * u[1] - q[0] * u[0]], lambda q, t: np.diag([2.0, 3.0]),
        lambda q, u, t: np.array([1.0, -9.0]), lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1.0 - t],
    )  # fmt: skip
    W = lambda q: np.array([[1.0, q[1]], [-q[0], 2.0]])  # noqa: E731
    q, v = consistent_state(system, np.array([0.6, 0.8]), np.array([0.3, 0.2]), 0.1)
    u = np.linalg.solve(W(q), v)
    Wd = np.array([[0.0, v[1]], [-v[0], 0.0]])
    rows = 2.0 * q @ W(q)
    saddle = np.block([[np.diag([2.0, 3.0]), rows[:, None]], [rows[None], np.zeros((1, 1))]])
    right = np.append([1.0, -9.0], -2.0 * v @ v - 2.0 * q @ Wd @ u)
    ud = np.linalg.solve(saddle, right)
    a, lam = QR(multipliers=True).accelerations(system, q, v, 0.1)
    np.testing.assert_allclose(a, W(q) @ ud[:2] + Wd @ u, atol=1e-12)
    np.testing.assert_allclose(lam, ud[2:], atol=1e-12)
    np.testing.assert_allclose(system.state_rate(0.1, np.concatenate((q, u))), [*v, *ud[:2]], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k": 0}, "k of a KaneSystem is 0; a whole number of speeds from 1 to n is wanted"),
        ({"k": 4}, "k of a KaneSystem is 4"),
        ({"rates": 1.0}, "rates of a KaneSystem is a float; a function is wanted"),
        ({"rates": lambda q, u, t: [u[0]]}, r"rates\(q, u, t\) returned an array \(1,\); \(3,\) is wanted"),
    ],
)
def test_bad_systems_are_refused(change, says):
    given = {"n": 3, "k": 2, "m": 0, "rates": lambda q, u, t: [u[0], u[1], 0.0 * q[0]], "mass": lambda q, t: np.eye(2),
             "force": lambda q, u, t: np.zeros(2), "constraints": lambda q, t: []}  # fmt: skip
    with pytest.raises(InputError, match=says):
        KaneSystem(**{**given, **change})


def test_dependent_speeds_are_told():
    system = KaneSystem(3, 2, 0, lambda q, u, t: [u[0] + u[1], u[0] + u[1], 0.0 * q[0]], lambda q, t: np.eye(2),
                        lambda q, u, t: np.zeros(2), lambda q, t: [], nonholonomic=True)  # fmt: skip
    assert isinstance(system, FunctionSystem)
    with pytest.raises(InputError, match=r"^speeds of rates.* are dependent at t = 0; independent ones are wanted"):
        system.rate_constraint_jacobian(np.zeros(3), 0.0)
