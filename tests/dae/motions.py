"""Starts and references for tests of methods of time."""

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

from rtmbs.dae import METHODS, PenaltyTrapezoidal, SolveIVP, integrate
from rtmbs.formulations import Partitioning, consistent_state
from tests.formulations.systems import system_of

T_END = 0.4  # [s]
SAMPLES = 20
FIELDS = ("q", "v", "a", "lam")
FUNCTIONS = ("pendulum in x, y", "slider-crank in bodies")
JOINTS = ("four-bar in joints", "slider-crank in joints")


def slider_crank_start():
    crank, rod = 0.7, -np.arcsin(0.2 * np.sin(0.7) / 0.6)
    x, y = 0.2 * np.cos(crank), 0.2 * np.sin(crank)
    half = 0.3 * np.cos(rod), 0.3 * np.sin(rod)
    return np.array([crank, x + half[0], y + half[1], rod, x + 2 * half[0]]), np.array([2.0, 0.0, 0.0, 0.0, 0.0])


@cache
def start_of(where):
    """Return the system and a consistent start."""
    system = system_of(where)
    if where == "pendulum in x, y":
        q, v = np.array([0.6, -0.8]), np.array([2.4, 1.8])
    elif where == "slider-crank in bodies":
        q, v = slider_crank_start()
    else:
        fast = 30.0 if where == "four-bar in joints" else 1.0  # 0.1 rad/s in the library
        q, v = system.equations.compiled.z0, fast * system.equations.compiled.zd0
    return system, *consistent_state(system, q, v, 0.0)


@cache
def reference(where):
    """Return the motion by DOP853 on the independent coordinates."""
    system, q, v = start_of(where)
    return integrate(system, SolveIVP("DOP853", Partitioning(), rtol=1e-13, atol=1e-14), q, v, T_END, T_END / SAMPLES)


def motions_for(method):
    """Return the names of the two motions that a method is measured on."""
    return JOINTS if isinstance(method, PenaltyTrapezoidal) else FUNCTIONS


def errors(method, where, steps):
    """Return the errors of q, v, a and lam (4,), root mean squares of the second half: a start no longer shows."""
    system, q, v = start_of(where)
    found, right = integrate(system, method, q, v, T_END, T_END / steps), reference(where)
    late = slice(SAMPLES // 2, None)
    return np.array([norm((getattr(found, name)[:: steps // SAMPLES] - getattr(right, name))[late]) for name in FIELDS])


def norm(x):
    return float(np.sqrt(np.mean(np.sum(x**2, axis=1))))


def slopes(method, where, steps):
    """Return the least-squares slopes (4,) of log error over log h, and the errors."""
    found = np.array([errors(method, where, n) for n in steps])
    return np.array([np.polyfit(-np.log(steps), np.log(found[:, i]), 1)[0] for i in range(4)]), found


def made(name, **options):
    """Return a method, or skip where its package is not installed."""
    skip_without(name)
    return METHODS[name](**options)


def skip_without(name):
    """Skip a method whose package is not installed."""
    if name in ("cvode", "ida") and find_spec("sksundae") is None:
        pytest.skip("scikit-sundae is not installed")
