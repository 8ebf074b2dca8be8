"""The slider-crank of Bae and Haug's paper: universal, spherical and prismatic joint, cut in the spherical one.

The paper gives the joints, the torque 0.01 exp(-t) N m and the output steps, and no sizes: bodies, sizes and rate at
the start are those of ``library.slider_crank``. The method of time is BDF of variable order, as in the paper.
"""

import math
import time
from typing import Any

import numpy as np

import rtmbs
from bench.recursion.pinning import pin
from rtmbs.dae import SolveIVP, integrate, run_bdf
from rtmbs.formulations import Baumgarte, JointCoordinates, Recursive
from rtmbs.recursive.motion import launch, run

SPANS = (1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0)  # [s] simulated
OUTPUT = (0.01, 0.001)  # [s]
PAPER = {(60.0, 0.01): (4.768, 6.951), (60.0, 0.001): (11.180, 16.336)}  # [s] on one and two processors
RTOL, ATOL = 1e-8, 1e-10  # of the table
EXACT = {"rtol": 1e-12, "atol": 1e-14}  # of the solution that is held against the Simulation
GAINS = 10.0, 10.0  # [1/s]
SMALL = 1.25e-4  # [s] largest step of the Simulation that the solution is held against


def model() -> rtmbs.Model:
    """Return the mechanism."""
    found = rtmbs.library.build("slider_crank")
    found.add_force("torque", rtmbs.Motor(lambda t: 0.01 * math.exp(-t)), joint="pivot")
    return found


def of_ranks(output: float) -> dict[str, Any]:
    """Return times of a run to the longest span, by span, on the ranks that this process belongs to."""

    def work(exchange: Any) -> dict[str, Any]:
        pin(exchange.rank)
        system, q, v = start()
        compiled = system.equations.compiled
        run_bdf(compiled, q, v, np.array([0.0, 0.05]), exchange, *GAINS, RTOL, ATOL)  # code is loaded
        every = round(1.0 / output)
        times, marks = np.arange(round(SPANS[-1]) * every + 1) * output, [round(span) * every for span in SPANS]
        wall, processor = {}, {}
        begun = time.perf_counter(), time.process_time()

        def watch(k: int) -> None:
            if k in marks:
                name = f"{times[k]:g}"
                wall[name], processor[name] = time.perf_counter() - begun[0], time.process_time() - begun[1]

        found = run_bdf(compiled, q, v, times, exchange, *GAINS, RTOL, ATOL, watch)
        return {"wall": wall, "processor": processor, "q": found.z[::every].tolist()}

    return dict(launch(work))


def of_formulation(span: float) -> Any:
    """Return the coordinates at whole seconds by ``formulations.Recursive`` with Baumgarte's gains, at EXACT."""
    system, q, v = start()
    method = SolveIVP("DOP853", Baumgarte(*GAINS, within=Recursive()), **EXACT)
    return integrate(system, method, q, v, span, 1.0).q


def of_steps(span: float, h: float = SMALL) -> list[Any]:
    """Return the coordinates at whole seconds by steps of ``h`` [s] on the ranks that this process belongs to."""

    def work(exchange: Any) -> list[Any]:
        pin(exchange.rank)
        system, q, v = start()
        times = np.arange(0.0, span + 0.5)
        found = run(system.equations.compiled, q, v, times, h, exchange, *GAINS)
        return list(found.z.tolist())

    return list(launch(work))


def start() -> tuple[JointCoordinates, Any, Any]:
    """Return the system and its state at the start."""
    compiled = model().compile()
    state = rtmbs.Simulation(compiled, h=1e-3).state
    return JointCoordinates(compiled), state.z, state.zd


def reference(span: float) -> Any:
    """Return the coordinates at whole seconds by the Simulation, from runs of small steps."""
    found = rtmbs.refined(model().compile(), SMALL, span, runs=4)
    return np.array(found.samples.z)[:: round(1.0 / SMALL)]
