"""Operations of a tape: every step is one of these on one, two or three earlier steps.

Truth values are 1.0 and 0.0. ``GUARDED`` is a product in which an exact zero wins over infinity and not-a-number: it
stands where a derivative passes a branch not taken, whose own derivative may be anything.
"""

from typing import Any

import numpy as np

from rtmbs.jit.compiled import kernel

LEAVES = ("CONSTANT", "INPUT")
UNARY = (
    *("NEGATE", "SIN", "COS", "TAN", "ARCSIN", "ARCCOS", "ARCTAN", "SINH", "COSH", "TANH", "ARCSINH", "ARCCOSH"),
    *("ARCTANH", "EXP", "EXPM1", "LOG", "LOG1P", "SQRT", "ABS", "SIGN", "FLOOR", "TRUTH"),
)
BINARY = (
    *("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "POWER", "ARCTAN2", "HYPOT", "MINIMUM", "MAXIMUM"),
    *("LESS", "LESS_EQUAL", "EQUAL", "GUARDED"),
)
TERNARY = ("SELECT",)
NAMES = (*LEAVES, *UNARY, *BINARY, *TERNARY)

# Arguments of every operation, by its number.
ARITY = np.array([0] * len(LEAVES) + [1] * len(UNARY) + [2] * len(BINARY) + [3] * len(TERNARY), dtype=np.int64)

CONSTANT, INPUT = range(2)
NEGATE, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, SINH, COSH, TANH, ARCSINH, ARCCOSH = range(2, 14)
ARCTANH, EXP, EXPM1, LOG, LOG1P, SQRT, ABS, SIGN, FLOOR, TRUTH = range(14, 24)
ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, ARCTAN2, HYPOT, MINIMUM, MAXIMUM = range(24, 33)
LESS, LESS_EQUAL, EQUAL, GUARDED = range(33, 37)
SELECT = 37


@kernel
def evaluate_unary(op: int, a: float) -> Any:
    """Return the value of a unary operation."""
    if op == NEGATE:
        return -a
    if op == SIN:
        return np.sin(a)
    if op == COS:
        return np.cos(a)
    if op == TAN:
        return np.tan(a)
    if op == ARCSIN:
        return np.arcsin(a)
    if op == ARCCOS:
        return np.arccos(a)
    if op == ARCTAN:
        return np.arctan(a)
    if op == SINH:
        return np.sinh(a)
    if op == COSH:
        return np.cosh(a)
    if op == TANH:
        return np.tanh(a)
    if op == ARCSINH:
        return np.arcsinh(a)
    if op == ARCCOSH:
        return np.arccosh(a)
    if op == ARCTANH:
        return np.arctanh(a)
    if op == EXP:
        return np.exp(a)
    if op == EXPM1:
        return np.expm1(a)
    if op == LOG:
        return np.log(a)
    if op == LOG1P:
        return np.log1p(a)
    if op == SQRT:
        return np.sqrt(a)
    if op == ABS:
        return np.abs(a)
    if op == SIGN:
        return np.sign(a)
    if op == FLOOR:
        return np.floor(a)
    return 1.0 if a != 0.0 else 0.0  # TRUTH


@kernel
def evaluate_binary(op: int, a: float, b: float) -> Any:
    """Return the value of a binary operation."""
    if op == ADD:
        return a + b
    if op == SUBTRACT:
        return a - b
    if op == MULTIPLY:
        return a * b
    if op == DIVIDE:
        return a / b
    if op == POWER:
        return np.power(a, b)
    if op == ARCTAN2:
        return np.arctan2(a, b)
    if op == HYPOT:
        return np.hypot(a, b)
    if op == MINIMUM:
        return np.minimum(a, b)
    if op == MAXIMUM:
        return np.maximum(a, b)
    if op == LESS:
        return 1.0 if a < b else 0.0
    if op == LESS_EQUAL:
        return 1.0 if a <= b else 0.0
    if op == EQUAL:
        return 1.0 if a == b else 0.0
    return 0.0 if a == 0.0 or b == 0.0 else a * b  # GUARDED
