"""The exact simulation of ``events``: polynomials of time, or a swing in closed form; roots in extended precision."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Real = np.longdouble
SAME = 1e-12  # [s] zeros nearer than this have one instant
DOUBT = 1e-9  # zeros nearer than this, and extrema as near to zero, are left to rounding
SMALLEST = 1e-9  # of the longest gap: events so near to each other accumulate
AGAIN, MOST = 100, 60


class Function(NamedTuple):
    """An event function of places and rates."""

    kind: str
    one: int  # mass
    level: float
    other: float
    factor: float

    def value(self, t: Any, z: Any, v: Any) -> Any:
        """Return its value."""
        i, c = self.one, self.level
        if self.kind == "place":
            return self.factor * (z[i] - c)
        if self.kind == "rate":
            return self.factor * (v[i] - c)
        if self.kind == "time":
            return self.factor * (t - c)
        if self.kind == "window":
            return self.factor * ((z[i] - c) ** 2 - self.other**2)
        if self.kind == "gap":
            return self.factor * (z[0] - z[1] - c)
        return self.factor * ((z[0] - c) * (z[1] - self.other))

    def of_instant(self, s: Any) -> float:
        """Return its value for rtmbs."""
        return float(self.value(s.t, s.z, s.zd))


class Flight:
    """Masses with constant accelerations."""

    def __init__(self, z: Array, v: Array, a: Array) -> None:
        self.z, self.v, self.a = (np.array(one, dtype=Real) for one in (z, v, a))

    def at(self, t: Any) -> tuple[Array, Array, Array]:
        """Return places, rates and accelerations ``t`` [s] on."""
        return self.z + t * (self.v + t * self.a / 2), self.v + t * self.a, self.a

    def curve(self, function: Function, t: Any) -> "Curve":
        """Return a function along the motion from time ``t`` [s] on."""
        z = [np.array([self.z[k], self.v[k], self.a[k] / 2], dtype=Real) for k in range(len(self.z))]
        v = [np.array([self.v[k], self.a[k]], dtype=Real) for k in range(len(self.z))]
        i, c = function.one, np.array([1.0], dtype=Real)
        if function.kind == "window":
            shifted = plus(z[i], -function.level * c)
            p = plus(np.convolve(shifted, shifted), -(Real(function.other) ** 2) * c)
        elif function.kind == "both":
            p = np.convolve(plus(z[0], -function.level * c), plus(z[1], -function.other * c))
        else:
            rows = {"place": z[i], "rate": v[i], "time": np.array([t, 1.0], dtype=Real)}
            p = plus(plus(z[0], -z[1]) if function.kind == "gap" else rows[function.kind], -function.level * c)
        return Curve(function.factor * p)


class Swing:
    """A mass on a spring."""

    def __init__(self, z: Array, v: Array, w: float) -> None:
        self.z, self.v, self.w = np.array(z, dtype=Real), np.array(v, dtype=Real), Real(w)

    def at(self, t: Any) -> tuple[Array, Array, Array]:
        """Return places, rates and accelerations ``t`` [s] on."""
        c, s = np.cos(self.w * t), np.sin(self.w * t)
        z, v = self.z * c + self.v / self.w * s, self.v * c - self.w * self.z * s
        return z, v, -(self.w**2) * z

    def curve(self, function: Function, t: Any) -> Any:
        """Return a function along the motion from time ``t`` [s] on."""
        if function.kind == "time":
            return Curve(function.factor * np.array([t - function.level, 1.0], dtype=Real))
        z, v = self.z[0], self.v[0]
        cosine, sine = (z, v / self.w) if function.kind == "place" else (v, -self.w * z)
        return Wave(function.factor, cosine, sine, self.w, Real(function.level))


def plus(p: Array, q: Array) -> Array:
    """Return the sum of two polynomials."""
    total = np.zeros(max(len(p), len(q)), dtype=Real)
    total[: len(p)] += p
    total[: len(q)] += q
    return total


def evaluate(p: Array, t: Any) -> Any:
    """Return a polynomial, the lowest power first, at ``t``."""
    total = Real(0.0)
    for c in p[::-1]:
        total = total * t + c
    return total


def slope(p: Array) -> Array:
    """Return the derivative of a polynomial."""
    return p[1:] * np.arange(1, len(p)).astype(Real)


def roots(p: Array, a: Any, b: Any) -> list[Any]:
    """Return the changes of sign of a polynomial in (a, b], between those of its derivative."""
    while len(p) > 1 and p[-1] == 0:
        p = p[:-1]
    if len(p) < 2:
        return []
    border = [a, *roots(slope(p), a, b), b]
    found = []
    for low, high in pairwise(border):
        f, g = evaluate(p, low), evaluate(p, high)
        if f == 0 or f * g > 0:
            continue
        for _ in range(90):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if evaluate(p, middle) * f > 0 else (low, middle)
        found.append(high)
    return found


class Curve:
    """A function along a flight: a polynomial of the time from its start."""

    def __init__(self, p: Array) -> None:
        self.p = p

    def from_zero(self) -> "Curve":
        """Return the function as one that starts at zero exactly."""
        p = self.p.copy()
        p[0] = 0.0
        return Curve(p)

    def start_sign(self, at_zero: bool) -> int:
        """Return the sign just behind the start."""
        signs = [int(np.sign(c)) for c in self.p[int(at_zero) :] if c != 0]
        return signs[0] if signs else 0

    def zeros(self, at_zero: bool, span: Any) -> tuple[list[Any], Any]:
        """Return the times of changes of sign in a span [s], and the first time that rounding decides about one."""
        p = self.p
        while at_zero and len(p) > 1 and p[0] == 0:  # its own zero
            p = p[1:]
        found = roots(p, Real(0.0), span)
        bends = roots(slope(self.p), Real(0.0), span) if len(self.p) > 2 else []
        size = np.max(np.abs(self.p))
        if at_zero and found:  # the first flight from its own zero may be short
            bends = [t for t in bends if t > found[0]]
        doubtful = [t for t in bends if abs(evaluate(self.p, t)) < DOUBT**2 * 1e6 * size]
        if at_zero and len(p) > 1 and abs(p[0]) < 1e-13 * size:
            doubtful.append(Real(0.0))
        return found, min(doubtful, default=np.inf)

    def rate(self, t: Any) -> float:
        """Return the slope at ``t``."""
        return float(abs(evaluate(slope(self.p), t)))


class Wave:
    """A function along a swing: factor (cosine cos(w t) + sine sin(w t) - level)."""

    def __init__(self, factor: float, cosine: Any, sine: Any, w: Any, level: Any) -> None:
        self.factor, self.cosine, self.sine, self.w, self.level = factor, cosine, sine, w, level

    def from_zero(self) -> "Wave":
        """Return the function as one that starts at zero exactly."""
        return Wave(self.factor, self.level, self.sine, self.w, self.level)

    def start_sign(self, at_zero: bool) -> int:
        """Return the sign just behind the start."""
        start = self.cosine - self.level
        start = 0.0 if at_zero else start
        return int(np.sign(self.factor * (start or self.sine or -self.cosine)))

    def zeros(self, at_zero: bool, span: Any) -> tuple[list[Any], Any]:
        """Return the times of changes of sign in a span [s], and the first time that rounding decides about one."""
        size = np.hypot(self.cosine, self.sine)
        if abs(size - abs(self.level)) < 1e-2 * (1 + self.w):  # the tolerance of the run decides
            return [], Real(0.0)
        if size < abs(self.level):
            return [], np.inf
        phase, half = np.arctan2(self.sine, self.cosine), np.arccos(self.level / size)
        turns = np.arange(-2, 2 + int(span * self.w / 6.28))
        times = np.concatenate([(phase + side * half + 2 * np.pi * turns) / self.w for side in (1, -1)])
        near = 1e-4 if at_zero else 0.0
        return sorted(t for t in times if near < t <= span), Real(0.0) if at_zero and abs(self.sine) < 1e-2 else np.inf

    def rate(self, t: Any) -> float:
        """Return the slope at ``t``."""
        w = self.w
        return float(abs(self.factor * w * (self.sine * np.cos(w * t) - self.cosine * np.sin(w * t))))


class Reference:
    """A program of events, run exactly."""

    def __init__(self, motion: Any, functions: Any, actions: Any, rules: Any, span: float) -> None:
        self.motion, self.functions, self.actions, self.rules = motion, functions, actions, rules
        self.t, self.end, self.ended = Real(0.0), Real(span), "at the end"
        self.log: list[tuple[int, float]] = []
        self.slopes: list[float] = []
        self.at_zero = [False] * len(functions)
        self.last: list[Any] = [None] * len(functions)  # times of events that acted
        self.longest, self.gap = [Real(0.0)] * len(functions), [Real(0.0)] * len(functions)

    def counts(self, k: int, side: int) -> bool:
        """Return whether a change of sign from ``side`` is an event."""
        return side != 0 and self.rules[k][0] * side <= 0

    def run(self) -> None:
        """Go from instant to instant; a program of many events ends shortly behind the last of MOST."""
        cut = False
        while self.step():
            if len(self.log) > MOST and (isinstance(self.motion, Swing) or len(self.log) > 2 * MOST):
                self.ended = "in doubt"
                break
            if len(self.log) > MOST and not cut:
                self.end, cut = self.t + Real(1e-4), True
        if self.ended == "at the end":
            self.move(self.end)
        self.end = float(self.end)

    def move(self, t: Any) -> None:
        """Let the motion begin at ``t`` [s]."""
        z, v, a = self.motion.at(t - self.t)
        self.motion = Flight(z, v, a) if isinstance(self.motion, Flight) else Swing(z, v, self.motion.w)
        self.t = t

    def step(self) -> bool:
        """Go to the next instant; False at the end."""
        span = self.end - self.t
        coming, doubt = [], np.inf
        for k, function in enumerate(self.functions):
            curve = self.motion.curve(function, self.t)
            curve = curve.from_zero() if self.at_zero[k] else curve
            times, doubtful = curve.zeros(self.at_zero[k], span + Real(1e-6))
            doubt = min(doubt, doubtful)
            if times:
                side = curve.start_sign(self.at_zero[k])
                coming += [(t, k, side * (-1) ** i, curve.rate(t)) for i, t in enumerate(times)]
        coming.sort(key=lambda one: one[:2])
        limit = coming[0][0] if coming else np.inf
        spread = [one[0] - limit for one in coming if SAME < one[0] - limit < DOUBT]
        if doubt <= min(limit, span) or (spread and limit <= span) or abs(limit - span) < 1e-6:
            self.t, self.ended = self.t + min(doubt, limit, span), "in doubt"
            return False
        if limit > span:
            return False
        now = [one for one in coming if one[0] <= limit + SAME]
        self.move(self.t + limit)
        for one in range(len(self.functions)):
            self.at_zero[one] = any(k == one for _, k, _, _ in now)
        return self.meet({k: rate for _, k, side, rate in now if self.counts(k, side)})

    def meet(self, due: dict[int, float]) -> bool:
        """Let the events of an instant happen; False when the run ends."""
        order = lambda k: (-self.rules[k][1], k)  # noqa: E731
        pending, times, stops = sorted(due, key=order), dict.fromkeys(range(len(self.functions)), 0), False
        acted = set()
        while pending:
            k = pending.pop(0)
            times[k] += 1
            if times[k] > AGAIN:
                self.ended = "in a chain"
                return False
            self.log.append((k, float(self.t)))
            self.slopes.append(due.get(k, 1.0))
            if self.actions[k] is None:
                continue
            stops |= self.actions[k][0] == "stop"
            if self.actions[k][0] != "stop":
                acted.add(k)
                pending = sorted({*pending, *self.act(k)}, key=order)
        if stops:
            self.ended = "by a stop"
        return not stops and not any(self.accumulates(k) for k in sorted(acted))

    def sides(self) -> list[Any]:
        """Return the values of all functions now."""
        z, v, _ = self.motion.at(0.0)
        return [function.value(self.t, z, v) for function in self.functions]

    def act(self, k: int) -> list[int]:
        """Let an action set the motion; returns the events that this causes."""
        before = self.sides()
        kind, mass, x, y = self.actions[k]
        z, v, a = (np.array(one, dtype=Real) for one in self.motion.at(0.0))
        if kind == "bounce":
            v[mass] *= -x
        elif kind == "rate":
            v[mass] = x
        elif kind == "rates":
            v[:] = (x, y)[: len(v)]
        elif kind == "restore":
            v *= x
        elif kind == "force":
            a[mass] = 5.0 * x
        elif kind == "place":
            z[mass] = x
        self.motion = Flight(z, v, a) if isinstance(self.motion, Flight) else Swing(z, v, self.motion.w)
        caused = []
        for j, (old, new) in enumerate(zip(before, self.sides(), strict=True)):
            if self.at_zero[j]:
                self.at_zero[j] = bool(abs(new) < 1e-12)
            elif abs(new) < 1e-12 or np.sign(new) != np.sign(old):
                self.at_zero[j] = bool(abs(new) < 1e-12)
                caused += [j] if self.counts(j, int(np.sign(old))) else []
        return caused

    def accumulates(self, k: int) -> bool:
        """Return whether the events of a function come ever nearer to each other; the time is then where they end."""
        last, self.last[k] = self.last[k], self.t
        if last is None or last == self.t:
            return False
        before, gap = self.gap[k], self.t - last
        self.gap[k] = gap
        self.longest[k] = max(self.longest[k], gap)
        if gap > SMALLEST * self.longest[k]:
            return False
        self.ended = "accumulating"
        if gap < before:
            self.t += gap * gap / (before - gap)
        return True
