"""The multiple four-bar as a chain of n_z links: couplers translate, so all rods of a storey share one angle.

With r = n_y + 1 rods, c = n_y couplers and s = r + c the mass of a storey, N storeys, bars of 1 m and 1 kg:

    W_kk = r (1/4 + I) + c + (N - k) s      W_kl = r/2 + c + (N - max(k, l)) s   (k != l, both 1 .. N)
    G_k  = (r/2 + c + (N - k) s) g
    sum_l W_kl cos(th_k - th_l) th_l'' = - sum_l W_kl sin(th_k - th_l) th_l'^2 - G_k sin(th_k)
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.library.references.motion import BAR_MOMENT, GRAVITY, Array, Motion, integrate


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
