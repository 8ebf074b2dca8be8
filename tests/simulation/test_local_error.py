"""The estimate of what a step adds, against steps a hundred times as small from the same state."""

from copy import copy

import numpy as np
import pytest

from rtmbs import PenaltyTrapezoidal, Simulation, library
from rtmbs.simulation.dense_output import Noise, beyond, increments, local_errors
from rtmbs.simulation.step_choice import take_batch

STEPS, FINER = 4, 64


def errors(name, h, start):
    """Return the sums of estimated errors of a few steps, and the true ones: of coordinates and rates."""
    system = library.build(name).compile()
    sim = Simulation(system, start / 400, PenaltyTrapezoidal(hold_energy=False))
    sim.run(start)
    fine = copy(sim)
    sim._store.step_from_here(h)
    track = take_batch(sim, STEPS, None).track()
    fine._store.step_from_here(h / FINER)
    exact = take_batch(fine, STEPS * FINER, None).track()
    none = np.zeros(system.n)
    position, rate, _ = local_errors(system.tables.dofs, track, None, Noise(none, none, none, none, none))
    ends = [one._replace(**{key: getattr(one, key)[[0, -1]] for key in one._fields}) for one in (track, exact)]
    moved = [increments(system.tables.dofs, one)[0] for one in ends]
    return position.sum(axis=0), moved[0] - moved[1], rate.sum(axis=0), track.zd[-1] - exact.zd[-1]


@pytest.mark.parametrize(("name", "h"), [("pendulum", 4e-3), ("top", 5e-4), ("fourbar", 4e-3)])
def test_estimates_are_errors_where_projections_have_nothing_to_do(name, h):
    position, moved, rate, changed = errors(name, h, 0.2)
    assert np.abs(position - moved).max() < 0.15 * np.abs(moved).max()
    assert np.abs(rate - changed).max() < 0.15 * np.abs(changed).max()


@pytest.mark.parametrize(("name", "h"), [("crank_rocker", 1e-3), ("planar_slider_crank", 1e-3), ("bricard", 4e-3)])
def test_estimates_have_the_size_of_the_errors_of_loops(name, h):
    position, moved, rate, changed = errors(name, h, 0.2)
    assert 0.2 < np.abs(position).max() / np.abs(moved).max() < 10.0
    assert 0.2 < np.abs(rate).max() / np.abs(changed).max() < 10.0


def test_noise_takes_its_share_and_no_sign():
    values = np.array([3.0, -3.0, 0.5, -0.5, 0.0])
    assert beyond(values, np.ones(5)).tolist() == [2.0, -2.0, 0.0, 0.0, 0.0]
