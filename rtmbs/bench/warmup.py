"""Compile every kernel ahead: a few small mechanisms that together meet every element take a step each."""

import time
from typing import Any

from rtmbs import library
from rtmbs.compiling import EVERYTHING, announced
from rtmbs.observers import EnergyMeter
from rtmbs.semirecursive.sources import source_names
from rtmbs.simulation import Simulation

# A mechanism and its options; together they hold every kind of step, closure row, force and driver.
MECHANISMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fourbar", {"ny": 1, "nz": 1}),
    ("top", {}),
    ("slider_crank", {}),
    ("governor", {}),
    ("driven_fourbar", {}),
)
STEP = 1e-3  # [s]


def compile_kernels() -> tuple[int, float]:
    """Take one step of every mechanism and by every source of K and C.

    Returns the number of compilations, zero when the cache had them all, and the seconds it took.
    """
    start = time.perf_counter()
    with announced(EVERYTHING) as compilations:
        for name, options in MECHANISMS:
            step_once(name, options)
        for jacobian in source_names():
            step_once(*MECHANISMS[0], jacobian=jacobian)
        step_once(*MECHANISMS[0], fused=False)
    return compilations.count, time.perf_counter() - start


def step_once(name: str, options: dict[str, Any], **settings: Any) -> None:
    """Build a mechanism, step it once, ask for its energy in both ways and for every channel of its result."""
    sim = Simulation(library.build(name, **options).compile(), h=STEP, **settings)
    result = sim.run(STEP, observers=[EnergyMeter()])
    sim.equations.energies(sim.state.z, sim.state.zd, sim.state.R0)
    for channel in result.names():
        result.read(channel)
