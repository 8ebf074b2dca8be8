"""Power of everything balances to rounding; energies are of order two; loads in any frame, with their statistics."""

import importlib.util
import pickle

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library import MECHANISMS
from rtmbs.library.force_laws import coulomb_friction
from rtmbs.studies.analysis import workload as workload_module
from rtmbs.studies.analysis.workload import LoadStatistics
from tests.contracts.machines import library_simulation


@pytest.mark.parametrize("name", MECHANISMS)
def test_power_balances_to_rounding(name):
    sim = library_simulation(name)
    load = rtmbs.workload(sim, 20 * sim.h)
    assert load.missed < 1e-12
    assert sim.t == 0.0
    moved = np.sum(list(load.power.values()), axis=0) + load.balance - load.kinetic
    assert np.abs(moved).max() < 1e-6 * load.size.max()  # what projections leave of the rates of loops


def everything():
    """A crank-rocker with a motor, friction, springs, a bushing, a wrench, a law and a driven slide beside it."""
    model = rtmbs.library.build("crank_rocker")
    model.add_marker("tip", "coupler", (0.0, 0.3, 0.5))
    model.add_marker("post", "ground", (0.0, 0.2, 0.9))
    model.add_force("motor", rtmbs.Motor(lambda t: 2.0 * np.sin(5.0 * t)), joint="crank_pivot")
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=4.0, damping=0.3), joint="rocker_pivot")
    model.add_force("spring", rtmbs.SpringDamper(stiffness=80.0, damping=3.0, length=0.5), between=("post", "tip"))
    model.add_force("friction", coulomb_friction, joint="pin", parameters={"force": 0.4, "smoothing": 0.05})
    model.add_force("wind", rtmbs.Wrench(force=(0.5, -1.0, 2.0), torque=(0.1, 0.0, 0.3)), body="rocker")
    model.add_force(
        "mount",
        rtmbs.Bushing(stiffness=(50, 60, 70, 5, 6, 7), damping=(1, 2, 3, 0.1, 0.2, 0.3)),
        between=("post", "tip"),
    )
    slide = model.add_body("carriage", mass=0.8, inertia=(0.01, 0.01, 0.01), position=(0.0, 1.5, 0.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0.0, 0.6, 0.8)), "ground", slide, point=(0.0, 1.5, 0.0))
    model.add_driver("shaker", rtmbs.Sine(amplitude=0.1, frequency_rad_s=9.0), joint="rail")
    return model


@pytest.fixture(scope="module")
def loads():
    """Workloads of everything by the step."""
    system = everything().compile()
    return {h: rtmbs.workload(rtmbs.Simulation(system, h=h), 0.4) for h in (4e-3, 2e-3)}


def test_every_element_has_its_power(loads):
    load = loads[2e-3]
    assert load.missed < 1e-12
    named = {"gravity", "motor", "twist", "spring", "friction", "wind", "mount", "shaker"}
    assert set(load.power) == named
    assert all(np.abs(load.power[name]).max() > 1e-3 for name in named)
    r = load.result
    np.testing.assert_allclose(load.power["motor"], r["motor.torque"] * r["crank_pivot.rate"], rtol=1e-12)
    np.testing.assert_allclose(load.power["shaker"], r["shaker.force"] * r["rail.rate"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(load.joints["crank_pivot"], load.power["motor"], atol=1e-6)
    np.testing.assert_allclose(load.joints["rocker_pivot"], load.power["twist"], atol=1e-6)
    np.testing.assert_allclose(load.joints["pin"], load.power["friction"], atol=1e-6)
    np.testing.assert_allclose(load.joints["knee"], 0.0, atol=1e-6)
    assert np.all(load.power["friction"] <= 0.0)


def test_energies_are_of_order_two(loads):
    missed = {}
    for h, load in loads.items():
        given = sum(load.energy(name)[-1] for name in load.power)
        missed[h] = abs(
            given
            - np.ptp(load.result["energy.kinetic"][[0, -1]])
            * np.sign(load.result["energy.kinetic"][-1] - load.result["energy.kinetic"][0])
        )
    assert 3.0 < missed[4e-3] / missed[2e-3] < 5.5
    load = loads[2e-3]
    stored = load.result["energy.weight"] + load.result["energy.elastic"]
    change = np.gradient(stored, load.t, edge_order=2)
    assert np.abs(change - load.potential)[2:-2].max() < 2e-3 * np.abs(load.potential).max()


def test_reactions_in_any_frame(loads):
    load = loads[2e-3]
    world, crank = load.reaction("pin"), load.reaction("pin", frame="crank")
    np.testing.assert_allclose(np.linalg.norm(world[:, :3], axis=1), np.linalg.norm(crank[:, :3], axis=1))
    assert np.abs(world - crank).max() > 0.1
    found = load.statistics("pin", frame="crank")
    assert found["fy"].largest == np.abs(crank[:, 1]).max()
    assert found["f"].rms == pytest.approx(np.sqrt(np.trapezoid((world[:, :3] ** 2).sum(axis=1), load.t) / 0.4))
    assert "pin: reaction up to" in str(load)
    assert "rms" in str(found["f"])


def test_rainflow_counts_of_the_standard():
    values = np.array([-2.0, 1.0, -3.0, 5.0, -1.0, 3.0, -4.0, 4.0, -2.0])  # ASTM E 1049-85, figure 6
    found = LoadStatistics(values, np.arange(9.0))
    counts = {}
    for cycle in found.cycles:
        counts[cycle.range] = counts.get(cycle.range, 0.0) + cycle.number
    assert counts == {3.0: 0.5, 4.0: 1.5, 6.0: 0.5, 8.0: 1.0, 9.0: 0.5}
    assert found.damage(2.0) == pytest.approx(0.5 * 2.25 + 1.5 * 4.0 + 0.5 * 9.0 + 16.0 + 0.5 * 20.25)
    assert (found.least, found.most, found.largest) == (-4.0, 5.0, 5.0)
    with pytest.raises(InputError, match="above zero"):
        found.damage(0.0)


def test_without_the_package_one_sentence(monkeypatch):
    monkeypatch.setattr(workload_module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'rtmbs\[workload\]'"):
        _ = LoadStatistics(np.zeros(3), np.arange(3.0)).cycles
    assert importlib.util.find_spec("rainflow") is not None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda load: load.energy("moter"), "did you mean 'motor'"),
        (lambda load: load.reaction("pim"), "did you mean 'pin'"),
        (lambda load: load.reaction("pin", frame="crnk"), "did you mean 'crank'"),
    ],
)
def test_unknown_names(loads, call, words):
    with pytest.raises(UnknownNameError, match=words):
        call(loads[2e-3])


def test_what_is_no_simulation():
    with pytest.raises(InputError, match="takes a Simulation"):
        rtmbs.workload(everything().compile(), 1.0)


def test_a_pickled_workload_answers_the_same():
    load = rtmbs.workload(rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=1e-3), 0.01)
    reaction = load.reaction("pin")
    again = pickle.loads(pickle.dumps(load))
    np.testing.assert_array_equal(again.reaction("pin"), reaction)
    assert repr(again).split(": t = ")[1] == repr(load).split(": t = ")[1]
