"""Mechanisms that campaigns about files, numbers and threads try their mischief on; each is compiled once."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np

import rtmbs
from rtmbs import Simulation, library
from rtmbs.simulation.options import by_name
from rtmbs.system import System


def rich() -> rtmbs.Model:
    """A loop with a ball, a driver, a rod, a spring, a motor with an input, a timed wrench and a law of its own."""
    model = library.build("crank_rocker")
    model.add_body("ball", mass=0.3, inertia=(2e-3, 3e-3, 4e-3), center_of_mass=(0.01, 0.02, 0.03))
    model.add_joint("socket", rtmbs.Spherical(), "ground", "ball", point=(3.0, 0.0, 0.0))
    model.add_body("slide", mass=0.7, inertia=(1e-2, 2e-2, 2e-2))
    model.add_joint("rail", rtmbs.Prismatic((0.6, 0.0, 0.8)), "ground", "slide")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.1)), joint="rail")
    model.add_force("wind", rtmbs.Wrench(force=rtmbs.Input((0, 0, 0))), body="ball", point=(0, 0, 0.1))
    model.add_force("law", lambda t, k, p: -p["k"] * k.z - p["c"] * k.zd, joint="rail", parameters={"k": 3.0, "c": 0.2})
    return model


def timed() -> rtmbs.Model:
    """A driven loop with functions of time."""
    model = library.build("driven_fourbar")
    model.add_force("motor", rtmbs.Motor(math.sin), joint="rocker_pivot")
    return model


MODELS = {
    "rich": rich,
    "timed": timed,
    "crank rocker": lambda: library.build("crank_rocker"),
    "top": lambda: library.build("top"),
    "two rows": lambda: library.build("fourbar", ny=2, nz=3),
}


@functools.cache
def system(name: str) -> System:
    """Return a compiled mechanism by name."""
    return MODELS[name]().compile()


def simulation(name: str, steps: int = 3, **options: Any) -> Simulation:
    """Return a new Simulation after a few steps."""
    sim = Simulation(system(name), **by_name(**{"h": 1e-3, **options}))
    for _ in range(steps):
        sim.step()
    return sim


def contents(state: Any) -> dict[str, Any]:
    """Return every field of a state, and what its method remembers, as something that compares by bytes."""
    compared = [f.name for f in dataclasses.fields(state) if f.name not in ("memory", "given", "before")]
    fields = {name: getattr(state, name) for name in compared} | state.memory
    fields |= {} if state.before is None else {f"before.{name}": one for name, one in state.before._asdict().items()}
    return {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
