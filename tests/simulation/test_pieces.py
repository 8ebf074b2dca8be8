"""Grids of time cut at jumps."""

import numpy as np
import pytest

from rtmbs.simulation.jump_times import NONE, TINY, pieces

H = 5e-3


def labels(found):
    """Grid times that get a sample, in order."""
    out = []
    for piece in found:
        if piece.grid != NONE:
            out += range(piece.grid, piece.grid + piece.steps)
        if piece.behind != NONE:
            out.append(piece.behind)
    return out


def test_a_grid_without_jumps_is_one_piece():
    (piece,) = pieces(0.0, H, 200, [])
    assert piece == (0.0, 200 * H, 200, 1, NONE, 200 * H)


@pytest.mark.parametrize("seed", range(40))
def test_every_grid_time_is_sampled_once_and_no_piece_holds_a_jump(seed):
    rng = np.random.default_rng(seed)
    t, steps = float(rng.uniform(-1.0, 1.0)), int(rng.integers(1, 30))
    inside = rng.uniform(t, t + steps * H, rng.integers(0, 6))
    on_grid = t + H * rng.integers(0, steps + 1, rng.integers(0, 4))
    beside = t + H * (rng.integers(1, steps + 1, rng.integers(0, 3)) + rng.choice((-0.5, 0.5)) * TINY)
    jumps = sorted({*inside.tolist(), *on_grid.tolist(), *np.minimum(beside, t + steps * H).tolist()})
    jumps = [jump for k, jump in enumerate(jumps) if k == 0 or jump - jumps[k - 1] > 3 * TINY * H]
    found = pieces(t, H, steps, jumps)
    assert [label for label in labels(found) if label > 0] == list(range(1, steps + 1))
    here = t
    for piece in found:
        assert piece.start == here
        assert piece.start <= piece.end <= piece.go
        assert piece.go - piece.end <= 2.0 * TINY * H
        assert piece.steps * H >= (piece.end - piece.start) * (1.0 - 2.0 * TINY)
        assert not any(piece.start < jump < piece.end for jump in jumps)
        if piece.grid != NONE:
            ends = t + H * np.arange(piece.grid, piece.grid + piece.steps)
            assert abs(ends[-1] - piece.end) <= TINY * H
        here = piece.go
    assert abs(here - (t + steps * H)) <= TINY * H
