"""How fast Newton's iteration contracts, and that every source of K and C leads to the same motion."""

import numpy as np
import pytest

from bench.measures.newton import contraction, fast_crank_rocker, final_state
from rtmbs import library

ACCURACY = {"finite-difference": 1e-9, "central-difference": 1e-11, "complex-step": 1e-13}


def test_better_tangents_contract_faster():
    """20 rad/s, 5 ms: 1e-3 with the paper's tangent, a tenth with the multipliers of the last step (METHODS 1.9)."""
    found = {terms: contraction(fast_crank_rocker(20.0)(), 5e-3, terms) for terms in ("paper", "inertia", "lagged")}
    assert all(each.steps == 100 for each in found.values())
    assert found["lagged"].rate_median < 0.3 * found["inertia"].rate_median < 0.3 * found["paper"].rate_median
    assert found["paper"].rate_median < 2e-3
    assert all(each.iterations < 2.2 for each in found.values())


def test_small_steps_take_two_iterations_at_60_rad_per_second():
    for terms in ("paper", "inertia", "lagged"):
        found = contraction(fast_crank_rocker(60.0)(), 1e-3, terms)
        assert found.steps == 100
        assert found.iterations < 2.1


@pytest.mark.parametrize("source", ACCURACY)
@pytest.mark.parametrize(
    ("name", "options", "h"),
    [
        ("crank_rocker", {}, 5e-3),
        ("slider_crank", {}, 5e-3),
        ("governor", {}, 1e-3),
        ("fourbar", {"ny": 2, "nz": 2}, 5e-3),
    ],
)
def test_every_source_gives_the_same_motion(source, name, options, h):
    """To its accuracy: K and C steer Newton and weigh the projections, they are no part of the equations."""
    structured = final_state(library.build(name, **options), h, 40)
    found = final_state(library.build(name, **options), h, 40, jacobian=source)
    np.testing.assert_allclose(found, structured, atol=ACCURACY[source] * max(1.0, np.abs(structured).max()))
