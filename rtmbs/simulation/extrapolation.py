"""Richardson extrapolation of runs of h, h/2, h/4, ..., and the error of its result from the measured order.

Differences between extrapolations of ever smaller steps shrink by 2^p. Smooth motions have the power p of theory. A
force with a kink, a step too long for what happens in it, or chaotic motion have a smaller one (METHODS 1.34).
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

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


PAIR = 2  # steps of the grid in a step of the witness
SEEN = 0.75  # of a power: what is missing in the measured one for an order to be doubted
LEAST, MOST = 0.5, 1.0  # powers that an estimate counts on
SAFETY = 1.5  # of an estimate: a kink within a step has an error that depends on its place there
LUCK = 0.4  # of a power above the expected one
TWICE = 0.8  # of the difference to the extrapolation of steps twice as large
AROUND = 8  # an error is the largest of a time around: the run over this
NEAR = 4  # samples at least
ROUNDING = 1e-9  # of the largest value: errors below it are those of penalties
TELLING = 1e-8  # of the largest value: differences below it show no power


class Ladder(NamedTuple):
    """Extrapolations and runs beside the best one, as Samples or as Results.

    ``coarser`` and ``twice`` have every other sample.
    """

    fine: Any  # of one run less, without the coarsest
    coarse: Any  # without the finest
    coarser: Any | None  # of as many runs, with the witness; None: no witness
    twice: Any | None  # of all runs but the finest, and the witness
    plain: Any  # the last run but one
    finest: Any  # the last run


def ladder(runs: list[Samples], witness: Samples | None, powers: tuple[int, ...]) -> Ladder:
    """Return the extrapolations of runs of h, h/2, ... and of a witness of 2 h."""
    fine, coarse = extrapolated(runs[1:], powers), extrapolated(runs[:-1], powers)
    if witness is None:
        return Ladder(fine, coarse, None, None, *runs[-2:])
    count = len(witness.t)
    others = [every_other(run, count) for run in runs[:-1]]
    coarser, twice = (extrapolated([witness, *some], powers) for some in (others[:-1], others))
    return Ladder(fine, coarse, coarser, twice, *runs[-2:])


def every_other(samples: Samples, count: int) -> Samples:
    """Return ``count`` samples, every other one."""
    return Samples(*(values[::PAIR][:count] for values in samples))


def measured_power(beside: Ladder, typical: Array) -> float:
    """Return the power of h by which the differences of coordinates, rates and accelerations shrink, the least of them.

    NaN without a witness, inf where all differences are rounding.
    """
    if beside.coarser is None:
        return float("nan")
    count = len(beside.coarser.t)
    middle, fine = every_other(beside.coarse, count), every_other(beside.fine, count)
    powers = []
    for name in ("z", "zd", "zdd"):
        values = [getattr(one, name) for one in (beside.coarser, middle, fine)]
        first, second = (largest(b - a, typical) for a, b in pairwise(values))
        if name == "z" and fine.R0.shape[1]:
            turns = [
                float(np.abs(turn_between(a.R0, b.R0)).max()) for a, b in ((beside.coarser, middle), (middle, fine))
            ]
            first, second = max(first, turns[0]), max(second, turns[1])
        if max(first, second) > TELLING * max(largest(values[2], typical), 1.0 if name == "z" else 0.0):
            powers.append(np.log2(first / second) if second > 0.0 else np.inf)
    return float(min(powers, default=np.inf))


def largest(values: Array, typical: Array) -> float:
    """Return the largest of some values of coordinates, in typical sizes."""
    return float(np.max(np.abs(values) / typical, initial=0.0))


def estimate(value: Array, beside: Ladder, regular: bool, known: bool, expected: float) -> Array:
    """Return the error (k,) of a channel's ``value`` (k, ...), the largest of its components around every sample.

    The difference of the last two extrapolations would be the error for p = 1 and is divided by 2^p - 1, with the
    least of the measured power, there and in the whole run, and 1, times SAFETY. Where the motion is not ``regular``,
    it is at least that of the last two runs themselves: extrapolation may have made them worse. NaN: the differences
    do not shrink, although no rounding explains that: the whole motion is not ``known``. Differences that shrink faster
    than by the ``expected`` power are luck: the error is then at least that of one power less, from the larger one.
    """
    fine, coarse, coarser, twice = beside[:4]
    near = around(fine - coarse)
    floor = ROUNDING * float(np.max(np.abs(value), initial=0.0))
    if coarser is None or twice is None:
        return np.maximum(near, floor)
    count = len(coarser)
    first, second = around(coarser - coarse[::PAIR][:count]), around((coarse - fine)[::PAIR][:count])
    if not known and first.max() <= second.max():
        return np.full(len(value), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        here, whole = np.log2(first / second), np.log2(first.max() / second.max())
    power = np.clip(np.nan_to_num(np.minimum(here, whole), nan=MOST), LEAST, MOST)
    errors = np.maximum(SAFETY * near / (2.0 ** spread(power, len(near)) - 1.0), floor)
    doubled = around(value[::PAIR][:count] - twice)
    errors = np.maximum(errors, TWICE * spread(doubled, len(near)))
    lucky = np.where(np.maximum(here, whole) > expected + LUCK, first / 2.0 ** (expected - 1.0), 0.0)
    errors = np.maximum(errors, spread(lucky, len(near)))
    return errors if regular else np.maximum(errors, around(beside.finest - beside.plain))


def around(difference: Array) -> Array:
    """Return the largest absolute component (k,) in a time around every sample."""
    flat = np.abs(difference.reshape(len(difference), -1)).max(axis=1, initial=0.0)
    wide = max(len(flat) // AROUND, NEAR)
    return np.asarray(maximum_filter1d(flat, 2 * wide + 1, mode="nearest"))


def spread(values: Array, count: int) -> Array:
    """Return values of every other sample at ``count`` samples."""
    return np.asarray(np.repeat(values, PAIR)[np.minimum(np.arange(count), PAIR * len(values) - 1)])
