"""The share of applied forces in the Newton matrix, against closed forms."""

import numpy as np
import pytest

import rtmbs
from rtmbs.semirecursive.equations import SemiRecursiveEquations

H = 0.01


@pytest.mark.parametrize("stiffness", [(10.0, 40.0), (40.0, 10.0)])
def test_a_massless_frame_counts_like_the_lightest_coordinate(stiffness):
    """Two blocks and a frame on rails of their own, each held by a spring: h^2/4 k / m, the frame by the lighter m."""
    model = rtmbs.Model("rails", gravity=(0, 0, 0))
    for name, mass, k in (("block", 2.0, stiffness[0]), ("heavy", 7.0, 1.0), ("frame", 0.0, stiffness[1])):
        model.add_body(name, mass=mass, inertia=(mass, mass, mass))
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", name)
        model.add_force(f"{name} spring", rtmbs.TorsionSpring(k), joint=f"{name} rail")
    system = model.compile()
    equations, still = SemiRecursiveEquations(system), np.zeros(system.n)
    equations.residual(system.z0, still, still, system.R0)
    equations.assemble(1.0, 0.5 * H, 0.25 * H * H)
    assert equations.stiffness == pytest.approx(0.25 * H * H * max(stiffness) / 2.0, rel=1e-12)
