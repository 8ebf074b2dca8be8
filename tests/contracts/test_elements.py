"""Every registered joint, closure, force and profile through one suite: a new one is tested by itself."""

from dataclasses import MISSING, fields

import numpy as np
import pytest

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation
from rtmbs.model import FORCE_TYPES, JOINT_TYPES, PROFILES, Input
from rtmbs.model.joints import CLOSURE_OPTIONS
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation.options import by_name
from tests.contracts.machines import accepted_steps, check_goes_on, contents, difference
from tests.mechanisms import random_rotation
from tests.nonholonomic import MOTIONS

X = (1.0, 0.0, 0.0)
STEPS, H = 60, 1e-3
CLOSURES = [(name, None) for name in JOINT_TYPES] + [("Revolute", option) for option in CLOSURE_OPTIONS]
IDS = [f"{name} as {option}" if option else name for name, option in CLOSURES]


def machine(kind, cut=False, closure=None, rate=2.0):
    """A body on a carrier by one joint; when that is cut, a floating joint carries the body."""
    model = rtmbs.Model(kind, gravity=(1.0, 2.0, -9.0))
    model.add_body("carrier", mass=2.0, center_of_mass=(0.1, 0.3, 0.2), inertia=(0.4, 0.5, 0.6))
    model.add_body(
        "body", mass=1.0, center_of_mass=(0.2, -0.1, 0.3), inertia=(0.2, 0.3, 0.25), position=(0.3, 0.2, 0.1)
    )
    model.add_joint("bearing", rtmbs.Revolute(axis=X), "ground", "carrier")
    if cut:
        model.add_joint("free", rtmbs.Floating(), "ground", "body", point=(0.5, 0.0, 0.0))
    one = JOINT_TYPES[kind].example(random_rotation(np.random.default_rng(5)))
    model.add_joint("joint", one, "carrier", "body", point=(0.4, 0.3, 0.2), cut=cut, closure=closure)
    ends = (
        model.add_marker("hook", "ground", point=(1.0, 1.0, 1.0)),
        model.add_marker("eye", "body", point=(0.5, 0, 0.4)),
    )
    model.add_force("band", rtmbs.SpringDamper(20.0, 1.0), between=ends)
    model.set_initial("bearing", rate=rate)
    return model


def run(model, **options):
    """Return a simulation after STEPS accepted steps and the motion of its body."""
    sim = Simulation(model.compile(), h=H, **by_name(**options))
    result = sim.run(STEPS * H)
    return sim, {name: result[f"body.{name}"][-1] for name in ("position", "velocity", "angular_velocity")}


# ------------------------------------------------------------------------------------------------ joints and closures


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_a_joint_in_the_tree_and_cut_is_one_joint(kind):
    """Dofs and loop equations of one type: two descriptions, one motion, from rest."""
    in_tree, expected = run(machine(kind, rate=0.0))
    cut, found = run(machine(kind, cut=True, rate=0.0))
    assert in_tree.start_report.degrees_of_freedom == cut.start_report.degrees_of_freedom
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=3e-5 * max(np.abs(value).max(), 1.0), err_msg=name)


@pytest.mark.parametrize(("kind", "option"), CLOSURES, ids=IDS)
def test_a_closure_stays_closed(kind, option):
    """Positions within 10 max lam / alpha, rates and accelerations within the bound of the sweeps."""
    sim = Simulation(machine(kind, cut=True, closure=option).compile(), h=H)
    for report in accepted_steps(sim, STEPS):
        if not sim.system.m:
            continue
        bound = 10.0 * np.max(np.abs(sim.state.lam) / sim.state.memory["alpha"]) + 1e-15
        assert max(report.position_violation, report.position_violation_rotation) <= bound
        assert max(report.velocity_violation, report.velocity_violation_rotation) <= 1e-7
        assert max(report.acceleration_violation, report.acceleration_violation_rotation) <= 1e-5


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_nonholonomic_constraint_stays_closed(motion):
    """Rates and accelerations of wheels and blades within the bound of the sweeps, heights as those of loops."""
    sim = Simulation(MOTIONS[motion]().model.compile(), h=H)
    for report in accepted_steps(sim, STEPS):
        bound = 10.0 * np.max(np.abs(sim.state.lam) / sim.state.memory["alpha"]) + 1e-15
        assert report.position_violation <= bound
        assert report.velocity_violation <= 1e-7
        assert report.acceleration_violation <= 1e-5


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_nonholonomic_constraint_in_both_forms_of_the_step(motion):
    system = MOTIONS[motion]().model.compile()
    fused, readable = (Simulation(system, h=H, method=PenaltyTrapezoidal(fused=form)) for form in (True, False))
    assert [r.iterations for r in accepted_steps(fused, 10)] == [r.iterations for r in accepted_steps(readable, 10)]
    assert difference(fused.state, readable.state) <= 1e-12


@pytest.mark.parametrize(("kind", "option"), CLOSURES, ids=IDS)
def test_a_closure_in_both_forms_of_the_step(kind, option):
    fused, readable = (
        Simulation(machine(kind, cut=True, closure=option).compile(), h=H, method=PenaltyTrapezoidal(fused=form))
        for form in (True, False)
    )
    assert [r.iterations for r in accepted_steps(fused, 10)] == [r.iterations for r in accepted_steps(readable, 10)]
    assert difference(fused.state, readable.state) <= 1e-12


@pytest.mark.parametrize("kind", [name for name, kind in JOINT_TYPES.items() if kind.start != "nothing"])
def test_a_joint_starts_where_it_is_told(kind):
    """Positions and rates given in the user's own terms come back as channels, and a pin holds exactly."""
    rng, model = np.random.default_rng(8), machine(kind)
    joint = model.joints["joint"]
    size = {"coordinates": len(joint.type.coordinates), "quaternion": 3, "pose": 6}[joint.type.start]
    rate = rng.normal(size=size)
    if joint.type.start == "coordinates":
        position = rng.normal(size=size)
    else:
        turn = rng.normal(size=4)
        position = np.concatenate((rng.normal(size=size - 3), turn / np.linalg.norm(turn)))
    model.set_initial("joint", position=position, rate=rate)
    sim = Simulation(model.compile(), h=H)
    assert sim.start_report.moved_position == 0.0
    result = sim.run(0.0)
    if joint.type.start == "coordinates":
        for k, name in enumerate(joint.type.coordinates):
            assert result[f"joint.{name}"][0] == pytest.approx(position[k], rel=1e-15)
        signs = -1.0 if sim.system.joints["joint"].reversed else 1.0
        dofs = list(sim.system.joints["joint"].dofs)
        np.testing.assert_array_equal(signs * sim.state.zd[dofs], rate)
    else:
        quaternion = result["joint.orientation"][0]
        assert abs(quaternion @ position[-4:]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_a_joint_is_saved_and_goes_on(kind, tmp_path):
    sim, other = (Simulation(machine(kind).compile(), h=H) for _ in range(2))
    check_goes_on(sim, other, 7, tmp_path / "state")


def test_a_rod_keeps_its_length():
    model = machine("Spherical")
    ends = (
        model.add_marker("peg", "ground", point=(-1.0, 0.5, 2.0)),
        model.add_marker("tip", "body", point=(0.1, 0.9, 0)),
    )
    model.add_rod("rod", between=ends)
    sim = Simulation(model.compile(), h=H)
    result = sim.run(STEPS * H)
    tip = result["tip.position"] - np.array([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(np.linalg.norm(tip, axis=1), np.linalg.norm(tip[0]), rtol=1e-7)
    assert np.linalg.norm(tip[-1] - tip[0]) > 1e-3


# ------------------------------------------------------------------------------------------------------------- forces


def example_law(kind):
    """Return a law with every field that has no default at 3."""
    needed = [f for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING]
    return kind(**{f.name: 3.0 for f in needed})


def machine_with(law, kind="Revolute"):
    """Return the machine with a law where it attaches."""
    model = machine(kind)
    if law.attaches == "between":
        place = {"between": (model.add_marker("nail", "carrier", point=(0, 0, 1)), model.add_marker("ring", "body"))}
    else:
        place = {"joint": {"joint": "joint"}, "body": {"body": "body", "point": (0.1, 0.2, 0.3)}}[law.attaches]
    model.add_force("law", law, **place)
    return model


def inputs_of(system):
    """Return the inputs of the law under test."""
    return [name for name in system.inputs if name.startswith("law.")]


@pytest.mark.parametrize("kind", FORCE_TYPES)
@pytest.mark.parametrize("joint", ["Revolute", "Prismatic"])
def test_every_input_of_a_force_does_something(kind, joint):
    """Each is listed by name, starts at its default, and changes the motion when it is set."""
    system = machine_with(example_law(FORCE_TYPES[kind]), joint).compile()
    assert inputs_of(system), "a law offers its parameters"
    for name in inputs_of(system):
        if FORCE_TYPES[kind].attaches == "between" and (joint, name) == ("Prismatic", "law.torque"):
            continue  # a torque between two bodies that a slide holds does no work
        plain, changed = Simulation(system, h=H), Simulation(system, h=H)
        value = np.asarray(plain.inputs[name]) + 2.5
        changed.inputs[name] = value
        np.testing.assert_array_equal(changed.inputs[name], value)
        accepted_steps(plain, 3)
        accepted_steps(changed, 3)
        assert difference(plain.state, changed.state) > 1e-9, name
        assert not np.array_equal(plain.inputs[name], value)


def work_in_a_loop(kind, damping):
    """Return the energy (2,) of a crank-rocker with a force, 40 ms apart, and the size of work that it does not count.

    Runge-Kutta steps know no energy. ``damping`` is set in all inputs of this name, other inputs are drawn.
    """
    law, model = example_law(FORCE_TYPES[kind]), rtmbs.library.build("crank_rocker")
    body, joint = list(model.bodies)[1], next(iter(model.joints))
    nail, ring = model.add_marker("nail", "ground", point=(0.3, 0.4, 0.1)), model.add_marker("ring", body, point=X)
    places = {"between": {"between": (nail, ring)}, "joint": {"joint": joint}, "body": {"body": body, "point": X}}
    model.add_force("law", law, **places[law.attaches])
    sim, rng = Simulation(model.compile(), 2e-4, rtmbs.RungeKutta()), np.random.default_rng(9)
    for name in inputs_of(sim.system):
        size = np.size(sim.inputs[name])
        sim.inputs[name] = np.full(size, damping) if name.endswith("damping") else rng.uniform(1.0, 3.0, size)
    (first,) = sim.equations.tables.balance.first
    energies = []
    for steps in (200, 0):
        state = sim.state
        energies.append(sim.equations.component_energies(state.z, state.zd, state.R0)[0][first])
        accepted_steps(sim, steps)
    return energies, sim.equations.ws.untold[first]


@pytest.mark.parametrize("kind", FORCE_TYPES)
def test_a_force_does_the_work_that_its_energy_says(kind):
    """Steps of PenaltyTrapezoidal scale the rates of loops by the energy, so a wrong one is a wrong motion."""
    energies, not_counted = work_in_a_loop(kind, 0.0)
    assert not_counted > 0.0 or abs(energies[1] - energies[0]) < 1e-10 * energies[0]


@pytest.mark.parametrize("kind", [name for name, one in FORCE_TYPES.items() if one.attaches == "between"])
def test_a_force_between_markers_says_that_its_damping_is_not_counted(kind):
    energies, not_counted = work_in_a_loop(kind, 2.0)
    assert not_counted > 0.0 or abs(energies[1] - energies[0]) < 1e-10 * energies[0]


@pytest.mark.parametrize("kind", FORCE_TYPES)
def test_a_force_has_its_tangent(kind):
    """K and C of the closed form against complex steps of the force itself, with every input at random."""
    sim = Simulation(machine_with(example_law(FORCE_TYPES[kind])).compile(), h=H)
    rng = np.random.default_rng(9)
    for name in inputs_of(sim.system):
        sim.inputs[name] = rng.uniform(1.0, 3.0, np.size(sim.inputs[name]))
    accepted_steps(sim, 2)
    state, equations = sim.state, sim.equations
    equations.residual(state.z, state.zd, np.zeros(sim.system.n), state.R0)
    found = equations.assemble(0.0, 0.0, 1.0), equations.assemble(0.0, 1.0, 0.0)
    K, C = make_source("complex-step", sim.system)(state.z, state.zd, state.R0, state.u)
    for mine, theirs in zip(found, (K, C), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12 * np.abs(K).max())


@pytest.mark.parametrize("kind", FORCE_TYPES)
def test_a_force_in_both_forms_of_the_step(kind):
    model = machine_with(example_law(FORCE_TYPES[kind]))
    fused, readable = (
        Simulation(model.compile(), h=H, method=PenaltyTrapezoidal(fused=form)) for form in (True, False)
    )
    accepted_steps(fused, 10)
    accepted_steps(readable, 10)
    assert difference(fused.state, readable.state) <= 1e-12


@pytest.mark.parametrize(
    ("law", "timed"),
    [
        (rtmbs.Motor(Input(1.0)), rtmbs.Motor(lambda t: 1.0)),
        (rtmbs.Wrench(force=Input((1.0, 2.0, 3.0))), rtmbs.Wrench(force=lambda t: (1.0, 2.0, 3.0))),
        (rtmbs.Wrench(torque=Input((1.0, 2.0, 3.0))), rtmbs.Wrench(torque=lambda t: [1.0, 2.0, 3.0])),
    ],
)
def test_constant_input_and_function_of_time_are_one_force(law, timed):
    constant = {"value": 1.0} if isinstance(law, rtmbs.Motor) else {
        name: (1.0, 2.0, 3.0) for name in ("force", "torque") if isinstance(getattr(law, name), Input)
    }  # fmt: skip
    ends = []
    for one in (law, timed, type(law)(**constant)):
        sim = Simulation(machine_with(one).compile(), h=H)
        accepted_steps(sim, 5)
        ends.append(contents(sim.state)["z"])
    assert len(set(ends)) == 1


# ----------------------------------------------------------------------------------------------------------- profiles

EXAMPLES = {
    "ConstantRate": lambda start: rtmbs.ConstantRate(0.7, start=start),
    "Sine": lambda start: rtmbs.Sine(0.4, 9.0, phase=0.3, offset=start - 0.4 * np.sin(0.3)),
    "SmoothStep": lambda start: rtmbs.SmoothStep(0.01, 0.03, start, start + 0.2),
    "Spline": lambda start: rtmbs.Spline((0.0, 0.02, 0.05), (start, start + 0.1, start - 0.1)),
    "Function": lambda start: rtmbs.Function(lambda t: start + t * t, lambda t: 2.0 * t, lambda t: 2.0),
}


def test_every_profile_has_an_example():
    assert EXAMPLES.keys() == PROFILES.keys()


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("joint", ["Revolute", "Prismatic"])
def test_a_driven_coordinate_follows_its_profile(name, joint):
    """Position within the penalty's compliance, rate and acceleration to the bound of the projections."""
    model, profile = machine(joint), EXAMPLES[name](0.25)
    model.add_driver("drive", profile, joint="joint")
    system = model.compile()
    sim, dof = Simulation(system, h=H), system.joints["joint"].dofs[0]
    sign = -1.0 if system.joints["joint"].reversed else 1.0
    followed = profile.checked("drive") if hasattr(profile, "checked") else profile
    for _ in range(STEPS):
        assert sim.step().outcome.accepted
        f, fd, fdd = followed(sim.t)
        state = sim.state
        assert sign * state.z[dof] == pytest.approx(f, abs=1e-7)
        assert sign * state.zd[dof] == pytest.approx(fd, abs=1e-7)
        assert sign * state.zdd[dof] == pytest.approx(fdd, abs=1e-5)


@pytest.mark.parametrize("name", PROFILES)
def test_a_driven_distance_follows_its_profile(name):
    model, here, there = machine("Spherical"), np.array([0.1, 0.9, 0.0]), np.array([-1.0, 0.5, 2.0])
    ends = model.add_marker("peg", "ground", point=there), model.add_marker("tip", "body", point=here)
    profile = EXAMPLES[name](float(np.linalg.norm(here - there)))
    model.add_driver("drive", profile, between=ends)
    sim = Simulation(model.compile(), h=H)
    result = sim.run(STEPS * H)
    followed = profile.checked("drive") if hasattr(profile, "checked") else profile
    wanted = np.array([followed(t) for t in result.t])
    d, v = result["tip.position"] - there, result["tip.velocity"]
    distance = np.linalg.norm(d, axis=1)
    np.testing.assert_allclose(distance, wanted[:, 0], atol=1e-6)
    np.testing.assert_allclose(np.sum(d * v, axis=1) / distance, wanted[:, 1], atol=1e-6)
