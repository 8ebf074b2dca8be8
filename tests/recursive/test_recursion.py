"""Recursion over bodies: kernels against the readable page, both against the augmented system (METHODS 3)."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.recursion import EXACT, SAME, compared
from bench.measures.two_chains import T, state_of, two_chains
from rtmbs.formulations import Baumgarte, FormulationError, JointCoordinates, Recursive, consistent_state
from rtmbs.formulations.augmented_system import solve_parts
from rtmbs.formulations.contract import terms_at
from rtmbs.recursive import page
from tests.contracts.machines import closed_model


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 9, 15])
def test_chains_are_those_of_the_augmented_system(seed):
    model, unit, _ = two_chains(seed)
    system = JointCoordinates(model.compile())
    q, v = state_of(system, unit, seed)
    errors = compared(system, q, v, T * unit.time)
    assert errors.pop("page and kernels") < SAME
    assert errors.pop("page and kernels, loads") < SAME
    assert max(errors.values()) < EXACT, errors


@pytest.mark.parametrize("seed", [0, 6, 7])
def test_every_joint_force_and_driver(seed):
    system = JointCoordinates(closed_model(seed).compile())
    rng = np.random.default_rng(seed)
    q, v = consistent_state(system, system.equations.compiled.z0, rng.normal(size=system.n), 0.2)
    errors = compared(system, q, v, 0.2)
    assert max(errors.values()) < EXACT, errors


def hinged_with_ball():
    """A crank-rocker whose cut hinge is said twice: by a hinge, and by a ball joint in the same point."""
    seed = next(k for k in range(100) if two_chains(k)[2]["repeated"])
    model, unit, _ = two_chains(seed)
    system = JointCoordinates(model.compile())
    return system, *state_of(system, unit, seed), T * unit.time


def test_dependent_rows_are_named():
    system, q, v, t = hinged_with_ball()
    found = Recursive().dependent_rows(system, q, v, t)
    assert len(found) == 3
    assert set(found) < set(system.row_names)
    assert Recursive().dependent_rows(JointCoordinates(rtmbs.library.build("slider_crank").compile()), *still()) == []


def still():
    system = rtmbs.library.build("slider_crank").compile()
    return system.z0, np.zeros(len(system.z0)), 0.0


def test_a_massless_frame_that_a_loop_holds_is_kept():
    """A motor at a cut joint makes a massless frame with a coordinate, which only its closure moves."""
    model = rtmbs.library.build("fourbar", ny=1, nz=1)
    cut = next(joint for joint in model.joints.values() if joint.cut)
    model.add_force("ghost", rtmbs.Motor(0.3), joint=cut)
    system = JointCoordinates(model.compile())
    memory = Recursive().memory()
    q, v = consistent_state(system, system.equations.compiled.z0, np.ones(system.n), 0.0)
    a = Recursive().accelerations(system, q, v, 0.0, memory)[0]
    assert len(memory.recursion.kept) >= 1
    right = solve_parts(terms_at(system, q, v, 0.0))[0]
    np.testing.assert_allclose(a, right, atol=1e-11 * np.abs(right).max())


def test_a_thin_rod_held_by_its_loop_is_kept_and_a_free_one_named():
    """No inertia about its axis: the recursion finds it at the state, and keeps the coordinate."""
    for held in (True, False):
        model = rtmbs.Model("rod", gravity=(0.0, 0.0, -9.81))
        rod = model.add_body("rod", mass=1.0, center_of_mass=(0.5, 0.0, 0.0), inertia=(0.0, 0.1, 0.1))
        arm = model.add_body("arm", mass=2.0, center_of_mass=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.15))
        model.add_joint("pin", rtmbs.Revolute(axis=(0.0, 1.0, 0.0)), "ground", arm, point=(0.0, 0.0, 0.0))
        model.add_joint("spin", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), arm, rod, point=(0.0, 0.0, 0.0))
        if held:
            model.add_driver("turn", lambda t: (0.1 * t * t, 0.2 * t, 0.2), joint="spin")
        system = JointCoordinates(model.compile())
        q, v = np.zeros(2), np.array([0.5, 0.0])
        if held:
            a, _ = Recursive().accelerations(system, q, v, 0.0)
            right = solve_parts(terms_at(system, q, v, 0.0))[0]
            np.testing.assert_allclose(a, right, atol=1e-12 * np.abs(right).max())
        else:
            with pytest.raises(FormulationError, match=r"spin.* can move without inertia"):
                Recursive().accelerations(system, q, v, 0.0)


def test_gains_are_baumgartes():
    """Off the constraints, and through two layers of feedback."""
    system = JointCoordinates(rtmbs.library.build("slider_crank").compile())
    rng = np.random.default_rng(3)
    q, v = system.equations.compiled.z0 + 0.02 * rng.normal(size=system.n), rng.normal(size=system.n)
    for gains in ((20.0, 30.0), (5.0, 1.0)):
        found, lam = Baumgarte(*gains, within=Recursive()).accelerations(system, q, v, 0.0)
        right, right_lam = Baumgarte(*gains).accelerations(system, q, v, 0.0)
        np.testing.assert_allclose(found, right, atol=1e-11 * np.abs(right).max())
        np.testing.assert_allclose(lam, right_lam, atol=1e-11 * np.abs(right_lam).max())


def test_rows_that_contradict_each_other_are_named():
    """A driver of a coordinate that another constraint holds."""
    model = rtmbs.Model("driven twice")
    model.add_body("arm", mass=2.0, center_of_mass=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.15))
    model.add_joint("pin", rtmbs.Revolute(axis=(0.0, 1.0, 0.0)), "ground", "arm", point=(0.0, 0.0, 0.0))
    model.add_driver("drive", lambda t: (0.5 * t * t, t, 1.0), joint="pin")
    model.add_constraint("hold", lambda t, pose, parameters: pose.z[0], joints=["pin"])
    system = JointCoordinates(model.compile())
    with pytest.raises(FormulationError, match=r"^row \d+ \(.*\) of Phi_q a = gamma contradicts .* by 0\.5"):
        Recursive().accelerations(system, np.zeros(1), np.zeros(1), 0.0)


def test_the_page_has_the_D_of_the_paper():
    """D of a revolute by the formula of METHODS 3, from the motion of both mass centres."""
    system = JointCoordinates(rtmbs.library.build("andrews").compile())
    rng = np.random.default_rng(1)
    system.force(rng.normal(size=system.n), rng.normal(size=system.n), 0.0)
    equations = system.equations
    bodies, _ = page.bodies_of(equations)
    centre, ws, seen = page.mass_centres(equations), equations.ws, 0
    for body in bodies:
        if body.parent < 0 or len(body.dofs) > 1:
            continue
        j, i = body.dofs[-1], int(equations.tables.dofs.parent[body.dofs[0]])
        u, qd = ws.S[j, 3:], ws.zd[j]
        e, w_i, w_j = centre[j] - ws.r[j], ws.V[i, 3:], ws.V[j, 3:]
        speed = [ws.V[k, :3] + np.cross(ws.V[k, 3:], centre[k]) for k in (i, j)]
        turned = np.cross(w_i, u)
        first = np.cross(w_i, speed[1] - speed[0]) + (np.cross(turned, e) + np.cross(u, np.cross(w_j, e))) * qd
        np.testing.assert_allclose(body.D[3:], turned * qd, atol=1e-12)
        np.testing.assert_allclose(body.D[:3], first, atol=1e-10)
        seen += 1
    assert seen >= 3


def test_answers_stay_with_their_system():
    """One memory, two systems in turn."""
    memory, found = Recursive().memory(), []
    systems = [JointCoordinates(rtmbs.library.build(name).compile()) for name in ("slider_crank", "andrews")]
    for system in (*systems, *systems):
        z = system.equations.compiled.z0
        found.append(Recursive().accelerations(system, z, np.zeros(system.n), 0.0, memory)[0])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
