"""Force states eliminated in the kernels: the solution of their rule, the derivative, the two forms of a step."""

import numba
import numpy as np
import pytest

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation
from rtmbs.integrators.settings import PAPER
from rtmbs.model.forces import JointKinematics
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.law_states import divide, hold_states
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation.simulation import thread_groups
from tests.contracts.machines import accepted_steps, beside, contents, difference, library_simulation, with_force_states

H = 5e-3


@numba.njit(error_model="numpy")
def divided(A, B, k, columns):
    divide(A, B, k, columns)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_elimination_of_coupled_states_solves(k):
    """A^-1 B beside LAPACK's; a zero in the first place asks for another row."""
    rng = np.random.default_rng(k)
    A, B = rng.normal(size=(6, 6)), rng.normal(size=(6, 3))
    if k > 1:
        A[0, 0] = 0.0
    right, rest = np.linalg.solve(A[:k, :k], B[:k, :2]), B[k:].copy()
    divided(A, B, k, 2)
    np.testing.assert_allclose(B[:k, :2], right, rtol=1e-11)
    np.testing.assert_array_equal(B[k:], rest)


@pytest.fixture(scope="module")
def system():
    return with_force_states().compile()


@pytest.fixture(scope="module")
def moving(system):
    """A simulation in motion, its equations told to follow a step from its state."""
    sim = Simulation(system, H)
    sim.run(0.1)
    return sim


def follow(sim, ws):
    """Let the states of a workspace follow a step from the state of ``sim``."""
    ws.state_base[:], ws.state_half[0] = sim.state.s + 0.5 * H * sim.state.sd, 0.5 * H


def test_states_satisfy_their_rule_at_the_end_of_every_step(system):
    """s = s_n + h/2 (g_n + g), with the rates g asked again at the finished state."""
    sim = Simulation(system, H)
    for _ in range(20):
        old = sim.state.copy()
        sim.step()
        new = sim.state
        np.testing.assert_allclose(new.s, old.s + 0.5 * H * (old.sd + new.sd), rtol=1e-13, atol=1e-14)
        _, _, rates = sim.equations.accelerations(new.z, new.zd, new.R0, new.s)
        np.testing.assert_allclose(new.sd, rates, rtol=1e-11, atol=1e-12)
    assert np.abs(sim.state.s - system.s0).min() > 1e-4


def test_the_tangent_is_the_derivative_of_the_residual(system, moving):
    """h/2 C + h^2/4 K of laws whose states follow, against a complex step through the same kernels, to 1e-12."""
    state, alpha = moving.state, np.zeros(system.m)
    equations = moving.equations
    follow(moving, equations.ws)
    equations.alpha = alpha
    z, zd = state.z + 0.02, state.zd - 0.3
    equations.residual(z, zd, np.zeros(system.n), state.R0)
    K, C = (equations.assemble(0.0, *part, terms=PAPER) for part in ((0.0, 1.0), (1.0, 0.0)))
    ws = workspace(system.tables, np.complex128)
    follow(moving, ws)
    for found, which in ((K, "z"), (C, "zd")):
        expected = np.zeros_like(found)
        for j in range(system.n):
            ws.z[:], ws.zd[:], ws.zdd[:] = z, zd, 0.0
            getattr(ws, which)[j] += 1e-30j
            evaluate_residual(system.tables, state.R0, state.u, alpha, ws)
            expected[:, j] = ws.tau.imag / 1e-30
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_the_derivative_is_that_of_differences(system, moving):
    """The complex step uses the law's own derivatives; differences of forces with states solved for do not."""
    state, equations = moving.state, moving.equations
    follow(moving, equations.ws)
    equations.alpha = np.zeros(system.m)
    still = np.zeros(system.n)
    equations.residual(state.z, state.zd, still, state.R0)
    K, C = (equations.assemble(0.0, *part, terms=PAPER) for part in ((0.0, 1.0), (1.0, 0.0)))
    for j, unit in enumerate(np.eye(system.n) * 1e-6):
        by_z = equations.residual(state.z + unit, state.zd, still, state.R0)
        by_z = (by_z - equations.residual(state.z - unit, state.zd, still, state.R0)) / 2e-6
        by_zd = equations.residual(state.z, state.zd + unit, still, state.R0)
        by_zd = (by_zd - equations.residual(state.z, state.zd - unit, still, state.R0)) / 2e-6
        np.testing.assert_allclose(K[:, j], by_z, atol=1e-8 * np.abs(K).max())
        np.testing.assert_allclose(C[:, j], by_zd, atol=1e-8 * np.abs(C).max())


def test_held_and_followed_states_differ(system, moving):
    """The derivative of held states is another one: what elimination adds is no rounding."""
    state, equations = moving.state, moving.equations
    found = []
    for hold in (True, False):
        if hold:
            hold_states(state.s, equations.ws)
        else:
            follow(moving, equations.ws)
        equations.residual(state.z, state.zd, np.zeros(system.n), state.R0)
        found.append(equations.assemble(0.0, 1.0, 0.0, terms=PAPER))
    assert np.abs(found[0] - found[1]).max() > 1e-4 * np.abs(found[0]).max()


@pytest.mark.parametrize("options", [{}, {"refactor": "every-step"}, {"tangent_terms": "exact"}])
def test_the_readable_step_is_the_fused_one(system, options):
    one = Simulation(system, H, PenaltyTrapezoidal(**options))
    other = Simulation(system, H, PenaltyTrapezoidal(fused=False, **options))
    for _ in range(40):
        accepted_steps(one, 1)
        accepted_steps(other, 1)
        other_state = one.state.copy()
        assert difference(one.state, other.state) < 1e-9
        other.restore(other_state)
    one.step()
    other.step()
    assert difference(one.state, other.state) < 1e-11


@pytest.mark.parametrize("jacobian", ["trace", "complex-step", pytest.param("autograd", marks=pytest.mark.slow)])
def test_every_source_leads_to_the_same_motion(system, jacobian):
    one, other = Simulation(system, H), Simulation(system, H, jacobian=jacobian)
    one.run(0.1)
    other.run(0.1)
    assert difference(one.state, other.state) < 1e-7


def test_groups_on_threads_take_the_same_steps():
    """Two mechanisms with states and one without, side by side, on one thread and on two."""
    model = beside(with_force_states(timed=False), rtmbs.library.build("crank_rocker"), with_force_states(timed=False))
    system = model.compile()
    one, other = Simulation(system, H), Simulation(system, H, threads=2)
    assert len(thread_groups(other)) == 2
    alone = Simulation(with_force_states(timed=False).compile(), H)
    for sim in (one, other, alone):
        sim.run(0.1)
    assert difference(one.state, other.state) < 1e-8
    expected = {(state.force, state.name): s for state, s in zip(alone.system.states, alone.state.s, strict=True)}
    assert len(other.state.s) == 2 * len(expected)
    for state, s in zip(system.states, other.state.s, strict=True):
        assert s == pytest.approx(expected[state.force[2:], state.name], rel=1e-7), state


def test_a_run_in_chunks_gives_the_bytes_of_steps():
    system = with_force_states(timed=False).compile()
    one, other = Simulation(system, H), Simulation(system, H)
    assert one._store.takes_chunks
    result = one.run(0.1)
    accepted_steps(other, 20)
    assert contents(one.state) == contents(other.state)
    for state, s in zip(system.states, other.state.s, strict=True):
        assert result[f"{state.force}.{state.name}"][-1] == s


def stick(t, kinematics, parameters, states):
    """Friction with two bristles, whose rates are not linear in them."""
    z, zd, u, v = kinematics.z, kinematics.zd, states["u"], states["v"]
    rate = np.tanh(3.0 * zd) + 0.1 * np.sin(z)
    force = -parameters["k"] * (u + v) * (1.0 + np.cos(z) ** 2 * np.exp(-u * u) * np.arctan(v) ** 2)
    return force, np.stack((rate - 40.0 * u * abs(zd) - 200.0 * u**3 + v, zd - 30.0 * np.sqrt(v * v + u * u) * v))


def test_states_of_equal_laws_are_found_by_their_rates_alone():
    """Five laws in lanes: s = s_n + h/2 (g_n + g) with g by the function itself, outside of the kernels."""
    model = rtmbs.Model("stuck", gravity=(0.0, 0.0, -9.81))
    for k in range(5):
        model.add_body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.3, k, 0.0))
        model.add_joint(f"j{k}", rtmbs.Revolute((0, 1, 0)), model.ground, f"b{k}", point=(0.0, k, 0.0))
        states = {"u": 0.01 * k, "v": -0.02}
        model.add_force(f"f{k}", stick, joint=f"j{k}", parameters={"k": 30.0 + k}, states=states)
    sim = Simulation(model.compile(), H)
    laws = sim.system.tables.laws
    assert len(laws.rates.lanes)
    assert laws.rates.program.count.sum() < 0.6 * laws.lanes.program.count.sum()
    for _ in range(60):
        old = sim.state.copy()
        sim.step()
        for k in range(5):
            kinematics = JointKinematics(sim[f"j{k}.angle"], sim[f"j{k}.angle_rate"], ())
            u, v = sim[f"f{k}.u"], sim[f"f{k}.v"]
            _, rate = stick(sim.t, kinematics, {"k": 30.0 + k}, {"u": u, "v": v})
            np.testing.assert_allclose(sim.state.sd[2 * k : 2 * k + 2], rate, rtol=1e-12, atol=1e-13)
    end = old.s + 0.5 * H * (old.sd + sim.state.sd)
    np.testing.assert_allclose(sim.state.s, end, rtol=0.0, atol=1e-14)


def test_a_state_that_cannot_be_solved_for_ends_the_step():
    """s' = s^2 escapes: near its pole the rule has no solution."""
    model = rtmbs.Model("pole", gravity=(0, 0, 0))
    body = model.add_body("body", mass=1.0, inertia=(1, 1, 1))
    pin = model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", body)
    model.add_force("escape", lambda t, k, p, s: (s["x"], s["x"] ** 2), joint=pin, states={"x": 1.0})
    sim = Simulation(model.compile(), 0.05)
    with pytest.raises(rtmbs.RtmbsError, match="escape"):
        sim.run(2.0, on_failure="raise")
    assert 0.8 < sim.t < 1.1
    before = contents(sim.state)
    assert sim.step().outcome is Outcome.NOT_FINITE
    assert contents(sim.state) == before


def test_a_mechanism_without_force_states_has_none():
    sim = library_simulation("fourbar")
    sim.step()
    assert sim.state.s.shape == sim.state.sd.shape == (0,)
    assert sim.system.states == ()
