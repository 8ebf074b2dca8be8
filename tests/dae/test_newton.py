"""Newton's iteration of the implicit methods at steps so small that positions over h^2 round coarsely."""

import numpy as np
import pytest

import rtmbs
from rtmbs.dae.contract import Counts
from rtmbs.dae.newton import Newton


@pytest.mark.parametrize("h", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("method", [rtmbs.methods.HHT(), rtmbs.methods.GeneralisedAlpha(), rtmbs.methods.RadauGGL()])
def test_small_steps_end_in_rounding_and_are_right(method, h):
    sim = rtmbs.Simulation(rtmbs.library.build("driven_fourbar").compile(), h=h, method=method)
    fine = rtmbs.Simulation(sim.system, h=h, method=rtmbs.methods.CVODE(rtol=1e-11, atol=1e-13))
    for _ in range(8):
        assert sim.step().outcome.name == "CONVERGED"
        assert fine.step().outcome.accepted
    for name, bound in (("z", 1e-12 + 20 * h**3), ("zd", 1e-9 + 2e-15 / h + 20 * h**2)):
        np.testing.assert_allclose(getattr(sim.state, name), getattr(fine.state, name), rtol=0, atol=bound)


def test_what_is_added_to_an_unknown_rounds_and_what_is_not_does_not():
    """x + 1e9 = 1e9 + 1/3 is solved to the rounding of 1e9; a wrong matrix without such a sum is refused."""
    newton = Newton(Counts(), "this test")
    third, one = 1.0 / 3.0, np.eye(1)
    rounded = lambda x: (x + 1e9) - (1e9 + third) + 3e-8 * np.sign(x - third)  # noqa: E731
    found = newton.solve(rounded, lambda x: one, np.zeros(1), np.ones(1), 0.0, np.full(1, 1e9))
    assert abs(found[0] - third) < 1e-6
    with pytest.raises(rtmbs.dae.MotionError, match="does not converge"):
        Newton(Counts(), "this test").solve(lambda x: np.sign(x - third), lambda x: one, np.zeros(1), np.ones(1), 0.0)
