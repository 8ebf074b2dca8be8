"""Functions of time in a file: postfix instructions, evaluated on a stack, never by Python's eval.

An instruction is (kind, operand): ``("number", 8.0)``, ``("time", 0.0)``, ``("operator", "+")``, ``("negative", "")``,
``("call", "sin")``, ``("profile", SmoothStep(...))``. The fingerprint of a model sees a function as the tuple of its
instructions. Values are plain
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

CONSTANTS = {"pi": math.pi}
Steps = tuple[tuple[str, Any], ...]
COMPARISONS = ("<", "<=", ">", ">=")
BINDING = dict.fromkeys(COMPARISONS, 0) | {
    "+": 1,
    "-": 1,
    "*": 2,
    "/": 2,
    "negative": 3,
    "^": 4,
}  # how tightly operands are held


class Function(NamedTuple):
    """A function of one number; ``slopes`` returns its two derivatives from its argument and its value."""

    value: Callable[[Any], Any]
    slopes: Callable[[Any, Any], tuple[Any, Any]]
    smooth: bool = True


class Jet(NamedTuple):
    """A quantity with its first two derivatives in time; numbers or arrays over times."""

    f: Any
    fd: Any
    fdd: Any


def arc_sine(x: Any, y: Any) -> tuple[Any, Any]:
    d = 1.0 / np.sqrt(1.0 - x * x)
    return d, x * d * d * d


def arc_cosine(x: Any, y: Any) -> tuple[Any, Any]:
    d, dd = arc_sine(x, y)
    return -d, -dd


def arc_tangent(x: Any, y: Any) -> tuple[Any, Any]:
    d = 1.0 / (1.0 + x * x)
    return d, -2.0 * x * d * d


def tangent(x: Any, y: Any) -> tuple[Any, Any]:
    d = 1.0 + y * y
    return d, 2.0 * y * d


def hyperbolic_tangent(x: Any, y: Any) -> tuple[Any, Any]:
    d = 1.0 - y * y
    return d, -2.0 * y * d


FUNCTIONS: dict[str, Function] = {
    "sin": Function(np.sin, lambda x, y: (np.cos(x), -y)),
    "cos": Function(np.cos, lambda x, y: (-np.sin(x), -y)),
    "tan": Function(np.tan, tangent),
    "asin": Function(np.arcsin, arc_sine),
    "acos": Function(np.arccos, arc_cosine),
    "atan": Function(np.arctan, arc_tangent),
    "sinh": Function(np.sinh, lambda x, y: (np.cosh(x), y)),
    "cosh": Function(np.cosh, lambda x, y: (np.sinh(x), y)),
    "tanh": Function(np.tanh, hyperbolic_tangent),
    "exp": Function(np.exp, lambda x, y: (y, y)),
    "log": Function(np.log, lambda x, y: (1.0 / x, -1.0 / (x * x))),
    "log10": Function(np.log10, lambda x, y: (1.0 / (math.log(10.0) * x), -1.0 / (math.log(10.0) * x * x))),
    "sqrt": Function(np.sqrt, lambda x, y: (0.5 / y, -0.25 / (x * y))),
    "abs": Function(np.abs, lambda x, y: (np.sign(x), 0.0), smooth=False),
    "sign": Function(np.sign, lambda x, y: (0.0, 0.0), smooth=False),
}


def apply(function: Function, u: Jet) -> Jet:
    """Return a function of a jet by the chain rule."""
    y = function.value(u.f)
    d, dd = function.slopes(u.f, y)
    if steady(u):
        return Jet(y, d, dd) if u.fd == 1.0 else Jet(y, u.fd * d, u.fd * u.fd * dd)
    return Jet(y, d * u.fd, dd * u.fd * u.fd + d * u.fdd)


def add(u: Jet, v: Jet) -> Jet:
    return Jet(u.f + v.f, u.fd + v.fd, u.fdd + v.fdd)


def subtract(u: Jet, v: Jet) -> Jet:
    return Jet(u.f - v.f, u.fd - v.fd, u.fdd - v.fdd)


def multiply(u: Jet, v: Jet) -> Jet:
    if constant(u) or constant(v):
        factor, w = (u.f, v) if constant(u) else (v.f, u)
        return Jet(factor * w.f, factor * w.fd, factor * w.fdd)
    return Jet(u.f * v.f, u.fd * v.f + u.f * v.fd, u.fdd * v.f + 2.0 * (u.fd * v.fd) + u.f * v.fdd)


def divide(u: Jet, v: Jet) -> Jet:
    """From f v = u: f' v + f v' = u', and once more."""
    f = u.f / v.f
    fd = (u.fd - f * v.fd) / v.f
    return Jet(f, fd, (u.fdd - 2.0 * (fd * v.fd) - f * v.fdd) / v.f)


def raise_to(u: Jet, v: Jet) -> Jet:
    """u^v; a constant exponent takes a base of any sign, another one a base above zero."""
    f = u.f**v.f
    if constant(v) and np.ndim(v.f) == 0:
        p = v.f
        d = p * u.f ** (p - 1.0) if p else 0.0
        dd = p * (p - 1.0) * u.f ** (p - 2.0) if p * (p - 1.0) else 0.0
        return Jet(f, d * u.fd, dd * u.fd * u.fd + d * u.fdd)
    exponent = multiply(v, apply(FUNCTIONS["log"], u))
    return Jet(f, f * exponent.fd, f * (exponent.fdd + exponent.fd * exponent.fd))


def arc_tangent_2(y: Jet, x: Jet) -> Jet:
    """The angle of the point (x, y): r^2 f' = x y' - y x'."""
    f, r2 = np.arctan2(y.f, x.f), x.f * x.f + y.f * y.f
    fd = (x.f * y.fd - y.f * x.fd) / r2
    fdd = (x.f * y.fdd - y.f * x.fdd - 2.0 * fd * (x.f * x.fd + y.f * y.fd)) / r2
    return Jet(f, fd, fdd)


def smaller(u: Jet, v: Jet) -> Jet:
    return Jet(*(np.where(u.f <= v.f, a, b) for a, b in zip(u, v, strict=True)))


def larger(u: Jet, v: Jet) -> Jet:
    return Jet(*(np.where(u.f >= v.f, a, b) for a, b in zip(u, v, strict=True)))


def compared(compare: Callable[[Any, Any], Any]) -> "Binary":
    """Return a comparison: one where it holds, zero elsewhere."""

    def value(a: Any, b: Any) -> Any:
        return np.where(compare(a, b), 1.0, 0.0)

    return Binary(value, lambda u, v: Jet(value(u.f, v.f), 0.0, 0.0), smooth=False)


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return a where a condition is not zero, b elsewhere."""
    return np.where(condition != 0.0, a, b)


def steady(u: Jet) -> bool:
    """True for a number plus a multiple of TIME, written so that its rate is known as one number."""
    return isinstance(u.fd, float) and isinstance(u.fdd, float) and u.fdd == 0.0


def constant(u: Jet) -> bool:
    """True for a number that is written as one."""
    return steady(u) and bool(u.fd == 0.0)


class Binary(NamedTuple):
    """A function of two numbers."""

    value: Callable[[Any, Any], Any]
    jet: Callable[[Jet, Jet], Jet]
    smooth: bool = True


OPERATORS: dict[str, Binary] = {
    "+": Binary(lambda a, b: a + b, add),
    "-": Binary(lambda a, b: a - b, subtract),
    "*": Binary(lambda a, b: a * b, multiply),
    "/": Binary(lambda a, b: a / b, divide),
    "^": Binary(lambda a, b: a**b, raise_to),
    "<": compared(np.less),
    "<=": compared(np.less_equal),
    ">": compared(np.greater),
    ">=": compared(np.greater_equal),
}
PAIRS: dict[str, Binary] = {
    "atan2": Binary(np.arctan2, arc_tangent_2, smooth=False),
    "min": Binary(np.minimum, smaller, smooth=False),
    "max": Binary(np.maximum, larger, smooth=False),
}


CHOICE = "if"  # (condition, value where it holds, value elsewhere)


def is_smooth(steps: Steps) -> bool:
    """True when the function and its derivatives never jump."""
    known: dict[str, Function | Binary] = {**FUNCTIONS, **PAIRS, **OPERATORS}
    called = [operand for kind, operand in steps if kind in ("call", "operator")]
    return CHOICE not in called and all(known[operand].smooth for operand in called)


def value_at(steps: Steps, t: Any) -> Any:
    """Return the value at ``t`` [s]: a number, an array, complex, or a recorder's number."""
    stack: list[Any] = []
    for kind, operand in steps:
        if kind == "number":
            stack.append(operand)
        elif kind == "time":
            stack.append(t)
        elif kind == "negative":
            stack.append(-stack.pop())
        elif kind == "profile":
            stack.append(profile_jet(operand, t).f)
        elif operand == CHOICE:
            other, one = stack.pop(), stack.pop()
            stack.append(chosen(stack.pop(), one, other))
        elif kind == "call" and operand in FUNCTIONS:
            stack.append(FUNCTIONS[operand].value(stack.pop()))
        else:
            second = stack.pop()
            pair = OPERATORS[operand] if kind == "operator" else PAIRS[operand]
            stack.append(pair.value(stack.pop(), second))
    return stack.pop()


def jet_at(steps: Steps, t: Any) -> Jet:
    """Return value, rate and acceleration at ``t`` [s], a number or an array."""
    stack: list[Jet] = []
    for kind, operand in steps:
        if kind == "number":
            stack.append(Jet(operand, 0.0, 0.0))
        elif kind == "time":
            stack.append(Jet(t, 1.0, 0.0))
        elif kind == "negative":
            stack.append(Jet(*(-one for one in stack.pop())))
        elif kind == "profile":
            stack.append(profile_jet(operand, t))
        elif operand == CHOICE:
            v, u = stack.pop(), stack.pop()
            condition = stack.pop().f
            stack.append(Jet(*(chosen(condition, a, b) for a, b in zip(u, v, strict=True))))
        elif kind == "call" and operand in FUNCTIONS:
            stack.append(apply(FUNCTIONS[operand], stack.pop()))
        else:
            second = stack.pop()
            pair = OPERATORS[operand] if kind == "operator" else PAIRS[operand]
            stack.append(pair.jet(stack.pop(), second))
    return stack.pop()


def profile_jet(profile: Any, t: Any) -> Jet:
    """Return value, rate and acceleration of a profile at ``t`` [s], a number or an array."""
    if np.ndim(t) == 0:
        return Jet(*(np.float64(one) for one in profile(float(t))))
    return Jet(*np.array([profile(one) for one in np.ravel(t).tolist()]).T.reshape(3, *np.shape(t)))


@dataclass(frozen=True)
class Expression:
    """A function of time that answers a number, for forces."""

    steps: Steps

    @property
    def jumps(self) -> tuple[float, ...] | None:
        """No jumps, or not known (``rtmbs.simulation.jumps``)."""
        return () if is_smooth(self.steps) else None

    def value(self, t: Any) -> Any:
        """Return the value at ``t`` [s], plain NumPy underneath."""
        return value_at(self.steps, t)

    def __call__(self, t: float) -> Any:
        with np.errstate(all="ignore"):
            return float(value_at(self.steps, np.float64(t)))


@dataclass(frozen=True)
class ExpressionProfile(Expression):
    """A function of time that answers (f, fd, fdd), for drivers."""

    def __call__(self, t: float) -> tuple[float, float, float]:
        with np.errstate(all="ignore"):
            f, fd, fdd = jet_at(self.steps, np.float64(t))
        return float(f), float(fd), float(fdd)

    def many(self, t: np.ndarray) -> np.ndarray:
        """Return value, rate and acceleration (3, S) at times (S,) [s]."""
        with np.errstate(all="ignore"):
            return np.stack([np.broadcast_to(np.asarray(one, np.float64), t.shape) for one in jet_at(self.steps, t)])


@dataclass(frozen=True)
class ExpressionRow:
    """A function of time that answers several numbers, for wrenches."""

    rows: tuple[Steps, ...]

    @property
    def jumps(self) -> tuple[float, ...] | None:
        """No jumps, or not known (``rtmbs.simulation.jumps``)."""
        return () if all(is_smooth(steps) for steps in self.rows) else None

    def __call__(self, t: float) -> tuple[float, ...]:
        with np.errstate(all="ignore"):
            return tuple(float(value_at(steps, np.float64(t))) for steps in self.rows)


def written(steps: Steps, profile: Callable[[Any], str] = repr, variable: str = "TIME") -> str:
    """Return an expression as text that reads back to the same instructions; ``profile`` writes a profile in it."""
    starts = operand_starts(steps)
    parts: list[str] = []
    left: list[tuple[str, int] | str] = [("any", len(steps) - 1)]
    while left:
        one = left.pop()
        if isinstance(one, str):
            parts.append(one)
            continue
        where, k = one
        kind, operand = steps[k]
        if kind in ("profile", "time"):
            parts.append(profile(operand) if kind == "profile" else variable)
            continue
        left.extend(reversed(pieces(steps, starts, where, k)))
    return "".join(parts)


def operand_starts(steps: Steps) -> list[int]:
    """Return, for each instruction, where its operands begin."""
    starts: list[int] = []
    stack: list[int] = []
    for k, (kind, operand) in enumerate(steps):
        count = operand_count(kind, operand)
        start = k
        for _ in range(count):
            start = stack.pop()
        stack.append(start)
        starts.append(start)
    return starts


def operand_count(kind: str, operand: Any) -> int:
    """Return how many operands an instruction takes."""
    if kind in ("number", "time", "profile"):
        return 0
    if operand == CHOICE:
        return 3
    return 1 if kind == "negative" or operand in FUNCTIONS else 2


def pieces(steps: Steps, starts: list[int], where: str, k: int) -> list[tuple[str, int] | str]:
    """Return instruction ``k`` as text and operands, in brackets where precedence needs them."""
    kind, operand = steps[k]
    if kind == "number":
        text = repr(float(operand))
        return [f"({text})" if text.startswith("-") and where != "any" else text]
    if kind == "call":
        ends = [k - 1]
        for _ in range(operand_count(kind, operand) - 1):
            ends.insert(0, starts[ends[0]] - 1)
        inside: list[tuple[str, int] | str] = [part for end in ends for part in (", ", ("any", end))]
        return [f"{operand}(", *inside[1:], ")"]
    own = BINDING["negative" if kind == "negative" else operand]
    inner: list[tuple[str, int] | str]
    if kind == "negative":
        inner = ["-", ("3", k - 1)]
    else:
        first, second = starts[k - 1] - 1, k - 1
        sides = ("5", "4") if operand == "^" else (str(max(own, 1)), str(own + 1))
        inner = [(sides[0], first), operand if operand == "^" else f" {operand} ", (sides[1], second)]
    return inner if where == "any" or own >= int(where) else ["(", *inner, ")"]


TimeFunction = Callable[[float], Any]
