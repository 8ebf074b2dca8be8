"""Kernels besides those of a step: changed inputs, other methods, derivatives of runs, recursion, kinematics."""

from collections.abc import Callable

import numpy as np

from rtmbs import library
from rtmbs.formulations import JointCoordinates, Recursive
from rtmbs.integrators.explicit_steps import VelocityVerlet
from rtmbs.integrators.trbdf2 import TRBDF2
from rtmbs.integrators.variational_midpoint import VariationalMidpoint
from rtmbs.jit import parallel_compile as apart
from rtmbs.kinematics import Analysis
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
