"""One step: of the main job, of small mechanisms, and of a whole run, which records."""

import pytest

from bench.peers.mechanism import SMALL
from bench.peers.rtmbs_joints import prepared
from bench.suites.conftest import STEP

ROUNDS = 200


def test_step(benchmark, mechanism):
    sim = prepared(mechanism, STEP)
    benchmark.pedantic(sim.step, rounds=ROUNDS, warmup_rounds=5)


def test_readable_step(benchmark, mechanism):
    """The step in Python, as it is with every source of K and C but the closed form."""
    sim = prepared(mechanism, STEP)
    sim.change(fused=False)
    benchmark.pedantic(sim.step, rounds=20, warmup_rounds=2)


@pytest.mark.parametrize("name", SMALL)
def test_small_step(benchmark, name):
    build, h = SMALL[name]
    sim = prepared(build(), h)
    benchmark.pedantic(sim.step, rounds=20 * ROUNDS, warmup_rounds=5)


@pytest.mark.parametrize("name", SMALL)
def test_run(benchmark, name):
    """A hundred steps inside ``run``."""
    build, h = SMALL[name]
    sim = prepared(build(), h)
    benchmark.pedantic(lambda: sim.run(sim.t + 100 * h), rounds=ROUNDS // 4, warmup_rounds=2)
