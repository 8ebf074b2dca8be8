"""BDF over the recursion: one rank against a formulation at tight tolerances, two ranks against one, refusals."""

import threading

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import SolveIVP, integrate, run_bdf
from rtmbs.errors import InputError
from rtmbs.formulations import Baumgarte, JointCoordinates, Recursive
from tests.dae.motions import skip_without
from tests.nonholonomic import sleigh

GAINS = {"alpha": 10.0, "beta": 10.0}


class Paired:
    """Two ranks on two threads of this process."""

    ranks = 2

    def __init__(self, rank, room):
        self.rank, (self.places, self.barrier) = rank, room

    def together(self, mine):
        self.places[self.rank] = mine
        self.barrier.wait()
        found = list(self.places)
        self.barrier.wait()
        return found

    def share(self, message, messages):
        for rank, one in enumerate(self.together(message.copy())):
            messages[rank] = one


def slider_crank():
    """Return the System and its state at the start."""
    system = rtmbs.library.build("slider_crank").compile()
    state = rtmbs.Simulation(system, h=1e-3).state
    return system, state.z, state.zd


def test_one_rank_is_right():
    skip_without("cvode")
    system, z, zd = slider_crank()
    times = np.linspace(0.0, 1.0, 11)
    method = SolveIVP("DOP853", Baumgarte(10.0, 10.0, within=Recursive()), rtol=1e-12, atol=1e-14)
    wanted = integrate(JointCoordinates(system), method, z, zd, 1.0, 0.1)
    for rtol, bound in ((1e-6, 1e-3), (1e-10, 1e-6)):
        found = run_bdf(system, z, zd, times, rtol=rtol, atol=1e-2 * rtol, **GAINS)
        assert np.abs(found.z - wanted.q).max() < bound
        assert np.abs(found.zd - wanted.v).max() < 100.0 * bound
    np.testing.assert_allclose(found["slide.displacement"][-1], wanted["slide.displacement"][-1], atol=1e-7)


def test_two_ranks_are_one():
    skip_without("cvode")
    system, z, zd = slider_crank()
    times, room, found = np.linspace(0.0, 0.3, 4), ([None, None], threading.Barrier(2)), [None, None]

    def work(rank):
        found[rank] = run_bdf(system, z, zd, times, Paired(rank, room), **GAINS)

    both = [threading.Thread(target=work, args=(rank,)) for rank in (0, 1)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    alone = run_bdf(system, z, zd, times, **GAINS)
    np.testing.assert_array_equal(found[0].z, found[1].z)
    np.testing.assert_allclose(found[0].z, alone.z, atol=1e-9)
    assert found[0].ranks == 2


def test_rotation_vectors_and_wheels_are_refused():
    skip_without("cvode")
    model = rtmbs.Model("free")
    model.add_body("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "body", point=(0.1, 0.0, 0.0))
    system = model.compile()
    with pytest.raises(InputError, match="run_bdf takes coordinates without rotation vectors"):
        run_bdf(system, system.z0, system.zd0, np.linspace(0.0, 1.0, 3))
    system = sleigh().model.compile()
    with pytest.raises(InputError, match="cannot be shared out: edge binds rates"):
        run_bdf(system, system.z0, system.zd0, np.linspace(0.0, 1.0, 3))
