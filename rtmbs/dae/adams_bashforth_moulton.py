"""Adams-Bashforth-Moulton, PECE: the explicit formula predicts, the implicit one corrects once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Steps, step_explicit
from rtmbs.dae.method import OverFormulation, demand_formulation, demand_whole
from rtmbs.dae.multistep import adams_bashforth, adams_moulton, is_even
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.integrators.tableaux import DORMAND_PRINCE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AdamsBashforthMoulton(OverFormulation):
    """Adams-Bashforth-Moulton method, PECE: two evaluations of the accelerations a step.

    Both formulas have order ``order``. Runge-Kutta steps of order five make the first points.

    Parameters
    ----------
    order : int, default 4
        Order of the formula, 1 to 5.
    formulation : Formulation, optional
        Formulation of the accelerations. ``Partitioning()`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = AdamsBashforthMoulton(4, Partitioning())
    """

    order: int = 4  # type: ignore[misc]
    formulation: Formulation = field(default_factory=Partitioning)

    def __post_init__(self) -> None:
        demand_whole("order of AdamsBashforthMoulton", self.order, 1, 5)
        demand_formulation(self.formulation)

    @property
    def orders(self) -> Orders:
        return Orders(*[self.order] * 4)

    def growth(self, z: complex) -> float:
        """Return the growth of the error of y' = s y in a step, z = h s: the largest root of r^k = r^(k-1) + ... .

        y_{n+1} = y_n + z (b*_0 p + sum b*_i y_{n+1-i}) with p = y_n + z sum b_i y_{n-i}.

        Parameters
        ----------
        z : complex
            Step times eigenvalue, z = h s.

        Returns
        -------
        float
            Factor of the error in a step; at most 1 in the stability region.
        """
        k, explicit, implicit = self.order, adams_bashforth(self.order), adams_moulton(self.order)
        c = np.zeros(k + 1, np.complex128)  # by falling powers of r
        c[0], c[1] = 1.0, -1.0 - z * implicit[0]
        c[1:] -= z * z * implicit[0] * np.array(explicit)
        c[1:k] -= z * np.array(implicit[1:])
        return float(np.abs(np.roots(c)).max())

    @property
    def behind(self) -> int:  # type: ignore[override]
        """Points before the present one that both formulas need."""
        return self.order - 1

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return AdamsSteps(motion, self.formulation, self.order)


class AdamsSteps(Steps):
    """The steps of both formulas; the first ones are Runge-Kutta steps of order five."""

    def __init__(self, motion: Motion, formulation: Formulation, order: int) -> None:
        super().__init__(motion, formulation)
        self.order = order
        self.explicit, self.implicit = np.array(adams_bashforth(order)), np.array(adams_moulton(order))

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        dynamics, k, last, h = self.dynamics, self.order, past[0], t - past[0].t
        if len(past) < k:
            return step_explicit(dynamics, DORMAND_PRINCE, last, h)
        times = np.array([point.t for point in past[:k]])
        if not is_even(times, t):  # a step that ends at an event, or behind one
            return step_explicit(dynamics, DORMAND_PRINCE, last, h)
        explicit, implicit = self.explicit, self.implicit
        rates, accelerations = np.array([point.v for point in past]), np.array([point.a for point in past])
        state_rates = np.array([point.sd for point in past])
        q, v = last.q + h * explicit @ rates, last.v + h * explicit @ accelerations
        s = last.s + h * explicit @ state_rates
        q, v = dynamics.stage(t, q, v)
        a, sd = dynamics.accelerations(q, v, t, s), dynamics.state_rates(q, v, t, s)
        q = last.q + h * (implicit[0] * v + implicit[1:] @ rates[: k - 1])
        v = last.v + h * (implicit[0] * a + implicit[1:] @ accelerations[: k - 1])
        s = last.s + h * (implicit[0] * sd + implicit[1:] @ state_rates[: k - 1])
        return dynamics.step_end(last, q, v, t, s)
