"""Compile every kernel ahead: a few small mechanisms that together meet every element take a step each."""

import time
from typing import Any

from tqdm import tqdm

from rtmbs import library

# A mechanism and its options; together they hold every kind of step, closure row, force and driver.
MECHANISMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fourbar", {"ny": 1, "nz": 1}),
    ("top", {}),
    ("slider_crank", {}),
    ("governor", {}),
    ("driven_fourbar", {}),
)
JACOBIANS = ("structured", "finite-difference")
STEP = 1e-3  # [s]


def compile_kernels() -> float:
    """Take one step of every mechanism with a progress bar on a terminal; return the seconds it took."""
    start = time.perf_counter()
    runs = [(name, options, jacobian) for jacobian in JACOBIANS for name, options in MECHANISMS]
    with tqdm(runs, desc="compiling kernels, first time only", unit="run", disable=None, leave=False) as bar:
        for name, options, jacobian in bar:
            bar.set_postfix_str(f"{name}, {jacobian}")
            step_once(name, options, jacobian)
    return time.perf_counter() - start


def step_once(name: str, options: dict[str, Any], jacobian: str) -> None:
    """Build a mechanism, step it once and look at its energy."""
    from rtmbs.bench.watch import energy
    from rtmbs.simulation import Simulation

    sim = Simulation(library.build(name, **options).compile(), h=STEP, jacobian=jacobian)
    sim.step()
    energy(sim)
