"""Runs of everything that users do from Python: the list of kernels that the library of a wheel has.

What is not run here is compiled by numba when it is first called.
"""

from collections.abc import Callable

import numpy as np

import rtmbs
from rtmbs.commands import warmup
from rtmbs.errors import RtmbsError
from rtmbs.kinematics.design import four_bars
from rtmbs.simulation import Simulation

STEP = 1e-3  # [s]
ADAPTIVE = ("penalty-trapezoidal", "variational-midpoint", "trbdf2")  # with a tolerance
ROWS = 4  # of the four-bar on two threads


def run_everything() -> None:
    """Run the tasks of ``rtmbs warmup``, then all others."""
    warmup.compile_kernels()
    for task in TASKS:
        task()


def lagging(t, k, p, s):  # type: ignore[no-untyped-def]
    """Return a torque behind a first-order lag, and the rate of its state."""
    return s["lagged"], (p["pull"] - k.zd - s["lagged"]) / p["lag"]


def run_laws() -> None:
    """Step a mechanism with every kind of force, a law with a state among them, and change inputs."""
    model = rtmbs.library.build("crank_rocker")
    values = {"pull": 1.0, "lag": 0.1}
    rocker = list(model.bodies)[-1]
    model.add_force("push", rtmbs.Wrench(force=(1.0, 0.0, 0.0)), body=rocker)
    ends = model.add_marker("here", "ground"), model.add_marker("there", rocker)
    model.add_force("mount", rtmbs.Bushing(stiffness=10.0, damping=1.0), between=ends)
    model.add_force("servo", lagging, joint="crank_pivot", states={"lagged": 0.0}, parameters=values)
    sim = Simulation(model.compile(), h=STEP)
    sim.inputs["gravity"] = (0.0, 0.0, -9.0)
    result = sim.run(3 * STEP)
    for channel in result.names():
        result.read(channel)
    rtmbs.linearise(sim)


def run_library() -> None:
    """Step every mechanism of the library, and read all channels of its result."""
    for name in rtmbs.library.MECHANISMS:
        sim = Simulation(rtmbs.library.build(name).compile(), h=STEP)
        result = sim.run(3 * STEP)
        for channel in result.names():
            result.read(channel)
        sim.read(list(sim.keys())[:5])
        sim.step()


def run_methods() -> None:
    """Step by every method of time, and choose steps by a tolerance."""
    system = rtmbs.library.build("crank_rocker").compile()
    for name in rtmbs.METHODS:
        try:
            method = rtmbs.METHODS[name]()
            Simulation(system, STEP, method).run(3 * STEP)
            if name in ADAPTIVE:
                Simulation(system, STEP, method).run(5 * STEP, tolerance=1e-6)
        except (RtmbsError, ImportError):
            continue  # an extra is missing


def run_threads() -> None:
    """Step a mechanism of several parts on two threads, and one step at a time."""
    sim = Simulation(rtmbs.library.build("fourbar", ny=ROWS, nz=1).compile(), h=STEP, threads=2)
    sim.run(3 * STEP)
    sim.step()


def run_analyses() -> None:
    """Linearise, find equilibria and modes, refine a run, follow a path by inverse dynamics."""
    sim = Simulation(rtmbs.library.build("slider_crank").compile(), h=STEP)
    rtmbs.linearise(sim)
    rtmbs.modes(sim)
    rtmbs.refined(sim.system, STEP, 5 * STEP)
    rtmbs.equilibrium(rtmbs.library.build("pendulum").compile())
    four_bars(np.array([[4.0, 1.0, 3.0, 3.5]]), np.linspace(0.0, 1.0, 3))


TASKS: tuple[Callable[[], None], ...] = (run_library, run_laws, run_methods, run_threads, run_analyses)
