"""Sensors of a live Simulation: every channel of a Result, at the present state."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.numerics.rotations.quaternions import rotations
from tests.contracts.machines import closed_simulation, everything
from tests.mechanisms import TREE_TYPES, add_random_joint, grow_tree


def test_every_channel_is_that_of_a_result():
    sim = closed_simulation(0)
    result = sim.run(10 * sim.h)
    names = [name for name in result.names() if not name.endswith("doubtful")]
    assert len(names) > 50
    before = everything(sim)
    numbers, first = sim.read(names), 0
    for name in names:
        expected = result[name][-1]
        size = np.size(expected)
        both = (np.ravel(sim[name]), numbers[first : first + size])
        scale = 1e-9 * max(1.0, np.abs(expected).max())
        turns = np.round((np.ravel(expected) - both[0]) / (2 * np.pi)) * 2 * np.pi  # of cut joints
        turns = turns if name.endswith("angle") else 0.0
        for found in both:
            np.testing.assert_allclose(found + turns, np.ravel(expected), rtol=0, atol=scale, err_msg=name)
        first += size
    assert first == len(numbers)
    assert everything(sim) == before


@pytest.mark.parametrize("seed", range(3))
def test_orientations_are_those_of_three_points_of_the_body(seed):
    """Bodies whose axes are turned at will: points on their axes tell where these are."""
    rng = np.random.default_rng((seed, 35))
    model = rtmbs.Model("turned")
    names = grow_tree(rng, model, 4, lambda k, *ends: add_random_joint(rng, model, f"joint {k}", TREE_TYPES[k], *ends))
    for name in names[1:]:
        for k, axis in enumerate(np.eye(3)):
            model.add_marker(f"{name} {k}", name, model.bodies[name].position + model.bodies[name].orientation @ axis)
    sim = rtmbs.Simulation(model.compile(), h=1e-2)
    moving, worst = [name for name in names[1:] if sim.system.bodies[name].dof >= 0], 0.0
    assert moving
    for _ in range(30):
        sim.step()
        for name in moving:
            q = sim.read([f"{name}.orientation"])
            points = [sim[f"{name} {k}.position"] - sim[f"{name}.position"] for k in range(3)]
            worst = max(worst, np.abs(rotations(q) - np.stack(points, axis=1)).max())
            assert q[0] >= 0.0
    assert worst < 1e-13


def test_kinds_of_values():
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile())
    assert isinstance(sim["pivot.angle"], float)
    joint = next(name for name, body in sim.system.bodies.items() if body.dof >= 0)
    assert sim[f"{joint}.position"].shape == (3,)
    mine = sim[f"{joint}.position"]
    mine[:] = 9.0
    assert np.abs(sim[f"{joint}.position"] - 9.0).max() > 0.1
    assert sim["t"] == sim.t


def test_channels_follow_inputs_and_steps():
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)
    names = ["pivot.angle", "pivot.rate", "pivot.acceleration", "energy.total"]
    seen = []
    for k in range(6):
        if k == 3:
            sim.inputs["gravity"] = (0, 0, -1.0)
        read = sim.read(names)
        assert read.tolist() == [sim[name] for name in names]
        seen.append(read)
        sim.step()
    assert len({tuple(one) for one in seen}) == 6
    assert seen[0] is not seen[1]


def test_what_channels_are_worked_out_of_is_made_once():
    """A workspace and all channels of a mechanism were nine tenths of the time of a reaction."""
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=1e-3)
    names = ["knee.reaction", "coupler.orientation", "energy.total"]
    first = sim.read(names)
    offer, kept = sim._channels().all_channels, first.copy()
    sim.step()
    second = sim.read(names)
    assert sim._channels().all_channels is offer
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, np.concatenate([np.ravel(sim[name]) for name in names]))
    twin = rtmbs.Simulation(sim.system, h=1e-3)
    twin.step()
    np.testing.assert_array_equal(second, twin.read(names))


def test_a_state_that_the_user_wrote_into_is_read():
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-2)
    sim.state.z = [0.25]
    assert sim.read(["pivot.angle"]).tolist() == [0.25]
    sim.state.z = "far"
    with pytest.raises(rtmbs.errors.StateError, match="'far'"):
        sim.read(["pivot.angle"])


@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal(), rtmbs.RungeKutta()])
def test_any_method(method):
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=1e-3, method=method)
    sim.step()
    joint = next(iter(sim.system.joints))
    assert sim.read([f"{joint}.angle"])[0] == sim[f"{joint}.angle"]


@pytest.mark.parametrize("name", ["pivot.angel", "", 3, None, ["pivot.angel"], "pivto.*"])
def test_unknown_channels_are_refused(name):
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile())
    with pytest.raises(UnknownNameError):
        sim[name]
    with pytest.raises(InputError if not isinstance(name, str) else UnknownNameError):
        sim.read([name])
    if not isinstance(name, list):
        with pytest.raises(InputError, match="list of channels"):
            sim.read(name)


def test_orientations_are_read_by_the_kernel_with_the_same_bytes():
    """Random turns, half turns about all axes among them: w >= 0, and the numbers of a Result."""
    rng = np.random.default_rng(4)
    turns = [*rng.normal(size=(40, 4)), *np.eye(4), (1e-9, 0.6, 0.0, -0.8), (-1e-9, 0.6, 0.0, -0.8)]
    for q in np.array(turns) / np.linalg.norm(turns, axis=1)[:, None]:
        model = rtmbs.Model("turned")
        model.add_body("plate", mass=1.0, inertia=(1.0, 1.5, 2.0))
        model.add_joint("pose", rtmbs.Floating(), model.ground, "plate")
        model.set_initial("pose", (0.1, 0.2, 0.3, *q), (0.0,) * 6)
        sim = rtmbs.Simulation(model.compile(), h=1e-3)
        found = sim.read(["plate.orientation"])
        assert len(sim._channels().plans[("plate.orientation",)].rows) == 1
        assert found.tobytes() == sim["plate.orientation"].tobytes()
        assert found[0] >= 0.0
        assert abs(abs(found @ q) - 1.0) < 1e-14
