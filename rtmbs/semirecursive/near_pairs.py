"""Search for the pairs of contact sets that are near: a grid of cells, hashed, without allocation (METHODS 8.10).

Two balls are near where their middles are as close as their reaches: the radius, a share of it, and the way of a step.
Pairs are in the order of (ball, other member), so that they do not depend on what was near before.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.numerics.spatial import dot3, load3, load6, place, point_velocity, rotate, sub3
from rtmbs.system.contact_tables import BRISTLES
from rtmbs.system.tables import Tables

Array = Any

SKIN = 0.05  # of the radius, beside the way in a step at constant speed
PRIMES = 73856093, 19349663, 83492791  # of the hash of Teschner et al. (2003)


@struct
class PairScratch(NamedTuple):
    """What a search writes to; allocated once."""

    middle: Array  # (k, 3) of each member, a point of a plane [m]
    way: Array  # (k, 3) of each member in a step at constant velocity [m]
    reach: Array  # (k,) [m]
    cell: Array  # (k, 3) int64
    bucket: Array  # (k,) int64
    begin: Array  # (buckets + 1,) int64
    order: Array  # (k,) int64: balls, bucket by bucket
    pair: Array  # (most + 1, 2) int64 members of the near pairs, numbers from 1 in the set
    s: Array  # (most, 3) bristles that go on
    sd: Array  # (most, 3)


def pair_scratch(tables: Tables, g: int) -> PairScratch:
    """Allocate the scratch of set ``g``."""
    sets = tables.sets
    count = int(sets.member_pointer[g + 1] - sets.member_pointer[g])
    most, buckets = int(sets.pair_pointer[g + 1] - sets.pair_pointer[g]), 1 << (2 * count - 1).bit_length()
    return PairScratch(
        middle=np.zeros((count, 3)),
        way=np.zeros((count, 3)),
        reach=np.zeros(count),
        cell=np.zeros((count, 3), np.int64),
        bucket=np.zeros(count, np.int64),
        begin=np.zeros(buckets + 1, np.int64),
        order=np.zeros(count, np.int64),
        pair=np.zeros((most + 1, 2), np.int64),
        s=np.zeros((most, BRISTLES)),
        sd=np.zeros((most, BRISTLES)),
    )


@kernel
def find_near(tables, g, h, ws, it):
    """Write the near pairs of set ``g`` to it.pair at the evaluated state; returns how many there are.

    One more than there is room for stands for all that are too many.
    """
    sets, first = tables.sets, tables.sets.member_pointer[g]
    count, planes, widest = len(it.reach), sets.planes[g], 0.0
    for k in range(count):
        own = sets.dof[first + k]
        x = place(ws.A, ws.r, own, load3(sets.point, first + k))
        v = point_velocity(load6(ws.V, own), x)
        it.middle[k, 0], it.middle[k, 1], it.middle[k, 2] = x
        it.way[k, 0], it.way[k, 1], it.way[k, 2] = h * v[0], h * v[1], h * v[2]
        radius = sets.radius[first + k]
        it.reach[k] = (1.0 + SKIN) * radius + h * np.sqrt(dot3(v, v))
        if k >= planes:
            widest = max(widest, it.reach[k])
    sort_in_cells(planes, 2.0 * widest, it)
    found = 0
    for j in range(planes, count):
        begin = found
        for i in range(planes):
            if near_plane(sets, first, h, i, j, ws, it):
                found = note_pair(i, j, found, it)
        found = near_balls(planes, j, found, it)
        order_partners(begin, min(found, len(it.pair)), it)
    return found


@kernel
def passing_pair(tables, g, count, it):
    """Return the first of ``count`` pairs of balls that touch and pass in a step at constant velocities; -1 for none.

    Their middles then have no distance that shrinks where the step ends, so no force is seen, or one that pulls.
    """
    sets, first = tables.sets, tables.sets.member_pointer[g]
    for p in range(count):
        i, j = it.pair[p, 0] - 1, it.pair[p, 1] - 1
        radius = sets.radius[first + i]
        if radius == 0.0:
            continue
        d, way = sub3(load3(it.middle, j), load3(it.middle, i)), sub3(load3(it.way, j), load3(it.way, i))
        towards, far, least = -dot3(d, way), dot3(way, way), radius + sets.radius[first + j]
        if dot3(d, d) < towards and dot3(d, d) - towards * towards / far < least * least:
            return p
    return -1


@inlined_kernel
def note_pair(i, j, found, it):
    """Write the pair behind those ``found``, as far as there is room; returns their number."""
    if found < len(it.pair):
        it.pair[found, 0], it.pair[found, 1] = i + 1, j + 1
    return min(found + 1, len(it.pair))


@inner_kernel
def near_plane(sets, first, h, i, j, ws, it):
    """Return whether ball ``j`` is near plane ``i``."""
    own = sets.dof[first + i]
    n, x = rotate(ws.A, own, load3(sets.normal, first + i)), load3(it.middle, j)
    v = point_velocity(load6(ws.V, own), x)
    return dot3(n, sub3(x, load3(it.middle, i))) <= it.reach[j] + h * np.sqrt(dot3(v, v))


@inner_kernel
def sort_in_cells(planes, width, it):
    """Sort the balls into buckets of cells of the ``width`` [m]."""
    mask, count = len(it.begin) - 2, len(it.reach)
    for k in range(len(it.begin)):
        it.begin[k] = 0
    for k in range(planes, count):
        for c in range(3):
            it.cell[k, c] = int(np.floor(it.middle[k, c] / width))
        it.bucket[k] = hashed(it.cell[k, 0], it.cell[k, 1], it.cell[k, 2], mask)
        it.begin[it.bucket[k] + 1] += 1
    for k in range(1, len(it.begin)):
        it.begin[k] += it.begin[k - 1]
    for k in range(count - 1, planes - 1, -1):  # begin[b + 1] moves from the end of bucket b to its beginning
        it.begin[it.bucket[k] + 1] -= 1
        it.order[it.begin[it.bucket[k] + 1]] = k


@inlined_kernel
def hashed(x, y, z, mask):
    """Return the bucket of a cell."""
    return ((x * PRIMES[0]) ^ (y * PRIMES[1]) ^ (z * PRIMES[2])) & mask


@inner_kernel
def near_balls(planes, j, found, it):
    """Note the balls before ``j`` that are near it, from the 27 cells about it; returns the number of pairs."""
    mask, last, balls = len(it.begin) - 2, len(it.begin) - 1, len(it.reach) - planes
    for x in range(it.cell[j, 0] - 1, it.cell[j, 0] + 2):
        for y in range(it.cell[j, 1] - 1, it.cell[j, 1] + 2):
            for z in range(it.cell[j, 2] - 1, it.cell[j, 2] + 2):
                bucket = hashed(x, y, z, mask)
                # begin[bucket + 1] is where the bucket begins, and begin[bucket + 2] where it ends
                end = it.begin[bucket + 2] if bucket + 2 <= last else balls
                for place_of in range(it.begin[bucket + 1], end):
                    i = it.order[place_of]
                    if i >= j:
                        break
                    if it.cell[i, 0] != x or it.cell[i, 1] != y or it.cell[i, 2] != z:
                        continue
                    d = sub3(load3(it.middle, j), load3(it.middle, i))
                    within = it.reach[i] + it.reach[j]
                    if dot3(d, d) <= within * within:
                        found = note_pair(i, j, found, it)
    return found


@inner_kernel
def order_partners(begin, end, it):
    """Sort the pairs of one ball by the other member, by insertion."""
    for k in range(begin + 1, end):
        i, place_of = it.pair[k, 0], k
        while place_of > begin and it.pair[place_of - 1, 0] > i:
            it.pair[place_of, 0] = it.pair[place_of - 1, 0]
            place_of -= 1
        it.pair[place_of, 0] = i


@kernel
def same_pairs(tables, g, count, u, it):
    """Return whether the first ``count`` pairs of a search are those that stand in the inputs."""
    sets, slot = tables.sets, tables.sets.slot[g]
    room = sets.pair_pointer[g + 1] - sets.pair_pointer[g]
    for p in range(count):
        if u[slot + 2 * p] != it.pair[p, 0] or u[slot + 2 * p + 1] != it.pair[p, 1]:
            return False
    return count == room or u[slot + 2 * count] == 0.0


@kernel
def keep_pairs(tables, g, count, u, s, sd, ws, it):
    """Write the pairs of a search to the inputs, and carry bristles on; returns the least gap of a new pair [m].

    The gap is that of balls over the smaller radius, at the evaluated state; infinite without a new pair.
    """
    sets, slot, first = tables.sets, tables.sets.slot[g], tables.sets.member_pointer[g]
    begin, room = sets.pair_pointer[g], sets.pair_pointer[g + 1] - sets.pair_pointer[g]
    old, least, state = 0, np.inf, sets.first[0] + BRISTLES * begin
    for p in range(count):
        i, j = it.pair[p, 0], it.pair[p, 1]
        while old < room and u[slot + 2 * old] != 0.0 and precedes(u, slot + 2 * old, i, j):
            old += 1
        goes_on = old < room and u[slot + 2 * old] == i and u[slot + 2 * old + 1] == j
        for c in range(BRISTLES):
            it.s[p, c] = s[state + BRISTLES * old + c] if goes_on else 0.0
            it.sd[p, c] = sd[state + BRISTLES * old + c] if goes_on else 0.0
        if not goes_on:
            least = min(least, relative_gap(sets, first, i - 1, j - 1, ws, it))
    for p in range(room):
        for c in range(2):
            u[slot + 2 * p + c] = it.pair[p, c] if p < count else 0.0
        for c in range(BRISTLES):
            s[state + BRISTLES * p + c] = it.s[p, c] if p < count else 0.0
            sd[state + BRISTLES * p + c] = it.sd[p, c] if p < count else 0.0
    return least


@inlined_kernel
def precedes(u, place_of, i, j):
    """Return whether the pair in the inputs comes before (i, j) in their order."""
    return u[place_of + 1] < j or (u[place_of + 1] == j and u[place_of] < i)


@inner_kernel
def relative_gap(sets, first, i, j, ws, it):
    """Return the gap of a pair over the radius of the smaller ball."""
    d, size = sub3(load3(it.middle, j), load3(it.middle, i)), sets.radius[first + j]
    if sets.radius[first + i] == 0.0:
        return dot3(rotate(ws.A, sets.dof[first + i], load3(sets.normal, first + i)), d) / size - 1.0
    gap = np.sqrt(dot3(d, d)) - sets.radius[first + i] - size
    return gap / min(size, sets.radius[first + i])
