"""Two results beside each other: the largest and the mean difference of every channel, and a verdict (METHODS 1.39)."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import unknown_name
from rtmbs.limits.names import Keyed, selected
from rtmbs.limits.notebook import table_html
from rtmbs.results.channel import QUATERNION, Array, Channel
from rtmbs.results.extras import needed
from rtmbs.results.plotting import Line, draw_panels, finished
from rtmbs.results.result import Result
from rtmbs.results.selection import interpolated

HEAD = ("channel", "largest", "unit", "at t [s]", "rms", "relative", "verdict")
SAFETY = 2.0  # of the estimate of the error of interpolation
LISTED = 20  # channels that a text shows, the worst first


class Verdict(Enum):
    """Whether two channels agree; the value is the sentence for the user."""

    AGREE = "agrees within the tolerance"
    DIFFER = "differs by more than the tolerance"
    UNDECIDED = "interpolation between samples may hide or make the difference"
    OPEN = "no tolerance was given"


class Difference(NamedTuple):
    """How far one channel of two results lies apart."""

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
    """What ``compare`` found; ``print(comparison)`` is a table, the worst channels first."""

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
        rows = [HEAD, *(written(one) for one in self.differences[:LISTED])]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        if (more := len(self.differences) - LISTED) > 0:
            lines.append(f"and {more} more")
        for whose, names in (("a", self.only_a), ("b", self.only_b)):
            if names:
                lines.append(f"only in {whose}, or with other axes or units there: {', '.join(names)}")
        return "\n".join([f"{len(self.differences)} channels at {len(self.t)} times: {self.verdict.value}", *lines])

    def plot(self, *names: str, file: str | Path | None = None) -> Any:
        """Draw channels of both results over their common time, and b - a below (extra ``plot``).

        Without a name the worst channel is drawn.

        Raises UnknownNameError for a channel that was not compared, and InputError as ``Result.plot`` does.

            comparison.plot("block.velocity")
        """
        panels: dict[str, list[Line]] = {}
        apart: dict[str, list[Line]] = {}
        for name in names or (self.worst.name,):
            self[name]  # a name that was not compared is refused
            for whose, one, style in (("a", self.a, "-"), ("b", self.b, "--")):
                seen = (one.t >= self.t[0]) & (one.t <= self.t[-1])
                for label, own_unit, values in one.channel(name).components:
                    panels.setdefault(own_unit, []).append((f"{whose}: {label}", one.t[seen], values[seen], style))
            both = Channel(name, *self.a.about(name), difference(self.a, self.b, self.t, name))
            for label, own_unit, values in both.components:
                apart.setdefault(f"b - a in {own_unit}", []).append((label, self.t, values, "-"))
        return finished(draw_panels({**panels, **apart}, f"{self.a.name} (a) and {self.b.name} (b)"), file)

    def to_pandas(self) -> Any:
        """Return a DataFrame, a row a channel (extra ``tables``)."""
        pandas = needed("pandas", "to_pandas", "tables")
        rows = [(*one[:-1], one.verdict.name) for one in self.differences]
        return pandas.DataFrame(rows, columns=Difference._fields).set_index("name")

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        head = f"{len(self.differences)} channels at {len(self.t)} times: {self.verdict.value}"
        return table_html(head, HEAD, [written(one) for one in self.differences[:LISTED]])


def written(one: Difference) -> tuple[str, ...]:
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
    """Return an estimate of what straight lines between samples add to the largest difference (METHODS 1.39)."""
    return SAFETY * sum(
        float(np.max(np.abs(interpolated(one, t, "cubic", name) - interpolated(one, t, "linear", name))))
        for one in (a, b)
    )
