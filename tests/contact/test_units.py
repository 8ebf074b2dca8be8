"""Contact with friction in odd units: lengths in kilometres, and bodies of a micrometre."""

import numpy as np
import pytest

from bench.contact_units import motion


@pytest.mark.parametrize("set_of", [False, True], ids=["declared", "set"])
@pytest.mark.parametrize("factor", [1e-3, 1e-6], ids=["kilometres", "micrometre"])
def test_small_lengths_move_alike(factor, set_of):
    """The slack of bristles was 1e-6 m: balls slid on where they stick, and were up to 1.1 radii off."""
    for seed in range(3):
        one, other = motion(seed, factor, set_of), motion(seed, 1.0, set_of)
        assert np.abs(one - other).max() < 1e-6
