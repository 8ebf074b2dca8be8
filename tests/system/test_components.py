"""Components are found by what couples coordinates, and dealt out evenly.

Tables of some components alone: residual, loops and tangent are those rows of the whole, to the last bit.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rtmbs
from rtmbs import library
from rtmbs.integrators.settings import TANGENT_TERMS, StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.components import AS_EVEN, assign_groups, find_components, find_groups, predicted_work, restricted
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.law_tables import attach_law
from tests.contracts.machines import beside
from tests.mechanisms import random_motion, random_rotation
from tests.system.parts import pair


def components_of(system):
    return find_components(system.tables, system.lu)


def pendulums(count):
    """Bars that hang on ground side by side."""
    model = rtmbs.Model("pendulums")
    for k in range(count):
        body = model.add_body(f"bar {k}", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        model.add_joint(f"pin {k}", rtmbs.Revolute(axis=(1, 0, 0)), "ground", body, point=(k, 0, 0))
    return model


@pytest.mark.parametrize("nz", [1, 4])
def test_rows_of_the_parallel_fourbar_share_ground_only(nz):
    system = library.build("fourbar", ny=2, nz=nz, layout="parallel").compile()
    np.testing.assert_array_equal(components_of(system), np.repeat(np.arange(nz), 5))


def test_rows_of_the_stacked_fourbar_hang_together():
    assert not components_of(library.build("fourbar", ny=2, nz=3).compile()).any()


@pytest.mark.parametrize("seeds", [(0, 1), (2, 3), (5, 6, 7)], ids=str)
def test_models_side_by_side_fall_apart(seeds):
    system = pair(seeds).compile()
    owner = [int(name.split()[0]) for name in system.coordinate_names]
    label = components_of(system)
    for component in range(label.max() + 1):
        assert len({owner[i] for i in np.flatnonzero(label == component)}) == 1
    first = [int(np.flatnonzero(label == component)[0]) for component in range(label.max() + 1)]
    assert first == sorted(first)


def test_a_spring_joins_what_it_holds():
    model = pendulums(3)
    ends = model.add_marker("a", "bar 0", (0, 0, -1)), model.add_marker("b", "bar 2", (2, 0, -1))
    model.add_force("spring", rtmbs.SpringDamper(10.0), between=ends)
    assert components_of(model.compile()).tolist() == [0, 1, 0]


def test_a_law_joins_what_it_looks_at_without_a_derivative():
    """The torque on bar 1 switches with the sign of bar 0's angle: no entry of the matrix, but not to be parted."""
    model = pendulums(4)
    model.add_force(
        "switch", lambda t, k, p: np.stack((-k.z[0], np.where(k.z[0] > 0.0, 1.0, 2.0))), joints=["pin 0", "pin 1"]
    )
    model.add_force("own", lambda t, k, p: -(k.z**3), joints=["pin 2", "pin 3"])
    system = model.compile()
    assert len(system.lu.pattern) == 4
    assert components_of(system).tolist() == [0, 0, 1, 2]


def test_neighbours_stay_together():
    system = library.build("fourbar", ny=1, nz=5, layout="parallel").compile()
    groups = find_groups(system.tables, system.lu, 2)
    assert [group.tolist() for group in groups] in ([[*range(6)], [*range(6, 15)]], [[*range(9)], [*range(9, 15)]])
    assert [len(group) for group in find_groups(system.tables, system.lu, 64)] == [3] * 5


def test_work_counts_coordinates_and_the_factor():
    models = [library.build("fourbar", ny=2, nz=nz) for nz in (1, 6)]
    alone = [model.compile() for model in models]
    both = beside(*models).compile()
    label = components_of(both)
    work = predicted_work(label, both.lu)
    single = [predicted_work(np.zeros(system.n, np.int64), system.lu)[0] for system in alone]
    np.testing.assert_allclose(work, single, rtol=0.02)
    assert work[1] > 6.0 * work[0], "coupled storeys cost more than separate ones"


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=50), st.integers(1, 9))
def test_everybody_gets_a_fair_share(work, threads):
    work = np.array(work)
    group = assign_groups(work, threads)
    assert group.min() >= 0
    assert group.max() < threads
    heaviest = np.bincount(group, work, threads).max()
    least = max(work.sum() / threads, work.max())
    assert heaviest <= AS_EVEN * (least + work.max() * (1.0 - 1.0 / threads))


@given(st.integers(1, 60), st.integers(1, 9))
def test_equal_components_are_dealt_out_in_runs(count, threads):
    group = assign_groups(np.ones(count), threads)
    assert np.all(np.diff(group) >= 0)
    sizes = np.bincount(group)
    assert sizes.max() <= -(-count // threads)


SEEDS = [(0, 1), (2, 3), (4, 9), (5, 6), (7, 8), (10, 11), (0, 5, 10)]


def rotations(rng, count):
    return np.array([random_rotation(rng) for _ in range(count)]).reshape(count, 3, 3)


def parts_of(system, threads=3):
    """Return (part, its equations) of every group of a system."""
    found = []
    for coordinates in find_groups(system.tables, system.lu, threads):
        part = restricted(system.tables, coordinates)
        names = [system.row_names[row] for row in part.rows]
        found.append((part, SemiRecursiveEquations(replace(system, tables=part.tables, lu=part.lu, row_names=names))))
    return found


def state_of(motion, R0, part=None):
    """Return the arrays of a state, or those of a part."""
    arrays = StateArrays(motion.z, motion.zd, motion.zdd, motion.lam, R0, np.stack([motion.z, motion.zd], axis=1))
    if part is None:
        return arrays
    c = part.coordinates
    return StateArrays(*(values[c] for values in arrays[:3]), motion.lam[part.rows], R0[part.references], arrays[5][c])


def everything(equations, state):
    """Return all that a step asks for, at one state."""
    found = {"residual": equations.residual(state.z, state.zd, state.zdd, state.R0)}
    for k, terms in enumerate(TANGENT_TERMS):
        equations.residual(state.z, state.zd, state.zdd, state.R0)
        found[f"tangent, {terms}"] = equations.assemble(1.0, 0.01, 1e-4, k, state)
    found["Phi"] = equations.close(state.z, state.R0)
    found["Phi_z"] = equations.closure_jacobian()
    found["Phid"] = equations.closure_velocities(state.zd)
    found["Phidd"] = equations.closure_accelerations(state.zd, state.zdd)
    return found


def hold_together(system, seed):
    rng = np.random.default_rng(seed)
    whole, motion = SemiRecursiveEquations(system), random_motion(seed, system.tables)
    R0 = rotations(rng, len(system.R0))
    evaluate_signals(system, 0.3, whole.u)
    whole.alpha[:] = motion.alpha
    expected = everything(whole, state_of(motion, R0))
    parts = parts_of(system)
    assert len(parts) > 1
    covered = np.concatenate([part.coordinates for part, _ in parts])
    assert sorted(covered.tolist()) == list(range(system.n))
    assert sorted(np.concatenate([part.rows for part, _ in parts]).tolist()) == list(range(system.m))
    for part, equations in parts:
        equations.u, equations.alpha = whole.u, motion.alpha[part.rows]
        found = everything(equations, state_of(motion, R0, part))
        c, r = part.coordinates, part.rows
        for name, values in found.items():
            rows = c if name == "residual" or "tangent" in name else r
            columns = expected[name][rows] if values.ndim == 1 else expected[name][np.ix_(rows, c)]
            np.testing.assert_array_equal(values, columns, err_msg=name)
        others = np.setdiff1d(np.arange(system.n), c)
        assert not expected["tangent, exact"][np.ix_(c, others)].any()
    return parts


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_mechanisms_side_by_side(seeds):
    system = pair(seeds).compile()
    parts = hold_together(system, seeds[0])
    assert sum(len(part.tables.laws.frame_a) for part, _ in parts) == 2 * len(seeds)
    assert sum(len(part.tables.closures.point_a) for part, _ in parts) == len(system.tables.closures.point_a)


@pytest.mark.parametrize("seeds", SEEDS[:2], ids=str)
def test_types_are_those_of_the_whole(seeds):
    """An array of another type, or one with gaps, would compile every kernel again."""
    system = pair(seeds).compile()

    def types(tables):
        return [
            types(one) if isinstance(one, tuple) else (one.dtype, one.ndim, one.flags.c_contiguous) for one in tables
        ]

    for part, _ in parts_of(system):
        assert types(part.tables) == types(system.tables)
        assert types(tuple(np.asarray(one) for one in part.lu)) == types(tuple(np.asarray(one) for one in system.lu))


def test_a_law_goes_with_the_body_it_is_attached_to():
    system = pair((0, 5)).compile()
    moved = attach_law(system, "0 follower", "1 body 8", np.array([0.1, 0.2, 0.3]))
    before, after = ([len(part.tables.laws.frame_a) for part, _ in hold_together(one, 3)] for one in (system, moved))
    assert sum(before) == sum(after)
    assert before != after
