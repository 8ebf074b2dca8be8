"""Count the flops of the kernels by running their text with numbers that count; started by ``bench.phases``.

Runs with NUMBA_DISABLE_JIT=1, so that a kernel is the Python function it was written as. Roundings and square roots
count as one, sines and cosines as the polynomials that they are.
"""

import json
import math
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rtmbs.integrators import newton
from rtmbs.integrators.settings import INERTIA, StateArrays, arrays_of
from rtmbs.numerics.linear.sparse_lu import factor, solve, solve_refined
from rtmbs.semirecursive import balance, passes, projection_kernels, step
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual


class Counted:
    """A number that counts the operations made with it, all of them together in ``flops``."""

    __array_ufunc__ = None  # a numpy scalar on the left leaves the operation to us
    __slots__ = ("value",)
    flops = 0

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def __float__(self) -> float:
        return self.value

    @property
    def real(self) -> "Counted":
        return self

    def __neg__(self) -> "Counted":
        return Counted(-self.value)

    def __abs__(self) -> "Counted":
        return Counted(abs(self.value))

    def __bool__(self) -> bool:
        return bool(self.value)


def counting(operation: Any) -> Any:
    def method(self: Counted, other: Any) -> Counted:
        Counted.flops += 1
        return Counted(operation(self.value, float(other)))

    return method


for name, operation in {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b if b else math.inf,
}.items():
    setattr(Counted, f"__{name}__", counting(operation))
    setattr(Counted, f"__r{name}__", counting(lambda a, b, operation=operation: operation(b, a)))
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Counted, f"__{name}__", lambda self, other, name=name: getattr(self.value, f"__{name}__")(float(other)))


def function(of: Any) -> Any:
    """Return a function of one number that counts as one operation."""

    def counted(x: Any) -> Counted:
        Counted.flops += 1
        return Counted(of(float(x)))

    return counted


def numbers(array: Any) -> Any:
    """Return an array of numbers that count in place of one of float64."""
    if not (isinstance(array, np.ndarray) and array.dtype == np.float64):
        return array
    counted = np.empty(array.shape, object)
    counted.reshape(-1)[:] = [Counted(value) for value in array.reshape(-1)]
    return counted


def solutions(lu: Any, work: Any, ws: Any) -> None:
    """Solve as a step of two iterations does: once with a check of the residual, once without."""
    solve_refined(lu, work.original, work.factored, work, ws.residual, ws.dz)
    solve(lu, work.factored, work, ws.dz)


def count(path: Path) -> dict[str, int]:
    """Return the flops of every phase at the pickled state."""
    tables, lu, ws, work, alpha, state, settings = pickle.loads(path.read_bytes())
    ws, work = (type(held)(*map(numbers, held)) for held in (ws, work))
    scalar = SimpleNamespace(
        isfinite=lambda x: math.isfinite(float(x)), inf=math.inf, sqrt=function(math.sqrt), floor=function(math.floor)
    )
    for module in (balance, newton, projection_kernels, passes, step):
        module.np = scalar
    old = StateArrays(*map(numbers, arrays_of(state)))
    new, u, alpha = StateArrays(*map(np.copy, old)), numbers(state.u), numbers(alpha)
    h, record, found = settings.h, np.zeros(64), {}

    def counted(phase: str, call: Any, *arguments: Any) -> None:
        Counted.flops = 0
        call(*arguments)
        found[phase] = Counted.flops

    counted("residual", evaluate_residual, tables, old.R0, u, alpha, ws)
    weights = (Counted(1.0), Counted(0.5 * h), Counted(0.25 * h * h))
    counted("tangent", assemble_tangent, tables, INERTIA, *weights, u, alpha, old, ws, work.original)
    projection_kernels.keep_Phi_z(ws)
    work.factored[:] = work.original
    counted("factor", factor, lu, work.factored, work)
    ws.dz[:] = [Counted(0.0) for _ in ws.dz]
    counted("solve", solutions, lu, work, ws)
    arguments = (tables, lu, work, settings, alpha, u, old, new, ws, record)
    counted("projection", step.project, *arguments)
    return found


if __name__ == "__main__":
    print(json.dumps(count(Path(sys.argv[1]))))
