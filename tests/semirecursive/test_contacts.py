"""Kernels of nonholonomic constraints against the page, against differences, and after saving."""

import numpy as np
import pytest

import rtmbs
from rtmbs.formulations import check_system
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.integrators.settings import EXACT
from rtmbs.language import read, write
from rtmbs.semirecursive import page
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.passes import add_correction
from tests.contracts.machines import check_goes_on
from tests.mechanisms import random_rotation
from tests.nonholonomic import cart, sleigh, steady_disc


def mechanism(rng, crown):
    """Return a wheel and a blade on an arm; both touch a table that hangs on another joint."""
    model = rtmbs.Model("contacts", gravity=(1.0, 2.0, -9.0))
    table = model.add_body("table", mass=2.0, inertia=(0.3, 0.4, 0.5), orientation=random_rotation(rng))
    wheel = model.add_body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.15), position=(0.3, 0.1, 0.6))
    arm = model.add_body("arm", mass=0.5, inertia=(0.1, 0.1, 0.1), position=(0.5, 0.2, 0.4))
    model.add_joint("bearing", rtmbs.Spherical(), "ground", table, point=(0.1, 0.0, 0.2))
    model.add_joint("free", rtmbs.Floating(), "ground", wheel, point=(0.3, 0.2, 0.5))
    model.add_joint("elbow", rtmbs.Universal(axis_a=(1, 0, 0), axis_b=(0, 1, 0)), wheel, arm, point=(0.4, 0.2, 0.5))
    axle = model.add_marker("axle", wheel, (0.3, 0.1, 0.65), axes=random_rotation(rng))
    top = model.add_marker("top", table, (0.2, 0.1, 0.1), axes=random_rotation(rng))
    model.add_rolling("contact", axle, top, 0.5, crown=crown)
    model.add_knife_edge("edge", model.add_marker("tip", arm, (0.6, 0.1, 0.3)), table, direction=rng.normal(size=3))
    return model.compile()


def a_state(rng, system):
    """Return z, zd and zdd (n,) of a random state."""
    n = len(system.coordinate_names)
    return 0.2 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


@pytest.mark.parametrize("crown", [0.0, 0.2, 0.5])
def test_kernels_and_page_agree(crown):
    rng = np.random.default_rng(3)
    system = mechanism(rng, crown)
    equations, (z, zd, zdd) = SemiRecursiveEquations(system), a_state(rng, system)
    Phi = equations.close(z, system.R0)
    found = (
        Phi,
        equations.closure_jacobian(),
        equations.closure_velocities(zd),
        equations.closure_accelerations(zd, zdd),
    )
    wanted = (
        (page.closures, (z,)), (page.closure_jacobian, (z,)), (page.closure_velocities, (z, zd)),
        (page.closure_accelerations, (z, zd, zdd)),
    )  # fmt: skip
    for values, (function, state) in zip(found, wanted, strict=True):
        by_page = function(np, system.tables, equations.u, system.R0, *(x[None] for x in state))[0]
        np.testing.assert_allclose(values, by_page, atol=1e-13)


@pytest.mark.parametrize("crown", [0.0, 0.2, 0.5])
def test_rows_are_right_by_differences(crown):
    """Phi_q, A and gamma of all rows, along a motion."""
    rng = np.random.default_rng(4)
    system = mechanism(rng, crown)
    joints, (z, zd, _) = JointCoordinates(system), a_state(rng, system)
    assert (joints.m, joints.rate_rows) == (1, 3)
    assert joints.rate_row_names == ["contact.roll_x", "contact.roll_y", "edge.sideways"]
    q, v = z, np.linalg.solve(joints.vectors.turning(z), zd)
    check_system(joints, q, v, 0.0)


def test_the_multipliers_turn_as_the_tangent_says():
    """(Phi_z^T lam)_z of the exact tangent against central differences of Phi_z^T lam by small turns and shifts."""
    rng = np.random.default_rng(5)
    system = mechanism(rng, 0.2)
    equations, (z, _, _) = SemiRecursiveEquations(system), a_state(rng, system)
    still = np.zeros(equations.n)
    equations.u = equations.u.copy()
    equations.u[:3] = 0.0  # no weight: the tangent is that of the loops
    lam = rng.normal(size=equations.m)

    def pulled(change):
        equations.close(z_moved(equations, z, change), system.R0)
        return equations.pull_back(lam)

    step = 1e-6
    wanted = np.column_stack([(pulled(step * e) - pulled(-step * e)) / (2.0 * step) for e in np.eye(equations.n)])
    equations.residual(z, still, still, system.R0)
    equations.alpha = np.zeros(equations.m)
    equations.ws.impulse[:] = lam
    equations.close(z, system.R0)
    found = equations.assemble(0.0, 0.0, 1.0, EXACT)
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def z_moved(equations, z, change):
    """Return z (n,) after small turns and shifts ``change`` behind it."""
    moved = z.copy()
    add_correction(equations.tables.dofs, z, change, moved)
    return moved


@pytest.mark.parametrize("make", [steady_disc, sleigh, cart])
def test_a_model_file_holds_contacts(make, tmp_path):
    model = make().model
    path = tmp_path / "model.mks"
    path.write_text(write(model))
    assert read(path).model.compile().fingerprint == model.compile().fingerprint


@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal, rtmbs.VariationalMidpoint, rtmbs.TRBDF2])
def test_a_saved_state_goes_on_with_the_same_bytes(method, tmp_path):
    sim, other = (rtmbs.Simulation(steady_disc().model.compile(), h=5e-3, method=method()) for _ in range(2))
    check_goes_on(sim, other, 7, tmp_path / "state")
