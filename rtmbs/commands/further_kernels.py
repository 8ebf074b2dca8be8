"""Runs that compile what a step of the main job does not need, and the list of kernels for a wheel.

Kernels besides those of a step: changed inputs, other methods, derivatives of runs, recursion, kinematics.

Runs of everything that users do from Python: the list of kernels that the library of a wheel has.

What is not run here is compiled by numba when it is first called.
"""

from collections.abc import Callable

import numpy as np

import rtmbs
from rtmbs import library
from rtmbs.commands import warmup
from rtmbs.errors import RtmbsError
from rtmbs.formulations import JointCoordinates, Recursive
from rtmbs.integrators.explicit import VelocityVerlet
from rtmbs.integrators.trbdf2 import TRBDF2
from rtmbs.integrators.variational_midpoint import VariationalMidpoint
from rtmbs.jit import compile_progress as apart
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.design import four_bars
from rtmbs.model import Model, Motor
from rtmbs.recursive.part import RankPart
from rtmbs.recursive.partition import split
from rtmbs.recursive.threads import Threads
from rtmbs.simulation import Simulation
from rtmbs.studies.sensitivities.differentiable import differentiable
from rtmbs.studies.sensitivities.sensitivity import sensitivity

STEP = 1e-3  # [s]
METHODS = ("adjoint", "direct")


def compile_inputs() -> None:
    """Compile the kernels of a changed input, which accelerations follow."""
    sim = Simulation(library.build("governor").compile(), h=STEP)
    sim.inputs["gravity"] = (0.0, 0.0, -9.0)
    sim.step()


def compile_methods() -> None:
    """Take a step by every other method of time that has a kernel."""
    system = library.build("crank_rocker").compile()
    for method in (VariationalMidpoint(), TRBDF2()):
        Simulation(system, STEP, method).step()
    tree = Simulation(library.build("pendulum").compile(), STEP, VelocityVerlet())
    tree.step()
    tree.inputs["gravity"] = (0.0, 0.0, -9.0)
    tree.step()


def compile_derivatives() -> None:
    """Differentiate a run by both methods, with a law that is recorded and one that Python calls."""
    model = spring_and_stop()
    sim = Simulation(model.compile(), h=STEP)
    for method in METHODS:
        sensitivity(sim, 3 * STEP, "crank_pivot.angle", ["motor.torque", "stop.stiffness"], method=method)
    in_time = differentiable(sim, 3 * STEP, ["crank_pivot.angle"], controls=["motor.torque"])
    in_time.jacobians(None, np.zeros((in_time.steps + 1, 1)))


def spring_and_stop() -> Model:
    """Return a crank-rocker with a motor and a stop that Python evaluates."""
    model = library.build("crank_rocker")
    model.add_force("motor", Motor(), joint="crank_pivot")
    model.add_force("stop", stop, joint="crank_pivot", parameters={"stiffness": 1.0})
    return model


def stop(t, k, p):  # type: ignore[no-untyped-def]
    """A stop at a positive angle."""
    return -p["stiffness"] * k.z if k.z > 0.0 else 0.0 * k.z


def compile_recursion() -> None:
    """Solve for accelerations by the recursive method, and compile a step of it in two parts."""
    system = library.build("fourbar", ny=2, nz=2).compile()
    start = Simulation(system, h=STEP).state
    Recursive().accelerations(JointCoordinates(system), start.z, start.zd, 0.0)
    Threads(system, 2).begin(start.z, start.zd)
    loop = library.build("loop", k=5).compile()
    RankPart(loop, split(loop, 3), 0).prepare(3, loop.u0.copy())  # with a branch that two ranks share


def compile_driven_positions() -> None:
    """Follow a driven mechanism through two positions."""
    Analysis(library.build("driven_fourbar")).run(0.0, STEP, STEP)


# By the name that workers take; the longest first.
TASKS: dict[str, Callable[[], None]] = {
    "inputs": compile_inputs,
    "methods": compile_methods,
    "recursion": compile_recursion,
    "derivatives": compile_derivatives,
    "driven positions": compile_driven_positions,
}

if __name__ == "__main__":
    apart.run_worker(TASKS)


ADAPTIVE = ("penalty-trapezoidal", "variational-midpoint", "trbdf2")  # with a tolerance
ROWS = 4  # of the four-bar on two threads


def run_everything() -> None:
    """Run the tasks of ``rtmbs warmup``, then all others."""
    warmup.compile_kernels()
    for task in RUNS:
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


RUNS: tuple[Callable[[], None], ...] = (run_library, run_laws, run_methods, run_threads, run_analyses)
