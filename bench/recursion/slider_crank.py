"""The slider-crank of Bae and Haug's paper: universal, spherical and prismatic joint, cut in the spherical one.

The paper gives the joints, the torque 0.01 exp(-t) N m and the output steps, and no sizes: bodies, sizes and rate at
the start are those of ``library.slider_crank``. The method of time is BDF of variable order, as in the paper.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import rtmbs
from bench.recursion.pinning import pin
from rtmbs.dae import CVODE, SolveIVP, integrate
from rtmbs.formulations import Baumgarte, JointCoordinates, Recursive
from rtmbs.recursive.motion import RankSteps, run
from rtmbs.recursive.ranks import launch

SPANS = (1.0, 5.0, 10.0, 30.0, 60.0)  # [s] simulated
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


@dataclass(frozen=True)
class Shared:
    """Accelerations by the parts of several ranks; each rank integrates the same whole."""

    march: Any
    redundant = True

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(self, system: Any, q: Any, v: Any, t: float, memory: Any = None) -> tuple[Any, None]:
        """Return a (n,); coordinates of this mechanism are no rotation vectors."""
        part, exchange = self.march.part, self.march.exchange
        part.ws.z[part.places], part.ws.zd[part.places] = q[part.coordinates], v[part.coordinates]
        self.march.evaluate(t)
        system.note_evaluation()
        a = np.zeros(system.n)
        for coordinates, own in exchange.together((part.coordinates, part.scratch.zdd[part.places])):
            a[coordinates] = own
        return a, None


def of_ranks(span: float, output: float) -> dict[str, Any]:
    """Return seconds of the run, and the coordinates at its end, on the ranks that this process belongs to."""

    def work(exchange: Any) -> dict[str, Any]:
        pin(exchange.rank)
        system, q, v = start()
        march = RankSteps(system.equations.compiled, exchange, *GAINS)
        march.begin(q, v, 0.0)
        return measured(system, Shared(march), q, v, span, output)

    return dict(launch(work))


def of_formulation(span: float) -> Any:
    """Return the coordinates at whole seconds by ``formulations.Recursive`` with Baumgarte's gains, at EXACT."""
    system, q, v = start()
    method = SolveIVP("DOP853", Baumgarte(*GAINS, within=Recursive()), **EXACT)
    return integrate(system, method, q, v, span, 1.0).q


def of_steps(span: float) -> list[Any]:
    """Return the coordinates at whole seconds by steps of SMALL on the ranks that this process belongs to."""

    def work(exchange: Any) -> list[Any]:
        pin(exchange.rank)
        system, q, v = start()
        times = np.arange(0.0, span + 0.5)
        found = run(system.equations.compiled, q, v, times, SMALL, exchange, *GAINS)
        return list(found.z.tolist())

    return list(launch(work))


def start() -> tuple[JointCoordinates, Any, Any]:
    """Return the system and its state at the start."""
    compiled = model().compile()
    state = rtmbs.Simulation(compiled, h=1e-3).state
    return JointCoordinates(compiled), state.z, state.zd


def measured(system: Any, form: Any, q: Any, v: Any, span: float, output: float) -> dict[str, Any]:
    """Return seconds, evaluations, and the coordinates at whole seconds."""
    method = CVODE("bdf", form, rtol=RTOL, atol=ATOL)
    integrate(system, method, q, v, 0.05, 0.01)  # code is loaded
    before = time.perf_counter()
    found = integrate(system, method, q, v, span, output)
    seconds = time.perf_counter() - before
    whole = round(1.0 / output)
    return {"seconds": seconds, "evaluations": found.counts.evaluations, "q": found.q[::whole].tolist()}


def reference(span: float) -> Any:
    """Return the coordinates at whole seconds by the Simulation, from runs of small steps."""
    found = rtmbs.refined(model().compile(), SMALL, span, runs=4)
    return np.array(found.samples.z)[:: round(1.0 / SMALL)]
