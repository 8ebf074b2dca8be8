"""Motion by the recursion under SUNDIALS' BDF of variable order, on one rank or many (METHODS 3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.method import demand_tolerances
from rtmbs.dae.sundials import MOST_STEPS, solver_class
from rtmbs.errors import InputError, StepError
from rtmbs.recursive.motion import Alone, Exchange, RankSteps, check_times, recursion_result
from rtmbs.results.result import Result
from rtmbs.system.system import System

Array = NDArray[np.float64]


class SharedAccelerations:
    """Accelerations of all coordinates by the parts of several ranks; every rank finds the same bits."""

    def __init__(self, system: System, exchange: Exchange, alpha: float, beta: float) -> None:
        self.march, self.n = RankSteps(system, exchange, alpha, beta), len(system.tables.dofs.kind)
        self.refusal: StepError | None = None
        self.owner = np.zeros(self.n, np.int64)  # of every coordinate: the first rank that has it
        for rank, coordinates in reversed(list(enumerate(exchange.together(self.march.part.coordinates)))):
            self.owner[coordinates] = rank
        self.message, self.messages = np.zeros(self.n), np.zeros((exchange.ranks, self.n))
        self.all = np.arange(self.n)

    def at(self, t: float, z: Array, zd: Array) -> Array:
        """Return zdd (n,) at a state. Raises StepError, on all ranks."""
        part, exchange = self.march.part, self.march.exchange
        part.ws.z[part.places], part.ws.zd[part.places] = z[part.coordinates], zd[part.coordinates]
        self.march.evaluate(t)
        self.message[part.coordinates] = part.scratch.zdd[part.places]
        if exchange.ranks == 1:
            return self.message
        exchange.share(self.message, self.messages)
        return np.asarray(self.messages[self.owner, self.all])

    def rates(self, t: float, y: Array, out: Array) -> None:
        """Write y' of y = (z, zd); numbers that are none where a state has no accelerations."""
        n = self.n
        out[:n] = y[n:]
        try:
            out[n:] = self.at(t, y[:n], y[n:])
        except StepError as error:
            self.refusal, out[n:] = error, np.nan


def run_bdf(
    system: System,
    z: Array,
    zd: Array,
    times: Array,
    exchange: Exchange | None = None,
    alpha: float = 0.0,
    beta: float = 0.0,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Return the motion by the recursion at given times, with BDF of variable order and step.

    It needs the extra ``sundials``. Every rank takes the same steps of the whole state; evaluations are shared.

    Parameters
    ----------
    system : System
        Compiled System without spherical and floating joints.
    z : ndarray
        Coordinates (n,) at the start, which satisfy the loops.
    zd : ndarray
        Rates (n,) at the start, which satisfy the loops.
    times : ndarray
        Times of the samples (k,) [s]; the first is the start.
    exchange : Exchange, optional
        Ranks that share the work; one rank unless given. All ranks return the whole motion.
    alpha : float, default 0.0
        Baumgarte's gain of the rate of the violation [1/s].
    beta : float, default 0.0
        Baumgarte's gain of the violation [1/s].
    rtol : float, default 1e-08
        Relative tolerance of the local error of coordinates and rates; 1e-14 or more.
    atol : float, default 1e-10
        Absolute tolerance of the local error of coordinates and rates, in their units.
    watch : Callable[[int], None], optional
        Function called with the number of every sample after the first.

    Returns
    -------
    Result
        Channels of a run of this System, and ``ranks``, ``shares``, ``z`` and ``zd``.

    Raises
    ------
    InputError
        For times or tolerances out of range, rotation vectors, and for what ranks cannot share.
    StepError
        For a coordinate without inertia, or a motion that is not finite.

    Examples
    --------
    >>> result = run_bdf(system, z, zd, np.linspace(0.0, 1.0, 101), alpha=10.0, beta=10.0)  # doctest: +SKIP
    """
    exchange = exchange or Alone()
    check_times(times, 1.0)
    demand_tolerances(rtol, atol)
    if len(system.R0):
        raise InputError(
            f"{system.name} has a spherical or floating joint in its tree; run_bdf takes coordinates without rotation "
            "vectors, and rtmbs.recursive.run takes all"
        )
    shared = SharedAccelerations(system, exchange, alpha, beta)
    shared.march.begin(z, zd, float(times[0]))
    solver = solver_class("CVODE")(shared.rates, method="BDF", rtol=rtol, atol=atol, max_num_steps=MOST_STEPS)
    start = np.concatenate((z, zd))
    solver.init_step(float(times[0]), start)
    rows = [start]
    for k in range(1, len(times)):
        rows.append(solved_at(solver, shared, float(times[k])))
        if watch is not None:
            watch(k)
    parts = [(np.arange(shared.n), np.zeros(0, np.int64), np.array(rows))]
    return recursion_result(system, times, parts, shared.march.split, alpha, beta)


def solved_at(solver: Any, shared: SharedAccelerations, t: float) -> Array:
    """Return y at ``t`` [s]. Raises StepError where the solver fails, with the reason of the mechanism."""
    found = solver.step(t)
    if not found.success:
        raise shared.refusal or StepError(f"BDF failed before t = {t:g}: {found.message}")
    return np.array(found.y, np.float64).ravel()
