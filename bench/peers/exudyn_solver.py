"""What the Exudyn files share: the settings of the time integration and its time."""

import time
from collections.abc import Callable
from typing import Any

import exudyn

SPECTRAL_RADIUS = 0.9


def solve(mbs: Any, h: float, steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Integrate ``mbs`` with the implicit second-order solver and return the seconds of the steps, by ``clock``.

    No file is written; first accelerations and allocation come before the clock, as in every other program.
    """
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = h * steps
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.adaptiveStep = False
    settings.timeIntegration.generalizedAlpha.spectralRadius = SPECTRAL_RADIUS
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = h * steps
    settings.linearSolverType = exudyn.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    solver = exudyn.MainSolverImplicitSecondOrder()
    solver.InitializeSolver(mbs, settings)
    before = clock()
    done = solver.SolveSteps(mbs, settings)
    seconds = clock() - before
    solver.FinalizeSolver(mbs, settings)
    if not done:
        raise RuntimeError(f"Exudyn did not reach t = {h * steps:g} s in {steps} steps")
    return seconds
