"""Ranks that share one branch: bodies on both sides of a cut of the partition, and forces between ranks."""

import numpy as np
import pytest

import rtmbs
from bench.measures.threaded_ranks import on_ranks
from rtmbs.formulations import JointCoordinates
from rtmbs.formulations.augmented_system import solve_parts
from rtmbs.formulations.contract import terms_at
from rtmbs.recursive.motion import Alone, RankSteps, run
from tests.recursive.machines import branched, start_of


def accelerations(system, z, zd, ranks):
    """Return zdd by so many ranks, and the messages and their numbers of one evaluation."""

    def work(exchange):
        steps = RankSteps(system, exchange)
        steps.begin(z, zd, 0.0)
        exchange.messages = exchange.numbers = 0
        steps.evaluate(0.0)
        return steps, exchange.messages, exchange.numbers

    found, all_steps = np.full(len(z), np.nan), on_ranks(ranks, work)
    for one, _, _ in all_steps:
        found[one.part.coordinates] = one.part.scratch.zdd[one.part.places]
    return found, all_steps[0][1:]


def pull(unit):
    """Return a law between two frames: a drag, and a torque that a turn makes."""
    return lambda t, one, p: (-unit.force * one.v * unit.time / unit.length, unit.torque * one.R[:, 0])


@pytest.fixture(scope="module")
def sprung():
    """Return a tree with loops, a spring between two branches and a law between two bodies, its state and its units."""
    model, unit = branched(1, branches=3, length=4)
    stiff = unit.force / unit.length
    spring = rtmbs.SpringDamper(stiff, 0.3 * stiff * unit.time, unit.length)
    model.add_force("tie", spring, between=("eye 0", "eye 1"))
    model.add_force("pull", pull(unit), between=("eye 2", "eye 0"))
    return *start_of(model, unit), unit


@pytest.mark.parametrize("ranks", [2, 4, 7])
def test_against_the_augmented_system(sprung, ranks):
    system, z, zd, _ = sprung
    joints = JointCoordinates(system)
    right, _ = solve_parts(terms_at(joints, z, zd, 0.0))
    found, _ = accelerations(system, z, joints.joint_rates(z, zd), ranks)
    a = np.linalg.solve(joints.vectors.turning(z), found - joints.vectors.rate_terms(z, zd))
    assert np.abs(a - right).max() <= 1e-11 * np.abs(right).max()


def test_a_loop_on_five_ranks_is_that_on_one():
    system = rtmbs.library.build("loop", k=15).compile()
    zd, times = np.zeros(14), np.linspace(0.0, 0.05, 3)
    alone = run(system, system.z0, zd, times, 5e-3, Alone(), 20.0, 20.0)
    shared = on_ranks(5, lambda exchange: run(system, system.z0, zd, times, 5e-3, exchange, 20.0, 20.0))
    assert shared[0].shares == (3, 3, 4, 2, 2)
    for one in shared:
        assert np.abs(one.z - alone.z).max() <= 1e-12
        assert one.z.tobytes() == shared[0].z.tobytes()


def test_messages_do_not_grow_with_the_loop():
    counts = []
    for k in (15, 51):
        system = rtmbs.library.build("loop", k=k).compile()
        found, told = accelerations(system, system.z0, np.zeros(k - 1), 4)
        right, single = accelerations(system, system.z0, np.zeros(k - 1), 2)
        assert np.abs(found - right).max() <= 1e-11 * np.abs(right).max()
        counts.append((told, single))
    assert counts[0] == counts[1] == ((2, 541), (1, 97))


def test_rotations_at_the_start_are_those_that_are_given(sprung):
    system, z, zd, unit = sprung
    turned = np.tile(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), (len(system.R0), 1, 1))
    times, h = np.array([0.0, 1e-3]) * unit.time, 1e-3 * unit.time
    found = run(system, z, zd, times, h, R0=turned)
    assert np.abs(found.R0[0] - turned).max() == 0.0
    assert np.abs(found.R0[0] - system.R0).max() > 0.5
