"""Connectors while a System is compiled: who asks for one between two dofs is told its number."""

import numpy as np

from rtmbs.system.system import Integers


class ConnectorList:
    """Pairs of dofs joined by a closure or a force, in the order in which they were asked for."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.branches: dict[int, Integers] = {}  # of connectors that join coordinates instead of bodies

    def add(self, a: int, b: int, branch: tuple[int, ...] = ()) -> int:
        """Return the number of a new connector between dofs ``a`` and ``b`` (-1: ground).

        ``branch`` lists the coordinates that it joins instead.
        """
        self.pairs.append((a, b))
        number = len(self.pairs) - 1
        if branch:
            self.branches[number] = np.array(branch, np.int64)
        return number


def numbers(connectors: list[int]) -> Integers:
    """Return the column ``connector`` of a table."""
    return np.array(connectors, np.int64)
