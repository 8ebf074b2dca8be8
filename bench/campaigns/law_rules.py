"""The grammar of random force laws: every rule twice, in NumPy as a user writes it and for complex steps.

The first reading is recorded. It meets floats, or what the recorder puts in their place: scalars (), vectors (3,) and
matrices (3, 3). The second reading is never recorded. It meets complex arrays with a first axis more, one row for each
direction and state, takes branches by the real part, and spells what NumPy has for real numbers only.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any
S, V, M = "scalar", "vector", "matrix"


class Rule(NamedTuple):
    """One production: what it takes, what it gives, and its two readings of (constants, *arguments)."""

    takes: tuple[str, ...]
    gives: str
    law: Callable[..., Array]
    reference: Callable[..., Array]
    analytic: bool


RULES: dict[str, Rule] = {}


def rule(
    name: str,
    takes: tuple[str, ...],
    gives: str,
    law: Callable[..., Array],
    reference: Callable[..., Array] | None = None,
    analytic: bool = True,
) -> None:
    """Enter a rule; without a second reading NumPy's own is analytic and takes rows as they are."""
    RULES[name] = Rule(takes, gives, law, reference or law, analytic)


def re(x: Array) -> Array:
    return np.real(x)


def column(x: Array) -> Array:
    """Return scalars of every row as a column beside vectors."""
    return x[:, None]


def dots(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1)


def times(m: Array, v: Array) -> Array:
    return np.sum(m * v[:, None, :], axis=-1)


def absolute(x: Array) -> Array:
    """|x|, whose slope at 0 is 0."""
    return np.sign(re(x)) * x


def angle(a: Array, b: Array) -> Array:
    """arctan2 by its differential: the imaginary parts are derivatives times 1e-30."""
    size = re(a) ** 2 + re(b) ** 2
    return np.arctan2(re(a), re(b)) + 1j * (re(b) * a.imag - re(a) * b.imag) / size


def whole(x: Array) -> Array:
    return np.floor(re(x)) + 0j


def extreme(choose: Callable[..., Array]) -> Callable[..., Array]:
    """Return the reading of a largest or least component."""

    def reading(c: Array, v: Array) -> Array:
        return np.take_along_axis(v, choose(re(v), axis=-1)[:, None], axis=-1)[:, 0]

    return reading


# ---- arithmetic

rule("add", (S, S), S, lambda c, a, b: a + b)
rule("subtract", (S, S), S, lambda c, a, b: a - b)
rule("multiply", (S, S), S, lambda c, a, b: a * b)
rule("divide", (S, S), S, lambda c, a, b: a / b)
rule("divide safely", (S, S), S, lambda c, a, b: a / (b * b + abs(c[0])))
rule("divide near zero", (S, S), S, lambda c, a, b: 1e-9 * a / (1e-9 * b))
rule("divide by a constant", (S,), S, lambda c, a: a / c[0])
rule("divide a constant", (S,), S, lambda c, a: c[0] / (1.5 + np.tanh(a)))
rule("scale", (S,), S, lambda c, a: c[0] * a)
rule("shift", (S,), S, lambda c, a: c[0] + a - 1.0)
rule("negate", (S,), S, lambda c, a: -a)
rule("mixed constants", (S,), S, lambda c, a: 0.0 * a + 1.0 * (c[0] - a) * 2.0 / 4.0 + 3.0 * (-1.0 * a))
rule("twice itself", (S,), S, lambda c, a: (a + a) * (a - 0.5 * a) - a / 2.0)

# ---- powers and functions

for exponent in (-3, -2, -1, 0, 1, 2, 3, 5, 7, 12, 64, 65):
    rule(f"power {exponent}", (S,), S, lambda c, a, e=exponent: (1.0 + 0.02 * np.tanh(a)) ** e)
for exponent in (2, 3, 4, 5):
    rule(f"plain power {exponent}", (S,), S, lambda c, a, e=exponent: a**e)
for exponent in (0.5, -0.5, 1.5, -2.25, 1.0 / 3.0):
    rule(f"power {exponent:.2f}", (S,), S, lambda c, a, e=exponent: (a * a + 0.1) ** e)
rule("power of two", (S, S), S, lambda c, a, b: np.power(a * a + 0.2, np.tanh(b)))
rule("power of a constant", (S,), S, lambda c, a: (0.5 + abs(c[0])) ** np.sin(a))

for name in ("sin", "cos", "tanh", "arctan", "arcsinh"):
    rule(name, (S,), S, lambda c, a, name=name: getattr(np, name)(a))
for name in ("tan", "sinh", "cosh", "arcsin", "arccos", "arctanh", "exp", "expm1", "exp2", "log1p", "square"):
    rule(name, (S,), S, lambda c, a, name=name: getattr(np, name)(0.9 * np.tanh(a)))
for name in ("log", "log2", "log10", "sqrt", "reciprocal", "arccosh"):
    rule(name, (S,), S, lambda c, a, name=name: getattr(np, name)(a * a + 1.1))
rule("degrees", (S,), S, lambda c, a: np.deg2rad(40.0 * a) + np.radians(a), lambda c, a: 41.0 * a * (np.pi / 180.0))
rule("hypot", (S, S), S, lambda c, a, b: np.hypot(a, b + 2.0), lambda c, a, b: np.sqrt(a * a + (b + 2.0) ** 2), False)
rule("arctan2", (S, S), S, lambda c, a, b: np.arctan2(a, b), lambda c, a, b: angle(a, b), False)
rule("logaddexp", (S, S), S, lambda c, a, b: np.logaddexp(a, b), lambda c, a, b: np.log(np.exp(a) + np.exp(b)), False)

# ---- branches

rule("abs", (S,), S, lambda c, a: abs(a) + np.fabs(a - c[0]), lambda c, a: absolute(a) + absolute(a - c[0]), False)
rule("sign", (S, S), S, lambda c, a, b: np.sign(a) * b, lambda c, a, b: np.sign(re(a)) * b, False)
rule("floor", (S, S), S, lambda c, a, b: np.floor(a) * b, lambda c, a, b: whole(a) * b, False)
rule("ceil", (S,), S, lambda c, a: a - np.ceil(a), lambda c, a: a + whole(-a), False)
rule("remainder", (S,), S, lambda c, a: a % 0.7, lambda c, a: a - 0.7 * whole(a / 0.7), False)
rule("minimum", (S, S), S, lambda c, a, b: np.minimum(a, b), lambda c, a, b: np.where(re(a) <= re(b), a, b), False)
rule("maximum", (S, S), S, lambda c, a, b: np.maximum(a, b), lambda c, a, b: np.where(re(a) >= re(b), a, b), False)
rule(
    "clip", (S,), S, lambda c, a: np.clip(a, -0.3, abs(c[0])),
    lambda c, a: np.where(re(a) < -0.3, -0.3, np.where(re(a) > abs(c[0]), abs(c[0]), a)), False,
)  # fmt: skip
rule(
    "where", (S, S, S), S, lambda c, a, b, d: np.where(a > b, b * d, a - d),
    lambda c, a, b, d: np.where(re(a) > re(b), b * d, a - d), False,
)  # fmt: skip
rule(
    "where, conditions", (S, S, S), S,
    lambda c, a, b, d: np.where((a <= c[0]) & ~(b < 0.0) | (d >= c[1]), a, np.where(b != 77.0, b, d)),
    lambda c, a, b, d: np.where((re(a) <= c[0]) & ~(re(b) < 0.0) | (re(d) >= c[1]), a, b), False,
)  # fmt: skip
rule(
    "guarded root", (S, S), S, lambda c, a, b: np.where(a > 0.05, np.sqrt(a), b),
    lambda c, a, b: np.where(re(a) > 0.05, np.sqrt(a), b), False,
)  # fmt: skip
rule(
    "guarded quotient", (S, S), S, lambda c, a, b: np.where(abs(b) > 0.1, a / b, np.log(b * b)),
    lambda c, a, b: np.where(abs(re(b)) > 0.1, a / b, np.log(b * b)), False,
)  # fmt: skip
rule(
    "branch of no number", (S,), S, lambda c, a: np.where(a < 50.0, a, np.log(-a * a - 1.0) / (a - a)),
    lambda c, a: a, False,
)  # fmt: skip
rule(
    "copysign",
    (S, S),
    S,
    lambda c, a, b: np.copysign(a, b),
    lambda c, a, b: np.where(re(b) < 0.0, -1, 1) * absolute(a),
    False,
)
rule(
    "comparison as a number",
    (S, S),
    S,
    lambda c, a, b: a * (a > b) + 2.0 * (b >= 0.1),
    lambda c, a, b: a * (re(a) > re(b)) + 2.0 * (re(b) >= 0.1),
    False,
)

# ---- loops, unrolled while they are recorded


def relaxed(c: Array, a: Array, b: Array) -> Array:
    for _ in range(6):
        a = a - (a - np.tanh(b - a)) / 3.0
    return a


def horner(c: Array, a: Array, b: Array) -> Array:
    total: Array = 0.0
    for k in range(8):
        total = total * np.tanh(a) + (c[0] / (k + 1.0)) * b
    return total


rule("relaxed", (S, S), S, relaxed)
rule("horner", (S, S), S, horner)

# ---- vectors

rule("vector sum", (V, V), V, lambda c, a, b: a + b - c[0])
rule("vector of a scalar", (S, V), V, lambda c, a, b: a * b, lambda c, a, b: column(a) * b)
rule("scalar under a vector", (V, S), V, lambda c, a, b: a / (1.0 + b * b), lambda c, a, b: a / column(1.0 + b * b))
rule(
    "components",
    (V, V),
    V,
    lambda c, a, b: np.sin(a) * b[::-1] - np.roll(a, 1),
    lambda c, a, b: np.sin(a) * b[:, ::-1] - np.roll(a, 1, axis=-1),
)
rule("cross", (V, V), V, lambda c, a, b: np.cross(a, b))
rule("dot", (V, V), S, lambda c, a, b: np.dot(a, b), lambda c, a, b: dots(a, b))
rule("at", (V, V), S, lambda c, a, b: a @ b, lambda c, a, b: dots(a, b))
rule("einsum", (V, V), S, lambda c, a, b: np.einsum("i,i", a, b), lambda c, a, b: dots(a, b))
rule("norm", (V,), S, lambda c, a: np.sqrt(a @ a + 0.01), lambda c, a: np.sqrt(dots(a, a) + 0.01))
rule("linalg.norm", (V,), S, lambda c, a: np.linalg.norm(a + 3.0), lambda c, a: np.sqrt(dots(a + 3.0, a + 3.0)))
rule("stack", (S, S, S), V, lambda c, a, b, d: np.stack((a, b, d)), lambda c, a, b, d: np.stack((a, b, d), axis=-1))
rule("component", (V,), S, lambda c, a: a[1], lambda c, a: a[:, 1])
rule(
    "unpacked", (V,), S, lambda c, a: sum(a[k] * (k + 1.0) for k in range(3)), lambda c, a: dots(a, np.arange(1.0, 4.0))
)
rule("sum", (V,), S, lambda c, a: np.sum(a) + a.mean(), lambda c, a: np.sum(a, axis=-1) * (4.0 / 3.0))
rule("product", (V,), S, lambda c, a: np.prod(a), lambda c, a: a[:, 0] * a[:, 1] * a[:, 2])
rule("running sum", (V,), V, lambda c, a: np.cumsum(a), lambda c, a: np.cumsum(a, axis=-1))
rule("largest", (V,), S, lambda c, a: np.max(a), extreme(np.argmax), False)
rule("least", (V,), S, lambda c, a: a.min(), extreme(np.argmin), False)
rule(
    "vector where",
    (V, V),
    V,
    lambda c, a, b: np.where(a > b, a * b, np.maximum(b, 0.1)),
    lambda c, a, b: np.where(re(a) > re(b), a * b, np.where(re(b) >= 0.1, b, 0.1)),
    False,
)
rule(
    "polynomial",
    (V, S),
    S,
    lambda c, a, b: np.polyval(a, np.tanh(b)),
    lambda c, a, b: (a[:, 0] * np.tanh(b) + a[:, 1]) * np.tanh(b) + a[:, 2],
)
rule(
    "wide sum",
    (S, S),
    S,
    lambda c, a, b: np.sum(np.sin(np.linspace(0.1, 1.0, 12) * a) * b),
    lambda c, a, b: np.sum(np.sin(np.linspace(0.1, 1.0, 12) * column(a)), axis=-1) * b,
)

# ---- matrices

rule("matrix and vector", (M, V), V, lambda c, m, a: m @ a, lambda c, m, a: times(m, a))
rule("transpose and vector", (M, V), V, lambda c, m, a: m.T @ a, lambda c, m, a: times(np.swapaxes(m, 1, 2), a))
rule("row", (M,), V, lambda c, m: m[2], lambda c, m: m[:, 2])
rule("matrix column", (M,), V, lambda c, m: m[:, 0], lambda c, m: m[:, :, 0])
rule("trace", (M,), S, lambda c, m: np.trace(m), lambda c, m: m[:, 0, 0] + m[:, 1, 1] + m[:, 2, 2])
rule("outer", (V, V), M, lambda c, a, b: np.outer(a, b), lambda c, a, b: a[:, :, None] * b[:, None, :])
rule(
    "matrices",
    (M, M),
    M,
    lambda c, m, n: m @ n - n.T,
    lambda c, m, n: np.sum(m[:, :, :, None] * n[:, None], axis=2) - np.swapaxes(n, 1, 2),
)
