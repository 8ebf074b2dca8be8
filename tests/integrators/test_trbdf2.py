"""TR-BDF2: both forms against each other, its order, its stability at once, its energies, what goes in between."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import METHODS, TRBDF2, Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import InputError
from rtmbs.integrators.newton import GAMMA, NEWER, OLDER
from tests.cases import quick, spread
from tests.contracts.machines import closed_model, library_system, with_force_states

QUANTITIES = ("z", "zd", "zdd", "lam", "s", "sd", "R0")
H = 1e-3


def both_forms(system, h, steps, **options):
    """Return the States of the fused and of the readable step after some steps."""
    fused, readable = (Simulation(system, h, TRBDF2(fused=one, **options)) for one in (True, False))
    for _ in range(steps):
        assert fused.step().outcome is readable.step().outcome
    return fused.state, readable.state


def near(one, other, rtol):
    """Assert that two States hold the same to ``rtol`` of the largest number of each quantity."""
    for name in QUANTITIES:
        a, b = getattr(one, name), getattr(other, name)
        size = float(np.abs(b).max(initial=0.0))
        np.testing.assert_allclose(a, b, rtol=0.0, atol=rtol * size + 1e-11, err_msg=name)


@pytest.mark.parametrize("name", ["crank_rocker", "slider_crank", "top", "driven_fourbar", "governor", "bricard"])
def test_the_kernel_is_the_readable_step(name):
    near(*both_forms(library_system(name), 2e-3, 10), 1e-6)  # of the Bricard linkage: multipliers of redundant rows


@pytest.mark.parametrize("seed", quick([0, 2, 5, 7], 0))
def test_the_kernel_is_the_readable_step_on_random_closed_mechanisms(seed):
    near(*both_forms(closed_model(seed).compile(), 5e-4, 5), 1e-6)


def test_the_kernel_is_the_readable_step_with_states_of_laws():
    near(*both_forms(with_force_states().compile(), 2e-3, 10), 1e-8)


def test_the_second_stage_is_exact_for_parabolas():
    """a x(gamma) - b x(0) + g x'(1) = x(1) for 1, t and t^2, with the g of the first stage."""
    g = 0.5 * GAMMA
    assert pytest.approx(1.0, rel=1e-15) == NEWER - OLDER
    assert NEWER * GAMMA + g == pytest.approx(1.0, rel=1e-15)
    assert NEWER * GAMMA**2 + 2.0 * g == pytest.approx(1.0, rel=1e-15)


def oscillator(stiffness, damping, mass=2.0):
    """A mass on a rail with a spring and a damper, released at 1 m with 1 m/s."""
    model = rtmbs.Model("oscillator", gravity=(0, 0, 0))
    model.add_body("mass", mass=mass, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "mass")
    model.set_initial("rail", position=1.0, rate=1.0)

    def law(t, kinematics, p):
        return -p["k"] * kinematics.z - p["c"] * kinematics.zd

    model.add_force("law", law, joint="rail", parameters={"k": stiffness, "c": damping})
    return model.compile()


@pytest.mark.parametrize(("stiffness", "damping"), [(2e4, 0.0), (2e2, 30.0), (8e6, 4e2), (2e4, 2e5)])
def test_a_step_of_an_oscillator_is_that_of_the_stability_function(stiffness, damping):
    """R(x) = (1 + (1 - 2 g) x) / (1 - g x)^2, g = gamma / 2, of the matrix h A; no formula of rtmbs."""
    h, mass, g = 1e-3, 2.0, 1.0 - np.sqrt(0.5)
    A = h * np.array([[0.0, 1.0], [-stiffness / mass, -damping / mass]])
    inverse = np.linalg.inv(np.eye(2) - g * A)
    exact = inverse @ inverse @ (np.eye(2) + (1.0 - 2.0 * g) * A) @ [1.0, 1.0]
    sim = Simulation(oscillator(stiffness, damping), h, TRBDF2())
    report = sim._store.options.method.advance_once(sim.equations, sim._store.work, *sim._store.begin_step())
    assert report.outcome is Outcome.CONVERGED
    new = sim._store.states[1]
    np.testing.assert_allclose([new.z[0], new.zd[0]], exact, rtol=1e-9, atol=1e-9)


def braked():
    """A double pendulum whose elbow has a brake that is open."""
    model = rtmbs.Model("brake", gravity=(0, 0, -9.81))
    hinge, inertia = rtmbs.Revolute(axis=(0, -1, 0)), 0.5**2 / 12
    for name, x in (("upper", 0.0), ("lower", 0.5)):
        bar = {"mass": 1.0, "center_of_mass": (0.25, 0, 0), "inertia": (1e-3, inertia, inertia)}
        model.add_body(name, **bar, position=(x, 0, 0))
    model.add_joint("s", hinge, model.ground, "upper", point=(0, 0, 0))
    model.add_joint("e", hinge, "upper", "lower", point=(0.5, 0, 0))
    model.set_initial("e", position=0.5)
    model.add_force("lock", rtmbs.TorsionSpring(stiffness=0.0, damping=0.0), joint="e")
    return model


def double_pendulum(t, y, c):
    """Slopes of shoulder and elbow: Lagrange's equations by hand, both bars of 1 kg and 0.5 m."""
    s, e, sd, ed = y
    L, m, inertia = 0.5, 1.0, 0.5**2 / 12
    a = 2.0 * inertia + m * L * L * (0.25 + 1.25 + np.cos(e))
    b = inertia + m * L * L * (0.25 + 0.5 * np.cos(e))
    d = inertia + 0.25 * m * L * L
    k = 0.5 * m * L * L * np.sin(e)
    g = 9.81 * m * L
    lower = 0.5 * g * np.cos(s + e)
    right = [k * (2.0 * sd + ed) * ed - 1.5 * g * np.cos(s) - lower, -k * sd * sd - lower - c * ed]
    return [sd, ed, *np.linalg.solve([[a, b], [b, d]], right)]


@pytest.mark.parametrize("c", spread([1e3, 1e5, 1e7, 1e9], 2))
@pytest.mark.parametrize("way", ["run", "steps", "restored"])
def test_a_brake_set_while_running_holds_at_once(c, way):
    """Within 1e-3 rad of own equations, its rate zero, the energy falling at once."""
    sim = Simulation(braked().compile(), H, TRBDF2())
    sim.run(0.4)
    start = [sim["s.angle"], sim["e.angle"], sim["s.rate"], sim["e.rate"]]
    energy = sim["energy.total"]
    sim.inputs["lock.damping"] = c
    sim.step()
    assert abs(sim["e.rate"]) < 10.0 / c
    assert sim["energy.total"] < energy - 0.5
    if way == "run":
        result = sim.run(0.8)
        assert set(result.outcomes) == {"CONVERGED"}
        assert not result.warnings
        assert np.all(np.diff(result["energy.total"]) <= 1e-6)
    while sim.t < 0.8 - 1e-9:
        sim.step()
        if way == "restored":
            sim.restore(sim.state.copy())
    exact = solve_ivp(double_pendulum, (0.0, 0.4), start, args=(c,), method="Radau", rtol=1e-10, atol=1e-10).y[:, -1]
    assert sim["s.angle"] == pytest.approx(exact[0], abs=1e-3)
    assert sim["e.angle"] == pytest.approx(exact[1], abs=1e-3)
    assert sim["e.rate"] == pytest.approx(exact[3], abs=1e-3)


@pytest.mark.parametrize("name", ["penalty-trapezoidal", "variational-midpoint", "hht", "generalised-alpha"])
def test_other_methods_are_right_refused_or_told(name):
    """The same brake; nobody is left with a wrong result that says nothing, steps one by one included."""
    sim = Simulation(braked().compile(), H, METHODS[name]())
    sim.run(0.4)
    sim.inputs["lock.damping"] = 1e7
    accepted = True
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        while accepted and sim.t < 0.5:
            accepted = sim.step().outcome.accepted
    sentence = "e.angle: its acceleration stops or reverses all motion within a step of h = 0.001 s"
    assert not accepted or any(str(one.message).startswith(sentence) for one in told)


def test_energy_of_a_free_crank_rocker_falls_slowly():
    """Of the third order in h: a method that damps what it does not resolve, and little else."""
    system = library_system("crank_rocker")
    lost = []
    for h in (4e-3, 2e-3):
        result = Simulation(system, h, TRBDF2()).run(1.0, channels=["energy.total", "energy.kinetic"])
        energy = result["energy.total"]
        lost.append(abs(energy[-1] - energy[0]) / result["energy.kinetic"].max())
    assert lost[1] < 1e-4
    assert lost[0] / lost[1] > 3.5


def test_an_inelastic_spring_damper_only_loses():
    """A stiff, heavily damped spring: energies fall in every step, from the first on."""
    result = Simulation(oscillator(1e6, 1e4), H, TRBDF2()).run(0.1)
    energy = result["rail.rate"] ** 2 + 0.5e6 * result["rail.displacement"] ** 2
    assert np.all(np.diff(energy) <= 1e-12 * energy[0])


def test_fixed_iterations_do_the_same_work():
    sim = Simulation(library_system("crank_rocker"), 5e-3, TRBDF2(fixed_iterations=True, max_iterations=2))
    reports = [sim.step() for _ in range(5)]
    assert {one.iterations for one in reports} == {2}
    assert {one.evaluations for one in reports} == {4}


def test_ramps_of_a_driver_keep_the_order():
    """A crank that an input drives: f, fd and fdd move along each step, and the end is that of the function."""
    model = rtmbs.Model("driven", gravity=(0, 0, -9.81))
    model.add_body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.3, 0, 0))
    model.add_joint("pin", rtmbs.Revolute((0, 1, 0)), "ground", "crank")
    model.add_driver("drive", rtmbs.Input(0.0), joint="pin")
    sim = Simulation(model.compile(), H, TRBDF2())
    for k in range(1, 101):
        t = k * H
        sim.inputs.ramp("drive")
        sim.inputs["drive"] = (0.5 * t**3, 1.5 * t**2, 3.0 * t)
        assert sim.step().outcome is Outcome.CONVERGED
    assert sim["pin.angle"] == pytest.approx(0.5 * sim.t**3, abs=1e-9)
    assert sim["pin.rate"] == pytest.approx(1.5 * sim.t**2, abs=1e-7)


@pytest.mark.parametrize(
    "options", [{"penalty": 0.0}, {"tol": -1.0}, {"max_iterations": 0}, {"tries": 99}, {"fused": 1}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError):
        TRBDF2(**options)


def test_it_goes_on_from_a_state_of_the_default_method():
    sim = Simulation(library.build("crank_rocker").compile(), H)
    sim.run(0.05)
    sim.change(method=TRBDF2())
    sim.run(0.1)
    alone = Simulation(sim.system, H, PenaltyTrapezoidal())
    alone.run(0.1)
    np.testing.assert_allclose(sim.state.z, alone.state.z, atol=1e-4)
