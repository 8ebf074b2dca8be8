"""Random trees with skew axes, springs, bushings, wrenches and laws: bytes of a Simulation."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, RtmbsError
from rtmbs.export.packages import exported
from tests.export.test_native_library import run_both, state_bytes
from tests.mechanisms import (
    TREE_TYPES,
    add_random_forces,
    add_random_joint,
    grow_tree,
)

H, STEPS = 1e-4, 15


def tree(seed):
    """Return the Simulation of a random tree with forces of all kinds; None where only Python can call a law."""
    rng = np.random.default_rng((seed, 35))
    model = rtmbs.Model(f"tree {seed}", gravity=rng.normal(size=3) - (0.0, 0.0, 9.81))

    def join(k, *ends):
        add_random_joint(rng, model, f"tree {k}", TREE_TYPES[(k + seed) % len(TREE_TYPES)], *ends)

    names = grow_tree(rng, model, 4 + seed % 4, join)
    add_random_joint(rng, model, "ghost", "Cylindrical", "ground", names[-1], cut=True)
    movable = [joint.name for joint in model.joints.values() if joint.type.coordinates]
    if movable:
        add_random_forces(rng, model, names, names[1:], movable)
    try:
        system = model.compile()
        return None if system.called else rtmbs.Simulation(system, h=H)
    except RtmbsError:
        return None


@pytest.mark.parametrize("seeds", [range(12), range(12, 24)])
def test_random_trees_step_with_the_bytes_of_a_simulation(load, seeds):
    equal, laws = [], 0
    for seed in seeds:
        sim = tree(seed)
        if sim is None or refusal(sim):
            continue
        seen = looked_at(sim)
        it = load(sim, outputs=seen)
        for k in range(STEPS):
            report, status = sim.step(), it.step()
            assert bool(it.library.rtmbs_taken(status)) == report.outcome.accepted, (seed, k)
            if not report.outcome.accepted:
                break
            assert state_bytes(sim) == it.arrays, (seed, k)
            for channel in seen:
                axes = "wxyz" if channel.endswith("orientation") else "xyz"
                found = np.array([it.read(f"{channel}[{axis}]") for axis in axes])
                assert found.tobytes() == sim.read([channel]).tobytes(), (seed, k, channel)
        laws += sum(channel.endswith("torque") for channel in seen)
        equal.append(seed)
    assert len(equal) >= 3
    assert laws >= 1


def looked_at(sim):
    """Return the orientations of moving bodies, and what force laws between markers do."""
    moving = [f"{name}.orientation" for name, body in sim.system.bodies.items() if body.dof >= 0]
    laws = [name for name, force in sim.system.forces.items() if force.kind == "law"]
    return moving + [f"{name}.{what}" for name in laws for what in ("force", "torque")]


def refusal(sim):
    """Return why a Simulation cannot be exported; "" when it can."""
    try:
        exported(sim, (), (), H, None)
    except InputError as error:
        return str(error)
    return ""


def lagging(t, kinematics, parameters, states):
    """A force that follows the velocity with a lag."""
    rate = (kinematics.zd - states["x"]) / parameters["time"]
    return -parameters["gain"] * states["x"], rate


def test_states_of_laws_and_a_motor_that_the_host_sets(load):
    model = rtmbs.library.build("slider_crank")
    joint = next(name for name, one in model.joints.items() if one.type.coordinates)
    model.add_force("lag", lagging, joint=joint, parameters={"gain": 0.3, "time": 0.05}, states={"x": 0.0})
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    model.add_force("wave", rtmbs.Motor(lambda t: 0.1 * t - 0.3 * t * t), joint=joint)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    name = next(name for name in sim.inputs if name.startswith("motor."))
    it = load(sim, inputs=[name], outputs=["lag.x"])
    assert run_both(sim, it, 200, lambda k: {name: float(np.round(np.sin(0.05 * k), 6))}) == -1
    assert it.read("lag.x") == sim["lag.x"] != 0.0
