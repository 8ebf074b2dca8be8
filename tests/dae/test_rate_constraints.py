"""Nonholonomic constraints in every method and formulation: Chaplygin's sleigh and a rolling disc in closed form."""

from functools import cache

import numpy as np
import pytest

from rtmbs.dae import (
    CVODE,
    GILL,
    HHT,
    IDA,
    ODAE,
    AdamsBashforthMoulton,
    GeneralisedAlpha,
    HalfExplicit,
    Index3Lagrangian,
    MotionError,
    RadauGGL,
    RungeKutta,
    SolveIVP,
    TangentSpace,
    integrate,
)
from rtmbs.dae.contract import Orders, Point
from rtmbs.dae.method import DAEMethod
from rtmbs.errors import InputError
from rtmbs.formulations import (
    FORMULATIONS,
    QR,
    FormulationError,
    FunctionSystem,
    Partitioning,
    check_system,
    consistent_state,
)
from rtmbs.formulations.contract import SystemWrapper
from tests.cases import spread
from tests.dae.motions import skip_without

SPAN = 1.5  # [s]
MASS, AHEAD, INERTIA = 1.3, 0.4, 0.3  # of the sleigh: its mass centre lies ahead of the edge
RADIUS, GRAVITY = 0.5, 9.81  # of the disc, of mass 1
LEAN, TURN = 0.4, 2.5  # [rad], [rad/s] of the steady motion of the disc

FIXED = {  # by formulations, and by Newton's method over the rows themselves
    **{f"gill, {name}": (lambda name=name: RungeKutta(GILL, FORMULATIONS[name]())) for name in FORMULATIONS},
    "adams": lambda: AdamsBashforthMoulton(4, Partitioning()),
    "half-explicit": HalfExplicit,
    "radau": RadauGGL,
    "odae": lambda: ODAE(3),
    "index 3": Index3Lagrangian,
    "generalised alpha": GeneralisedAlpha,
    "hht": HHT,
    "tangent space, bdf": lambda: TangentSpace("bdf", 3),
    "tangent space, adams": TangentSpace,
}
ADAPTIVE = {
    "DOP853": lambda: SolveIVP("DOP853", QR(), 1e-9, 1e-9),
    "Radau": lambda: SolveIVP("Radau", Partitioning(), 1e-9, 1e-9),
    "LSODA": lambda: SolveIVP("LSODA", QR(), 1e-9, 1e-9),
    "cvode": lambda: CVODE("bdf", Partitioning(), rtol=1e-9, atol=1e-9),
    "ida": lambda: IDA(rtol=1e-9, atol=1e-9),
}


def sleigh():
    """Return the system in x, y of the edge and its angle, its start, and (angle, rate along, rate of turning)."""

    def mass(q, t):
        s, c = MASS * AHEAD * np.sin(q[2]), MASS * AHEAD * np.cos(q[2])
        return [[MASS, 0.0, -s], [0.0, MASS, c], [-s, c, INERTIA + MASS * AHEAD**2]]

    def force(q, v, t):
        pull = MASS * AHEAD * v[2] ** 2
        return np.array([pull * np.cos(q[2]), pull * np.sin(q[2]), 0.0])

    system = FunctionSystem(
        3,
        0,
        lambda q, t: np.array(mass(q, t)),
        force,
        lambda q, t: [],
        rate_constraints=lambda q, v, t: [np.sin(q[2]) * v[0] - np.cos(q[2]) * v[1]],
        rate_rows=1,
        rate_row_names=["edge"],
    )
    u, w = 0.3, 1.8
    k = np.sqrt(INERTIA / MASS + AHEAD**2)
    speed = np.hypot(u, k * w)  # the kinetic energy stays
    first = np.arctanh(u / speed)
    tau = AHEAD * speed * SPAN / k**2 + first

    def turned(x):
        return 2.0 * np.arctan(np.tanh(0.5 * x))

    wanted = k / AHEAD * (turned(tau) - turned(first)), speed * np.tanh(tau), speed / k / np.cosh(tau)
    return system, np.zeros(3), np.array([u, 0.0, w]), wanted


def along(found):
    """Return angle, rate along the edge and rate of turning at the end."""
    q, v = found.q[-1], found.v[-1]
    return np.array([q[2], v[0] * np.cos(q[2]) + v[1] * np.sin(q[2]), v[2]])


@cache
def disc():
    """Return a disc that rolls on a plane, in x, y, z, heading, lean and spin, its start, and q on its circle."""
    across, axial = 0.25 * RADIUS**2, 0.5 * RADIUS**2

    def mass(q, t):
        c, s = np.cos(q[4]), np.sin(q[4])
        M = np.diag([1.0, 1.0, 1.0, across * c * c + axial * s * s, across, axial])
        M[3, 5] = M[5, 3] = axial * s
        return M

    def force(q, v, t):
        c, s, w = np.cos(q[4]), np.sin(q[4]), v[5] + v[3] * np.sin(q[4])
        heading = v[4] * c * (2.0 * across * v[3] * s - axial * v[3] * s - axial * w)
        lean = v[3] * c * (axial * w - across * v[3] * s)
        return np.array([0.0, 0.0, -GRAVITY, heading, lean, -axial * v[3] * c * v[4]])

    def rolling(q, v, t):
        c, s = np.cos(q[3]), np.sin(q[3])
        return [
            v[0] * c + v[1] * s - RADIUS * (v[5] + v[3] * np.sin(q[4])),
            v[1] * c - v[0] * s + RADIUS * v[4] * np.cos(q[4]),
        ]

    system = FunctionSystem(
        6,
        1,
        mass,
        force,
        lambda q, t: [q[2] - RADIUS * np.cos(q[4])],
        rate_constraints=rolling,
        rate_rows=2,
        row_names=["height"],
        rate_row_names=["along", "across"],
    )
    c, s = np.cos(LEAN), np.sin(LEAN)
    spin = (across * TURN**2 * c * s - GRAVITY * RADIUS * s) / ((axial + RADIUS**2) * TURN * c)
    q = np.array([0.0, 0.0, RADIUS * c, 0.0, LEAN, 0.0])
    v = np.array([RADIUS * spin, 0.0, 0.0, TURN, 0.0, spin - TURN * s])
    angle, size = TURN * SPAN, RADIUS * spin / TURN
    wanted = [size * np.sin(angle), size * (1.0 - np.cos(angle)), q[2], angle, LEAN, v[5] * SPAN]
    return system, q, v, np.array(wanted)


@pytest.mark.parametrize("name", spread(FIXED, 8))
def test_the_sleigh_has_the_order_of_the_method(name):
    system, q, v, wanted = sleigh()
    method = FIXED[name]()
    steps = (60, 120) if method.orders.q < 5 else (10, 20)
    coarse, fine = (np.abs(along(integrate(system, method, q, v, SPAN, SPAN / n)) - wanted).max() for n in steps)
    assert fine < 2e-3
    assert np.log2(coarse / fine) > method.orders.q - 0.45


@pytest.mark.parametrize("name", spread(FIXED, 3))
def test_the_disc_rolls_on_its_circle(name):
    system, q, v, wanted = disc()
    method = FIXED[name]()
    steps = (60, 120) if method.orders.q < 5 else (15, 30)
    found = [integrate(system, method, q, v, SPAN, SPAN / n) for n in steps]
    coarse, fine = (np.abs(one.q[-1] - wanted).max() for one in found)
    assert fine < 5e-3
    assert np.log2(coarse / fine) > method.orders.q - 0.45
    np.testing.assert_allclose(found[1].lam[-1][0], -GRAVITY, atol=0.1)  # the plane carries the disc


@pytest.mark.parametrize("name", ADAPTIVE)
def test_solvers_with_steps_of_their_own(name):
    if name in ("cvode", "ida"):
        skip_without(name)
    system, q, v, wanted = sleigh()
    assert np.abs(along(integrate(system, ADAPTIVE[name](), q, v, SPAN, 0.1)) - wanted).max() < 1e-6
    system, q, v, wanted = disc()
    assert np.abs(integrate(system, ADAPTIVE[name](), q, v, SPAN, 0.1).q[-1] - wanted).max() < 3e-6


def test_the_systems_are_right_and_consistent():
    for system, q, v, _ in (sleigh(), disc()):
        check_system(system, q, v, 0.0)
        near = consistent_state(system, q + 1e-3, v + 1e-2, 0.0)
        assert np.abs(system.rate_constraints(*near, 0.0)).max() < 1e-12
        assert np.abs(system.constraints(near[0], 0.0)).max(initial=0.0) < 1e-12


def test_a_start_that_slips_is_refused_by_name():
    system, q, v, _ = sleigh()
    with pytest.raises(FormulationError, match=r"row 0 \(edge\) of Phid is violated"):
        integrate(system, RadauGGL(), q, v + np.array([0.0, 0.5, 0.0]), 1.0, 0.1)


class OwnRates(SystemWrapper):
    """A system of the user with Psi = k v0^2 - v1, and A = (0, -1)."""

    rate_rows = 1

    def __init__(self, k):
        self.system, self.k = FunctionSystem(2, 0, lambda q, t: np.eye(2), lambda q, v, t: 0.0 * v, lambda q, t: []), k

    def rate_constraints(self, q, v, t):
        return np.array([self.k * v[0] ** 2 - v[1]])

    def rate_constraint_jacobian(self, q, t):
        return np.array([[0.0, -1.0]])

    def rate_constraint_terms(self, q, v, t):
        return np.zeros(1)


@pytest.mark.parametrize("rate", [1e-6, 1.0, 1e6])
def test_rows_that_are_not_linear_in_the_rates_are_refused(rate):
    with pytest.raises(FormulationError, match=r"row 0 .*of rate_constraint_jacobian is off by"):
        check_system(OwnRates(0.1 / rate), np.zeros(2), np.array([rate, 0.1 * rate]), 0.0)


def test_a_method_of_the_user_that_slips_is_stopped():
    class Free(DAEMethod):
        redundant, orders = True, Orders(1, 1, 1, 1)

        def points(self, motion, times):
            yield from (Point(t, motion.q, motion.v + t, np.zeros(3), np.zeros(1)) for t in times)

    system, q, v, _ = sleigh()
    with pytest.raises(MotionError, match=r"rate constraint row 0 \(edge\) is left at .*Free does not hold it"):
        integrate(system, Free(), q, v, 1.0, 0.1)


@pytest.mark.parametrize("change", [{"rate_rows": 2}, {"rate_rows": -1}, {"rate_constraints": None}])
def test_wrong_rows_are_refused(change):
    given = {"rate_constraints": lambda q, v, t: [v[0]], "rate_rows": 1, **change}
    with pytest.raises(InputError, match="rate_"):
        FunctionSystem(2, 0, lambda q, t: np.eye(2), lambda q, v, t: np.zeros(2), lambda q, t: [], **given)


BENT = {  # conditions on rates that are no A v + b
    "v0^2 = v1": lambda q, v, t: [v[0] ** 2 - v[1]],
    "a speed": lambda q, v, t: [v[0] ** 2 + v[1] ** 2 - 1.0],
    "a length": lambda q, v, t, xp=np: [xp.sqrt(v[0] ** 2 + v[1] ** 2) - 1.0],
    "small": lambda q, v, t: [1e-9 * v[0] ** 2 - v[1]],
    "flat at the origin": lambda q, v, t: [v[1] - q[0] * v[0] ** 3],
    "at later times": lambda q, v, t: [v[1] - t * v[0] * v[1]],
    "overflowing": lambda q, v, t, xp=np: [v[1] - xp.exp(v[0])],
    "one-sided": lambda q, v, t, xp=np: [v[1] - xp.abs(v[0])],
}
STRAIGHT = {
    "rounding": lambda q, v, t: [(v[0] + 1.0) ** 2 - v[0] ** 2 - v[1] + 1e6 * (v[0] - v[1])],
    "pole": lambda q, v, t: [v[0] / q[0] + v[1]],
    "turning": lambda q, v, t, xp=np: [v[0] * xp.sin(q[1]) - v[1] * xp.cos(q[1]) * 1e-9 + xp.sin(t)],
}


def of_rates(psi):
    return FunctionSystem(
        2, 0, lambda q, t: np.eye(2), lambda q, v, t: np.array([0.3, -1.0]), lambda q, t: [], rate_constraints=psi,
        rate_rows=1, rate_row_names=["way"],
    )  # fmt: skip


@pytest.mark.parametrize("name", BENT)
def test_rate_constraints_that_are_not_linear_are_refused_by_name(name):
    """They were linearised at v = 0 without a word, and the motion was another one."""
    system = of_rates(BENT[name])
    q, v = np.zeros(2), np.array([1.0, 1.0])
    says = r"^row 0 \(way\) of rate_constraints\(q, v, t\) is not linear in v: its derivative by v\[\d\] changes"
    for call in (
        lambda: integrate(system, RadauGGL(rtol=1e-8), q, v, 1.0, 0.1),
        lambda: consistent_state(system, q, v, 0.0),
        lambda: check_system(system, q, v, 0.0),
        lambda: system.rate_constraint_jacobian(q, 0.0),
    ):
        with pytest.raises(FormulationError, match=says):
            call()


@pytest.mark.parametrize("name", STRAIGHT)
def test_linear_rate_constraints_are_taken_whatever_their_sizes(name):
    with np.errstate(all="ignore"):
        of_rates(STRAIGHT[name]).rate_constraint_jacobian(np.zeros(2), 0.0)
