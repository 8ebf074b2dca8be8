"""Functions of time as they stand in a file: postfix instructions, evaluated on a stack, never by Python's eval.

An instruction is (kind, operand): ``("number", 8.0)``, ``("time", 0.0)``, ``("operator", "+")``, ``("negative", "")``,
``("call", "sin")``. The tuple of instructions is what a fingerprint sees of the function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.language.functions import FUNCTIONS, OPERATORS, PAIRS, Binary, Function, Jet, apply

Steps = tuple[tuple[str, Any], ...]
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "^": 4}  # how tightly operands are held


def is_smooth(steps: Steps) -> bool:
    """True when the function and its derivatives never jump."""
    known: dict[str, Function | Binary] = {**FUNCTIONS, **PAIRS}
    return all(known[operand].smooth for kind, operand in steps if kind == "call")


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
        elif kind == "call" and operand in FUNCTIONS:
            stack.append(apply(FUNCTIONS[operand], stack.pop()))
        else:
            second = stack.pop()
            pair = OPERATORS[operand] if kind == "operator" else PAIRS[operand]
            stack.append(pair.jet(stack.pop(), second))
    return stack.pop()


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


def written(steps: Steps) -> str:
    """Return an expression as text that reads back to the same instructions."""
    starts = operand_starts(steps)
    parts: list[str] = []
    left: list[tuple[str, int] | str] = [("any", len(steps) - 1)]
    while left:
        one = left.pop()
        if isinstance(one, str):
            parts.append(one)
            continue
        where, k = one
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
    if kind in ("number", "time"):
        return 0
    return 1 if kind == "negative" or operand in FUNCTIONS else 2


def pieces(steps: Steps, starts: list[int], where: str, k: int) -> list[tuple[str, int] | str]:
    """Return instruction ``k`` as text and operands, in brackets where its place asks for them."""
    kind, operand = steps[k]
    if kind == "time":
        return ["TIME"]
    if kind == "number":
        text = repr(float(operand))
        return [f"({text})" if text.startswith("-") and where != "any" else text]
    if kind == "call":
        if operand in FUNCTIONS:
            return [f"{operand}(", ("any", k - 1), ")"]
        return [f"{operand}(", ("any", starts[k - 1] - 1), ", ", ("any", k - 1), ")"]
    own = BINDING["negative" if kind == "negative" else operand]
    inner: list[tuple[str, int] | str]
    if kind == "negative":
        inner = ["-", ("3", k - 1)]
    else:
        first, second = starts[k - 1] - 1, k - 1
        sides = ("5", "4") if operand == "^" else (str(own), str(own + 1))
        inner = [(sides[0], first), operand if operand == "^" else f" {operand} ", (sides[1], second)]
    return inner if where == "any" or own >= int(where) else ["(", *inner, ")"]


TimeFunction = Callable[[float], Any]
