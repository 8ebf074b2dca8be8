"""Derivatives of the operations of a tape, one line each.

A rule is given the arguments and the result ``r`` as traced arrays (all steps of one kind at once) and returns one
factor for each argument: dr = factor_a da + factor_b db. None says that nothing depends on that argument. Written on
the tape, the factors are operations like all others, so that tapes of derivatives can be differentiated again.

At the edge of a branch the derivative is that of the branch taken there: minimum and maximum take their first argument
when both are equal, |a| has the slope 0 at 0, a to the power 0 has no slope.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.ad import operations as o
from rtmbs.ad.traced import TracedArray

Rule = Callable[..., tuple[Any, ...]]


def truth(c: TracedArray) -> TracedArray:
    """Return 1 where the condition holds."""
    return TracedArray(c.tape, c.tape.append(o.TRUTH, c.ids))


def falsehood(c: TracedArray) -> TracedArray:
    """Return 1 where the condition does not hold."""
    return TracedArray(c.tape, c.tape.append(o.EQUAL, c.ids, c.tape.constant(0.0)))


def choice(condition: TracedArray) -> tuple[Any, Any]:
    """Return the factors of a pair of which the first is taken when the condition holds."""
    return truth(condition), falsehood(condition)


def power(a: TracedArray, b: TracedArray, r: TracedArray) -> tuple[Any, Any]:
    """a^b: b a^(b-1), and a^b log a, which is 0 at a = 0 (where log is not finite)."""
    return b * a ** (b - 1.0), np.where(a > 0.0, r * np.log(np.where(a > 0.0, a, 1.0)), 0.0)


def arctan2(a: TracedArray, b: TracedArray, r: TracedArray) -> tuple[Any, Any]:
    inverse = 1.0 / (a * a + b * b)
    return b * inverse, -a * inverse


FACTORS: dict[int, Rule] = {
    o.NEGATE: lambda a, r: (-1.0,),
    o.SIN: lambda a, r: (np.cos(a),),
    o.COS: lambda a, r: (-np.sin(a),),
    o.TAN: lambda a, r: (1.0 + r * r,),
    o.ARCSIN: lambda a, r: (1.0 / np.sqrt(1.0 - a * a),),
    o.ARCCOS: lambda a, r: (-1.0 / np.sqrt(1.0 - a * a),),
    o.ARCTAN: lambda a, r: (1.0 / (1.0 + a * a),),
    o.SINH: lambda a, r: (np.cosh(a),),
    o.COSH: lambda a, r: (np.sinh(a),),
    o.TANH: lambda a, r: (1.0 - r * r,),
    o.ARCSINH: lambda a, r: (1.0 / np.sqrt(a * a + 1.0),),
    o.ARCCOSH: lambda a, r: (1.0 / np.sqrt(a * a - 1.0),),
    o.ARCTANH: lambda a, r: (1.0 / (1.0 - a * a),),
    o.EXP: lambda a, r: (r,),
    o.EXPM1: lambda a, r: (np.exp(a),),
    o.LOG: lambda a, r: (1.0 / a,),
    o.LOG1P: lambda a, r: (1.0 / (1.0 + a),),
    o.SQRT: lambda a, r: (0.5 / r,),
    o.ABS: lambda a, r: (np.sign(a),),
    o.SIGN: lambda a, r: (None,),
    o.FLOOR: lambda a, r: (None,),
    o.TRUTH: lambda a, r: (None,),
    o.ADD: lambda a, b, r: (1.0, 1.0),
    o.SUBTRACT: lambda a, b, r: (1.0, -1.0),
    o.MULTIPLY: lambda a, b, r: (b, a),
    o.GUARDED: lambda a, b, r: (b, a),
    o.DIVIDE: lambda a, b, r: (1.0 / b, -r * (1.0 / b)),
    o.POWER: power,
    o.ARCTAN2: arctan2,
    o.HYPOT: lambda a, b, r: (a / r, b / r),
    o.MINIMUM: lambda a, b, r: choice(a <= b),
    o.MAXIMUM: lambda a, b, r: choice(a >= b),
    o.LESS: lambda a, b, r: (None, None),
    o.LESS_EQUAL: lambda a, b, r: (None, None),
    o.EQUAL: lambda a, b, r: (None, None),
    o.SELECT: lambda c, a, b, r: (None, *choice(c)),
}

# Factors that may be an exact zero beside a branch that is not taken.
GUARDED_FACTORS = frozenset({o.TRUTH, o.LESS, o.LESS_EQUAL, o.EQUAL, o.GUARDED})
