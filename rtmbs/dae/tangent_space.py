"""Implicit Adams and BDF formulas on independent coordinates: tangent space (METHODS 2.7), Haug and Yen (METHODS 2.23).

The tangent space has an orthonormal basis, and the method of Haug and Yen columns of a partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics, Steps, constraint_rate, derivative, doubled_explicit, step_explicit
from rtmbs.dae.method import DAEMethod, demand_whole
from rtmbs.dae.multistep import (
    LARGEST_GROWTH,
    adams_moulton,
    backward_difference,
    is_even,
    uneven_adams,
    uneven_backward_difference,
)
from rtmbs.dae.newton import Newton, may_bend, scale_of, slopes_of, values_of
from rtmbs.errors import unknown_name
from rtmbs.formulations.augmented_system import Solver, check_solver
from rtmbs.formulations.contract import holonomic_rows, jacobian_rate
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.reduction import RANK_TOLERANCE, pivoted
from rtmbs.integrators.tableaux import DORMAND_PRINCE
from rtmbs.numerics.linear.solver import DenseSolver

Array = NDArray[np.float64]

FORMULAS = ("adams", "bdf")
ADAMS_GROWTH = 2.0  # of a step


@dataclass(frozen=True)
class TangentSpace(DAEMethod):
    """Tangent-space parametrisation with implicit Adams or BDF formulas (METHODS 2.7).

    U0^T (x - sum a_i x_{n-i} - h sum b_i g_{n-i} - h b g(x)) = 0 and T(x) = 0 for x = (q, v, s), g = (v, a, sd).

    T is (Phi, Phid), and U0 spans its null space where Newton's matrix was made; both are made anew together.
    Runge-Kutta steps of order five make the first points. Dependent rows are left out.

    Parameters
    ----------
    formula : str, default 'adams'
        "adams" for free motion, "bdf" for stiff forces.
    order : int, default 4
        Order of the formula, 1 to 5.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps, by a formula of variable
        coefficients and an explicit one that predicts. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.
    UnknownNameError
        For an unknown formula.

    Examples
    --------
    >>> method = TangentSpace("bdf", order=3)
    """

    formula: str = "adams"
    order: int = 4  # type: ignore[misc]
    solver: Solver = DenseSolver
    rtol: float | None = None
    atol: float | None = None
    redundant = False
    leaves_out = True

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            raise unknown_name(f"formula of {type(self).__name__}", self.formula, FORMULAS)
        demand_whole(f"order of {type(self).__name__}", self.order, 1, 5)
        check_solver(f"solver of {type(self).__name__}", self.solver)
        self.check_tolerances()

    @property
    def fixed_orders(self) -> Orders:
        return Orders(*[self.order] * 4)

    def coefficients(self) -> tuple[Array, Array, float]:
        """Return the coefficients of the formula.

        Returns
        -------
        tuple[ndarray, ndarray, float]
            Coefficients a_i and b_i of earlier points, the newest first, and b of the new point.
        """
        k = self.order
        if self.formula == "bdf":
            a, b = backward_difference(k)
            return np.array(a), np.zeros(k), b
        weights, size = adams_moulton(k), max(k - 1, 1)
        return np.eye(size)[0], np.append(weights[1:], np.zeros(size - k + 1)), weights[0]

    @property
    def behind(self) -> int:  # type: ignore[override]
        """Points before the present one that the formula needs."""
        return max(self.order - 1, 1) - 1 if self.formula == "adams" else self.order - 1

    @property
    def depth(self) -> int:
        """Points before the present one that the formula and its estimate need."""
        if not self.adaptive:
            return self.behind
        return self.order - 1 if self.formula == "adams" else self.order

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return TangentSteps(motion, self, Charts)


class TangentSteps(Steps):
    """The steps of one motion; the first ones are Runge-Kutta steps of order five."""

    def __init__(self, motion: Motion, method: TangentSpace, charts: "type[Charts]") -> None:
        super().__init__(motion, Direct())
        self.charts = charts(motion, self.dynamics, method.solver)
        self.a, self.b, self.last = method.coefficients()
        self.order, bdf = method.order, method.formula == "bdf"
        self.uneven = uneven_backward_difference if bdf else uneven_adams
        self.estimate_order, self.enough = self.order + 1, self.order + 1 if bdf else self.order  # points
        self.growth = LARGEST_GROWTH[self.order] if bdf else ADAMS_GROWTH

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        h, count = t - past[0].t, len(self.a)
        if len(past) < count:
            return step_explicit(self.dynamics, DORMAND_PRINCE, past[0], h)
        times, places, slopes = behind(past[:count])
        if is_even(times, t):
            return self.solved(past[0], self.a @ places + h * self.b @ slopes, h * self.last, t)
        if len(past) < self.order:  # of uneven steps the implicit Adams formula is made with the explicit one
            return step_explicit(self.dynamics, DORMAND_PRINCE, past[0], h)
        times, places, slopes = behind(past)
        formula = self.uneven(self.order, times, t)
        return self.solved(past[0], formula.known(places, slopes), formula.last, t)

    def solved(self, old: Point, known: Array, hb: float, t: float) -> Point:
        """Return the point at ``t`` [s]; ``known`` (2n + ns,) is what the points behind give, ``hb`` is h b."""
        q, v, s = self.charts.step(old, known, hb, t)
        return self.dynamics.point(q, v, t, s)

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        if len(past) < self.enough:
            return doubled_explicit(self, past, t, h)
        times, places, slopes = behind(past)
        formula = self.uneven(self.order, times, t)
        point = self.solved(past[0], formula.known(places, slopes), formula.last, t)
        return point, formula.estimate(values_of(point), places, slopes)

    def kept(self) -> tuple[Any, ...]:
        return *super().kept(), self.charts.newton.kept(), self.charts.basis

    def put_back(self, kept: tuple[Any, ...]) -> None:
        super().put_back(kept)
        self.charts.newton.put_back(kept[4])
        self.charts.basis = kept[5]


def behind(past: Sequence[Point]) -> tuple[Array, Array, Array]:
    """Return the times (k,), values and slopes (k, 2n + ns) of points."""
    places, slopes = np.array([values_of(point) for point in past]), np.array([slopes_of(point) for point in past])
    return np.array([point.t for point in past]), places, slopes


class Charts:
    """One run: Newton's matrix and the tangent basis U0, which are made anew together."""

    who: ClassVar[str] = "TangentSpace"

    def __init__(self, motion: Motion, dynamics: Dynamics, solver: Solver) -> None:
        self.motion, self.dynamics = motion, dynamics
        self.newton = Newton(motion.counts, self.who, solver, may_bend(motion.system))
        self.basis = np.zeros((0, 0))  # U0 (2n + ns, 2n + ns - 2m)

    def basis_of(self, DT: Array) -> Array:
        """Return U0 (2n + ns, 2n + ns - 2m) of DT (2m, 2n + ns)."""
        return null_basis(DT)

    def step(self, old: Point, known: Array, hb: float, t: float) -> tuple[Array, Array, Array]:
        """Return q, v and s at ``t``; ``known`` (2n + ns,) is what the points behind give, ``hb`` is h b."""
        system, n = self.motion.system, self.motion.system.n

        def slope(x: Array) -> Array:
            q, v, s = np.split(x, (n, 2 * n))
            return np.concatenate((v, self.dynamics.accelerations(q, v, t, s), self.dynamics.state_rates(q, v, t, s)))

        def residual(x: Array) -> Array:
            left = self.basis.T @ (x - known - hb * slope(x))
            Phi = system.constraints(x[:n], t)[: holonomic_rows(system)]
            return np.concatenate((left, Phi, constraint_rate(system, x[:n], x[n : 2 * n], t)))

        def matrix(x: Array) -> Array:
            DT = tangent_matrix(self.motion, x[:n], x[n : 2 * n], t)
            self.basis = self.basis_of(DT)
            return np.vstack((self.basis.T @ (np.eye(len(x)) - hb * derivative(slope, x)), DT))

        h = t - old.t
        guess = np.concatenate((old.q + h * old.v + 0.5 * h * h * old.a, old.v + h * old.a, old.s + h * old.sd))
        scale = scale_of(old.q, old.v, old.s)
        q, v, s = np.split(self.newton.solve(residual, matrix, guess, scale, t), (n, 2 * n))
        return q, v, s


def tangent_matrix(motion: Motion, q: Array, v: Array, t: float) -> Array:
    """Return DT (2m, 2n + ns), T = (Phi, Phid); rate constraints have rows of Phid only."""
    Phi_q = motion.system.constraint_jacobian(q, t)
    held = Phi_q[: holonomic_rows(motion.system)]
    by_states = np.zeros((len(held) + len(Phi_q), len(motion.s)))
    return np.block(
        [[np.block([[held, np.zeros_like(held)], [jacobian_rate(motion.system, q, v, t), Phi_q]]), by_states]]
    )


def null_basis(DT: Array) -> Array:
    """Return U0 (2n + ns, 2n + ns - 2m) with DT U0 = 0 and orthonormal columns."""
    if not len(DT):
        return np.eye(DT.shape[1])
    return np.asarray(scipy.linalg.qr(DT.T, check_finite=False)[0][:, len(DT) :])


@dataclass(frozen=True)
class HaugYen(TangentSpace):
    """Coordinate partitioning with implicit formulas: BDF or Adams on the independent coordinates and rates.

    q_I = sum a_i q_I,n-i + h sum b_i v_I,n-i + h b v_I, likewise for v_I, and Phi = 0, Phid = 0 for the others.

    Newton's iteration solves for all coordinates and rates at once; accelerations are those of the augmented system.
    Columns without a pivot of Phi_q are independent. They are chosen anew with Newton's matrix. Runge-Kutta steps of
    order five make the first points. Dependent rows are left out. Source: J. Mech. Design 114 (1992) 296.

    Parameters
    ----------
    formula : str, default 'bdf'
        "bdf" for stiff forces, "adams" for free motion.
    order : int, default 3
        Order of the formula, 1 to 5.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s; the method then chooses its steps. Fixed unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.
    UnknownNameError
        For an unknown formula.

    Examples
    --------
    >>> method = HaugYen("bdf", order=3)
    """

    formula: str = "bdf"
    order: int = 3  # type: ignore[misc]

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return TangentSteps(motion, self, PartitionCharts)


class PartitionCharts(Charts):
    """One run: Newton's matrix and the choice of independent coordinates, which are made anew together."""

    who: ClassVar[str] = "HaugYen"

    def basis_of(self, DT: Array) -> Array:
        """Return the columns of the identity (2n + ns, 2n + ns - 2m) that choose independent q and v, and all s."""
        n, held = self.motion.system.n, holonomic_rows(self.motion.system)
        for_q, for_v = (pivoted(rows, RANK_TOLERANCE)[0] for rows in (DT[:held, :n], DT[held:, n : 2 * n]))
        free = np.setdiff1d(np.arange(DT.shape[1]), np.concatenate((for_q, n + for_v)))
        return np.eye(DT.shape[1])[:, free]
