"""Newton's test where force laws bend: a step that CONVERGED is right to its tolerance (METHODS 1.11)."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.bent_laws import ALLOWED, DRAWS, METHODS, Rail, judged
from bench.campaigns.campaign import Tally
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation
from rtmbs.integrators.newton import BENT


@pytest.mark.parametrize("seed", range(2 * len(METHODS)))
def test_a_step_behind_a_bend_is_right_or_refused(seed):
    """Before the test was sure, seed 0 was 2.7e3 tolerances beside its equation, and seed 3 was 1.5e5."""
    assert judged(seed, Tally()) == ""


@pytest.mark.parametrize("fused", [True, False])
def test_the_error_is_bounded_by_the_last_correction_and_the_stiffness(fused):
    """One mass: a factor J leaves (J - M) / M of its last correction at most, and that is BENT of the tolerance."""
    rng, worst = np.random.default_rng(5), 0.0
    rail = Rail(rng, 1, 5e-3, PenaltyTrapezoidal(fused=fused))
    for _ in range(300 if fused else 60):
        drawn = rail.draw(rng)
        report, found = rail.step(drawn)
        assert report.outcome is Outcome.CONVERGED
        worst = max(worst, rail.error(found, rail.exact(drawn, found)))
    assert 1e-3 * BENT < worst <= BENT * (1.0 + 1e-6)


def test_fixed_iterations_that_are_not_sure_say_so():
    """Two iterations at a bend: what is called CONVERGED is right, and some of the others are not."""
    rng = np.random.default_rng(6)
    rail = Rail(rng, 1, 5e-3, PenaltyTrapezoidal(max_iterations=2, fixed_iterations=True))
    errors = {Outcome.CONVERGED: 0.0, Outcome.UNFINISHED: 0.0}
    for _ in range(10 * DRAWS):
        drawn = rail.draw(rng)
        report, found = rail.step(drawn)
        errors[report.outcome] = max(errors[report.outcome], rail.error(found, rail.exact(drawn, found)))
    assert 0.0 < errors[Outcome.CONVERGED] <= ALLOWED < errors[Outcome.UNFINISHED]


def rotor(law=None, **options):
    """Return a wheel with a law on its pin, or none."""
    model = rtmbs.Model("wheel")
    model.add_body("wheel", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "wheel", point=(0, 0, 0))
    if law is not None:
        model.add_force("law", law, joint="pin", **options)
    return model


def firm(t, k, p):
    return -p["c"] * np.where(k.zd > 0.0, 1.0, 3.0) * k.zd


@pytest.mark.parametrize(
    ("law", "options", "bends"),
    [
        (None, {}, False),
        (rtmbs.TorsionSpring(10.0, 0.1), {}, False),
        (lambda t, k, p: -p["k"] * k.z - 0.1 * k.zd + np.sin(t), {"parameters": {"k": 2.0}}, False),
        (firm, {"parameters": {"c": 2.0}}, True),
        (lambda t, k, p: -np.tanh(k.zd / 1e-3), {}, True),
        (lambda t, k, p: -np.sin(k.z), {}, True),
        (lambda t, k, p: -2.0 * k.z, {"trace": False}, True),
    ],
)
def test_laws_whose_slopes_change_are_known_at_compile(law, options, bends):
    assert rotor(law, **options).compile().may_bend is bends


def test_stops_and_contacts_may_bend():
    model = rotor()
    model.add_stop("stop", "pin", lower=-1.0, upper=1.0, stiffness=1e3)
    assert model.compile().may_bend
    heap = rtmbs.Model("heap")
    heap.add_body("ball", mass=1.0, inertia=(4e-3,) * 3, position=(0, 0, 1.0))
    heap.add_joint("free", rtmbs.Floating(), "ground", "ball")
    members = [("ground", rtmbs.contact.Plane()), ("ball", rtmbs.Sphere(0.1))]
    heap.add_contacts("heap", members, stiffness=1e6)
    assert heap.compile().may_bend


@pytest.mark.parametrize(("shape", "bends"), [(np.sin, False), (np.abs, True)])
def test_constraints_with_a_kink_may_bend(shape, bends):
    model = rotor()
    model.add_body("slide", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "slide", point=(0, 0, 0))
    model.add_constraint("cam", lambda t, pose, p: pose.z[1] - 0.1 * shape(pose.z[0] - 0.3), joints=("pin", "rail"))
    assert model.compile().may_bend is bends


def test_mechanisms_of_smooth_forces_take_the_rate_of_their_corrections():
    """Andrews' squeezer ends steps by corrections of several tolerances, as before: it has springs alone."""
    sim = Simulation(rtmbs.library.build("andrews").compile(), h=1e-4)
    last = [sim.step().corrections[-1] for _ in range(300)]
    assert not sim.system.may_bend
    assert max(last) > 1.0
