"""Simulations of changed mechanisms: what they take over from earlier ones changes no byte, and nothing is compiled."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rtmbs
from rtmbs.core.remembered import KEPT, forget
from rtmbs.jit.compiled import listening
from rtmbs.semirecursive.start import prepare

ARRAYS = ("z", "zd", "zdd", "lam", "R0", "u")
share = st.floats(0.8, 1.2)


def changed(crank, coupler, mass, stiffness, gravity, rate, redundant):
    """Return a spatial crank-rocker of other lengths, masses, stiffness, gravity and rate; or one hinged twice."""
    model = rtmbs.Model("crank_rocker", gravity=(0.3, -9.81 * gravity, 0.1))
    points = np.array([(0.0, 0.0), (0.0, 0.2 * crank), (0.5 * coupler, 0.4), (0.6, 0.0)])
    hinge = rtmbs.Revolute(axis=(0, 0, 1))
    for k, name in enumerate(("crank", "coupler", "rocker")):
        center = (*(0.5 * (points[k] + points[k + 1])), 0.01)
        model.add_body(name, mass=mass, inertia=(0.01 * mass, 0.015 * mass, 0.02 * mass), center_of_mass=center)
    model.add_joint("crank_pivot", hinge, "ground", "crank", point=(*points[0], 0.0))
    model.add_joint("pin", hinge, "crank", "coupler", point=(*points[1], 0.0))
    model.add_joint("rocker_pivot", hinge, "ground", "rocker", point=(*points[3], 0.0))
    model.add_joint("knee", hinge, "coupler", "rocker", point=(*points[2], 0.0), cut=True)
    if redundant:
        model.add_joint("second", hinge, "ground", "rocker", point=(*points[3], 0.3), cut=True)
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=stiffness), joint="rocker_pivot")
    model.set_initial("crank_pivot", rate=rate)
    return model


def begun(model):
    """Return a Simulation of a model after a few steps, with the arrays of its start."""
    sim = rtmbs.Simulation(model.compile(), h=2e-3)
    start = [getattr(sim.state, name).tobytes() for name in ARRAYS]
    sim.run(0.01)
    return sim, start


@settings(max_examples=12, deadline=None)
@given(st.tuples(share, share, st.floats(0.1, 10.0), st.floats(0.0, 50.0), share, st.floats(-8.0, 8.0), st.booleans()))
def test_a_changed_mechanism_has_the_bytes_of_one_built_anew(numbers):
    warm, start = begun(changed(*numbers))
    forget()
    anew, started = begun(changed(*numbers))
    assert start == started
    assert warm.start_report == anew.start_report
    assert warm.system.fingerprint == anew.system.fingerprint
    again = rtmbs.Simulation(anew.system, h=2e-3)
    again.run(0.01)
    assert again.start_report == anew.start_report
    for name in ARRAYS:
        assert getattr(warm.state, name).tobytes() == getattr(anew.state, name).tobytes(), name
        assert getattr(again.state, name).tobytes() == getattr(anew.state, name).tobytes(), name


def test_a_start_that_was_found_before_is_found_again_for_other_options(monkeypatch):
    found = []
    real = prepare.find_start
    monkeypatch.setattr(prepare, "find_start", lambda *given: found.append(given) or real(*given))
    system = changed(1.0, 1.0, 1.0, 5.0, 1.0, 3.0, True).compile()
    for options in ({}, {"h": 1e-3}, {"method": rtmbs.PenaltyTrapezoidal(penalty=1e5)}, {"assembly_offset": True}):
        count = len(found)
        first, second = (rtmbs.Simulation(system, **options) for _ in range(2))
        assert len(found) == count + 1
        assert first.state == second.state
        first.state.z[:] = 0.0
        assert rtmbs.Simulation(system, **options).state == second.state
    called = changed(1.0, 1.0, 1.0, 5.0, 1.0, 3.0, False)
    called.add_force("brake", lambda t, joint, p: -float(joint.zd), joint="pin", trace=False)
    system, count = called.compile(), len(found)
    for _ in range(2):
        rtmbs.Simulation(system)
    assert len(found) == count + 2


def test_changes_compile_nothing_and_take_over_patterns():
    begun(changed(1.0, 1.0, 1.0, 5.0, 1.0, 3.0, False))
    compiled = []
    with listening(compiled.append, compiled.append):
        first = rtmbs.Simulation(changed(1.0, 1.0, 1.0, 5.0, 1.0, 3.0, False).compile(), h=2e-3)
        known = sum(map(len, KEPT))
        for k in range(1, 4):
            sim, _ = begun(changed(1.0 + 0.01 * k, 1.0, 1.0 + k, 5.0 * k, 1.0 / k, 3.0 + k, False))
            assert sim.system.lu is first.system.lu
            assert sim.system.tables.dofs.mass.tobytes() != first.system.tables.dofs.mass.tobytes()
    assert compiled == []
    assert sum(map(len, KEPT)) == known


def test_a_sweep_compiles_once():
    compiled = []
    points = {"rate": [5.0, 5.5, 6.0], "mass": [1.0, 2.0]}

    def make(rate, mass):
        return changed(1.0, 1.0, mass, 5.0, 1.0, rate, False)

    begun(make(1.0, 1.0))
    with listening(compiled.append, compiled.append):
        table = rtmbs.sweep(make, points, {"last": "last pin.rate"}, t_end=0.02, engine=rtmbs.Serial())
    assert compiled == []
    assert not table.failed
    assert len(set(table["last"].tolist())) == 6
