"""Tables of some components alone: residual, loops and tangent are those rows of the whole, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.integrators.settings import TANGENT_TERMS, StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.components import find_groups, restricted
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.law_tables import attach_law
from tests.mechanisms import random_motion, random_rotation
from tests.system.parts import pair

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
