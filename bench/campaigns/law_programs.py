"""Random force laws with branches as a user writes them: text of a function of Python.

A law has nested ``if``, ``elif`` and ``else``, early returns, chained comparisons, ``and``, ``or``, ``not``, ``min``,
``max``, ``abs`` and loops of fixed length. Sides that are not taken may divide by zero, and take roots and logarithms
of negative numbers.
"""

from dataclasses import dataclass, field

import numpy as np

BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} / {})", "min({}, {})", "max({}, {})")
UNARY = ("np.sqrt({})", "np.log({})", "np.sin({})", "np.tanh({})", "abs({})", "(-{})", "({}) ** 2", "(1.0 / {})")
SAFE = (0, 1, 2)  # places in BINARY that no condition stands behind and no number fails
BUDGET = 5  # conditions of a law


@dataclass
class Writer:
    """Writes one law."""

    rng: np.random.Generator
    left: int = BUDGET  # conditions that may still be written
    names: list[str] = field(default_factory=lambda: ["z", "zd", "t", "a"])
    lines: list[str] = field(default_factory=list)

    def law(self) -> str:
        """Return the text of ``law(t, k, p)``."""
        self.lines = ["def law(t, k, p):", "    z, zd, t, a = k.z, k.zd + 0.37, t + 0.21, p['a']"]
        for _ in range(int(self.rng.integers(2, 5))):
            self.statement(1)
        self.say(1, f"return {self.expression(2)}")
        return "\n".join(self.lines)

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *choices: str) -> str:
        return str(self.rng.choice(choices))

    def expression(self, depth: int) -> str:
        """Return an expression; min and max cost a condition."""
        if depth == 0 or self.rng.random() < 0.2:
            return self.pick(*self.names, f"{self.rng.normal():.3f}")
        if self.rng.random() < 0.4:
            return self.pick(*UNARY).format(self.expression(depth - 1))
        kinds = len(BINARY) if self.left > 0 else 4
        place = int(self.rng.integers(kinds))
        self.left -= place >= 4
        return BINARY[place].format(self.expression(depth - 1), self.expression(depth - 1))

    def condition(self, depth: int = 1) -> str:
        """Return a condition on plain expressions."""
        self.left -= 1
        kind = self.rng.random()
        one, bound = self.plain(), f"{self.rng.normal():.3f}"
        if depth and self.left > 0 and kind < 0.3:
            return f"({self.condition(0)} {self.pick('and', 'or')} {self.condition(0)})"
        if self.left > 0 and kind < 0.45:
            self.left -= 1
            low, high = np.sort(self.rng.normal(size=2))
            return f"{low:.3f} < {one} <= {high:.3f}"
        if kind < 0.55:
            return f"not {one} > {bound}"
        return f"{one} {self.pick('<', '<=', '>', '>=', '!=')} {bound}"

    def plain(self) -> str:
        """Return an expression for a condition: finite wherever its names are."""
        if self.rng.random() < 0.5:
            return self.pick(*self.names)
        form = BINARY[int(self.rng.choice(SAFE))]
        return form.format(self.pick(*self.names), self.pick(*self.names))

    def statement(self, depth: int) -> None:
        """Write an assignment, a branch or a loop."""
        kind = self.rng.random()
        if self.left <= 0 or depth > 3 or kind < 0.25:
            name = f"v{len(self.names)}"
            self.say(depth, f"{name} = {self.expression(2)}")
            if depth == 1:
                self.names.append(name)
        elif kind < 0.85:
            self.branch(depth)
        else:
            name, bound = f"v{len(self.names)}", f"{self.rng.normal():.3f}"
            self.left -= 2
            self.say(depth, f"{name} = {self.pick(*self.names)}")
            self.say(depth, "for i in range(2):")
            self.say(depth + 1, f"if {name} > {bound} + i:")
            self.say(depth + 2, f"{name} = {name} * {self.expression(1)}")
            if depth == 1:
                self.names.append(name)

    def branch(self, depth: int) -> None:
        """Write if, elif and else with an assignment to one name on each side, or a return."""
        name, known = f"v{len(self.names)}", list(self.names)
        sides = ["if"] + ["elif"] * int(self.rng.integers(0, 2)) + ["else"]
        for side in sides:
            if side == "elif" and self.left <= 0:
                continue
            self.names = list(known)
            self.say(depth, "else:" if side == "else" else f"{side} {self.condition()}:")
            if side != "else" and self.rng.random() < 0.2:
                self.say(depth + 1, f"return {self.expression(2)}")
                continue
            if self.rng.random() < 0.4:
                self.statement(depth + 1)
            self.say(depth + 1, f"{name} = {self.expression(2)}")
        self.names = [*known, name]
