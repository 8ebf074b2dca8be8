"""Richardson extrapolation of runs of ever smaller steps: samples at the same times become samples of higher order.

Runs of h, h/2, h/4 have errors e_1 h^q1 + e_2 h^q2 + ...; each further run removes one power (METHODS 1.34).
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from rtmbs.results.samples import Samples
from rtmbs.rotations.vectors import Array, turn_between, turned

LINEAR = ("z", "zd", "zdd", "lam", "s")  # what is extrapolated number by number; R0 is on the rotation group


def extrapolated(runs: Sequence[Samples], powers: Sequence[int]) -> Samples:
    """Return the samples that the runs, each with half the steps of the one before, tend to.

    ``powers`` are those of the first ``len(runs) - 1`` terms of the error. Rotations are extrapolated as turns from
    those of the last run.
    """
    weights = weights_of(len(runs), powers)
    last = runs[-1]
    values = {name: combined([getattr(run, name) for run in runs], weights) for name in LINEAR}
    turns = combined([turn_between(last.R0, run.R0) for run in runs], weights)
    doubtful = np.max([run.doubtful for run in runs], axis=0)
    return last._replace(**values, R0=turned(last.R0, turns), doubtful=doubtful)


def combined(values: Sequence[Array], weights: Array) -> Array:
    """Return the sum of the last values and weighted differences to them: no digit is lost where runs agree."""
    last = values[-1]
    return reduce(lambda total, part: total + part[0] * (part[1] - last), zip(weights, values, strict=True), last)


def weights_of(runs: int, powers: Sequence[int]) -> Array:
    """Return the weight of each run; their sum is 1 and the terms h^q of the error cancel."""
    table = np.eye(runs)
    for q in powers[: runs - 1]:
        table = (2.0**q * table[1:] - table[:-1]) / (2.0**q - 1.0)
    return np.asarray(table[0])
