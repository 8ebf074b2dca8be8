"""Compile every kernel ahead: a few small mechanisms that together meet every element take a step each."""

import time
from typing import Any

from tqdm import tqdm

from rtmbs import library
from rtmbs.bench.watch import energy
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


def compile_kernels() -> float:
    """Take one step of every mechanism with a progress bar on a terminal; return the seconds it took."""
    start = time.perf_counter()
    runs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [(name, options, {}) for name, options in MECHANISMS]
    runs += [(*MECHANISMS[0], {"jacobian": jacobian}) for jacobian in source_names()]
    runs += [(*MECHANISMS[0], {"fused": False})]
    with tqdm(runs, desc="compiling kernels, first time only", unit="run", disable=None, leave=False) as bar:
        for name, options, settings in bar:
            bar.set_postfix_str(" ".join([name, *map(str, settings.values())]))
            step_once(name, options, settings)
    return time.perf_counter() - start


def step_once(name: str, options: dict[str, Any], settings: dict[str, Any]) -> None:
    """Build a mechanism, step it once, look at its energy and at every channel of its result."""
    sim = Simulation(library.build(name, **options).compile(), h=STEP, **settings)
    result = sim.run(STEP)
    energy(sim)
    for channel in result.names():
        result.read(channel)
