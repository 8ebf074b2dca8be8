"""Random force laws with branches, recorded, against the law itself called in Python and against dual numbers.

Values are those of the plain law at ``STATES`` states each. Derivatives are compared with dual numbers that run the
same text and share no code with the recorder. Errors are measured in units of what rounding does: the difference of
double and extended precision.
"""

import warnings
from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.law_programs import Writer
from rtmbs.ad import evaluate, memory_of

Array = Any
STATES, SLOPES = 10_000, 200  # states at which values and derivatives of a law are compared
EDGE = 1e-9  # relative distance of two compared numbers, within which rounding may choose the side
RELATIVE, ROUNDINGS = 1e-12, 1e3  # errors that are allowed: of the number, and of its own rounding
SLOPE_RELATIVE = 1e-11
FIRST = 0.3  # [rad] of the joint at the reference pose


class Dual:
    """A number with its derivatives by (z, zd); ``margins`` takes how close its comparisons were."""

    margins: list[float] = []  # noqa: RUF012 - of all duals, emptied before a call

    def __init__(self, value: Any, slope: Array) -> None:
        self.value, self.slope = value, slope

    def of(self, other: Any) -> "Dual":
        return other if isinstance(other, Dual) else Dual(self.value * 0 + other, 0 * self.slope)

    def __add__(self, other: Any) -> "Dual":
        other = self.of(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Any) -> "Dual":
        return self + -self.of(other)

    def __rsub__(self, other: Any) -> "Dual":
        return self.of(other) - self

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __mul__(self, other: Any) -> "Dual":
        other = self.of(other)
        return Dual(self.value * other.value, self.slope * other.value + other.slope * self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> "Dual":
        other = self.of(other)
        ratio = self.value / other.value
        return Dual(ratio, (self.slope - ratio * other.slope) / other.value)

    def __rtruediv__(self, other: Any) -> "Dual":
        return self.of(other) / self

    def __pow__(self, exponent: int) -> "Dual":
        assert exponent == 2
        return self * self

    def __abs__(self) -> "Dual":
        self.near(self.of(0.0))
        return Dual(abs(self.value), np.sign(self.value) * self.slope)

    def sqrt(self) -> "Dual":
        root = np.sqrt(self.value)
        return Dual(root, self.slope / (2 * root))

    def log(self) -> "Dual":
        return Dual(np.log(self.value), self.slope / self.value)

    def sin(self) -> "Dual":
        return Dual(np.sin(self.value), np.cos(self.value) * self.slope)

    def tanh(self) -> "Dual":
        value = np.tanh(self.value)
        return Dual(value, (1 - value * value) * self.slope)

    def near(self, other: "Dual") -> tuple[Any, Any]:
        size = 1e-300 + abs(self.value) + abs(other.value)
        Dual.margins.append(float(abs(self.value - other.value) / size))
        return self.value, other.value

    def __lt__(self, other: Any) -> bool:
        one, two = self.near(self.of(other))
        return bool(one < two)

    def __le__(self, other: Any) -> bool:
        one, two = self.near(self.of(other))
        return bool(one <= two)

    def __gt__(self, other: Any) -> bool:
        one, two = self.near(self.of(other))
        return bool(one > two)

    def __ge__(self, other: Any) -> bool:
        one, two = self.near(self.of(other))
        return bool(one >= two)

    def __ne__(self, other: object) -> bool:
        one, two = self.near(self.of(other))
        return bool(one != two)

    __hash__ = None  # type: ignore[assignment]


class Seen:
    """What a law sees of a joint."""

    def __init__(self, z: Any, zd: Any) -> None:
        self.z, self.zd = z, zd


def law_of(text: str) -> Any:
    """Return the function that a text defines."""
    space: dict[str, Any] = {"np": np}
    exec(compile(text, "<law>", "exec"), space)
    return space["law"]


def slopes(law: Any, x: Array, p: Array, kind: Any) -> tuple[Any, Array, float]:
    """Return value, derivatives (2,) and the closest comparison of a law in numbers of a kind."""
    Dual.margins = []
    z, zd = (Dual(kind(x[i]), np.eye(2, dtype=kind)[i]) for i in range(2))
    found = law(kind(p[0]), Seen(z, zd), {"a": kind(p[1])})
    if not isinstance(found, Dual):
        found = Dual(kind(found), np.zeros(2, kind))
    return found.value, found.slope, min(Dual.margins, default=np.inf)


def recorded(law: Any) -> Any:
    """Return the tables of a model with the law; ``called`` says why it was not recorded."""
    model = rtmbs.Model("law", gravity=(0, 0, 0))
    model.add_body("b", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("j", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "b")
    model.set_initial("j", FIRST)
    model.add_force("law", law, joint="j", parameters={"a": 0.7})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.compile()


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one random law."""
    rng = np.random.default_rng([seed, 31])
    text = Writer(rng).law()
    law = law_of(text)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = law(np.float64(0.0), Seen(np.float64(FIRST), np.float64(0.0)), {"a": np.float64(0.7)})
        except ZeroDivisionError:
            value = np.nan
        if not np.isfinite(value):
            return ""  # refused at the reference pose
        try:
            system = recorded(law)
        except rtmbs.errors.ModelError as error:
            return "" if "the derivative of" in str(error) or "finite" in str(error) else f"{error}\n{text}"
        if system.forces["law"].called:
            tally.largest("laws that were not recorded", tally.worst.get("laws that were not recorded", 0.0) + 1.0)
            return "" if "64 ways" in system.forces["law"].called else f"{system.forces['law'].called}\n{text}"
        tally.largest("laws compared", tally.worst.get("laws compared", 0.0) + 1.0)
        return compared(law, text, system.tables.laws, rng, tally)


def compared(law: Any, text: str, laws: Any, rng: np.random.Generator, tally: Tally) -> str:
    """Hold the program of a law against the law."""
    memory, y = memory_of(laws.program), np.zeros(len(laws.program.output))
    columns = laws.force_entry[:, 1]
    for state in range(STATES):
        x, p = 1.5 * rng.normal(size=2), np.array([rng.random(), 0.7])
        evaluate(laws.program, memory, x, p[: int(laws.program.sizes[1])], y)
        value = law(p[0], Seen(*x), {"a": np.float64(0.7)})
        if not np.isfinite(value):
            continue
        wrong = abs(y[0] - value)
        if state >= SLOPES and wrong <= RELATIVE * abs(value):
            continue
        fine, slope, margin = slopes(law, x, p, np.longdouble)
        if margin < EDGE or not np.isfinite(fine):
            continue
        allowed = RELATIVE * max(abs(value), 1e-3) + ROUNDINGS * abs(float(fine) - value)
        tally.largest("value, share of what is allowed", float(wrong / allowed))
        if not wrong <= allowed:
            return f"value {y[0]!r} for {value!r} at {x.tolist()}, {p.tolist()}\n{text}"
        if state < SLOPES and np.all(np.isfinite(slope.astype(float))):
            found = np.zeros(2)
            found[columns] = y[1:]
            _, rough, _ = slopes(law, x, p, np.float64)
            apart = float(np.max(np.abs(found - slope.astype(float))))
            size = max(float(np.max(np.abs(slope.astype(float)))), abs(float(value)), 1e-3)  # terms may cancel
            allowed = SLOPE_RELATIVE * size + ROUNDINGS * float(np.max(np.abs(rough - slope)))
            tally.largest("derivative, share of what is allowed", apart / allowed)
            tally.largest("derivative, relative", apart / size)
            if not apart <= allowed:
                return f"derivative {found.tolist()} for {slope.tolist()} at {x.tolist()}\n{text}"
    return ""


CAMPAIGN = Campaign(
    name="law_branches",
    claim="random laws with branches are recorded with the values of the plain law and the derivatives of dual numbers",
    full=1000,
    bounded=40,
    run=lambda count, seed: each(judged, count, seed),
)
