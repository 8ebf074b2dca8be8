"""A consistent state near a given one: the least change of positions and of rates, in the units of the system."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.errors import FormulationError
from rtmbs.formulations.rank import RANK_TOLERANCE
from rtmbs.formulations.terms import answered, given, instant, row_names

Array = NDArray[np.float64]

CLOSED = 1e-13  # of a correction, in terms of the largest coordinate or 1
OPEN = 1e-10  # of Phi and Phid, in terms of Phi_q times the largest coordinate or rate, or 1
MAX_ITERATIONS = 40
HALVINGS = 4  # of a step that opens the constraints further


def consistent_state(system: ConstrainedSystem, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return q and v (n,) with Phi = 0 and Phi_q v + Phi_t = 0, near the given ones.

    Gauss-Newton steps of least length; dependent rows are accepted. Raises InputError for shapes and numbers,
    FormulationError naming the row that stays open.
    """
    q, v, t = given("q", q, system.n), given("v", v, system.n), instant(t)
    if not system.m:
        return q, v
    for _ in range(MAX_ITERATIONS):
        Phi = constraints_at(system, q, t)
        step = least_change(system, q, t, Phi)
        for _ in range(HALVINGS):
            if np.linalg.norm(constraints_at(system, q - step, t)) <= np.linalg.norm(Phi):
                break
            step = 0.5 * step
        q = q - step
        if np.abs(step).max() <= CLOSED * max(1.0, np.abs(q).max()):
            break
    size = max(1.0, np.abs(q).max()) * np.abs(jacobian_at(system, q, t)).max()
    demand_closed(system, "Phi", constraints_at(system, q, t), size, t)
    for _ in range(2):
        Phi_t, _ = system.constraint_rate_terms(q, v, t)
        v = v - least_change(system, q, t, jacobian_at(system, q, t) @ v + Phi_t)
    size = max(1.0, np.abs(v).max()) * np.abs(jacobian_at(system, q, t)).max()
    demand_closed(system, "Phi_q v + Phi_t", jacobian_at(system, q, t) @ v + Phi_t, size, t)
    return q, v


def least_change(system: ConstrainedSystem, q: Array, t: float, right: Array) -> Array:
    """Return the least x (n,) with Phi_q x = right."""
    return np.asarray(scipy.linalg.lstsq(jacobian_at(system, q, t), right, cond=RANK_TOLERANCE)[0])


def constraints_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return answered("constraints(q, t)", system.constraints(q, t), (system.m,))


def jacobian_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return answered("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), (system.m, system.n))


def demand_closed(system: ConstrainedSystem, what: str, left: Array, size: float, t: float) -> None:
    """Raise FormulationError naming the worst row, when ``left`` (m,) is more than rounding of ``size``."""
    i = int(np.argmax(np.abs(left)))
    if np.abs(left[i]) > OPEN * size:
        raise FormulationError(
            f"{row_names(system, np.array([i]))} of {what} is left at {left[i]:.2g} at t = {t:g}; the constraints "
            "contradict each other there, or the start is too far away"
        )
