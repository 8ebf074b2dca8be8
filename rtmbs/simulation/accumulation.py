"""Whether events of a function follow each other ever faster, and the time at which they accumulate."""

from dataclasses import dataclass, field

SMALL = 1e-7  # of the longest gap: a row of ever smaller gaps that comes so far has no end
UNRESOLVED = 1e-12  # of the time: gaps below it are rounding
ROW = 3  # gaps that are compared with as many before them


@dataclass
class Accumulation:
    """Gaps between events of one function."""

    last: float | None = None  # time of the last event [s]
    gaps: list[float] = field(default_factory=list)  # the last ones, at most 2 ROW [s]
    longest: float = 0.0  # at the beginning of the row of ever smaller gaps [s]
    present: float = 0.0  # longest of the last ROW gaps [s]

    def add(self, t: float) -> bool:
        """Take the time of an event [s]; True when the gaps have become too small for the row to end."""
        last, self.last = self.last, t
        if last is None or t == last:
            return False
        self.gaps = [*self.gaps, t - last][-2 * ROW :]
        before, self.present = self.present, max(self.gaps[-ROW:])
        if self.present > before:
            self.longest = self.present
        if len(self.gaps) <= ROW:
            return False
        return self.present < SMALL * self.longest or self.present < UNRESOLVED * abs(t)

    @property
    def rest(self) -> float:
        """Time from the last event to the accumulation, as of a geometric row [s]; 0 when unknown."""
        count = min(len(self.gaps) // 2, ROW)
        if not count:
            return 0.0
        late, early = sum(self.gaps[-count:]), sum(self.gaps[-2 * count : -count])
        return late * late / (early - late) if late < early else 0.0
