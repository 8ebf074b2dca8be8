"""A grid of time cut at jumps: pieces of equal steps, none of which a jump lies in (METHODS 1.34)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rtmbs.simulation.jump_times import edge_of

TINY = 1e-4  # of a step: a gap this small is crossed by Taylor's series
NONE = -1  # no grid time


class Cut(NamedTuple):
    """Where steps end before a jump, and where they go on behind it."""

    land: float  # [s]
    go: float  # [s]
    grid: int  # number of the grid time whose sample is that behind the jump, or NONE


class Piece(NamedTuple):
    """Equal steps without a jump."""

    start: float  # [s]
    end: float  # [s]
    steps: int
    grid: int  # number of the grid time at the end of the first step, the next ones follow; or NONE
    behind: int  # number of the grid time whose sample is taken behind the jump at the end; or NONE
    go: float  # where to drift to at the end [s]


def cut_at(t: float, h: float, jump: float) -> Cut:
    """Return where steps of ``h`` [s], counted from ``t`` [s], end and go on at ``jump`` [s]."""
    edge, nearest = edge_of(jump, h), round((jump - t) / h)
    grid = t + nearest * h
    if abs(jump - grid) > TINY * h:
        return Cut(jump - edge, jump + edge, NONE)
    if jump - edge <= grid:
        return Cut(jump - edge, max(jump + edge, grid), nearest)
    return Cut(grid, jump + edge, NONE)


def pieces(t: float, h: float, steps: int, jumps: Iterable[float]) -> list[Piece]:
    """Return the pieces of ``steps`` steps of ``h`` [s] from ``t`` [s], cut at ``jumps`` (ascending) [s]."""
    t_end, start, found = t + steps * h, t, list[Piece]()
    for cut in [cut_at(t, h, jump) for jump in jumps]:
        if cut.land > start + TINY * h:
            found += between(t, h, start, cut)
        elif found:
            found[-1] = found[-1]._replace(go=cut.go, behind=max(found[-1].behind, cut.grid))
        else:
            found.append(Piece(start, start, 0, NONE, cut.grid, cut.go))
        start = cut.go
    if start < t_end - TINY * h:
        found += between(t, h, start, Cut(t_end, t_end, NONE))
    return found


def between(t: float, h: float, start: float, cut: Cut) -> Iterator[Piece]:
    """Yield the pieces from ``start`` [s] to a cut: a part of a step, whole steps, a part of a step."""
    first, last = round((start - t) / h), round((cut.land - t) / h)
    first += t + first * h <= start + TINY * h  # the first grid time behind the start
    label = last if cut.grid == NONE and abs(t + last * h - cut.land) <= TINY * h else NONE
    last -= t + last * h >= cut.land - TINY * h  # the last one before the cut
    if last < first:
        yield Piece(start, cut.land, 1, label, cut.grid, cut.go)
        return
    whole_from, whole_to = first, last
    if start == t + (first - 1) * h:
        whole_from = first - 1
    else:
        yield Piece(start, t + first * h, 1, first, NONE, t + first * h)
    to_the_end = cut.land == t + (last + 1) * h
    whole_to += to_the_end
    if whole_to > whole_from:
        end = t + whole_to * h
        yield Piece(t + whole_from * h, end, whole_to - whole_from, whole_from + 1, NONE, cut.go if to_the_end else end)
    if not to_the_end:
        yield Piece(t + last * h, cut.land, 1, label, cut.grid, cut.go)
