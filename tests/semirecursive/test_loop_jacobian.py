"""The rounding of entries of Phi_z, against the sizes of the terms of a row written by hand."""

import numpy as np

import rtmbs
from rtmbs.semirecursive.loop_jacobian import RELATIVE, loop_jacobian, noise_of
from tests.semirecursive.start.cases import assembly_of

RATIO, FAR = 3.0, 40.0


def test_a_constraint_on_coordinates_rounds_by_its_largest_term():
    """lift - ratio angle: the row rounds alike from either coordinate, in its typical size, however far away it is."""
    model = rtmbs.Model("screw")
    model.add_body("wheel", mass=2.0, inertia=(0.05, 0.05, 0.05))
    model.add_body("slider", mass=0.5, inertia=(0.05, 0.05, 0.05), position=(FAR, 0, 1))
    model.add_joint("shaft", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "wheel")
    model.add_joint("guide", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "slider", point=(FAR, 0, 1))
    model.add_constraint("thread", lambda t, pose, p: pose.z[1] - RATIO * pose.z[0], joints=["shaft", "guide"])
    system = model.compile()
    jacobian, equations = loop_jacobian(system), assembly_of(system).equations
    typical = system.typical[jacobian.columns]
    slopes = np.where(np.array(system.coordinate_names)[jacobian.columns] == "shaft.angle", -RATIO, 1.0)
    assert set(slopes) == {-RATIO, 1.0}
    factor = jacobian.values(equations) / slopes  # of the row as it is scaled
    np.testing.assert_allclose(factor, factor[0], rtol=1e-12)
    largest = np.abs(factor * slopes * typical).max()
    np.testing.assert_allclose(noise_of(equations, jacobian), RELATIVE * largest / typical, rtol=1e-12)
