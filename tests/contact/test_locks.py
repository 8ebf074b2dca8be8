"""Locks: momenta of an impact that stays, the motion behind it, restart, events, and loads that break them."""

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import GeneralisedAlpha
from rtmbs.errors import InputError, ModelError, UnknownNameError

G = 9.81


def free_bodies():
    """Two bodies that fly in no gravity, with skew axes and uneven inertia, and a weld between them."""
    model = rtmbs.Model("docking", gravity=(0, 0, 0))
    for name, mass, place, quaternion in (
        ("a", 3.0, (0.1, -0.2, 0.3), (0.9, 0.1, -0.3, 0.2)),
        ("b", 0.4, (1.0, 0.3, -0.2), (0.2, 0.8, 0.1, -0.5)),
    ):
        q = np.array(quaternion) / np.linalg.norm(quaternion)
        inertia = mass * np.array([0.05, 0.08, 0.1, 0.01, -0.005, 0.002])
        model.add_body(name, mass=mass, center_of_mass=(0.1, 0.0, -0.1), inertia=inertia, position=place, orientation=q)
        model.add_joint(f"free_{name}", rtmbs.Floating(), "ground", name)
    model.set_initial("free_a", rate=(0.3, 0.1, -0.2, 1.0, -0.5, 0.3))
    model.set_initial("free_b", rate=(-0.4, 0.2, 0.6, -1.0, 2.0, 0.7))
    model.add_lock("weld", between=(model.add_marker("port", "a"), model.add_marker("probe", "b")))
    return model


FREE = free_bodies().compile()


@pytest.mark.parametrize(
    "method",
    [rtmbs.PenaltyTrapezoidal(), rtmbs.TRBDF2(), pytest.param(GeneralisedAlpha(), marks=pytest.mark.slow)],
)
def test_two_free_bodies_that_dock_move_as_one_rigid_body(method):
    sim = rtmbs.Simulation(FREE, 2e-3, method=method)
    sim.run(0.1)
    linear, angular = sim["momentum.linear"], sim["momentum.angular"]
    sim.set("weld.locked", True)
    np.testing.assert_allclose(sim["momentum.linear"], linear, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sim["momentum.angular"], angular, rtol=0, atol=1e-10)
    rigid = one_body(sim)
    sim.run(0.6)
    rigid.run(0.5)
    for name in "ab":
        np.testing.assert_allclose(sim[f"{name}.position"], rigid[f"at_{name}.position"], atol=2e-5)
        np.testing.assert_allclose(sim[f"{name}.velocity"], rigid[f"at_{name}.velocity"], atol=2e-5)


def one_body(sim):
    """Return a Simulation of a single body with the mass, mass centre, inertia and motion of both of ``sim``."""
    masses, centers, tensors, velocities = [], [], [], []
    for name in "ab":
        info = sim.system.bodies[name]
        R = rotation(sim[f"{name}.orientation"])
        masses.append(info.mass)
        arm = R @ info.center_of_mass
        centers.append(sim[f"{name}.position"] + arm)
        velocities.append(sim[f"{name}.velocity"] + np.cross(sim[f"{name}.angular_velocity"], arm))
        tensors.append(R @ info.inertia @ R.T)
    np.testing.assert_allclose(sim["a.angular_velocity"], sim["b.angular_velocity"], atol=1e-10)
    total = sum(masses)
    center = sum(m * c for m, c in zip(masses, centers, strict=True)) / total
    velocity = sum(m * v for m, v in zip(masses, velocities, strict=True)) / total
    inertia = np.zeros((3, 3))
    for m, c, tensor in zip(masses, centers, tensors, strict=True):
        d = c - center
        inertia += tensor + m * (d @ d * np.eye(3) - np.outer(d, d))
    model = rtmbs.Model("rigid", gravity=(0, 0, 0))
    model.add_body("both", mass=total, inertia=inertia, position=center)
    model.add_joint("free", rtmbs.Floating(), "ground", "both", point=center)
    model.set_initial("free", rate=(*velocity, *sim["a.angular_velocity"]))
    for name in "ab":
        model.add_marker(f"at_{name}", "both", sim[f"{name}.position"])
    return rtmbs.Simulation(model.compile(), 2e-4)


def rotation(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def pendulum(**more):
    model = rtmbs.Model("pendulum", gravity=(0, 0, -G))
    model.add_body("arm", mass=1.0, inertia=(0.02, 0.02, 0.001), center_of_mass=(0, 0, -0.4))
    model.add_body("load", mass=2.0, inertia=(1e-3,) * 3, position=(0, 0, -0.8))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm", point=(0, 0, 0))
    model.add_joint("slide", rtmbs.Prismatic(axis=(0, 0, 1)), "arm", "load", point=(0, 0, -0.8))
    model.add_lock("latch", joint="slide", **more)
    return model


def test_a_locked_coordinate_stays_and_a_state_goes_on_with_the_same_bytes(tmp_path):
    system = pendulum().compile()
    sim = rtmbs.Simulation(system, 1e-3)
    assert not sim.start_report.redundant
    sim.run(0.1)
    sim.set("latch.locked", True)
    held = sim["slide.displacement"]
    assert abs(sim["slide.rate"]) < 1e-14
    assert sim["latch.force"] == pytest.approx(2.0 * G, rel=1e-6)
    sim.state.save(tmp_path / "state")
    result = sim.run(0.6)
    assert np.abs(result["slide.displacement"] - held).max() < 1e-10
    other = rtmbs.Simulation(system, 1e-3)
    other.restore(tmp_path / "state")
    other.run(0.6)
    np.testing.assert_array_equal(other.state.z, sim.state.z)
    sim.set("latch.locked", False)
    assert sim["latch.force"] == 0.0
    before = sim["slide.displacement"], sim["slide.rate"], sim.t
    sim.run(0.61)
    assert sim["slide.displacement"] - before[0] == pytest.approx(-0.5 * G * 0.01**2, rel=1e-3)


def test_a_lock_closed_at_the_start_breaks_at_its_load():
    """A pendulum of a point mass from rest at 60 degrees: its pull is m g (3 cos q - 1), q from below."""
    down, length, mass = np.array([0.0, np.sin(np.pi / 3), -np.cos(np.pi / 3)]), 0.8, 2.0
    model = rtmbs.Model("fuse", gravity=G * down)
    model.add_body("arm", mass=1e-9, inertia=(1e-9,) * 3)
    model.add_body("load", mass=mass, inertia=(1e-9,) * 3, position=(0, 0, -length))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm", point=(0, 0, 0))
    model.add_joint("free", rtmbs.Floating(), "ground", "load")
    ends = model.add_marker("tip", "arm", (0, 0, -length)), model.add_marker("eye", "load", (0, 0, -length))
    model.add_lock("weld", between=ends, locked=True)
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    assert np.linalg.norm(sim["weld.reaction"][:3]) == pytest.approx(0.5 * mass * G, rel=1e-6)
    result = sim.run(0.8, when=rtmbs.breaking("weld", mass * G * (3 * 0.9 - 1.0)))
    assert [one.event.name for one in result.events] == ["weld breaks"]
    k = int(np.searchsorted(result.t, result.events[0].t))
    place, v, flight = result["eye.position"][k], result["eye.velocity"][k], 0.8 - result.t[k]
    assert place @ down / length == pytest.approx(0.9, abs=1e-5)
    assert v @ v == pytest.approx(2.0 * G * length * 0.4, rel=1e-5)
    np.testing.assert_allclose(sim["eye.position"], place + v * flight + 0.5 * G * down * flight**2, atol=3e-6)


def test_impossible_locks_are_refused():
    model = pendulum()
    ends = model.add_marker("tip", "arm"), model.add_marker("eye", "load")
    with pytest.raises(ModelError, match="one of the two"):
        model.add_lock("other")
    with pytest.raises(ModelError, match="one of the two"):
        model.add_lock("other", joint="hinge", between=ends)
    with pytest.raises(ModelError, match="turns= belongs to between="):
        model.add_lock("other", joint="hinge", turns=True)
    sim = rtmbs.Simulation(model.compile(), 1e-3)
    with pytest.raises(InputError, match="must be True or False"):
        sim.set("latch.locked", 0.5)
    with pytest.raises(InputError, match="belongs to a lock"):
        sim.inputs["latch.locked"] = 1.0
    with pytest.raises(UnknownNameError):
        sim.set("hinge.locked", True)
    with pytest.raises(InputError, match="above zero"):
        rtmbs.breaking("latch", -1.0)
