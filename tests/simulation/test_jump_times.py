"""Where functions of time jump, found before a run."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.simulation.jumps import NONE, TINY, jump_times, pieces


def system_of(*values):
    """Return a mass on a rail under motors with these functions of time."""
    model = rtmbs.Model("jumps", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", body)
    for k, value in enumerate(values):
        model.add_force(f"push_{k}", rtmbs.Motor(value), joint="rail")
    return model.compile()


class Steps:
    """Jumps at declared times, and says so."""

    def __init__(self, *times):
        self.jumps = times

    def __call__(self, t):
        return float(sum(t >= time for time in self.jumps))


@pytest.mark.parametrize("seed", range(20))
def test_jumps_of_random_functions_are_found_once(seed):
    rng = np.random.default_rng(seed)
    h, t, t_end = 1e-2, float(rng.uniform(-1, 1)), 2.0
    told = np.sort(rng.uniform(t, t_end, 3))
    hidden = float(rng.uniform(t + h, t_end - h))
    size, slope = rng.choice((-1.0, 1.0)) * rng.uniform(1.0, 5.0), rng.uniform(-1.0, 1.0)
    system = system_of(Steps(*told), lambda t: size * (t > hidden) + slope * t, lambda t: math.sin(3.0 * t))
    found = jump_times(system, t, t_end, h)
    assert found == pytest.approx(sorted([*told, hidden]), abs=1e-9 * h * 2.0)


def test_two_functions_that_jump_together_have_one_time():
    system = system_of(Steps(0.25), Steps(0.25), lambda t: 3.0 if t < 0.25 else -1.0)
    assert jump_times(system, 0.0, 1.0, 1e-2) == pytest.approx([0.25], abs=1e-11)


def test_smooth_functions_and_constants_jump_nowhere():
    system = system_of(lambda t: math.sin(9.0 * t), lambda t: 2.0, lambda t: math.exp(-t), Steps())
    assert jump_times(system, 0.0, 3.0, 1e-2) == []


def test_declared_times_where_nothing_jumps_do_not_count():
    class Idle:
        jumps = (0.5,)

        def __call__(self, t):
            return math.cos(t)

    assert jump_times(system_of(Idle()), 0.0, 1.0, 1e-2) == []


def test_ends_count():
    system = system_of(Steps(0.0, 1.0, 2.0))
    assert jump_times(system, 0.0, 1.0, 1e-2) == [0.0, 1.0]


def test_a_driver_that_jumps_is_refused():
    model = rtmbs.Model("driven")
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    profile = rtmbs.Function(lambda t: 0.0 if t < 0.505 else 1.0, lambda t: 0.0, lambda t: 0.0)
    model.add_driver("drive", profile, joint="rail")
    sim = rtmbs.Simulation(model.compile(), 1e-2)
    before = sim.state.copy()
    for run in (lambda: sim.run(1.0, tolerance=1e-4), lambda: rtmbs.refined(sim.system, 1e-2, 1.0)):
        with pytest.raises(InputError, match=r"driver 'drive': its value jumps from 0 to 1 at t = 0.505 s"):
            run()
    assert sim.state.motion() == before.motion()
    assert sim.t == 0.0


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
