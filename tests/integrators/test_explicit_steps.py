"""Compiled explicit steps of trees: energy, the limit of stability, refusals, and the readable steps beside them."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import InputError
from rtmbs.methods import EULER, RungeKutta, SemiImplicitEuler, VelocityVerlet

KINDS = [RungeKutta, VelocityVerlet, SemiImplicitEuler]
MASS, LENGTH, G = 1.5, 0.7, 9.81


@pytest.fixture(scope="module")
def double_pendulum():
    """Two point masses on massless bars that start level, about y."""
    model = rtmbs.Model("double pendulum")
    for k, parent in enumerate(("ground", "bar 0")):
        place = (0.0, 0.0, -k * LENGTH)
        model.add_body(f"bar {k}", mass=MASS, center_of_mass=(0.0, 0.0, -LENGTH), position=place)
        model.add_joint(f"pin {k}", rtmbs.Revolute(axis=(0, 1, 0)), parent, f"bar {k}", point=place)
    model.set_initial("pin 0", position=1.2)
    return model.compile()


def energy(z, zd):
    """Return kinetic and potential energy [J] of the double pendulum, of rows (k, 2)."""
    angles, rates = np.cumsum(z, axis=1), np.cumsum(zd, axis=1)
    y = -LENGTH * np.cos(angles)
    v, w = -LENGTH * np.cos(angles) * rates, LENGTH * np.sin(angles) * rates
    squares = np.cumsum(v, axis=1) ** 2 + np.cumsum(w, axis=1) ** 2
    return 0.5 * MASS * squares.sum(axis=1), MASS * G * np.cumsum(y, axis=1).sum(axis=1)


def swing(system, method, h, t_end):
    """Return the largest error of the energy in a run, over the largest kinetic one."""
    found = Simulation(system, h, method).run(t_end)
    angles, rates = (np.stack([found[f"pin {k}.{what}"] for k in (0, 1)], axis=1) for what in ("angle", "rate"))
    kinetic, potential = energy(angles, rates)
    return np.abs(kinetic + potential - kinetic[0] - potential[0]).max() / kinetic.max()


@pytest.mark.filterwarnings("ignore")  # of the energy by coarse steps
@pytest.mark.parametrize("kind", KINDS)
def test_energy_by_a_formula_of_its_own(double_pendulum, kind):
    """Its error falls with the order of the method."""
    coarse, fine = (swing(double_pendulum, kind(), h, 2.0) for h in (4e-3, 2e-3))
    order = kind().order
    assert np.log2(coarse / fine) > order - 0.2
    assert fine < (10.0 * 2e-3) ** order


def test_verlet_does_not_lose_energy_in_a_long_run():
    """Of a pendulum about a fixed axis, whose inertia is constant, over 300 swings."""
    model = rtmbs.Model("pendulum")
    model.add_body("bob", mass=MASS, center_of_mass=(0.0, 0.0, -LENGTH))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "bob")
    model.set_initial("pin", position=1.0)
    system = model.compile()
    sim = Simulation(system, 2e-2, VelocityVerlet())
    found = sim.run(500.0)
    kinetic = 0.5 * MASS * LENGTH**2 * found["pin.rate"] ** 2
    error = kinetic - MASS * G * LENGTH * np.cos(found["pin.angle"]) + MASS * G * LENGTH * np.cos(1.0)
    first, last = (np.abs(one).max() for one in (error[:2500], error[-2500:]))
    assert first < 1e-2 * kinetic.max()
    assert last < 1.01 * first


def oscillator(stiffness, damping=0.0):
    model = rtmbs.Model("oscillator")
    model.add_body("mass", mass=1.0)
    model.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "mass")
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=stiffness, damping=damping), joint="slide")
    model.set_initial("slide", position=0.1)
    return model.compile()


@pytest.mark.filterwarnings("ignore")  # of what is as stiff as it may be
@pytest.mark.parametrize("kind", [VelocityVerlet, SemiImplicitEuler])
def test_a_step_beyond_the_limit_of_stability_is_refused(kind):
    """An oscillator of 1000 rad/s is stable below h = 2 / 1000 s."""
    system = oscillator(1e6)
    sim = Simulation(system, 1.9e-3, kind())
    assert np.abs(sim.run(1.9)["slide.displacement"]).max() < 0.5
    with pytest.raises(InputError, match=r"too large for the stiff forces.*-fold; h = 0.0011 s is small enough"):
        Simulation(system, 2.2e-3, kind())
    with pytest.raises(InputError, match="too large for the stiff forces"):
        sim.h = 2.2e-3
    assert sim.h == 1.9e-3
    with pytest.raises(InputError, match="too large for the stiff forces"):
        Simulation(oscillator(0.0, 1e3), 2.2e-3, kind())  # a damper


def test_loops_and_functions_of_time_are_refused_by_a_sentence():
    looped = rtmbs.library.build("crank_rocker").compile()
    with pytest.raises(InputError, match="with closed loops or drivers needs a method that takes closed loops"):
        Simulation(looped, 1e-3, VelocityVerlet())
    sim = Simulation(looped, 1e-3)
    with pytest.raises(InputError, match="with closed loops or drivers needs"):
        sim.change(method=SemiImplicitEuler())
    with pytest.raises(InputError, match="mechanisms without loops and drivers"):
        rtmbs.Batch(looped, 2, method=RungeKutta())
    model = rtmbs.library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(np.sin), joint="pivot")
    with pytest.raises(InputError, match="none for functions of time"):
        rtmbs.Batch(model.compile(), 2, method=RungeKutta())


@pytest.mark.parametrize("method", [RungeKutta(), RungeKutta(EULER), VelocityVerlet(), SemiImplicitEuler()])
def test_compiled_steps_agree_with_readable_ones(method):
    """A floating body with a ball joint and a spring, whose rotations are on the group."""
    model = rtmbs.Model("floating")
    model.add_body("base", mass=2.0, inertia=(0.2, 0.3, 0.4))
    model.add_body("arm", mass=0.7, inertia=(0.02, 0.05, 0.04), center_of_mass=(0.3, 0.1, 0.0), position=(0.2, 0, 0))
    model.add_joint("free", rtmbs.Floating(), "ground", "base")
    model.add_joint("ball", rtmbs.Spherical(), "base", "arm", point=(0.2, 0.0, 0.0))
    ends = model.add_marker("hook", "ground", (0.0, 0.0, 1.0)), model.add_marker("eye", "arm", (0.6, 0.0, 0.0))
    model.add_force("spring", rtmbs.SpringDamper(stiffness=30.0, damping=0.5), between=ends)
    model.set_initial("ball", rate=(1.0, -2.0, 3.0))
    system = model.compile()
    fused = Simulation(system, 2e-3, method)
    readable = Simulation(system, 2e-3, method.changed({"fused": False}))
    for sim in (fused, readable):
        sim.run(0.05)
        sim.inputs["gravity"] = (1.0, 2.0, -3.0)
        sim.run(0.1)
    for name in ("z", "zd", "zdd", "R0"):
        one, other = getattr(fused.state, name), getattr(readable.state, name)
        np.testing.assert_allclose(one, other, atol=1e-11 * np.abs(other).max())
    assert fused.step().outcome is readable.step().outcome is rtmbs.Outcome.CONVERGED
