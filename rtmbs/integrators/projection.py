"""Velocity and acceleration projection with the last factor, in the form of METHODS 1.12.

x <- x - A^-1 q4 Phi_z^T alpha (violation of x), repeated: the first pass is Eqs. 23 and 25, every further one is an
augmented-Lagrangian update that multiplies the violation by 1 / (1 + c sigma). Phi_z^T is the one inside the factor A.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.contract import StepEquations
from rtmbs.integrators.newton import LEFT_OVER
from rtmbs.integrators.settings import (
    FACTORISATIONS,
    NEAR_SINGULAR,
    PROJECTIONS,
    PUSHED,
    SLOWEST,
    Settings,
    StateArrays,
)

Array = NDArray[np.float64]

SLOW = 0.05  # of what an iteration found: a last iteration that leaves more meets a direction that loops hardly hold
PASSES = 2.0  # Phi_z of that direction changes by so many times its value in a step that passes a singular pose
SOFTER = 1e3  # times softer are the loops that such a step is projected by


def project_repeatedly(
    equations: StepEquations,
    settings: Settings,
    weight: float,
    rates: Array,
    violation: Array,
    multiplier: Callable[[Array], Any],
) -> tuple[Array, Array, list[float], Array]:
    """Return the projected rates, the violation left, its size before and after every iteration, and the last change.

    Parameters
    ----------
    weight : q4 of the loops in the last factor
    rates : (n,) velocities or accelerations before projection
    violation : (m,) Phid or Phidd of ``rates``; it follows the change of the rates linearly
    multiplier : called with weight alpha (violation + Phi_z change) of each iteration, Phi_z that of the factor: the
        factor times change is -Phi_z^T of it
    """
    bound = settings.projection_bound * np.max(np.abs(rates) / settings.pace, initial=0.0)
    sizes, change = [largest(violation, settings)], np.zeros_like(rates)
    for _ in range(settings.max_projections):
        if sizes[-1] <= bound:
            break
        impulse = weight * equations.alpha * violation
        change = equations.solve_for_impulse(impulse)
        rates = rates + change
        multiplier(weight * equations.alpha * (violation + equations.apply_factored(change)))
        violation = violation + equations.apply_Phi_z(change)
        sizes.append(largest(violation, settings))
    return rates, violation, sizes, change


def slowest(sizes: list[float]) -> float:
    """Return the largest share of a violation that an iteration left; 0 for none."""
    return max((after / before for before, after in pairwise(sizes)), default=0.0)


def largest(violation: Array, settings: Settings) -> float:
    """Return the largest violation of a row in terms of its scale."""
    return float(np.max(np.abs(violation) / settings.scale, initial=0.0))


def project_velocities(
    equations: StepEquations, settings: Settings, old: StateArrays, z: Array, zd: Array, stats: Array
) -> tuple[Array, Array, float]:
    """Return the projected velocities, Phid left, and the weight that accelerations are projected with.

    A step that ends where loops lose a direction is projected by loops SOFTER times as soft, from the rates of the
    integrator: they hold what other directions need, and leave the lost one alone (METHODS 1.14). Raises
    SingularTangent, NotFinite.
    """
    weight = 0.25 * settings.h**2
    Phid = equations.closure_velocities(zd)
    if not settings.project_velocities:
        return zd, Phid, weight
    projected, left, sizes, change = project_repeatedly(equations, settings, weight, zd, Phid, lambda impulse: None)
    stats[PROJECTIONS] += len(sizes) - 1
    stats[PUSHED] += 2.0 / settings.h * settings.held * sum(sizes[1:])
    stats[SLOWEST] = max(stats[SLOWEST], slowest(sizes))
    if (
        len(sizes) > 1
        and slow(equations, settings, projected, left, change)
        and loses(equations, settings, old, z, change)
    ):
        stats[NEAR_SINGULAR] = 1.0
        stats[FACTORISATIONS] += 1
        weight /= SOFTER
        equations.factor_mass_metric(weight)
        Phid = equations.closure_velocities(zd)
        projected, left, sizes, _ = project_repeatedly(equations, settings, weight, zd, Phid, lambda impulse: None)
        stats[PROJECTIONS] += len(sizes) - 1
    return projected, left, weight


def slow(equations: StepEquations, settings: Settings, rates: Array, left: Array, change: Array) -> bool:
    """True when the last iteration left more than SLOW of the violation that it found, and its ``change`` of rates
    matters.

    What redundant equations leave moves nothing.
    """
    moved, fastest = (float(np.max(np.abs(values) / settings.typical, initial=0.0)) for values in (change, rates))
    if moved <= LEFT_OVER * fastest:
        return False
    return largest(left, settings) > SLOW * largest(left - equations.apply_Phi_z(change), settings)


def loses(equations: StepEquations, settings: Settings, old: StateArrays, z: Array, direction: Array) -> bool:
    """True when Phi_z of a direction changed in this step by PASSES times its value.

    Loops that are merely soft hold a direction as softly at both ends of a step.
    """
    here = equations.apply_Phi_z(direction)
    equations.close(old.z, old.R0)
    there = equations.apply_Phi_z(direction)
    equations.close(z, old.R0)
    return largest(there - here, settings) > PASSES * largest(here, settings)
