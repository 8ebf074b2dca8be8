"""Functions that workers import, and the sweeps that tests make of them."""

import math
import os
import signal
import time
from pathlib import Path

import numpy as np

import rtmbs
from rtmbs import library

MEASURE = {"peak": "largest arm.rate", "end": "last arm.angle"}


def pendulum(length=1.0, damping=0.1, kind="viscous"):
    """A bar on a pin with a torsion spring, released at one radian."""
    model = rtmbs.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    bar = model.add_body("bar", mass=1.0, center_of_mass=(0.0, 0.0, -length / 2), inertia=(length**2 / 12,) * 3)
    model.add_joint("arm", rtmbs.Revolute(axis=(1.0, 0.2, 0.1)), model.ground, bar, point=(0.0, 0.0, 0.0))
    model.add_force("spring", rtmbs.TorsionSpring(1.0, damping if kind == "viscous" else 0.0), joint="arm")
    model.set_initial("arm", position=1.0)
    return model


def fragile(length=1.0, damping=0.1):
    """The same, which cannot be made at a length of 3 m."""
    if length == 3.0:
        raise RuntimeError("three metres\nare too long")
    return pendulum(length, damping)


def deadly(length=1.0):
    """The same, which ends its process at 2 m, as the system does when memory is short."""
    if length == 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return pendulum(length)


def greedy(length=1.0):
    """The same, which asks for 3 GB at 2 m."""
    kept = np.ones(3 * 2**27) if length == 2.0 else None
    assert kept is None or kept.all()
    return pendulum(length)


def logged(length, log):
    """The same, slowly, with a line in a file: the length and the process."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{length} {os.getpid()}\n")
    time.sleep(0.02)
    return pendulum(length)


def ready(length=1.0):
    """A Simulation with options of its own."""
    return rtmbs.Simulation(pendulum(length).compile(), h=0.01, method=rtmbs.RungeKutta())


def measure(result):
    """Numbers of several kinds."""
    return {"samples": len(result), "peak": abs(result["arm.rate"]).max(), "end": result["arm.angle"][-1]}


def sizes(count):
    """Uneven lengths."""
    return [0.5 + 0.37 * math.sqrt(k) for k in range(count)]


def columns_bytes(table):
    """Every bit of a table."""
    return {name: table[name].tolist() if table[name].dtype == object else table[name].tobytes() for name in table}


def crank_rocker(rate):
    return library.build("crank_rocker", rate=rate)
