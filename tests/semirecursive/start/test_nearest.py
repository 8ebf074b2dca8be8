"""Sparse matrices entry by entry; the nearest pose where branches cross."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from rtmbs.semirecursive.loop_jacobian import Group
from rtmbs.semirecursive.start.assembly import NearestPose, scaled_entries


def test_entries_are_scaled_as_by_diagonal_matrices():
    rng = np.random.default_rng(3)
    J, row, column = rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.5), rng.random(4), rng.random(6)
    np.testing.assert_array_equal(scaled_entries(csc_array(J), row, column).toarray(), row[:, None] * J * column)


class Cross(NearestPose):
    """The closed poses x y = 0 in units of ``typical``: two straight branches that cross at the origin."""

    typical = np.array([2.0, 1.0])
    groups = (Group(np.arange(1), np.arange(2)),)

    def gap(self, z):
        return np.array([np.prod(z / self.typical)])

    def scaled_jacobian(self, z):
        return csc_array((z / self.typical)[::-1][None])


def test_the_nearest_pose_is_found_from_a_crossing_of_branches():
    """All derivatives vanish there, so no equation is kept, and the distance leads off."""
    kept, weights = np.zeros(2, bool), np.ones(2)
    found = Cross().minimised(np.zeros(2), np.array([1.0, 0.1]), kept, weights)
    assert found[1] == pytest.approx(0.0, abs=1e-9)
    assert found[0] == pytest.approx(1.0, abs=0.05)
