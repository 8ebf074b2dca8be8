"""``rtmbs view`` of a kinematic file: the mechanism free of its drivers, to be moved by the mouse."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.simulation.simulation import drag
from rtmbs.viewer.session.origin import draggable
from tests.patches import ROOT

COOKBOOK = "docs/gallery/cookbook"


def opened(name):
    """Return the draggable mechanism of a cookbook file."""
    return draggable(rtmbs.language.read(ROOT / COOKBOOK / f"{name}.mks"))


@pytest.mark.parametrize("name", ["four_bar", "stewart_platform", "scissor_lift"])
def test_a_cookbook_mechanism_moves_and_its_loops_stay_closed(name):
    sim = rtmbs.Simulation(opened(name).compile(), h=1e-3)
    body, length = list(sim.system.bodies)[-1], sim.system.length
    begun, point = sim.state.z.copy(), (0.2 * length, 0.1 * length, 0.0)
    place = np.array(sim[f"{body}.position"])
    for way in 0.5 * length * np.eye(3):
        drag(sim, body, point, place + way)
        assert np.abs(sim.equations.close(sim.state.z, sim.state.R0)).max(initial=0.0) < 1e-9 * max(length, 1.0)
    assert np.abs(sim.state.z - begun).max() > 0.01


def test_points_on_curves_are_refused():
    with pytest.raises(InputError, match=r"which a KINEMATIC ANALYSIS alone follows"):
        opened("bead_on_helix")
