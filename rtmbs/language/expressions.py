"""Functions of a model file: of time, evaluated on a stack, never by Python's eval; curves and cams over a parameter.

An instruction is (kind, operand): ``("number", 8.0)``, ``("time", 0.0)``, ``("operator", "+")``, ``("negative", "")``,
``("call", "sin")``, ``("profile", SmoothStep(...))``. The fingerprint of a model sees a function as the tuple of its
instructions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

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
Array = NDArray[np.float64]
PARAMETER = "s"  # its name in a file
OF_PARAMETER = {("cam", "radius"), ("point on curve", "curve")}  # statements and keys whose values are functions of it
HALF_TURN = 180  # steps of one degree
MOST_STEPS = 20 * 2 * HALF_TURN  # of a motion over many turns
FITS = 1e-6  # of the roller's radius: a smaller depth is rounding


@dataclass(frozen=True)
class Curve:
    """A curve in body axes (3,) [m], each coordinate an expression of its parameter."""

    rows: tuple[Steps, ...]

    def __call__(self, s: Any) -> Any:
        return np.stack([value_at(steps, s) + 0.0 * s for steps in self.rows])


@dataclass(frozen=True)
class CamCurve(Curve):
    """The path of a follower's roller centre on a cam: its radius r(s) over the angle s, offset by the roller [m].

    The cam lies in the x, y plane of its axes. With p = r (cos s, sin s) and p' its derivative, the centre stands at
    p + roller n, where n = (p'_y, -p'_x) / |p'| points outwards.
    """

    origin: Array  # (3,) of the cam in body axes [m]
    axes: Array  # (3, 3) of the cam, body axes
    roller: float  # radius of the roller, zero for a knife edge [m]

    def __call__(self, s: Any) -> Any:
        r = jet_at(self.rows[0], s)
        c, k = np.cos(s), np.sin(s)
        x, y = r.f * c, r.f * k
        if self.roller:
            dx, dy = r.fd * c - r.f * k, r.fd * k + r.f * c
            size = np.sqrt(dx * dx + dy * dy)
            x, y = x + self.roller * dy / size, y - self.roller * dx / size
        return np.stack([self.origin[i] + self.axes[i, 0] * x + self.axes[i, 1] * y for i in range(3)])

    def notes(self, name: str, first: float | None = None, last: float | None = None) -> list[str]:
        """Return a sentence where the roller does not fit the profile between two angles, by default over a turn."""
        span = (0.0, 2.0 * math.pi) if first is None or last is None else (first, last)
        depth, at, hollow = self.undercut(*span)
        if not depth > FITS * abs(self.roller):
            return []
        flank = f", which is hollow with a radius of {hollow:.6g} m," if hollow < abs(self.roller) else ","
        return [
            f"cam {name!r}: its roller of radius {abs(self.roller):.6g} m does not fit the profile{flank} and is up to"
            f" {depth:.3g} m inside it, at s = {at:.4g} rad; the follower would lift there: take a smaller roller, or"
            " rounder flanks"
        ]

    def undercut(self, first: float, last: float) -> tuple[float, float, float]:
        """Return how deep the roller is in the profile at most [m], at which angle, and the least hollow radius [m].

        Angles are in steps of a degree. The radius is infinite where no flank is hollow on the roller's side.

        The distance of the roller's centre from the profile half a turn to either side is less than the radius where a
        hollow flank is tighter than the roller, 1 + roller curvature < 0, and where the roller touches twice. A profile
        that does not come back after a turn counts between the two angles alone.
        """
        if not (self.roller and np.isfinite([first, last]).all() and first <= last):
            return 0.0, first, math.inf
        steps = min(max(math.ceil((last - first) * HALF_TURN / math.pi), 1), MOST_STEPS)
        step = max((last - first) / steps, 1e-6) if steps < MOST_STEPS else math.pi / HALF_TURN
        s = first + step * np.arange(-HALF_TURN, steps + HALF_TURN + 1)
        with np.errstate(all="ignore"):
            r, again = jet_at(self.rows[0], s), value_at(self.rows[0], s + 2.0 * np.pi)
            f, fd, fdd = (np.broadcast_to(np.asarray(one, np.float64), s.shape) for one in r)
            p = f * np.exp(1j * s)
            pd = (fd + 1j * f) * np.exp(1j * s)
            turns = (f * f + 2.0 * fd * fd - f * fdd) / (f * f + fd * fd) ** 1.5  # the curvature
            center = p - 1j * self.roller * pd / np.abs(pd)
        if not np.allclose(again, f, rtol=1e-9, atol=0.0):
            inside = (s >= first - 1e-9) & (s <= last + 1e-9)
            p, turns = np.where(inside, p, np.inf), np.where(inside, turns, 0.0)
        near = np.abs(sliding_window_view(p, 2 * HALF_TURN + 1) - center[HALF_TURN:-HALF_TURN, None]).min(axis=1)
        depth = np.nan_to_num(abs(self.roller) - near)
        turned = np.nan_to_num(self.roller * turns)[HALF_TURN:-HALF_TURN]
        hollow = 1.0 + turned < 0.0
        depth[hollow] = np.maximum(depth[hollow], 2.0 * FITS * abs(self.roller))
        k = int(np.argmax(depth))
        least = float(np.min(turned, initial=0.0))
        return float(depth[k]), float(s[HALF_TURN + k]), abs(self.roller) / -least if least < 0.0 else math.inf
