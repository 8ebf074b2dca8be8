"""``compare``: differences of two results, channel by channel.

A Comparison has the largest and the mean difference of every channel, and a verdict (METHODS 1.39).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.names import Keyed, selected
from rtmbs.core.notebook import table_html
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.results.channel import QUATERNION, TIME, Array, Channel, units_of
from rtmbs.results.curves import Curve, abscissa, components, curves_of, panels_of
from rtmbs.results.figure import Look, draw, save_figure
from rtmbs.results.result import Result, interpolated, span
from rtmbs.results.tables import needed

SAME_TIME = 1e-9  # of the shortest distance of samples: times nearer than that are one
ENOUGH = 2  # common times; with fewer the union of times is taken
TIMES = ("common", "union")
VIOLATION = re.compile(r"\.violation(_|$)")
HEAD = ("channel", "largest", "unit", "at t [s]", "rms", "relative", "verdict")
SAFETY = 2.0  # of the estimate of the error of interpolation
LISTED = 20  # channels that a text shows, the worst first


class Verdict(Enum):
    """Verdict on two channels; the value is the sentence for the user."""

    AGREE = "agrees within the tolerance"
    DIFFER = "differs by more than the tolerance"
    UNDECIDED = "interpolation between samples may hide or make the difference"
    OPEN = "no tolerance was given"


class Difference(NamedTuple):
    """Largest and mean difference of one channel of two results."""

    name: str
    unit: str  # of ``component``
    largest: float  # of |b - a| over times and components
    t: float  # where it is largest [s]
    component: str  # where it is largest; "" for a channel without components
    rms: float  # root of the mean square over times and components
    relative: float  # largest over the largest value of the channel's unit in both results, at the same times
    interpolation: float  # estimate of what interpolation adds to ``largest``; 0 at common times
    verdict: Verdict


@dataclass(frozen=True)
class Comparison(Keyed):
    """Differences of two results by channel; ``print(comparison)`` is a table, the largest relative ones first."""

    a: Result
    b: Result
    t: Array  # times of the comparison [s]
    tolerance: float | None
    differences: tuple[Difference, ...]  # the largest relative one first
    only_a: tuple[str, ...]  # channels that b lacks, and channels of other axes or units there
    only_b: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """DIFFER when one channel does, else UNDECIDED when one is; AGREE only when all channels agree."""
        found = {one.verdict for one in self.differences}
        return next(kind for kind in (Verdict.OPEN, Verdict.DIFFER, Verdict.UNDECIDED, Verdict.AGREE) if kind in found)

    @property
    def worst(self) -> Difference:
        """The channel of the largest relative difference."""
        return self.differences[0]

    def keys(self) -> list[str]:
        """Return the names of the compared channels."""
        return [one.name for one in self.differences]

    def __getitem__(self, name: Any) -> Any:
        """Return the Difference of one channel; of a pattern or a list of names the Differences by name.

        Raises UnknownNameError, which lists the nearest names.
        """
        found = {one.name: one for one in self.differences}
        if (several := selected("compared channel", name, found)) is not None:
            return {one: found[one] for one in several}
        if name not in found:
            raise unknown_name("compared channel", name, found)
        return found[name]

    def __str__(self) -> str:
        rows = [HEAD, *(cells_of(one) for one in self.differences[:LISTED])]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        if (more := len(self.differences) - LISTED) > 0:
            lines.append(f"and {more} more")
        for whose, names in (("a", self.only_a), ("b", self.only_b)):
            if names:
                lines.append(f"only in {whose}, or with other axes or units there: {', '.join(names)}")
        return "\n".join([f"{len(self.differences)} channels at {len(self.t)} times: {self.verdict.value}", *lines])

    def plot(
        self,
        *names: str,
        file: str | Path | None = None,
        degrees: bool = False,
        size: str | tuple[float, float] | None = None,
        style: str = "white",
    ) -> Any:
        """Draw channels of both results over their common time, and b - a below (extra ``plot``).

        Without a name the worst channel is drawn. ``degrees``, ``size`` and ``style`` are those of ``Result.plot``.

        Raises UnknownNameError for a channel that was not compared, and InputError as ``Result.plot`` does.

            comparison.plot("block.velocity")
        """
        look, shared = Look(size, style), (float(self.t[0]), float(self.t[-1]))
        both: list[Curve] = []
        apart: list[Curve] = []
        for name in names or (self.worst.name,):
            self[name]  # a name that was not compared is refused
            for run, (whose, one) in enumerate((("a", self.a), ("b", self.b))):
                both += [
                    within(curve, shared) for curve in curves_of(one, (name,), degrees=degrees, run=run, run_name=whose)
                ]
            between = Channel(name, *self.a.about(name), difference(self.a, self.b, self.t, name))
            apart += [
                Curve(label, unit, self.t, values, run_name="b - a")
                for label, unit, values in components(between, degrees)
            ]
        title = f"{self.a.name} (a) and {self.b.name} (b)"
        panels = panels_of(both) + panels_of(apart)
        return save_figure(draw(panels, abscissa(self.a, None), title, look=look), file, look)

    def to_pandas(self) -> Any:
        """Return a DataFrame, a row a channel (extra ``tables``)."""
        pandas = needed("pandas", "to_pandas", "tables")
        rows = [(*one[:-1], one.verdict.name) for one in self.differences]
        return pandas.DataFrame(rows, columns=Difference._fields).set_index("name")

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        head = f"{len(self.differences)} channels at {len(self.t)} times: {self.verdict.value}"
        return table_html(head, HEAD, [cells_of(one) for one in self.differences[:LISTED]])


def within(curve: Curve, span: tuple[float, float]) -> Curve:
    """Return the samples of a curve in a span of time."""
    seen = (curve.t >= span[0]) & (curve.t <= span[1])
    return curve._replace(t=curve.t[seen], y=curve.y[seen])


def compare(
    a: Result,
    b: Result,
    *names: str,
    tolerance: float | None = None,
    times: str | None = None,
) -> Comparison:
    """Return the differences of two results, channel by channel.

    At times of interpolation the verdict is UNDECIDED when the interpolation may hide or make the difference.

    Parameters
    ----------
    a : Result
        First result, of a run or of a file.
    b : Result
        Second result.
    *names : str
        Channels to compare. Unless given, all that both have with the same axes and units, but for violations of loops:
        these are the part of zero that a run leaves.
    tolerance : float, optional
        Bound of the largest difference, relative to the largest value of the channel's unit in both results, at the
        times of the comparison. The verdict is OPEN without it.
    times : str, optional
        "common" instants of both, or their "union" with straight lines between samples. Unless given, the common ones
        are taken where there are two at least.

    Returns
    -------
    Comparison
        Largest and mean difference of every channel, and a verdict.

    Raises
    ------
    UnknownNameError
        For a channel that one of the results lacks.
    InputError
        For results without a common span of time, without a common channel, or with another axis or unit of a named
        channel. Also for options out of range.

    Examples
    --------
    >>> system = rtmbs.library.build("pendulum").compile()
    >>> coarse, fine = (rtmbs.Simulation(system, h=h).run(1.0) for h in (2e-3, 1e-3))
    >>> rtmbs.compare(coarse, fine, tolerance=1e-4).verdict.name
    'AGREE'
    """
    check(a, b, tolerance, times)
    for name in names:
        for whose, one in (("a", a), ("b", b)):
            if name not in one:
                raise unknown_name(f"channel of result {whose}", name, one.names())
    alike = [name for name in a if name in b and a.about(name) == b.about(name) and name != TIME]
    if unlike := [name for name in names if name not in alike]:
        raise InputError(
            f"channel {unlike[0]!r} cannot be compared: axes and units are {a.about(unlike[0])} in a and "
            f"{b.about(unlike[0])} in b"
        )
    compared = list(names) or [name for name in alike if not VIOLATION.search(name)]
    if not compared:
        raise InputError("the two results have no channel in common; compare results of one model")
    t, together = instants(a, b, times)
    scales = typical_sizes(a, b, t, compared)
    found = [difference_of(a, b, name, t, together, scales[a.about(name)[1]], tolerance) for name in compared]
    found.sort(key=lambda one: -one.relative if np.isfinite(one.relative) else -np.inf)
    rest = (tuple(name for name in one if name not in alike and name != TIME) for one in (a, b))
    return Comparison(a, b, t, tolerance, tuple(found), *(rest if not names else ((), ())))


def check(a: Any, b: Any, tolerance: Any, times: Any) -> None:
    """Refuse results that cannot be compared: InputError."""
    for whose, one in (("first", a), ("second", b)):
        if not isinstance(one, Result):
            raise InputError(
                f"compare takes two Results, and the {whose} is {shown(one)}; rtmbs.load_result reads a file"
            )
    if tolerance is not None and not (isinstance(tolerance, int | float | np.floating) and 0.0 < tolerance < np.inf):
        raise InputError(f"tolerance is {shown(tolerance)}; it must be a positive number such as 1e-6")
    if times is not None and times not in TIMES:
        raise InputError(f"times is {shown(times)}; it must be one of {', '.join(map(repr, TIMES))}")


def instants(a: Result, b: Result, times: str | None) -> tuple[Array, bool]:
    """Return the times of the comparison (k,) [s], and whether both results have samples at all of them."""
    first, last = max(a.t[0], b.t[0]), min(a.t[-1], b.t[-1])
    if first > last:
        raise InputError(f"the results have no time in common: a goes from {span(a)}, b from {span(b)}")
    mine, theirs = (one.t[(one.t >= first) & (one.t <= last)] for one in (a, b))
    near = SAME_TIME * min(np.diff(one.t).min(initial=np.inf) for one in (a, b))
    common = mine[nearest_distance(mine, theirs) <= near]
    if times == "common" and not len(common):
        raise InputError("the results have no instant in common; write times='union'")
    if times == "common" or (times is None and len(common) >= min(ENOUGH, len(mine), len(theirs)) > 0):
        return common, True
    others = theirs[nearest_distance(theirs, mine) > near] if len(mine) else theirs
    union = np.sort(np.concatenate((mine, others)))
    return union, len(common) == len(union)


def nearest_distance(t: Array, others: Array) -> Array:
    """Return how far the nearest of ``others`` lies from every time (k,) [s]."""
    if not len(others) or not len(t):
        return np.full(len(t), np.inf)
    right = np.clip(np.searchsorted(others, t), 1, max(len(others) - 1, 1))
    return np.minimum(np.abs(t - others[right - 1]), np.abs(t - others[np.minimum(right, len(others) - 1)]))


def typical_sizes(a: Result, b: Result, t: Array, names: Sequence[str]) -> dict[str, float]:
    """Return the largest finite value by unit of channels at times ``t`` (k,): those before and after do not count.

    Forces and moments of a reaction have one size, as moments are often rounding of the forces alone.
    """
    sizes: dict[str, float] = {}
    for name in names:
        unit = a.about(name)[1]
        for one in (a, b):
            values = interpolated(one, t, "linear", name)
            largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
            sizes[unit] = max(sizes.get(unit, 0.0), float(largest))
    return sizes


def difference_of(
    a: Result, b: Result, name: str, t: Array, together: bool, scale: float, tolerance: float | None
) -> Difference:
    """Return the difference of one channel."""
    axes, unit = a.about(name)
    apart = np.abs(difference(a, b, t, name)).reshape(len(t), -1)
    place = int(np.argmax(np.where(np.isfinite(apart), apart, np.inf)))
    row, column = divmod(place, apart.shape[1])
    largest = float(apart[row, column])
    added = 0.0 if together else added_by_interpolation(a, b, t, name)
    relative = largest / scale if scale > 0.0 else (0.0 if largest == 0.0 else np.inf)
    verdict = Verdict.OPEN
    if tolerance is not None:
        verdict = verdict_of(largest, added, tolerance * scale)
    component, own, rms = axes[column] if axes else "", units_of(axes, unit)[column], float(np.sqrt(np.mean(apart**2)))
    return Difference(name, own, largest, float(t[row]), component, rms, relative, added, verdict)


def verdict_of(largest: float, added: float, bound: float) -> Verdict:
    """Return whether a difference that interpolation may change by ``added`` is within its bound; NaN never is."""
    if not np.isfinite(largest) or largest - added > bound:
        return Verdict.DIFFER
    return Verdict.AGREE if largest + added <= bound else Verdict.UNDECIDED


def cells_of(one: Difference) -> tuple[str, ...]:
    """Return a difference as the cells of a table."""
    name = f"{one.name}[{one.component}]" if one.component else one.name
    numbers = (f"{one.t:.6g}", f"{one.rms:.3g}", f"{one.relative:.3g}")
    return name, f"{one.largest:.3g}", one.unit, *numbers, one.verdict.name


def difference(a: Result, b: Result, t: Array, name: str) -> Array:
    """Return b - a of a channel at times ``t`` (k,); an orientation and its negative are one turn."""
    mine, theirs = interpolated(a, t, "linear", name), interpolated(b, t, "linear", name)
    if a.about(name)[0] == QUATERNION:
        theirs = np.where(np.sum(mine * theirs, axis=1, keepdims=True) < 0.0, -theirs, theirs)
    return np.asarray(theirs - mine)


def added_by_interpolation(a: Result, b: Result, t: Array, name: str) -> float:
    """Return an estimate of the share of linear interpolation in the largest difference (METHODS 1.39)."""
    return SAFETY * sum(
        float(np.max(np.abs(interpolated(one, t, "cubic", name) - interpolated(one, t, "linear", name))))
        for one in (a, b)
    )
