"""Springs, dampers and both together: what they look like, and what stretches."""

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.shapes import POT_SHARE, Connectors
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.worker import ManualConnection

RADIUS = 0.02


def hanging(stiffness=100.0, damping=0.0) -> Simulation:
    """A weight on a rail, 1 m under the upper end of a spring-damper."""
    model = rtmbs.Model("hanging")
    weight = model.add_body("weight", mass=1.0, position=(0, 0, -1))
    model.add_joint("guide", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", weight, point=(0, 0, -1))
    ends = model.add_marker("top", "ground", (0, 0, 0)), model.add_marker("hook", weight, (0, 0, -1))
    model.add_force("element", rtmbs.SpringDamper(stiffness=stiffness, damping=damping), between=ends)
    return Simulation(model.compile())


@pytest.mark.parametrize(
    ("stiffness", "damping", "shape"),
    [(100.0, 0.0, "coil"), (0.0, 5.0, "damper"), (100.0, 5.0, "strut"), (0.0, 0.0, "coil")],
)
def test_the_numbers_of_an_element_say_what_it_looks_like(stiffness, damping, shape):
    assert describe(hanging(stiffness, damping)).connectors[0].shape == shape


def drawn(sim):
    connection = ManualConnection(sim)
    connection.should_step()
    connectors = Connectors(connection.describe(), RADIUS, WHITE, connection.latest())
    connectors.show(connection.latest())
    return connectors, connection


def length(batch) -> float:
    return float(np.linalg.norm(batch.placement[0, :, 2]))


def test_a_coil_stretches_from_end_to_end():
    sim = hanging()
    connectors, connection = drawn(sim)
    coil = next(batch for batch in connectors.batches if batch.mesh.kind == "coil")
    assert length(coil) == pytest.approx(1.0)
    for _ in range(20):
        connection.sync(sim, sim.step())
    connectors.show(connection.latest())
    weight = connection.latest().r[1]
    assert weight[2] < -1.001
    assert length(coil) == pytest.approx(-weight[2])
    assert coil.placement[0, :, 3] == pytest.approx((0, 0, 0))
    assert coil.names == ["element (spring)"]
    assert connectors._eyes.placement[:, :, 3] == pytest.approx(np.array([(0, 0, 0), weight])), "balls hold its ends"


def test_the_cylinder_of_a_damper_keeps_its_length_and_the_rod_slides():
    sim = hanging(0.0, 0.5)
    connectors, connection = drawn(sim)
    pot, piston = connectors._batches["pot"], connectors._batches["piston"]
    first = length(pot)
    assert first == pytest.approx(0.85 * POT_SHARE, rel=1e-6)
    rods = piston.placement[:, :, 2].copy()
    for _ in range(40):
        connection.sync(sim, sim.step())
    connectors.show(connection.latest())
    way = -connection.latest().r[1][2] - 1.0
    assert way > 0.005
    assert length(pot) == pytest.approx(first, rel=1e-6)
    assert np.linalg.norm(piston.placement[1, :, 2]) - np.linalg.norm(rods[1]) == pytest.approx(way, rel=1e-6)
    assert not any(len(batch) for batch in connectors.batches if batch.mesh.kind == "coil")


def test_a_strut_is_a_damper_in_a_coil():
    connectors, _ = drawn(hanging(100.0, 5.0))
    assert [len(batch) for batch in connectors.batches if batch.mesh.kind == "coil"] == [1]
    assert len(connectors._batches["pot"]) == 1
    assert len(connectors._batches["seat"]) == 2, "a plate at each end of the winding"
