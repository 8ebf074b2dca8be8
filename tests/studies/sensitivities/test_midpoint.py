"""Derivatives of runs of the variational midpoint rule: complex step, differences of runs, adjoint, exact ones."""

import numpy as np
import pytest

import rtmbs
from bench.measures.complex_steps import errors
from rtmbs.errors import InputError
from tests.cases import quick
from tests.studies.sensitivities import driven_cases, test_force_states, test_python_laws
from tests.studies.sensitivities.cases import differences, error, sprung_rocker
from tests.studies.sensitivities.test_driven_designs import pushed

SHARP = rtmbs.VariationalMidpoint(tol=1e-13)
H = 2e-3


def library(name):
    return lambda: rtmbs.library.build(name)


MECHANISMS = {  # model, parameters, step
    "crank-rocker": (library("crank_rocker"), ["gravity", "crank_pivot.rate", "coupler.mass", "knee.point"], 4e-3),
    "slider-crank": (library("slider_crank"), ["gravity", "rod.inertia", "ball.point"], 1e-3),
    "bricard": (library("bricard"), ["rod_2.mass", "rod_4.center_of_mass"], 5e-3),
    "windows": (library("windows"), ["pivot_0.rate", "post_2.inertia"], 4e-3),
    "states": (test_force_states.rocker, ["element.damping", "motor.L", "element.way", "motor.current"], 2e-3),
    "tyre": (test_force_states.on_tyre, ["tyre.length", "tyre.side", "rod.mass"], 1e-3),
    "branches": (test_python_laws.rocker, ["rope.k", "A.rate"], 2e-3),
}


@pytest.mark.parametrize("name", quick(MECHANISMS, "slider-crank", "states"))
def test_direct_is_the_complex_step(name):
    make, by, h = MECHANISMS[name]
    found = errors(make(), by, h, 4, method=SHARP)
    assert {"z", "zd", "zdd", "force"} <= set(found)
    found.pop("lam")  # redundant rows of a skew loop; forces of loops stand for them
    assert max(found.values()) < 1e-9


def run_with(model, of, end, inputs=None):
    sim = rtmbs.Simulation(model.compile(), h=H, method=SHARP)
    for name, value in (inputs or {}).items():
        sim.inputs[name] = value
    sim._store.go_on_from(sim.state.copy(), 0.0)  # the state is as it is: no accelerations of other inputs
    return of(sim.run(end))


def values(result):
    r = result
    ends = [r["tip.position"][-1], r["tip.acceleration"][-1], r["D.reaction"][-1], r["energy.total"][-1:]]
    return np.concatenate([*ends, np.stack([np.sum(r["tip.position"][:, 1] ** 2), r["spring.pull"][-1]])])


@pytest.mark.parametrize(
    ("name", "size"), [("spring.stiffness", 3.0), ("spring.damping", 0.1), ("A.position", 2e-3), ("A.rate", 2e-2)]
)
def test_inputs_and_initial_values_against_differences_of_runs(name, size):
    sim = rtmbs.Simulation(sprung_rocker().compile(), h=H, method=SHARP)
    found = rtmbs.sensitivity(sim, 0.1, values, [name])
    element, what = name.split(".")

    def run(value):
        if element == "A":
            return run_with(sprung_rocker(**{what: value}), values, 0.1)
        return run_with(sprung_rocker(), values, 0.1, {name: value})

    assert error(found[name], differences(run, found.point[0], size)) < 2e-7
    assert found.missed < 1e-9


@pytest.mark.parametrize("name", quick(driven_cases.CASES, "driven loop", "ball", "function"))
def test_designs_of_drivers_motors_and_gears_against_differences_of_runs(name):
    """Values at both ends of a step count: forces act with the mean of the inputs, loops with those of their end."""
    build, a, names = driven_cases.CASES[name]
    sim = rtmbs.Simulation(build(a).compile(), h=H, method=SHARP)
    given = {"of": list(names), "by": ["a"], "model": build, "at": {"a": a}}
    found = rtmbs.sensitivity(sim, 0.1, **given, method="direct")
    adjoint = rtmbs.sensitivity(sim, 0.1, **given, method="adjoint", checkpoints=3)
    assert error(adjoint.jacobian, found.jacobian) < 1e-9

    def run(value):
        return run_with(build(value), lambda r: np.concatenate([np.ravel(r[one][-1]) for one in names]), 0.1)

    coarse, fine = (differences(run, a, size * abs(a)) for size in (2e-3, 1e-3))
    noise = 2.0 * np.abs(coarse - fine).max()
    assert np.abs(found.jacobian[:, 0] - fine).max() < 1e-7 * np.abs(fine).max() + noise


@pytest.mark.usefixtures("adjoint_way")
def test_the_adjoint_is_the_direct_method():
    model = test_force_states.rocker()
    sim = rtmbs.Simulation(model.compile(), h=H, method=SHARP)
    by = [*test_force_states.BY, "coupler.mass", "rocker.inertia", "B.point"]
    given = {"of": test_force_states.values, "by": by, "model": model}
    direct = rtmbs.sensitivity(sim, 0.1, **given, method="direct")
    adjoint = rtmbs.sensitivity(sim, 0.1, **given, method="adjoint", checkpoints=4)
    assert error(adjoint.jacobian, direct.jacobian) < 1e-9
    assert sim.t == 0.0


@pytest.mark.parametrize("options", [{"penalty": 1e8}, {"fused": False}])
def test_derivatives_do_not_depend_on_how_a_step_is_solved(options):
    system, by = sprung_rocker().compile(), ["spring.stiffness", "A.rate"]
    usual = rtmbs.sensitivity(rtmbs.Simulation(system, h=H, method=SHARP), 0.06, values, by)
    sim = rtmbs.Simulation(system, h=H, method=rtmbs.VariationalMidpoint(tol=1e-13, **options))
    assert error(rtmbs.sensitivity(sim, 0.06, values, by).jacobian, usual.jacobian) < 1e-8


def test_the_momentum_of_a_sliding_base_is_kept_by_the_derivatives_too():
    """A four-bar on a level rail: its momentum along the rail stays, so it changes with a rate as at the start."""
    rail, model = np.array((0.6, 0.8, 0.0)), rtmbs.Model("cart", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=3.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(tuple(rail)), "ground", "cart")
    points = [(0, 0, 0), (0, 0, 0.2), (0, 0.55, 0.45), (0, 0.6, 0.0)]
    bodies = ("cart", "crank", "coupler", "rocker", "cart")
    for k in range(1, 4):
        middle = 0.5 * (np.array(points[k - 1]) + points[k])
        model.add_body(bodies[k], mass=0.5 * k, inertia=(0.02, 0.03, 0.025), center_of_mass=tuple(middle))
        model.add_marker(f"centre {k}", bodies[k], tuple(middle))
    for k, joint in enumerate("ABCD"):
        model.add_joint(joint, rtmbs.Revolute((1, 0, 0)), bodies[k], bodies[k + 1], point=points[k], cut=joint == "C")
    model.set_initial("A", position=0.4, rate=3.0)
    sim = rtmbs.Simulation(model.compile(), h=5e-3, method=SHARP)

    def momentum(result):
        masses = {"cart": 3.0, "centre 1": 0.5, "centre 2": 1.0, "centre 3": 1.5}
        p = [sum(m * result[f"{one}.velocity"][k] for one, m in masses.items()) for k in (0, -1)]
        return np.concatenate([np.reshape(np.sum(rail * one), (1,)) for one in p])

    found = rtmbs.sensitivity(sim, 1.0, momentum, ["A.rate", "rail.rate"])
    first, last = found.jacobian
    assert np.abs(first).max() > 0.1
    np.testing.assert_allclose(last, first, rtol=1e-9, atol=1e-9)


def test_the_exact_derivative_is_met_by_order_two():
    """x(1) = a / 6 + a^2 / 12 of a mass under the force a t + a^2 t^2."""
    a, exact = 3.0, 1.0 / 6.0 + 3.0 / 6.0
    missed = []
    for h in (2e-2, 1e-2, 5e-3):
        sim = rtmbs.Simulation(pushed(a).compile(), h=h, method=SHARP)
        found = rtmbs.sensitivity(sim, 1.0, "slide.displacement", ["a"], model=pushed, at={"a": a})
        missed.append(abs(found.gradient[0] - exact))
    orders = np.log2(np.array(missed[:-1]) / missed[1:])
    assert missed[-1] < 1e-4
    assert np.all(np.abs(orders - 2.0) < 0.05)


def test_fixed_iterations_are_refused():
    method = rtmbs.VariationalMidpoint(fixed_iterations=True, max_iterations=2)
    sim = rtmbs.Simulation(sprung_rocker().compile(), h=H, method=method)
    with pytest.raises(InputError, match=r"^sensitivity needs fixed_iterations = False"):
        rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"])
