"""Rules of explicit steps as numbers for compiled steps: Runge-Kutta tables, velocity Verlet, semi-implicit Euler."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.tableaux import Tableau
from rtmbs.jit.struct import struct

Array = Any

RUNGE_KUTTA, VERLET, SEMI_IMPLICIT = range(3)  # kinds of rules


@struct
class ExplicitRule(NamedTuple):
    """A rule of explicit steps."""

    kind: Array  # (1,) int64: RUNGE_KUTTA, VERLET or SEMI_IMPLICIT
    a: Array  # (stages, stages) of a Runge-Kutta table, strictly lower triangle
    b: Array  # (stages,) weights


def rule_of_table(table: Tableau) -> ExplicitRule:
    """Return the rule of a Runge-Kutta table."""
    return ExplicitRule(np.array([RUNGE_KUTTA]), table.matrix, np.array(table.b))


def rule_of_kind(kind: int) -> ExplicitRule:
    """Return a rule without a table."""
    return ExplicitRule(np.array([kind]), np.zeros((1, 1)), np.ones(1))
