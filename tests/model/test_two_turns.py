"""Two turns of a joint, read off its bodies."""

import numpy as np
import pytest

from rtmbs.errors import ModelError
from rtmbs.model.joints import two_turn_angles


def test_axes_that_are_not_perpendicular_are_refused():
    """A Simulation follows such turns by their dofs; angles read off the two bodies would be others."""
    with pytest.raises(ModelError, match=r"cosine 0\.707 cannot be read from the bodies"):
        two_turn_angles(np.array((0.0, 0.0, 1.0)), np.array((0.0, 1.0, 1.0)) / np.sqrt(2.0))
