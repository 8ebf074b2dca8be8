"""Reference solutions of library mechanisms: reduced equations of motion integrated to 1e-12, and closed forms.

Nothing here uses the mechanics of rtmbs. Every function takes one time or an array of times [s]; SI units throughout.

The multiple four-bar is a chain of n_z links: couplers translate, so all rods of a storey share one angle.
With r = n_y + 1 rods, c = n_y couplers and s = r + c the mass of a storey, N storeys, bars of 1 m and 1 kg:

    W_kk = r (1/4 + I) + c + (N - k) s      W_kl = r/2 + c + (N - max(k, l)) s   (k != l, both 1 .. N)
    G_k  = (r/2 + c + (N - k) s) g
    sum_l W_kl cos(th_k - th_l) th_l'' = - sum_l W_kl sin(th_k - th_l) th_l'^2 - G_k sin(th_k)

Crank-rocker, driven four-bar and planar slider-crank have one angle. Plane vectors are pairs (y, z) that complex steps
pass through; the ratios of angular velocities follow from the closed vector loop r2 w2 + r3 w3 = r4 w4, crossed with r4
and with r3.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from rtmbs.library.benchmarks import TOP_CENTER, TOP_INERTIA, TOP_MASS, TOP_RATE
from rtmbs.library.linkages import LENGTHS, PROFILES, START

Array = NDArray[np.float64]

GRAVITY = 9.81  # [m/s^2]
BAR_MOMENT = 1.0 / 12.0  # [kg m^2] of a uniform bar of 1 m and 1 kg about its mass centre
TINY = 1e-30  # complex step
RTOL, ATOL = 1e-13, 1e-14
Pair = tuple[Any, Any]


class Motion(NamedTuple):
    """Coordinates and derivatives at given times: ``(n,)`` for one time, ``(times, n)`` for an array of times."""

    q: Array
    qd: Array
    qdd: Array


def integrate(acceleration: Callable[[Array, Array], Array], q: ArrayLike, qd: ArrayLike, times: ArrayLike) -> Motion:
    """Return the motion from q, q' at t = 0 at the given times >= 0 (Dormand and Prince, order 8)."""
    q, qd = np.atleast_1d(np.asarray(q, dtype=float)), np.atleast_1d(np.asarray(qd, dtype=float))
    n = len(q)

    def flow(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    rows = np.array(states(flow, np.concatenate([q, qd]), times))
    qdd = np.array([acceleration(row[:n], row[n:]) for row in rows])
    if np.ndim(times) == 0:
        return Motion(rows[0, :n], rows[0, n:], qdd[0])
    return Motion(rows[:, :n], rows[:, n:], qdd)


def states(flow: Callable[[float, Array], Array], y: Array, times: ArrayLike) -> list[Array]:
    """Integrate y' = flow(t, y) from t = 0 and return y at each of the times."""
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    found: dict[int, Array] = {}
    t = 0.0
    for k in np.argsort(wanted, kind="stable"):
        if wanted[k] > t:
            y = solve_ivp(flow, (t, wanted[k]), y, method="DOP853", rtol=RTOL, atol=ATOL).y[:, -1]
            t = wanted[k]
        found[int(k)] = y
    return [found[k] for k in range(len(wanted))]


def one_degree(inertia: Callable[[Any], Any], potential: Callable[[Any], Any]) -> Callable[[Array, Array], Array]:
    """Return the acceleration of T = 1/2 J(q) q'^2, V(q): q'' = -(V' + 1/2 J' q'^2) / J.

    Both functions are written in closed form and take complex numbers, so the derivatives are complex steps.
    """

    def acceleration(q: Array, qd: Array) -> Array:
        shifted = q + 1j * TINY
        slope = np.imag(inertia(shifted)) / TINY
        pull = np.imag(potential(shifted)) / TINY
        return np.asarray(-(pull + 0.5 * slope * qd**2) / np.real(inertia(q)))

    return acceleration


def pendulum(times: ArrayLike, angle: float = -math.pi / 2) -> Motion:
    """A01: angle of the bar of 1 m from the hanging pose [rad], released at rest; P = (sin, -cos)."""
    return integrate(lambda q, qd: -GRAVITY * np.sin(q), angle, 0.0, times)


def windows(n: int, times: ArrayLike, rate: float = -1.0) -> Motion:
    """A02: angle phi of the posts from +X [rad], from pi/2 at ``rate``; B0 = (cos phi, sin phi).

    phi'' = -g G cos(phi) / I with G = (N + 1) / 2 + N and I = (N + 1) / 3 + N.
    """
    load = (n + 1) * 0.5 + n
    inertia = (n + 1) * (0.25 + BAR_MOMENT) + n
    return integrate(lambda q, qd: -GRAVITY * load / inertia * np.cos(q), math.pi / 2, rate, times)


def windows_energy(n: int, phi: Array, phid: Array) -> Array:
    """A02: energy [J], zero at rest with horizontal posts."""
    load, inertia = (n + 1) * 0.5 + n, (n + 1) * (0.25 + BAR_MOMENT) + n
    return np.asarray(0.5 * inertia * phid**2 + load * GRAVITY * np.sin(phi))


class TopMotion(NamedTuple):
    """Motion of a top: ``(4,)`` and ``(3,)`` for one time, ``(times, 4)`` and ``(times, 3)`` for an array of times."""

    quaternion: Array  # (w, x, y, z), body to world
    omega: Array  # body axes [rad/s]


def top(times: ArrayLike) -> TopMotion:
    """Return the motion of ``rtmbs.library.build("top")``: I w' = m c x g - w x I w about the pivot, body axes."""
    center = np.array(TOP_CENTER)
    inertia = np.diag(TOP_INERTIA) + TOP_MASS * (center @ center * np.eye(3) - np.outer(center, center))

    def flow(_: float, y: Array) -> Array:
        (a, b, c, d), omega = y[:4], y[4:]
        p, q, r = omega
        turn = [-b * p - c * q - d * r, a * p + c * r - d * q, a * q + d * p - b * r, a * r + b * q - c * p]
        gravity = -GRAVITY * np.array([2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)])
        moment = TOP_MASS * np.cross(center, gravity) - np.cross(omega, inertia @ omega)
        return np.concatenate([0.5 * np.array(turn), np.linalg.solve(inertia, moment)])

    start = np.concatenate([[1.0, 0.0, 0.0, 0.0], TOP_RATE])
    rows = np.array(states(flow, start, times))
    if np.ndim(times) == 0:
        return TopMotion(rows[0, :4], rows[0, 4:])
    return TopMotion(rows[:, :4], rows[:, 4:])


def fourbar(
    ny: int,
    nz: int,
    times: ArrayLike,
    layout: str = "stacked",
    angle: float = math.radians(30.0),
    rate: float = 0.1,
) -> Motion:
    """Return the angles theta_1 .. theta_{n_z} of the rows from the vertical [rad] and their rates.

    All rods start at ``angle``, the first row at ``rate``, the others at rest. The rows of the parallel layout are
    independent frames of one storey.
    """
    start, rates = np.full(nz, angle), np.zeros(nz)
    rates[0] = rate
    if layout == "stacked":
        return integrate(Chain(ny, nz), start, rates, times)
    single = Chain(ny, 1)
    moving = integrate(single, angle, rate, times)
    resting = integrate(single, angle, 0.0, times)
    pairs = zip(moving, resting, strict=True)
    return Motion(*(np.concatenate([first, *[other] * (nz - 1)], axis=-1) for first, other in pairs))


class Chain:
    """The accelerations of the chain, by the equations above."""

    def __init__(self, ny: int, nz: int) -> None:
        rods, couplers = ny + 1, ny
        storey = rods + couplers
        below = nz - np.arange(1, nz + 1)
        self.weight = (0.5 * rods + couplers + below * storey) * GRAVITY
        self.W = 0.5 * rods + couplers + np.minimum.outer(below, below) * storey
        np.fill_diagonal(self.W, rods * (0.25 + BAR_MOMENT) + couplers + below * storey)

    def __call__(self, theta: Array, thetad: Array) -> Array:
        difference = theta[:, None] - theta[None, :]
        load = -(self.W * np.sin(difference)) @ thetad**2 - self.weight * np.sin(theta)
        return np.asarray(np.linalg.solve(self.W * np.cos(difference), load), dtype=float)


def crank_rocker(times: ArrayLike, angle: float = START, rate: float = 6.0) -> Motion:
    """Return the crank's angle from +Y about +X [rad] and its rates; free motion under gravity."""
    return integrate(one_degree(_fourbar_inertia, _fourbar_potential_energy), angle, rate, times)


def driven_rocker(times: ArrayLike, profile: str = "sine", angle: float = START) -> Array:
    """Return the rocker's angle from +Y about +X [rad] while the crank follows ``angle`` plus the profile."""
    moves = np.array([PROFILES[profile](float(t))[0] for t in np.atleast_1d(np.asarray(times, dtype=float))])
    c = _fourbar(angle + moves)[2]
    rocker = np.unwrap(np.arctan2(c[1], c[0] - LENGTHS.ground))
    return rocker if np.ndim(times) else rocker[0]


def planar_slider_crank(
    times: ArrayLike,
    crank: float = 0.3,
    rod: float = 1.0,
    slider_mass: float = 1.0,
    angle: float = math.radians(40.0),
    rate: float = 6.0,
) -> Motion:
    """Return the crank's angle from +Y about +X [rad] and its rates; the slider is at crank cos + sqrt(rod^2 - ...)."""

    def rates(q: Any) -> tuple[Any, Any]:
        """Rod rate and slider speed for a crank rate of 1."""
        cos_rod = np.sqrt(1.0 - (crank / rod * np.sin(q)) ** 2)
        turn = -crank * np.cos(q) / (rod * cos_rod)
        return turn, -crank * np.sin(q) + turn * crank * np.sin(q)

    def inertia(q: Any) -> Any:
        turn, speed = rates(q)
        # the rod's mass centre is half way between the pin and the slider, and so is its velocity
        vy, vz = 0.5 * (-crank * np.sin(q) + speed), 0.5 * crank * np.cos(q)
        moving_rod = rod * (vy**2 + vz**2) + rod**3 / 12.0 * turn**2
        return crank**3 / 3.0 + moving_rod + slider_mass * speed**2

    def potential(q: Any) -> Any:
        return GRAVITY * 0.5 * crank * np.sin(q) * (crank + rod)

    return integrate(one_degree(inertia, potential), angle, rate, times)


def _fourbar(q: Any) -> tuple[Pair, Pair, Pair]:
    """Return crank r2, coupler r3 and the position of the rocker's end for a crank angle q, complex or not."""
    by, bz = LENGTHS.crank * np.cos(q), LENGTHS.crank * np.sin(q)
    dy, dz = LENGTHS.ground - by, -bz
    gap = np.sqrt(dy * dy + dz * dz)
    along = (gap**2 + LENGTHS.coupler**2 - LENGTHS.rocker**2) / (2.0 * gap)
    across = np.sqrt(LENGTHS.coupler**2 - along**2)
    r3 = ((along * dy - across * dz) / gap, (along * dz + across * dy) / gap)
    return (by, bz), r3, (by + r3[0], bz + r3[1])


def _fourbar_inertia(q: Any) -> Any:
    r2, r3, c = _fourbar(q)
    r4 = (c[0] - LENGTHS.ground, c[1])
    w3 = -_cross(r2, r4) / _cross(r3, r4)
    w4 = _cross(r2, r3) / _cross(r4, r3)
    vy, vz = -r2[1] - 0.5 * w3 * r3[1], r2[0] + 0.5 * w3 * r3[0]
    coupler = LENGTHS.coupler * (vy**2 + vz**2) + LENGTHS.coupler**3 / 12.0 * w3**2
    return LENGTHS.crank**3 / 3.0 + coupler + LENGTHS.rocker**3 / 3.0 * w4**2


def _fourbar_potential_energy(q: Any) -> Any:
    (_, bz), _, (_, cz) = _fourbar(q)
    return GRAVITY * 0.5 * (LENGTHS.crank * bz + LENGTHS.coupler * (bz + cz) + LENGTHS.rocker * cz)


def _cross(a: Pair, b: Pair) -> Any:
    return a[0] * b[1] - a[1] * b[0]
