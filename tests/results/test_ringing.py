"""Modes that ring are counted by name; motions, however fast, are not."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.results.run_warnings import BLOCK, blocks
from tests.contracts.machines import LIBRARY, library_simulation


def slider(damping, stiffness=0.0):
    model = rtmbs.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add_body("block", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "block")
    model.set_initial("rail", position=0.0, rate=1.0)
    model.add_force("damper", rtmbs.TorsionSpring(stiffness, damping), joint="rail")
    return model.compile()


@pytest.mark.parametrize("h", [5e-3, 1e-3])
def test_a_stiff_damper_rings_and_says_so(h):
    """c h / m = 500 and 100: the rate changes its sign at every step and loses 1 or 4 % of its size."""
    result = Simulation(slider(1e5), h=h).run(40 * h)
    assert result["rail.rate"][1] < -0.9
    assert result.warnings == {"rings: rail.displacement": 39}
    assert result.outcomes == {"CONVERGED": 40}


@pytest.mark.parametrize("damping", [0.0, 10.0, 300.0])
def test_a_damper_that_the_step_resolves_does_not(damping):
    assert Simulation(slider(damping, 400.0), h=1e-3).run(0.5).warnings == {}


@pytest.mark.parametrize("name", LIBRARY)
def test_no_mechanism_of_the_library_rings(name):
    sim = library_simulation(name)
    assert sim.run(sim.h * 200).warnings == {}


def test_blocks_overlap_by_what_a_sign_needs():
    """Every three successive samples stand together in one block, and only in one."""
    values = np.arange(3 * BLOCK + 7)
    triples = [tuple(block[k : k + 3]) for block in blocks(values) for k in range(len(block) - 2)]
    assert triples == [(k, k + 1, k + 2) for k in range(len(values) - 2)]


def test_the_file_of_a_result_keeps_its_warnings(tmp_path):
    result = Simulation(slider(1e5), h=5e-3).run(0.1)
    result.save(tmp_path / "ring.npz")
    assert rtmbs.load_result(tmp_path / "ring.npz").warnings == result.warnings != {}


def test_short_records_say_nothing():
    sim = Simulation(library.build("pendulum").compile(), h=1e-3)
    assert sim.run(1e-3).warnings == {}
