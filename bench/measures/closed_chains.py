"""Own equations of the closed chain and of the slider-crank of the documents, in headings and in the crank angle."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]

GAIN, GRAVITY = 20.0, 9.81  # Baumgarte's gains [1/s]; [m/s^2]


class OwnChain:
    """The loop of ``library.loop``: k - 1 bars of 1 m and 1 kg, closed by ground, in absolute headings."""

    def __init__(self, k: int) -> None:
        n = k - 1
        self.start = np.pi + 2.0 * np.pi * np.arange(1, k) / k
        reach = np.tri(n, n, -1) + 0.5 * np.eye(n)  # of the mass centre of a bar, in bars
        self.W = reach.T @ reach
        self.heavy = reach.sum(axis=0)

    def accelerations(self, heading: Array, rate: Array) -> Array:
        """Return the second derivatives (n,) by the augmented system with multipliers."""
        apart, n = heading[:, None] - heading[None, :], len(heading)
        M = self.W * np.cos(apart) + np.eye(n) / 12.0
        f = -(self.W * np.sin(apart)) @ (rate * rate) - GRAVITY * self.heavy * np.cos(heading)
        J = np.stack((-np.sin(heading), np.cos(heading)))
        gap = np.array((np.cos(heading).sum() - 1.0, np.sin(heading).sum()))
        wanted = np.array(((np.cos(heading) * rate**2).sum(), (np.sin(heading) * rate**2).sum()))
        wanted -= 2.0 * GAIN * J @ rate + GAIN**2 * gap
        A = np.block([[M, J.T], [J, np.zeros((2, 2))]])
        return np.asarray(np.linalg.solve(A, np.concatenate((f, wanted)))[:n])

    def motion(self, span: float) -> Array:
        """Return how far every bar has turned (n,) after a span [s], from rest."""
        n = len(self.start)
        found = solve_ivp(
            lambda _, y: np.concatenate((y[n:], self.accelerations(y[:n], y[n:]))),
            (0.0, span), np.concatenate((self.start, np.zeros(n))), method="DOP853", rtol=1e-10, atol=1e-11,
        )  # fmt: skip
        return np.asarray(found.y[:n, -1] - self.start)


def crank_inertia(angle: complex) -> complex:
    """Return twice the kinetic energy over the squared rate of the slider-crank, by its geometry [kg m^2].

    The crank's pin stands at (Ty, Tz) from the slide; the rod of 0.3 m leads to the block at s. Bodies are those of
    ``library.slider_crank``.
    """
    Ty, Tz = 0.1 - 0.08 * np.sin(angle), 0.12 + 0.08 * np.cos(angle)
    ty, tz = -0.08 * np.cos(angle), -0.08 * np.sin(angle)
    s = np.sqrt(0.09 - Ty**2 - Tz**2)
    slide = -(Ty * ty + Tz * tz) / s
    along, turned = np.array((-s, Ty, Tz)) / 0.3, np.array((-slide, ty, tz)) / 0.3
    about = (Ty * tz - Tz * ty) / (Ty**2 + Tz**2)
    middle = np.array((slide, 0.0, 0.0)) + 0.15 * turned
    energy = 1e-4 + 2.0 * slide**2 + 0.5 * (middle**2).sum() + 4e-3 * (turned**2).sum()
    return complex(energy + 4e-4 * (about * along[0]) ** 2)


def crank_motion(times: Array) -> Array:
    """Return the crank angle at times [s] by the one equation of its energy, with the torque 0.01 exp(-t) N m."""

    def rates(t: float, y: Array) -> list[float]:
        angle, rate = y
        slope = crank_inertia(angle + 1e-30j).imag / 1e-30
        weight = 0.25 * GRAVITY * -0.08 * math.sin(angle)
        return [rate, (0.01 * math.exp(-t) - 0.5 * slope * rate**2 - weight) / crank_inertia(angle).real]

    found = solve_ivp(rates, (0.0, times[-1]), (0.0, 6.0), method="DOP853", rtol=1e-12, atol=1e-13, t_eval=times)
    return np.asarray(found.y[0])
