"""What the suites share: the four-bar at 4 x 40 in both layouts."""

from typing import Any

import pytest

from bench.peers.mechanism import LAYOUTS, Mechanism, build

STEP = 5e-3  # [s]


@pytest.fixture(scope="session", params=LAYOUTS)
def mechanism(request: Any) -> Mechanism:
    """The four-bar 4 x 40: 360 bodies, 160 loops."""
    return build(request.param)
