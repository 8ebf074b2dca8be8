"""Channels of a session: inspected values."""

import numpy as np
import pytest

from rtmbs.errors import InputError, UnknownNameError
from rtmbs.simulation import Simulation
from rtmbs.viewer.session.plotted import EVERY, Inspection, LiveChannels
from tests.viewer.mechanisms import motored


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def asked():
    sim, clock = Simulation(motored(torque=0.3).compile()), Clock()
    channels, reads = LiveChannels(sim.system, sim.equations.tables, sim.state), []

    def channels_of(state):
        reads.append(state.t)
        return channels

    return sim, clock, Inspection(channels, channels_of, clock), reads


def test_a_session_that_plays_is_read_now_and_then_and_one_that_stands_always(asked):
    sim, clock, inspection, reads = asked
    inspection.ask(("crank.velocity", "spring.power"), 3)
    for _ in range(10):
        sim.step()
        inspection.read(sim.state, playing=True)
    assert len(reads) == 1
    clock.now += EVERY
    values = inspection.read(sim.state, playing=True)
    assert len(reads) == 2
    assert np.isfinite(values[:4]).all()
    assert np.isnan(values[4:]).all()
    for _ in range(3):
        inspection.read(sim.state, playing=False)
    assert len(reads) == 5
    assert inspection.ticket == 3


def test_nothing_is_read_when_nobody_asks(asked):
    sim, _, inspection, reads = asked
    assert np.isnan(inspection.read(sim.state, playing=False)).all()
    inspection.ask(("elbow.reaction",), 1)
    assert np.isfinite(inspection.read(sim.state, playing=False)[:6]).all()
    inspection.ask((), 2)
    assert np.isnan(inspection.read(sim.state, playing=False)).all()
    assert len(reads) == 1


def test_what_is_refused_leaves_what_was_asked_for(asked):
    _, _, inspection, _ = asked
    inspection.ask(("elbow.reaction",), 1)
    with pytest.raises(UnknownNameError, match=r"elbow\.reaction"):
        inspection.ask(("elbow.reactoin",), 2)
    with pytest.raises(InputError, match="129 numbers are inspected; at most 128 can be at once"):
        inspection.ask(("crank.velocity",) * 43, 3)
    assert inspection.ticket == 1
