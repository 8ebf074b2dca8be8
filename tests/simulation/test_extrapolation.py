"""Extrapolation of samples: polynomials in h exactly, rotations on their group."""

import numpy as np
import pytest

from rtmbs.results.samples import Samples
from rtmbs.rotations.vectors import turn_between, turned
from rtmbs.simulation.refined import extrapolated


def samples(h, powers, rng):
    """Return samples whose error is a sum of powers of h, drawn by a generator that begins anew."""
    true, *errors = rng.normal(size=(len(powers) + 1, 5, 4))
    off = sum(error * h**q for error, q in zip(errors, powers, strict=True))
    R = turned(np.broadcast_to(np.eye(3), (5, 1, 3, 3)), true[:, None, :3])
    values = true + off
    empty = np.zeros((5, 0))
    run = Samples(
        np.arange(5.0), values, 2 * values, 3 * values, -values, turned(R, off[:, None, :3]), empty, values, np.zeros(5)
    )
    return run, true, R


@pytest.mark.parametrize(("runs", "powers"), [(2, (2,)), (3, (2, 4)), (3, (2, 3)), (3, (4, 5))])
def test_terms_of_the_error_are_removed(runs, powers):
    levels = [samples(0.1 / 2**k, powers, np.random.default_rng(7)) for k in range(runs)]
    best, (_, true, R) = extrapolated([one[0] for one in levels], powers), levels[0]
    for values, factor in ((best.z, 1), (best.zd, 2), (best.zdd, 3), (best.lam, -1), (best.s, 1)):
        assert np.abs(values - factor * true).max() < 1e-13
    assert np.abs(turn_between(best.R0, R)).max() < 1e-4
    assert np.abs(turn_between(best.R0, R)).max() < 0.1 * np.abs(turn_between(levels[-1][0].R0, R)).max()
    assert np.abs(np.swapaxes(best.R0, -1, -2) @ best.R0 - np.eye(3)).max() < 1e-14


def test_doubt_of_any_run_stays():
    one, *_ = samples(0.1, (2,), np.random.default_rng(1))
    doubtful = one._replace(doubtful=np.array([0.0, 1.0, 0.0, 0.0, 0.0]))
    assert extrapolated([doubtful, one], (2, 4)).doubtful.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
