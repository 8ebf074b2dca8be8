"""Adams-Bashforth-Moulton, PECE: the explicit formula predicts, the implicit one corrects once."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_formulation, demand_whole
from rtmbs.dae.contract import Motion, Orders, OverFormulation, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.multistep import adams_bashforth, adams_moulton
from rtmbs.dae.starting import first_points
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AdamsBashforthMoulton(OverFormulation):
    """Both formulas of order ``order`` over the accelerations of ``formulation``: two evaluations a step.

    Runge-Kutta steps of order five make the first points.

    >>> method = AdamsBashforthMoulton(4, Partitioning())
    """

    order: int = 4
    formulation: Formulation = field(default_factory=Partitioning)

    def __post_init__(self) -> None:
        demand_whole("order of AdamsBashforthMoulton", self.order, 1, 5)
        demand_formulation(self.formulation)

    @property
    def orders(self) -> Orders:
        return Orders(*[self.order] * 4)

    def growth(self, z: complex) -> float:
        """Return what a step does to the error of y' = s y with z = h s: the largest root of r^k = r^(k-1) + ... .

        y_{n+1} = y_n + z (b*_0 p + sum b*_i y_{n+1-i}) with p = y_n + z sum b_i y_{n-i}.
        """
        k, explicit, implicit = self.order, adams_bashforth(self.order), adams_moulton(self.order)
        c = np.zeros(k + 1, np.complex128)  # by falling powers of r
        c[0], c[1] = 1.0, -1.0 - z * implicit[0]
        c[1:] -= z * z * implicit[0] * np.array(explicit)
        c[1:k] -= z * np.array(implicit[1:])
        return float(np.abs(np.roots(c)).max())

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        dynamics, k = Dynamics(motion, self.formulation), self.order
        explicit, implicit = np.array(adams_bashforth(k)), np.array(adams_moulton(k))
        past: deque[Point] = deque(maxlen=k)  # the newest first
        for point in first_points(motion, dynamics, times, k):
            past.appendleft(point)
            yield point
        for t in times[k:]:
            last, h = past[0], float(t - past[0].t)
            rates, accelerations = np.array([point.v for point in past]), np.array([point.a for point in past])
            state_rates = np.array([point.sd for point in past])
            q, v = last.q + h * explicit @ rates, last.v + h * explicit @ accelerations
            s = last.s + h * explicit @ state_rates
            q, v = dynamics.stage(float(t), q, v)
            a, sd = dynamics.accelerations(q, v, float(t), s), dynamics.state_rates(q, v, float(t), s)
            q = last.q + h * (implicit[0] * v + implicit[1:] @ rates[: k - 1])
            v = last.v + h * (implicit[0] * a + implicit[1:] @ accelerations[: k - 1])
            s = last.s + h * (implicit[0] * sd + implicit[1:] @ state_rates[: k - 1])
            past.appendleft(dynamics.landed(last, q, v, float(t), s))
            motion.counts.steps += 1
            yield past[0]
