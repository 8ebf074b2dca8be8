"""Connectors while a System is compiled: who asks for one between two steps is told its number."""

import numpy as np

from rtmbs.system.system import Integers


class Connectors:
    """Pairs of steps joined by a closure or a force, in the order in which they were asked for."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []

    def add(self, a: int, b: int) -> int:
        """Return the number of a new connector between steps ``a`` and ``b`` (-1: ground)."""
        self.pairs.append((a, b))
        return len(self.pairs) - 1


def numbers(connectors: list[int]) -> Integers:
    """Return the column ``connector`` of a table."""
    return np.array(connectors, np.int64)
