"""A coordinate or a rate set between two steps, and the live state written into by hand."""

from contextlib import suppress

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, StartError, StateError, UnknownNameError
from tests.contracts.machines import everything
from tests.studies.sensitivities.cases import sprung_rocker


def names_of(sim):
    """Return (coordinate, rate) of the joints of the tree that have one coordinate."""
    infos = [info for info in sim.system.joints.values() if info.in_tree and len(info.coordinates) == 1]
    return [(f"{info.name}.{info.coordinates[0]}", f"{info.name}.rate") for info in infos]


def balanced(sim):
    """Assert that loops, rates and accelerations are consistent at the present state."""
    state, equations = sim.state, sim.equations
    equations.u = state.u
    assert np.abs(equations.close(state.z, state.R0)).max(initial=0.0) < 1e-9
    assert np.abs(equations.closure_velocities(state.zd)).max(initial=0.0) < 1e-8
    zdd, _, _ = equations.accelerations(state.z, state.zd, state.R0, state.s)
    np.testing.assert_allclose(state.zdd, zdd, rtol=0, atol=1e-7 * max(1.0, np.abs(zdd).max()))


def test_a_pendulum_goes_on_from_an_angle():
    sim, fresh = (rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2) for _ in range(2))
    sim.run(0.1)
    sim.set("pivot.angle", 1.0)
    sim.set("pivot.rate", -2.0)
    assert sim.t == pytest.approx(0.1)
    assert sim.read(["pivot.angle", "pivot.rate"]).tolist() == [1.0, -2.0]
    balanced(sim)
    fresh.state.z[:], fresh.state.zd[:] = 1.0, -2.0
    np.testing.assert_allclose(sim.run(0.6)["pivot.angle"][-1], fresh.run(0.5)["pivot.angle"][-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("mechanism", ["crank_rocker", "fourbar", "slider_crank", "governor"])
def test_loops_follow(mechanism):
    sim = rtmbs.Simulation(rtmbs.library.build(mechanism).compile(), h=1e-3)
    for _ in range(5):
        sim.step()
    rng = np.random.default_rng(5)
    for name, rate in [one for one in names_of(sim) if one[0].endswith("angle")][:3]:
        for change in rng.uniform(-0.05, 0.05, 2):
            value = sim[name] + change
            sim.set(name, value)
            assert sim[name] == pytest.approx(value, abs=1e-12)
            balanced(sim)
            positions = sim.state.z.copy()
            sim.set(rate, 0.5)
            assert sim[rate] == pytest.approx(0.5, abs=1e-12)
            np.testing.assert_array_equal(sim.state.z, positions)
            balanced(sim)
        assert sim.step().outcome.accepted


def test_a_value_that_loops_do_not_allow_names_the_loop_and_changes_nothing():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=1e-3)
    sim.step()
    name, before = names_of(sim)[-1][0], everything(sim)
    refused = []
    for turn in (-2.5, -0.5, 2.5):
        with suppress(StartError):
            sim.set(name, turn)
            before = everything(sim)
            continue
        refused.append(turn)
        assert everything(sim) == before
    assert refused
    with pytest.raises(StartError, match=rf"'{name}' cannot be .*does not close|wrong way round"):
        sim.set(name, refused[0])


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("pivot.angel", 1.0, UnknownNameError, "did you mean 'pivot.angle'"),
        ("pivot.acceleration", 1.0, UnknownNameError, "pivot.acceleration"),
        (3, 1.0, UnknownNameError, "3"),
        ("pivot.angle", "far", InputError, "'far'"),
        ("pivot.angle", float("nan"), InputError, "nan"),
        ("pivot.angle", (1.0, 2.0), InputError, "finite number"),
    ],
)
def test_what_cannot_be_set_is_refused(name, value, error, words):
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)
    before = everything(sim)
    with pytest.raises(error, match="(?s)" + words.replace("(", r"\(")):
        sim.set(name, value)
    assert everything(sim) == before


def test_a_driven_coordinate_names_its_driver():
    sim = rtmbs.Simulation(rtmbs.library.build("driven_fourbar").compile(), h=1e-3)
    joint = sim.system.coordinate_names[sim.system.tables.drivers.dof[0]]
    with pytest.raises(InputError, match="follows driver"):
        sim.set(joint, 1.0)


def test_positions_written_into_the_live_state_have_accelerations_of_their_own():
    """A pendulum that is moved by hand: the first step averages the accelerations of its new place."""
    sim, other = (rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2) for _ in range(2))
    sim.state.z[:] = 1.0
    other.set("pivot.angle", 1.0)
    sim.step()
    other.step()
    np.testing.assert_allclose(sim.state.z, other.state.z, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sim.state.zd, other.state.zd, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda sim: setattr(sim, "tol", 1e-12), r"no attribute 'tol'; sim.change\(tol=...\)"),
        (lambda sim: setattr(sim, "max_iterations", 3), r"sim.change\(max_iterations=...\)"),
        (lambda sim: setattr(sim, "method", 3), r"'method' of a Simulation is for reading; sim.change\(method=...\)"),
        (lambda sim: setattr(sim, "stat", 3), "did you mean 'state'"),
        (lambda sim: setattr(sim.inputs, "gravity", 3), r"sim.inputs\['force.gravity'\]"),
    ],
)
def test_unknown_attributes_are_refused(change, words):
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)
    with pytest.raises(AttributeError, match=words):
        change(sim)
    sim.h = 2e-3
    assert sim.h == 2e-3


def test_a_misspelt_attribute_of_a_model_is_refused():
    model = rtmbs.Model("m")
    with pytest.raises(AttributeError, match="no attribute 'gravty'; did you mean 'gravity'"):
        model.gravty = (0, 0, 0)
    model.gravity = np.zeros(3)


def test_what_objects_print():
    model = rtmbs.library.build("crank_rocker")
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert repr(model).startswith(f"Model({model.name!r}: ")
    assert repr(sim).startswith(f"Simulation({model.name!r}, t = 0 s, h = 0.001 s")
    assert "gravity" in repr(sim.inputs)
    big = rtmbs.library.build("fourbar", ny=4, nz=20).compile()
    assert len(repr(big)) < 200
    assert "coordinates" in repr(big)


def test_an_angle_in_degrees_is_refused():
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)
    before = everything(sim)
    with pytest.raises(InputError, match=r"^'pivot.angle' is set too far away: the angle is 90 rad, 14.3 turns"):
        sim.set("pivot.angle", 90.0)
    assert everything(sim) == before
    sim.set("pivot.rate", 90.0)
    for turns in (3.0, 6.0, 9.0):  # a wheel that has turned goes on
        sim.set("pivot.angle", turns * 2.0 * np.pi)


def test_channels_follow_positions_that_are_written_by_hand():
    sim, other = (rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2) for _ in range(2))
    sim.state.z[:] = 1.0
    other.set("pivot.angle", 1.0)
    assert sim["pivot.acceleration"] == other["pivot.acceleration"] != 0.0
    sim.state.z[:] = 0.5
    other.set("pivot.angle", 0.5)
    np.testing.assert_array_equal(sim.read(["pivot.acceleration"]), other.read(["pivot.acceleration"]))
    np.testing.assert_array_equal(sim.state.zdd, other.state.zdd)


@pytest.mark.parametrize("ask", [lambda sim: sim.step(), lambda sim: sim["D.angle"], lambda sim: sim.run(0.1)])
def test_positions_written_by_hand_that_open_a_loop_are_taken_back(ask):
    sim = rtmbs.Simulation(sprung_rocker().compile(), h=1e-2)
    before = everything(sim)
    sim.state.z[0] += 0.2
    with pytest.raises(StateError, match=r"^positions were written into sim.state, and 'C.* is open by"):
        ask(sim)
    assert everything(sim) == before
    sim.step()


@pytest.mark.parametrize(
    ("make", "name"), [(rtmbs.Floating, "f.position"), (rtmbs.Spherical, "f.orientation"), (rtmbs.Spherical, "f")]
)
def test_a_joint_that_turns_freely_has_no_number_to_set(make, name):
    model = rtmbs.Model("free")
    model.add_body("plate", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("f", make(), model.ground, "plate")
    with pytest.raises(InputError, match=f"'{name}' cannot be set: joint 'f' turns freely.*sim.restore"):
        rtmbs.Simulation(model.compile()).set(name, 1.0)


def test_the_remedy_for_a_drive_is_another_than_for_a_place():
    model = rtmbs.Model("free")
    model.add_body("plate", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("f", rtmbs.Floating(), model.ground, "plate")
    with pytest.raises(InputError, match=r"joint 'f' turns freely.*give 'f.orientation' .* and 'f.position'"):
        rtmbs.inverse_dynamics(model.compile(), {"f": lambda t: (t, 1.0, 0.0)}, t=(0.0, 0.1))
