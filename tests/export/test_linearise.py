"""``rtmbs_linearise`` and directional derivatives beside ``rtmbs.linearise`` and differences of whole runs."""

import ctypes

import numpy as np
import pytest

import rtmbs
from rtmbs.library import build
from rtmbs.studies.analysis.neighbourhood import neighbourhood

H = 1e-3
CASES = {
    "slider_crank": (["gravity"], ["slider.position", "energy.total", "slider.acceleration"]),
    "governor": (["gravity"], ["energy.kinetic"]),
    "top": (["gravity"], ["energy.total"]),
    "bricard": (["gravity"], ["energy.total"]),
    "driven_fourbar": (["gravity"], ["energy.total"]),
}


def settled(name, steps=60):
    """Return a Simulation in motion."""
    sim = rtmbs.Simulation(build(name).compile(), h=H)
    for _ in range(steps):
        sim.step()
    return sim


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_those_of_the_analysis(load, name):
    inputs, outputs = CASES[name]
    sim = settled(name, 0)
    it = load(sim, inputs=inputs, outputs=outputs)
    for _ in range(60):
        sim.step()
    assert it.step(60) == 0
    before = it.state
    found = it.linearise()
    assert it.state == before
    wanted = rtmbs.linearise(sim, inputs=inputs, outputs=outputs)
    # both choose independent coordinates of their own: compare in those of the native library
    q = list(found.independent)
    T = wanted.basis[q]  # dq of the one by dq of the other
    near = neighbourhood(sim)
    rates = near.G[q]  # dv = N dv + G dq
    f, ns = len(q), len(sim.state.s)
    change = np.block([[T, np.zeros((f, f + ns))], [rates, T, np.zeros((f, ns))], [np.zeros((ns, 2 * f)), np.eye(ns)]])
    back = np.linalg.inv(change)
    for one, other, what in (
        (found.A, change @ wanted.A @ back, "A"), (found.B, change @ wanted.B, "B"), (found.C, wanted.C @ back, "C"),
        (found.D, wanted.D, "D"),
    ):  # fmt: skip
        assert np.abs(one - other).max(initial=0.0) <= 1e-6 * max(1.0, np.abs(other).max(initial=0.0)), what


def test_a_driver_input_moves_the_mechanism(load):
    model = rtmbs.library.build("crank_rocker")
    joint = next(iter(model.joints))
    model.add_driver("drive", rtmbs.Input([0.0, 6.0, 0.0]), joint=joint)
    sim = rtmbs.Simulation(model.compile(), h=H)
    it = load(sim, inputs=["drive"], outputs=["energy.total"])
    found, wanted = it.linearise(), rtmbs.linearise(sim, inputs=["drive"], outputs=["energy.total"])
    assert found.A.shape == wanted.A.shape == (0, 0)
    assert np.allclose(found.D, wanted.D, rtol=1e-6)


def lag(t, kinematics, parameters, states):
    """A force that follows the velocity with a lag."""
    rate = (kinematics.zd - states["x"]) / parameters["time"]
    return -parameters["gain"] * states["x"], rate


def test_states_of_force_laws_are_part_of_it(load):
    model = rtmbs.library.build("slider_crank")
    joint = next(name for name, one in model.joints.items() if one.type.coordinates)
    model.add_force("lag", lag, joint=joint, parameters={"gain": 0.3, "time": 0.05}, states={"x": 0.0})
    sim = rtmbs.Simulation(model.compile(), h=H)
    found, wanted = load(sim).linearise(), rtmbs.linearise(sim)
    assert found.A.shape == wanted.A.shape == (3, 3)
    assert np.sort_complex(np.linalg.eigvals(found.A)) == pytest.approx(
        np.sort_complex(np.linalg.eigvals(wanted.A)), rel=1e-6, abs=1e-6
    )


def test_a_singular_pose_is_refused(load):
    """A parallelogram in a line: two degrees of freedom there, one nearby."""
    flat = rtmbs.Model("flat", gravity=(0, 0, 0))
    bodies = [flat.add_body(name, mass=1.0, inertia=(1, 1, 1)) for name in "abc"]
    for k, (one, two, x) in enumerate(
        [("ground", bodies[0], 0), (*bodies[:2], 1), (*bodies[1:], 3), (bodies[2], "ground", 2)]
    ):
        flat.add_joint(f"j{k}", rtmbs.Revolute(axis=(0, 0, 1)), one, two, point=(x, 0, 0), cut=k == 3)
    with pytest.raises(ValueError, match="the pose is singular"):
        load(flat.compile()).linearise()


def test_it_leaves_no_trace(load):
    one, other = load(settled("governor")), load(settled("governor"))
    for _ in range(5):
        one.linearise()
        one.step(3)
        other.step(3)
    assert one.arrays == other.arrays


def test_directional_derivatives_are_differences_of_outputs(load):
    outputs = ["slider.acceleration", "slide.acceleration"]
    sim = settled("slider_crank")
    it = load(sim, inputs=["gravity"], outputs=outputs)
    seed = {"gravity[0]": 0.3, "gravity[2]": -1.0}
    found = it.derivative(seed)

    def read(share):
        other = load(sim, inputs=["gravity"], outputs=outputs)
        for name, value in seed.items():
            handle = other.library.rtmbs_input(other.it, name.encode())
            other.set(name, other.library.rtmbs_input_value(other.it, handle) + share * value)
        values = (ctypes.c_double * len(found))()
        assert other.library.rtmbs_read_outputs(other.it, values) == 0
        return np.array(values)

    wanted = (read(1.0) - read(-1.0)) / 2.0  # accelerations and reactions are linear in gravity
    assert np.abs(found - wanted).max() <= 1e-8 * np.abs(wanted).max()
    assert np.abs(wanted).max() > 1e-3
