"""A record whose interval is no multiple of the step says so."""

import pytest

import rtmbs
from tests.contracts.machines import library_simulation


@pytest.mark.parametrize("channels", [None, ["bar.position"]])
@pytest.mark.parametrize(
    ("dt", "said"), [(0.004, []), (0.002, []), (0.007, ["0.007 s is no multiple"]), (1e-3, ["0.001"])]
)
def test_what_a_result_says(dt, said, channels):
    sim = library_simulation("pendulum", h=2e-3)
    names = None if channels is None else [next(name for name in sim.run(0.01).names() if name.endswith(".position"))]
    warnings = sim.run(0.1, record=rtmbs.Every(dt), channels=names).warnings
    assert len(warnings) == len(said)
    assert all(any(word in name for name in warnings) for word in said)
