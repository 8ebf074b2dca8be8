"""Motions side by side: channels of bodies, and what is left when the step goes to zero."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from rtmbs import Model, Result, Simulation

Array = NDArray[np.float64]
Motion = dict[str, Array]

VELOCITIES = ("position", "orientation", "velocity", "angular_velocity")
CHANNELS = (*VELOCITIES, "acceleration", "angular_acceleration")


def motion(model: Model, h: float, t_end: float, channels: Iterable[str] = CHANNELS, every: float = 0.01) -> Motion:
    """Return the channels of all bodies at multiples of ``every`` [s]."""
    result = Simulation(model.compile(), h).run(t_end)
    return seen(result, list(model.bodies)[1:], channels, round(every / h))


def seen(result: Result, bodies: Iterable[str], channels: Iterable[str], stride: int = 1) -> Motion:
    """Return the channels of some bodies, every ``stride`` samples."""
    return {f"{body}.{channel}": result[f"{body}.{channel}"][::stride] for body in bodies for channel in channels}


def limit(write: Callable[[], Model], h: float, t_end: float, channels: Iterable[str] = CHANNELS) -> Motion:
    """Return the motion without its error of order h^2 (Richardson, from h and h / 2)."""
    coarse, fine = (motion(write(), step, t_end, channels) for step in (h, h / 2.0))
    return {name: (4.0 * fine[name] - coarse[name]) / 3.0 for name in fine}


def apart(one: Motion, other: Motion) -> float:
    """Return the largest difference, each channel in its own size or one."""
    return max(
        float(np.max(np.abs(one[name] - other[name]))) / max(1.0, float(np.max(np.abs(one[name])))) for name in one
    )
