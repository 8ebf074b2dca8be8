"""Functions of equal structure in lanes, against one program for all of them: the same bytes."""

import numpy as np
import pytest

from rtmbs.ad import (
    Member,
    evaluate,
    evaluate_lanes,
    joined,
    lane_memory,
    lane_program,
    lowered,
    memory_of,
    seat_memory,
    seat_program,
    sparse_jacobian,
)
from rtmbs.ad.simd_programs import LANES, batches_of, evaluate_first, evaluate_rest, evaluate_seated, take_seat
from rtmbs.ad.trace import record
from rtmbs.ad.traced import recorder
from rtmbs.jit.compiled import kernel

xp = recorder


def tape(slope: float, other: bool = False):
    """Return a function of three inputs and a parameter with its derivative; ``other`` has another structure."""

    def function(x, p):
        a, b, c = x[0], x[1], x[2]
        near = xp.where(a > slope, xp.sqrt(xp.abs(a)) * b, xp.exp(-a * a))
        total = slope * a * b - p[0] * c + (3.0 * slope) / (1.0 + c * c) + xp.arctan2(b, slope * c)
        return xp.stack([total * xp.sin(c) if other else total, near - b / c, slope * xp.maximum(a, b) * near])

    return sparse_jacobian(record(function, 3, k=1, xp=recorder)).tape


def members(tapes):
    """Return functions with inputs and outputs in an order of their own, and how many of each there are."""
    rng = np.random.default_rng(len(tapes))
    found, sizes = [], [sum(getattr(one, size) for one in tapes) for size in ("n", "k", "m")]
    places = [rng.permutation(size) for size in sizes]
    begin = np.zeros(3, np.int64)
    for one in tapes:
        end = begin + np.array([one.n, one.k, one.m])
        found.append(Member(one, *(place[a:b] for place, a, b in zip(places, begin, end, strict=True))))
        begin = end
    return found, sizes


def separately(found, x, p, m):
    """Return the outputs of every function by its own program."""
    y = np.zeros(m)
    for one in found:
        program = lowered(one.tape)
        mine = np.zeros(one.tape.m)
        evaluate(program, memory_of(program), x[one.x], p[one.p], mine)
        y[one.y] = mine
    return y


@pytest.mark.parametrize("count", [2, 4, 8, 9, 20])
def test_lanes_are_those_of_each_function(count, monkeypatch):
    monkeypatch.setattr("rtmbs.ad.simd_programs.WORTH", np.inf)
    tapes = [tape(0.3 + 0.1 * i) for i in range(count)] + [tape(0.7, other=True), tape(0.9, other=True)]
    found, (n, k, m) = members(tapes)
    lanes = lane_program(found, n, k)
    assert len(lanes.lanes) > 0
    memory = lane_memory(lanes)
    rng = np.random.default_rng(7)
    for size in (1.0, 1e3, 1e-3, 0.0):
        x, p, y = size * rng.normal(size=n), rng.normal(size=k), np.zeros(m)
        evaluate_lanes(lanes, memory, x, p, y)
        with np.errstate(all="ignore"):
            assert y.tobytes() == separately(found, x, p, m).tobytes()


@kernel
def first_part(lanes, memory, x, p, y):
    evaluate_first(lanes, memory, x, p, y)


@kernel
def last_part(lanes, memory, y):
    evaluate_rest(lanes, memory, y)


def test_late_outputs_wait_until_they_are_asked_for(monkeypatch):
    """An output that is late for one of two functions of a structure is early for both."""
    monkeypatch.setattr("rtmbs.ad.simd_programs.WORTH", np.inf)
    found, (n, k, m) = members([tape(0.3 + 0.1 * i) for i in range(4)] + [tape(0.7, other=True)])
    late = np.zeros(m, bool)
    for one in found:
        late[one.y[3:]] = True  # all derivatives
    late[found[0].y[5]] = False
    waiting, batch = late.copy(), next(batch for batch in batches_of(found) if batch[0] is found[0])
    assert len(batch) > 2
    for one in batch:
        waiting[one.y[5]] = False
    lanes = lane_program(found, n, k, late)
    assert 0 < lanes.first[0] < len(lanes.program.operation)
    assert lanes.first[1] == np.count_nonzero(~waiting)
    memory, rng = lane_memory(lanes), np.random.default_rng(11)
    for _ in range(3):
        x, p, y = rng.normal(size=n), rng.normal(size=k), np.full(m, np.nan)
        alone = separately(found, x, p, m)
        first_part(lanes, memory, x, p, y)
        assert y[~waiting].tobytes() == alone[~waiting].tobytes()
        assert np.all(np.isnan(y[waiting]))
        last_part(lanes, memory, y)
        assert y.tobytes() == alone.tobytes()


def test_lanes_are_taken_where_they_save_time():
    def quadratic(slope):
        return record(lambda x, p: slope * x * x * x[0] + x / (1.0 + x[1] * x[1]) - p[0] * x, 3, k=1, xp=recorder)

    found, (n, k, _) = members([sparse_jacobian(quadratic(0.3 + 0.1 * i)).tape for i in range(16)])
    lanes = lane_program(found, n, k)
    assert 0 < lanes.program.count.sum() < 0.2 * lowered(joined([one.tape for one in found])).count.sum()


def test_functions_of_different_structure_take_one_program():
    found, (n, k, _) = members([tape(0.4), tape(0.8, other=True)])
    assert len(lane_program(found, n, k).lanes) == 0
    assert len(lane_program([], 0, 0).lanes) == 0


def test_order_by_runs_and_by_level_give_the_same_bytes():
    whole = joined([tape(0.4), tape(0.8, other=True), tape(1.3)])
    short, level = lowered(whole), lowered(whole, by_level=True)
    assert len(short.operation) < len(level.operation)
    assert short.count.sum() == level.count.sum()
    rng = np.random.default_rng(1)
    for _ in range(5):
        x, p, y, z = rng.normal(size=whole.n), rng.normal(size=whole.k), np.zeros(whole.m), np.zeros(whole.m)
        evaluate(short, memory_of(short), x, p, y)
        evaluate(level, memory_of(level), x, p, z)
        assert y.tobytes() == z.tobytes()


@kernel
def sit_down(seats, memory, seat, lanes, function):
    return take_seat(seats, memory, seat, lanes, function)


def test_functions_that_take_seats_are_those_alone():
    """Lanes are given anew, to other functions of both structures; the ninth of one structure has no lane."""
    tapes = [tape(0.31 + 0.1 * i) for i in range(9)] + [tape(0.71 + 0.1 * i, other=True) for i in range(3)]
    found, (n, k, m) = members(tapes)
    seats = seat_program(found, n, k)
    memory, seat = seat_memory(seats), np.full(len(found), -1)
    lanes, rng = np.zeros(len(seats.program.operation), np.int64), np.random.default_rng(3)
    for chosen in ([0, 4, 10], [9], [11, 3, 8, 9], list(range(LANES))):
        x, p, y = rng.normal(size=n), rng.normal(size=k), np.zeros(m)
        seat[:], lanes[:] = -1, 0
        assert all(sit_down(seats, memory, seat, lanes, one) for one in chosen)
        evaluate_seated(seats, memory, seat, lanes, x, p)
        alone = separately(found, x, p, m)
        for one in chosen:
            rows = seats.found[seats.pointer[one, 2] : seats.pointer[one + 1, 2]]
            y[rows[:, 1]] = memory[rows[:, 0], seat[one]]
            assert y[found[one].y].tobytes() == alone[found[one].y].tobytes()
    assert not sit_down(seats, memory, seat, lanes, LANES)
