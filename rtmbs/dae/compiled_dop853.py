"""DOP853 with compiled steps: stages, error estimate and correction of a recorded system in one call."""

from math import ulp
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from rtmbs.ad.program import Program
from rtmbs.dae.first_order import LIGHT, FirstOrderMotion
from rtmbs.formulations.compiled import CompiledSystem
from rtmbs.formulations.compiled_kernels import SOLVED, Work, corrected_accelerations
from rtmbs.jit.compiled import entry_for, inner_kernel, kernel
from rtmbs.jit.struct import struct

Array = Any

STAGES = 12
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # factors of the next step, as SciPy has them
EXPONENT = -1.0 / 8.0  # of the error: the estimate has order seven
SHORTEST = 10.0  # spacings of t
TAKEN, LEFT = 0, 1


@struct
class Stages(NamedTuple):
    """Coefficients and scratch of one run of ``size`` unknowns."""

    A: Array  # (12, 12)
    B: Array  # (12,)
    C: Array  # (12,)
    E3: Array  # (13,)
    E5: Array  # (13,)
    K: Array  # (16, size): stages, and those of the dense output
    y: Array  # (size,) at the start of the step
    new: Array  # (size,) at its end, as the formula has it
    closed: Array  # (size,) there on the constraints
    control: Array  # (7,) t, next step, last time, rtol, atol, least step, evaluations; t of the end comes back


@kernel
def step_dop853(
    motion: Program, motion_memory: Array, phi: Program, phi_memory: Array, jacobian: Program, jacobian_memory: Array,
    place: Array, second: Program, second_memory: Array, psi: Program, psi_memory: Array, rates: Program,
    rates_memory: Array, rates_place: Array, weight: Array, w: Work, out: Array, stages: Stages, light: float,
) -> int:  # fmt: skip
    """Take one accepted step of y = (q, v) and choose the next; LEFT where a stage has no answer.

    ``stages.K[0]`` are the rates at ``stages.y``. ``weight`` (n,) are inverse inertias, those of the end come back.
    """
    n, size, control, K = len(weight), 2 * len(weight), stages.control, stages.K
    t, h, refused = control[0], max(control[1], control[5]), False
    while h >= control[5]:
        end = min(t + h, control[2])
        h = end - t
        for s in range(1, STAGES + 1):
            for i in range(size):
                total = 0.0
                for j in range(s):
                    total += (stages.A[s, j] if s < STAGES else stages.B[j]) * K[j, i]
                w.z[i] = stages.y[i] + h * total
            if s == STAGES:
                for i in range(size):
                    stages.new[i] = w.z[i]
            w.z[size] = t + stages.C[s] * h if s < STAGES else end
            control[6] += 1.0
            status = corrected_accelerations(
                motion, motion_memory, phi, phi_memory, jacobian, jacobian_memory, place, second, second_memory, psi,
                psi_memory, rates, rates_memory, rates_place, weight, w, out,
            )  # fmt: skip
            if status != SOLVED:
                return LEFT
            for i in range(size):
                K[s, i] = out[i]
        error = error_norm(stages, h, size)
        if error < 1.0:
            factor = MOST if error == 0.0 else min(MOST, SAFETY * error**EXPONENT)
            control[0], control[1] = end, h * (min(1.0, factor) if refused else factor)
            for i in range(n):
                stages.closed[i], stages.closed[n + i] = w.q[i], w.v[i]
            set_weights(weight, w, n, light)
            return TAKEN
        if not error >= 1.0:
            return LEFT
        h *= max(LEAST, SAFETY * error**EXPONENT)
        refused = True
    return LEFT


@inner_kernel
def error_norm(stages: Stages, h: float, size: int) -> float:
    """Return the estimated error of a step, 1 for the tolerances (Hairer, Norsett and Wanner I, II.10)."""
    five, three, rtol, atol = 0.0, 0.0, stages.control[3], stages.control[4]
    for i in range(size):
        unit = atol + max(abs(stages.y[i]), abs(stages.new[i])) * rtol
        a, b = 0.0, 0.0
        for s in range(STAGES + 1):
            a += stages.E5[s] * stages.K[s, i]
            b += stages.E3[s] * stages.K[s, i]
        five += (a / unit) ** 2
        three += (b / unit) ** 2
    if five == 0.0 and three == 0.0:
        return 0.0
    return float(h * five / np.sqrt((five + 0.01 * three) * size))


@inner_kernel
def set_weights(weight: Array, w: Work, n: int, light: float) -> None:
    """Set the inverse inertias (n,) from M in ``w.terms``, as ``FirstOrderMotion.units_at`` does."""
    largest, total, heavy = 0.0, 0.0, 0
    for i in range(n):
        largest = max(largest, abs(w.terms[i * n + i]))
    for i in range(n):
        inertia = abs(w.terms[i * n + i])
        if inertia > light * largest:
            total += np.log(inertia)
            heavy += 1
    mean = np.exp(total / heavy) if heavy else 1.0
    for i in range(n):
        inertia = abs(w.terms[i * n + i])
        weight[i] = 1.0 / (inertia if inertia > light * largest else mean)


class CompiledDOP853(DOP853):  # type: ignore[misc]
    """DOP853 of SciPy whose steps are one compiled call; a step that the call leaves is SciPy's."""

    t: Any
    y: Any
    f: Any
    h_abs: Any
    K_extended: Any

    def __init__(
        self, equations: FirstOrderMotion, system: CompiledSystem, t: float, t_end: float, **options: Any
    ) -> None:
        super().__init__(equations.rates, t, equations.start, t_end, **options)
        self.equations, self.system, size = equations, system, self.n
        self.weight, self.closed = equations.unit**2, np.zeros(0)  # the end of a compiled step on the constraints
        zeros = np.zeros
        A, B, C, E3, E5 = (np.ascontiguousarray(x, np.float64) for x in (self.A, self.B, self.C, self.E3, self.E5))
        self.K_extended = zeros((len(self.K_extended), size))
        self.K = self.K_extended[: self.n_stages + 1]
        self.stages = Stages(A, B, C, E3, E5, self.K_extended, zeros(size), zeros(size), zeros(size), zeros(7))
        self.call = entry_for(step_dop853, self.arguments())

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the kernel."""
        system = self.system
        return *system.programs, self.weight, system.work, system.out, self.stages, LIGHT

    def _step_impl(self) -> tuple[bool, str | None]:
        """Take one step; this is what SciPy asks of a solver."""
        stages, equations, t = self.stages, self.equations, float(self.t)
        self.weight[:], stages.y[:], stages.K[0] = equations.unit**2, self.y, self.f
        stages.control[:] = t, self.h_abs, self.t_bound, self.rtol, self.atol, SHORTEST * ulp(t), 0.0
        status = self.call(*self.arguments())
        count = int(stages.control[6])
        equations.motion.counts.evaluations += count
        equations.motion.counts.factorisations += count
        if status != TAKEN:
            self.closed = np.zeros(0)
            return super()._step_impl()
        self.t, self.h_abs = float(stages.control[0]), float(stages.control[1])
        self.h_previous, self.y_old = self.t - t, self.y
        self.y, self.closed, self.f = stages.new.copy(), stages.closed.copy(), stages.K[STAGES].copy()
        equations.unit = np.sqrt(self.weight)
        return True, None
