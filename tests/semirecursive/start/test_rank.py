"""Rank of loop equations: against singular values, in any units, far away, with rows of rounding only."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rtmbs
from rtmbs import Simulation, library
from rtmbs.semirecursive.start.rank import (
    LEADERS,
    MANY,
    NEARBY,
    Scaled,
    effective_masses,
    inconsistent_part,
    tried_poses,
)
from tests.cases import spread
from tests.semirecursive.start.cases import MODELS, assembly_of, closed_pose, fourbar, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def weighed(name):
    """Return the assembly of a mechanism at a closed pose, the roots of its effective masses and its scaled Phi_z."""
    assembly, z = closed_pose(system_of(name))
    masses, _ = effective_masses(assembly.equations, assembly.jacobian)
    assembly.gap(z)
    return assembly, np.sqrt(masses), Scaled(assembly.equations, assembly.jacobian)


@ALL
def test_rank_of_a_mechanism(name):
    """Singular values of Phi_z in units of the masses agree, and what is kept is independent."""
    assembly, root, scaled = weighed(name)
    dense = root[:, None] * assembly.equations.closure_jacobian()
    keep = scaled.independent()
    expected = np.linalg.matrix_rank(dense, tol=1e-10 * np.linalg.norm(dense, 2))
    assert np.count_nonzero(keep) == expected
    assert np.linalg.matrix_rank(dense[keep], tol=1e-9) == expected
    assert Simulation(system_of(name)).start_report.rank == expected


@ALL
def test_what_no_motion_removes(name):
    """The part of Phi outside the range of Phi_z: orthogonal to it in the metric of the masses, the rest inside."""
    assembly, root, scaled = weighed(name)
    Phi = np.random.default_rng(5).normal(size=len(root)) * assembly.scale
    dense = root[:, None] * assembly.equations.closure_jacobian()
    for group in assembly.groups:
        block, own = dense[group.rows], root[group.rows]
        part = own * inconsistent_part(scaled, group, root, Phi)
        assert np.abs(block.T @ part).max() < 1e-8 * np.linalg.norm(block, 2) * max(np.abs(part).max(), 1e-30)
        left = own * Phi[group.rows] - part
        solved = block @ np.linalg.lstsq(block, left, rcond=1e-10)[0]
        np.testing.assert_allclose(solved, left, atol=1e-8 * np.abs(left).max())


@pytest.mark.parametrize(("n", "poses"), [(MANY, LEADERS), (MANY + 1, 1)])
def test_poses_tried_beside_a_start(n, poses):
    """All coordinates at random, then one of each group alone: of large mechanisms the first of each group only."""
    groups = [SimpleNamespace(columns=np.arange(2, 7)), SimpleNamespace(columns=np.arange(7, n))]
    typical = np.where(np.arange(n) < 9, 0.5, 1.0)
    z = np.linspace(-1.0, 1.0, n)
    tried = list(tried_poses(SimpleNamespace(typical=typical, groups=groups), z))
    assert len(tried) == 1 + poses
    assert not tried[0][1].any()
    assert np.all(tried[0][0] != z)
    for pose, alone in tried[1:]:
        assert [np.count_nonzero(alone[group.columns]) for group in groups] == [1, 1]
        np.testing.assert_allclose(pose - z, NEARBY * typical * alone, atol=1e-15)
    assert np.flatnonzero(tried[1][1]).tolist() == [2, 7]


@pytest.mark.parametrize(("ny", "nz"), spread([(2, 20), (1, 120), (40, 20)], 1))
def test_large_groups_are_counted_and_named(ny, nz):
    """Every storey has one freedom, every window three equations that the others hold: no size is too large to say."""
    report = Simulation(library.build("fourbar", ny=ny, nz=nz).compile()).start_report
    assert report.degrees_of_freedom == report.degrees_of_freedom_nearby == nz
    assert len(report.redundant) == 3 * ny * nz


@pytest.mark.parametrize("windows", [1, 5, 20])
def test_a_singular_start_of_many_loops_is_seen(windows):
    """All posts flat: a random pose beside it leaves some windows flat, one post alone leads all of them out."""
    report = Simulation(library.build("fourbar", ny=windows, nz=1, angle=np.pi / 2).compile()).start_report
    assert (report.degrees_of_freedom, report.degrees_of_freedom_nearby) == (windows + 1, 1)


# ------------------------------------------------------------------------------------------------- rounding and scale


def door(seed, hinges, far=0.0, size=1.0, mass=20.0):
    """Return a door on coaxial hinges with a skew axis, some way off the origin; one degree of freedom."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3) / 1.0
    point = size * rng.normal(size=3) + far
    model = rtmbs.Model("door")
    inertia = mass * size**2 * np.array([0.1, 0.05, 0.12])
    model.add_body("door", mass=mass, center_of_mass=size * rng.normal(size=3), inertia=inertia, position=point)
    along = axis / np.linalg.norm(axis)
    for k in range(hinges):
        place = point + 1.5 * k * size * along
        model.add_joint(f"hinge {k}", rtmbs.Revolute(axis=axis), "ground", "door", point=place, cut=k > 0)
    return model


@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_door_on_three_hinges(size, far):
    """All rows of the other hinges are rounding: redundant, and with penalties of the size of the door."""
    for seed in range(20):
        sim = Simulation(door(seed, 3, far * size, size).compile())
        report = sim.start_report
        assert report.degrees_of_freedom == report.degrees_of_freedom_nearby == 1
        assert len(report.redundant) == 10
        assert all(name.startswith(("hinge 1.", "hinge 2.")) for name in report.redundant)
        rotation = sim.system.row_is_rotation
        masses = sim.state.memory["alpha"] / (1e6 * 4.0 / sim.h**2)
        assert np.all((masses[~rotation] > 1.0) & (masses[~rotation] < 100.0))
        assert np.all((masses[rotation] > 0.1 * size**2) & (masses[rotation] < 1000.0 * size**2))


@given(seed=st.integers(0, 10**6), shift=st.floats(-2e4, 2e4))
def test_rank_does_not_hang_on_the_place(seed, shift):
    model = door(seed % 100, 2, shift)
    assert Simulation(model.compile()).start_report.degrees_of_freedom == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_door_that_hangs_in_balance(seed):
    """Its mass centre on the axis: no acceleration, and no size to measure rounding by."""
    rng = np.random.default_rng(seed)
    axis, point = rng.normal(size=3), rng.normal(size=3)
    model = rtmbs.Model("balanced")
    model.add_body("door", mass=20.0, center_of_mass=axis, inertia=(2, 1, 2.5), position=point)
    for k in range(2):
        model.add_joint(f"hinge {k}", rtmbs.Revolute(axis), "ground", "door", point=point + 1.5 * k * axis, cut=k > 0)
    model.set_initial("hinge 0", position=0.3)
    sim = Simulation(model.compile())
    assert abs(sim.state.zdd[0]) < 1e-9
    assert sim.step().outcome.accepted


def test_hinges_that_are_not_coaxial_lock_the_door():
    """A hinge that is a micron off is no rounding: nothing moves, and the report says so."""
    model = door(3, 1)
    lower = model.joints["hinge 0"]
    place = lower.point_a + 1e-6 * np.cross(lower.type.axis, (0.0, 0.6, 0.8))
    model.add_joint("off", rtmbs.Revolute(axis=lower.type.axis), "ground", "door", point=place, cut=True)
    report = Simulation(model.compile()).start_report
    assert report.degrees_of_freedom == 0
    assert any("no degree of freedom is left" in warning and "off" in warning for warning in report.warnings)


def test_a_driven_mechanism_is_not_locked():
    report = Simulation(system_of("driven_fourbar")).start_report
    assert report.degrees_of_freedom == 0
    assert report.warnings == ()


def test_planar_rows_are_redundant_by_name():
    report = Simulation(fourbar().compile()).start_report
    assert set(report.redundant) == {"C.x", "C.tilt_1", "C.tilt_2"}


def test_assembly_of_a_closed_pose_does_not_move():
    """Judging the rank leaves the pose as it was."""
    system = system_of("bricard")
    assembly = assembly_of(system)
    before = assembly.equations.close(system.z0, assembly.R0)
    Scaled(assembly.equations, assembly.jacobian).independent()
    np.testing.assert_array_equal(assembly.equations.ws.Phi, before)
