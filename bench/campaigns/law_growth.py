"""A random force law, grown rule by rule beside its reference: values, derivatives and what rounding does to them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.campaigns.law_rules import RULES, M, S, V

Array = Any
STEP = 1e-30
NOISE = 1e-11  # relative, put on values and derivatives of every node in the noisy rows
BESIDE = 1e-14  # the least that a value is moved, so that an exact zero leaves the edge of a branch
NOISY = 2  # noisy evaluations beside the exact one; values are moved up in one, down in the other
BOUND = 8.0  # values and derivatives beyond it are scaled down
FAINT = 1e-3  # largest derivative, at the last state, below which a node is seldom grown: laws would become constants
SHAKY = 1e-6  # of a node: one that noise moves by more stands at the edge of a branch, and is not grown
SHAPES = {S: (), V: (3,), M: (3, 3)}


class Node(NamedTuple):
    """A rule with its arguments, which are earlier nodes, and its constants."""

    rule: str
    arguments: tuple[int, ...]
    constants: tuple[float, ...]


class Leaves(NamedTuple):
    """What a law is made of: its inputs by kind, in one order for both readings."""

    kinds: tuple[str, ...]
    split: Callable[[Array, Array], list[Array]]  # of x (B, n), p (B, k): values, a first axis of B rows


class Plant:
    """Nodes that grow, each evaluated at once for complex steps: rows (states, 1 + NOISY, n directions)."""

    def __init__(self, rng: np.random.Generator, leaves: Leaves, x: Array, p: Array) -> None:
        states, n = x.shape
        self.rng, self.shape, self.nodes = rng, (states, 1 + NOISY, n), []
        rows = np.broadcast_to(x[:, None, None, :] + 1j * STEP * np.eye(n), (*self.shape, n)).reshape(-1, n)
        self.quiet = (np.arange(len(rows)) // n) % (1 + NOISY) == 0
        self.beside = BESIDE * np.array((0.0, 1.0, -1.0))[(np.arange(len(rows)) // n) % (1 + NOISY)]
        self.values = leaves.split(rows, np.repeat(p, len(rows) // states, axis=0).astype(complex))
        self.kinds, self.leaves = list(leaves.kinds), len(leaves.kinds)
        self.analytic = True

    def noisy(self, value: Array) -> Array:
        """Return a value with what rounding does, much larger, in the noisy rows: up in one, down in the other.

        So one of them falls off the edge that a value stands at but for rounding, as that of ceil at 1.
        """
        real, imag = (self.rng.uniform(-NOISE, NOISE, value.shape) for _ in range(2))
        rows = real.reshape(*self.shape, -1)
        rows[:, 2] = -rows[:, 1]
        real[self.quiet], imag[self.quiet] = 0.0, 0.0
        beside = self.beside.reshape(-1, *(1,) * (value.ndim - 1)) * self.rng.choice((-1.0, 1.0))
        return value.real * (1.0 + real) + beside + 1j * value.imag * (1.0 + imag)

    def add(self, name: str, arguments: tuple[int, ...]) -> int:
        """Grow a node; return its place, or -1 when it would not be finite, or stand at the edge of a branch."""
        if not RULES[name].analytic and any(self.near_zero(k) for k in arguments):
            return -1
        constants = tuple(float(value) for value in self.rng.uniform(0.2, 2.0, 2) * self.rng.choice((-1.0, 1.0), 2))
        with np.errstate(all="ignore"):
            value = RULES[name].reference(constants, *(self.values[k] for k in arguments)).astype(complex)
        size = max(np.abs(value.real).max(), np.abs(value.imag).max() / STEP)
        if not np.isfinite(size) or size > 1e12 or self.moved(value).max() > SHAKY * max(size, 1.0):
            return -1
        if np.abs(value.imag[len(value) // 2 :]).max() < FAINT * STEP and self.rng.random() < 0.95:
            return -1
        self.append(Node(name, arguments, constants), RULES[name].gives, value, RULES[name].analytic)
        if size > BOUND:
            factor = 1.0 / size
            scale = Node("by a number", (len(self.values) - 1,), (factor,))
            self.append(scale, RULES[name].gives, factor * value, True)
        return len(self.values) - 1

    def near_zero(self, place: int) -> bool:
        """True when a result is zero but for rounding, which then chooses the branch; inputs have no rounding."""
        return place >= self.leaves and bool(np.abs(self.values[place].real).min() < 10.0 * BESIDE)

    def moved(self, value: Array) -> Array:
        """Return how far noise has moved a node (states, ..): the larger of value and derivative."""
        rows = value.reshape(*self.shape, -1)
        real, slope = rows.real, rows.imag / STEP
        return np.maximum(np.abs(real - real[:, :1, :1]), np.abs(slope - slope[:, :1]))

    def append(self, node: Node, kind: str, value: Array, analytic: bool) -> None:
        self.nodes.append(node)
        self.values.append(self.noisy(value))
        self.kinds.append(kind)
        self.analytic &= analytic

    def places(self, kind: str) -> list[int]:
        return [k for k, other in enumerate(self.kinds) if other == kind]

    def ends(self, kind: str) -> list[int]:
        """Return the nodes of a kind that no other takes."""
        taken = {k for node in self.nodes for k in node.arguments}
        return [k for k in self.places(kind) if k not in taken]

    def gathered(self, places: list[int], join: str) -> int:
        """Return one node that hangs on all of these, joined in pairs; what cannot be joined is left out."""
        while len(places) > 1:
            pairs = [self.add(join, (a, b)) for a, b in zip(places[::2], places[1::2], strict=False)]
            places = [k for k in pairs if k >= 0] + places[len(places) // 2 * 2 :]
        return places[0] if places else -1

    def answer(self, places: list[int]) -> tuple[Array, Array, Array]:
        """Return values (states, m) and derivatives (states, m, n) of some nodes, and how far noise moved either."""
        value = np.concatenate([self.values[k].reshape(*self.shape, -1) for k in places], axis=-1)
        slope = np.moveaxis(value.imag / STEP, 2, -1)
        return value.real[:, 0, 0], slope[:, 0], self.moved(value).max(axis=(1, 2, 3))


def grown(rng: np.random.Generator, leaves: Leaves, x: Array, p: Array, size: int, depth: float) -> Plant:
    """Return a plant of ``size`` nodes; with probability ``depth`` a node takes the newest of its kind."""
    plant, names = Plant(rng, leaves, x, p), list(RULES)
    places = {kind: plant.places(kind) for kind in SHAPES}
    while len(plant.nodes) < size:
        name = names[rng.integers(len(names))]
        given = [places[kind] for kind in RULES[name].takes]
        if not all(given):
            continue
        arguments = tuple(have[-1] if rng.random() < depth else have[rng.integers(len(have))] for have in given)
        if (made := plant.add(name, arguments)) >= 0:
            places[RULES[name].gives].append(made)
    return plant


def reading(nodes: list[Node], values: list[Array], results: list[int]) -> list[Array]:
    """Return some nodes of a law, carried out in NumPy on floats or on what is recorded."""
    values = list(values)
    with np.errstate(all="ignore"):
        for node in nodes:
            given = [values[k] for k in node.arguments]
            law = by_a_number if node.rule == "by a number" else RULES[node.rule].law
            values.append(law(node.constants, *given))
    return [values[k] for k in results]


def by_a_number(constants: Array, a: Array) -> Array:
    return constants[0] * a
