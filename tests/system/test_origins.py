"""Origins of parts of a mechanism: who gets one, where it lies, and that nothing but rounding depends on it."""

import numpy as np
import pytest

import rtmbs
from rtmbs.library.linkages import add_bar
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.components import WORLD, restricted, with_origins
from tests.mechanisms import random_motion, random_tables

FAR = np.array([3.0, -2.0, 1.0]) * 2.0**21  # [m] about 7,800 km
LATTICE = 2.0**-24  # [m]: sums with FAR are exact


def fleet(places, **more):
    """A pendulum of two bars that floats or hangs at every place, as a model."""
    m = rtmbs.Model("fleet", **more)
    for k, (joint, place) in enumerate(places):
        place = np.asarray(place, float)
        knee = np.add(place, (0, 0.25, -1.0))
        add_bar(m, f"a{k}", place, knee, 1.0, axial=0.01)
        add_bar(m, f"b{k}", knee, np.add(place, (0.5, 0.5, -1.5)), 1.5, axial=0.01)
        m.add_joint(f"j{k}", joint, m.ground, f"a{k}", point=place)
        m.add_joint(f"k{k}", rtmbs.Revolute((1, 0.5, 0.25)), f"a{k}", f"b{k}", point=knee)
        m.set_initial(f"k{k}", position=0.3, rate=2.0)
    return m


def test_what_hangs_near_the_origin_of_the_world_is_evaluated_there():
    hinge = rtmbs.Revolute((1, 0, 0))
    system = fleet([(hinge, (0, 0, 0)), (hinge, (2, 0, 0)), (hinge, FAR), (rtmbs.Floating(), (0, 0, 0))]).compile()
    origins, names = system.tables.origins, system.coordinate_names
    seen = {name.split(".")[0]: int(row) for name, row in zip(names, origins.row, strict=True)}
    assert seen["j0"] == seen["k0"] == seen["j1"] == WORLD
    assert seen["j2"] == seen["k2"] < WORLD
    assert seen["j3"] == seen["k3"] < WORLD
    assert seen["j2"] != seen["j3"]
    assert [names[dof] for dof in origins.dof] == ["j3.slide_1", "j3.slide_2", "j3.slide_3"]


def moved(tables, by):
    """Return tables with everything that stands on ground moved by ``by`` (3,), places on a lattice."""
    dofs, connectors, closures, springs = tables.dofs, tables.connectors, tables.closures, tables.forces.springs
    of_closures, of_springs = closures.connector, springs.connector

    def shifted(points, ends):
        return LATTICE * np.round(points / LATTICE) + np.where(ends[:, None] < 0, by, 0.0)

    return tables._replace(
        dofs=dofs._replace(offset=shifted(dofs.offset, dofs.parent)),
        closures=closures._replace(
            point_a=shifted(closures.point_a, connectors.a[of_closures]),
            point_b=shifted(closures.point_b, connectors.b[of_closures]),
        ),
        forces=tables.forces._replace(
            springs=springs._replace(
                point_a=shifted(springs.point_a, connectors.a[of_springs]),
                point_b=shifted(springs.point_b, connectors.b[of_springs]),
            )
        ),
    )


@pytest.mark.parametrize("seed", range(8))
def test_nothing_but_rounding_depends_on_an_origin(seed):
    """Random tables at home and, with other origins, far away."""
    mechanism = random_tables(seed, 12, drivers=0)
    motion = random_motion(seed, mechanism.tables)
    home, away = moved(mechanism.tables, 0.0 * FAR), with_origins(moved(mechanism.tables, FAR))
    assert np.all(away.origins.row < WORLD)
    found = []
    for tables in (home, away):
        ws = workspace(tables)
        ws.z[:], ws.zd[:], ws.zdd[:] = motion.z, motion.zd, motion.zdd
        evaluate_residual(tables, mechanism.R0, mechanism.u, motion.alpha, ws)
        found.append((ws.residual.copy(), ws.Phi.copy(), ws.Phi_z.copy()))
    for at_home, far in zip(*found, strict=True):
        assert np.abs(far - at_home).max(initial=0) < 1e-8 * max(np.abs(at_home).max(initial=0), 1e-300)


def test_a_restricted_part_sees_ground_as_it_did():
    system = fleet([(rtmbs.Revolute((1, 0, 0)), FAR), (rtmbs.Floating(), -FAR)]).compile()
    whole = system.tables
    for row in np.unique(whole.origins.row):
        mine = np.flatnonzero(whole.origins.row == row)
        part = restricted(whole, mine).tables
        np.testing.assert_array_equal(part.origins.row, WORLD - 1)
        np.testing.assert_array_equal(part.origins.fixed[0], whole.origins.fixed[WORLD - 1 - row])
        np.testing.assert_array_equal(part.origins.grid[0], whole.origins.grid[WORLD - 1 - row])
        np.testing.assert_array_equal(
            mine[part.origins.dof], whole.origins.dof[whole.origins.row[whole.origins.dof] == row]
        )
