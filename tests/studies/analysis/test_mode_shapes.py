"""What modes do to bodies, and a mode as a motion."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.studies.analysis.cases import G, chain


def test_motions_of_bodies():
    sim = rtmbs.Simulation(chain(2, 0.5).compile())
    found = rtmbs.modes(sim)
    for i in range(2):
        first, second = found.shapes[:, i]
        np.testing.assert_allclose(found.bodies["link0"][i], [-0.5 * first, 0, 0, 0, first, 0], atol=1e-12)
        whole = first + second
        np.testing.assert_allclose(
            found.bodies["link1"][i], [-0.5 * first - 0.5 * whole, 0, 0, 0, whole, 0], atol=1e-12
        )


def test_shares_of_the_kinetic_energy():
    found = rtmbs.modes(rtmbs.Simulation(chain(2, 0.5).compile()))
    np.testing.assert_allclose(found.shares["link0"] + found.shares["link1"], 1.0)
    shift = np.abs(found.bodies["link0"][:, 0]) ** 2, np.abs(found.bodies["link1"][:, 0]) ** 2
    np.testing.assert_allclose(found.shares["link0"], shift[0] / (shift[0] + shift[1]))


def test_shares_against_the_mass_matrix_of_a_spatial_loop():
    sim = rtmbs.equilibrium(rtmbs.library.build("slider_crank").compile()).simulation
    found = rtmbs.modes(sim)
    assert len(found.frequencies)
    for i in range(len(found.frequencies)):
        energy = 0.0
        for name, motion in found.bodies.items():
            info = sim.system.bodies[name]
            A = rotation(sim[f"{name}.orientation"])
            inertia = A @ info.inertia @ A.T
            energy += info.mass * np.vdot(motion[i, :3], motion[i, :3]).real
            energy += np.vdot(motion[i, 3:], inertia @ motion[i, 3:]).real
        own = found.right[: len(found.linearisation.coordinates), i]
        np.testing.assert_allclose(energy, np.vdot(own, found.linearisation.mass @ own).real, rtol=1e-8)


def rotation(q):
    """Return the matrix of a quaternion, scalar first."""
    w, v = q[0], np.asarray(q[1:])
    return np.eye(3) * (w * w - v @ v) + 2.0 * np.outer(v, v) + 2.0 * w * np.cross(np.eye(3), v)


def test_shares_of_springs_and_gravity():
    """A pendulum on a torsion spring: (k + m g l) / (m l^2) is the square of the frequency."""
    model = chain(1, 0.5, 2.0)
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=6.0, damping=0.05, angle=0.0), joint="hinge_link0")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    weight = 2.0 * G * 0.5
    np.testing.assert_allclose(found.element_shares["spring"], 6.0 / (6.0 + weight), rtol=1e-6)
    np.testing.assert_allclose(found.element_shares["gravity"], weight / (6.0 + weight), rtol=1e-6)
    np.testing.assert_allclose(found.damping_shares["spring"], found.damping, rtol=1e-6)


def test_shares_of_a_loop_under_load_sum_to_one():
    model = rtmbs.library.build("crank_rocker")
    joint = next(iter(model.joints))
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=30.0, angle=0.4), joint=joint)
    sim = rtmbs.equilibrium(model.compile()).simulation
    found = rtmbs.modes(sim)
    np.testing.assert_allclose(sum(found.element_shares.values()), 1.0, rtol=1e-5)
    assert abs(found.element_shares["loops"][0]) > 1e-3


def test_a_mode_as_a_motion():
    sim = rtmbs.equilibrium(rtmbs.library.build("crank_rocker").compile()).simulation
    found = rtmbs.modes(sim)
    result = found.motion(0, amplitude=0.1, pictures=24)
    assert len(result.t) == 25
    np.testing.assert_allclose(result.t[-1] - result.t[0], 1.0 / found.frequencies[0])
    gaps = [np.abs(result[name]).max() for name in result.names() if name.endswith(".violation")]
    assert gaps
    assert max(gaps) < 1e-9
    names = [name for name in result.names() if name.endswith(".angle")]
    moved = max(np.ptp(result[name]) for name in names)
    np.testing.assert_allclose(moved, 0.2, rtol=0.05)


def test_a_mode_without_oscillation_takes_a_second():
    model = chain(1, 0.5)
    model.set_initial("hinge_link0", position=np.pi, rate=0.0)
    assert rtmbs.modes(rtmbs.Simulation(model.compile())).motion(0).t[-1] == 1.0


def test_the_slowest_of_many():
    count = 40
    sim = rtmbs.Simulation(chain(count, 2.0 / count).compile())
    whole, few = rtmbs.modes(sim), rtmbs.modes(sim, count=5)
    np.testing.assert_allclose(few.eigenvalues, whole.eigenvalues[:5], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(few.shapes, whole.shapes[:, :5], atol=1e-8)
    assert few.linearisation is None


def test_six_hundred_coordinates():
    count, length = 600, 2.0 / 600
    found = rtmbs.modes(rtmbs.Simulation(chain(count, length).compile()))
    assert len(found.frequencies) == 20
    zeros = np.array([2.404825557695773, 5.520078110286311, 8.653727912911012])
    np.testing.assert_allclose(found.frequencies[:3], zeros / 2.0 * np.sqrt(G / 2.0) / (2 * np.pi), rtol=1e-3)


def test_the_slowest_of_a_mechanism_with_loops():
    sim = rtmbs.equilibrium(rtmbs.library.build("fourbar", ny=2, nz=30).compile()).simulation
    whole, few = rtmbs.modes(sim), rtmbs.modes(sim, count=4)
    np.testing.assert_allclose(few.frequencies, whole.frequencies[:4], rtol=1e-8)


def test_a_table_in_pandas():
    pytest.importorskip("pandas")
    frame = rtmbs.modes(rtmbs.Simulation(chain(3).compile())).to_pandas()
    assert frame["moves most"].str.startswith("hinge_link").all()
    assert len(frame) == 3


def test_view_opens_the_viewer_on_the_motion(monkeypatch):
    shown = {}
    monkeypatch.setattr("rtmbs.viewer.view.view", lambda result, **how: shown.update(how, result=result) or 0)
    found = rtmbs.modes(rtmbs.Simulation(chain(2).compile()))
    assert found.view(1, model="looks") == 0
    assert shown["playing"]
    assert shown["loop"]
    assert shown["result"].name.endswith(f", mode 1: {found.frequencies[1]:.4g} Hz")
    assert shown["model"] == "looks"
    np.testing.assert_allclose(shown["result"].t[-1], 1.0 / found.frequencies[1])


def test_bad_input():
    found = rtmbs.modes(rtmbs.Simulation(chain(2).compile()))
    with pytest.raises(InputError, match=r"^the number of a mode is 2; it must be a whole number from 0 to 1"):
        found.motion(2)
    with pytest.raises(InputError, match=r"^amplitude"):
        found.motion(0, amplitude=-1.0)
    with pytest.raises(InputError, match=r"^count is 0"):
        rtmbs.modes(rtmbs.Simulation(chain(2).compile()), count=0)
    model = chain(40)
    model.set_initial("hinge_link0", position=0.0, rate=1.0)
    with pytest.raises(InputError, match=r"^hinge_link0\.angle moves: the slowest modes of many coordinates need a"):
        rtmbs.modes(rtmbs.Simulation(model.compile()), count=4)
